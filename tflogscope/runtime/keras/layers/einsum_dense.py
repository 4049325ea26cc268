"""`EinsumDense`: a dense layer of which an equation says what is multiplied with what.

Told about: `keras/src/layers/core/einsum_dense.py`.
"""

from __future__ import annotations

import re
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import activations, initializers
from tflogscope.runtime.keras.layers.base import Layer

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.equation, self.bias_axes = equation, bias_axes
        self.partial_output_shape = (
            [output_shape] if isinstance(output_shape, int) else list(output_shape)
        )
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        kernel, bias = self._shapes(tf.TensorShape(input_shape).as_list())
        self.kernel = self.add_weight("kernel", kernel, initializer=self.kernel_initializer)
        if bias is not None:
            self.bias = self.add_weight("bias", bias, initializer=self.bias_initializer)

    def _shapes(self, dims: list[int | None]) -> tuple[list[int], list[int] | None]:
        """Of kernel and bias. Raises ValueError for an equation that is not understood."""
        text = self.equation.replace(" ", "")
        match = re.fullmatch(r"(\.*)([a-zA-Z]+)(\.*),([a-zA-Z]+)->\.*([a-zA-Z]+)\.*", text)
        if match is None:
            raise ValueError(
                f"Invalid einsum equation '{self.equation}'. Equations must be in the form "
                "[X],[Y]->[Z], ...[X],[Y]->...[Z], or [X]...,[Y]->[Z]...."
            )
        before, given, _, weights, results = match.groups()
        elided = len(dims) - len(given)
        skipped = elided if before else 0
        sizes: Any = dict(zip(given, dims[skipped:], strict=False))
        batch = [] if before else [dims[0]]
        shape = [*batch, *self.partial_output_shape]
        produced = dict(zip(results, shape[len(shape) - len(results) :] if before else shape,
                            strict=False))  # fmt: skip
        for letter, size in produced.items():
            if sizes.get(letter) is None:
                sizes[letter] = size
        kernel = [sizes[letter] for letter in weights]
        if not self.bias_axes:
            return kernel, None
        first = min(results.index(letter) for letter in self.bias_axes)
        bias = [sizes[each] if each in self.bias_axes else 1 for each in results[first:]]
        return kernel, bias if before else bias + [1] * elided

    def call(self, inputs: Any) -> Any:
        outputs = tf.einsum(self.equation, inputs, self.kernel)
        if self.bias is not None:
            outputs += self.bias
        return self.activation(outputs)
