"""`EinsumDense`: a dense layer of which an equation says what is multiplied with what.

Told about: `keras/src/layers/core/einsum_dense.py`.
"""

from __future__ import annotations

import math
import re
from typing import Any

from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import activations, initializers, ops
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = ["EinsumDense"]


class EinsumDense(Layer):
    """activation(einsum(equation, inputs, kernel) + bias); the batch is not in `output_shape`."""

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.equation, self.bias_axes = equation, bias_axes
        self.partial_output_shape = (
            (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        )
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self._of_kernel = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}
        self._of_bias = {"regularizer": bias_regularizer, "constraint": bias_constraint}
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        kernel, bias, fans = self._shapes(input_shape)
        self.input_spec = InputSpec(ndim=len(input_shape))
        initializer = initializers.with_fans(self.kernel_initializer, *fans)
        self.kernel = self.add_weight(kernel, initializer, name="kernel", **self._of_kernel)
        if bias is not None:
            self.bias = self.add_weight(bias, self.bias_initializer, name="bias", **self._of_bias)

    def _shapes(self, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, int]]:
        """Of kernel and bias; the numbers of inputs and outputs of a unit. Raises ValueError for an
        equation that is not understood.
        """
        text = self.equation.replace(" ", "")
        match = re.fullmatch(r"(\.*)([a-zA-Z]+)(\.*),([a-zA-Z]+)->\.*([a-zA-Z]+)\.*", text)
        if match is None:
            raise ValueError(
                f"Invalid einsum equation '{self.equation}'. Equations must be in the form "
                "[X],[Y]->[Z], ...[X],[Y]->...[Z], or [X]...,[Y]->[Z]...."
            )
        before, given, _, weights, results = match.groups()
        elided = len(dims) - len(given)
        known = dict(zip(given, dims[elided if before else 0 :], strict=False))
        produced = (None, *self.partial_output_shape)
        sizes: Any = dict(
            zip(results, produced[-len(results) :] if before else produced, strict=False)
        )
        sizes |= {letter: size for letter, size in known.items() if sizes.get(letter) is None}
        kernel = tuple(sizes[letter] for letter in weights)
        fans = (
            math.prod(sizes[letter] for letter in weights if letter in given),
            math.prod(sizes[letter] for letter in weights if letter in results),
        )
        if not self.bias_axes:
            return kernel, None, fans
        first = min(results.index(letter) for letter in self.bias_axes)
        bias = tuple(sizes[each] if each in self.bias_axes else 1 for each in results[first:])
        return kernel, bias if before else bias + (1,) * elided, fans

    def call(self, inputs: Any, training: Any = None) -> Any:
        del training
        outputs = ops.einsum(self.equation, inputs, self.kernel)
        if self.bias is not None:
            outputs = ops.add(outputs, self.bias)
        return self.activation(outputs)
