"""Normalization of groups of channels, by length, and by the root of the mean of squares.

Told about: `keras/src/layers/normalization/` (`group_normalization.py`, `unit_normalization.py`,
`rms_normalization.py`).
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import dtypes, ops
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.normalization import Normalizing

__all__ = ["GroupNormalization", "RMSNormalization", "UnitNormalization"]


class GroupNormalization(Normalizing):
    """Each group of channels of an example by its own mean and variance. Raises ValueError for
    channels that can't be shared out evenly.
    """

    def __init__(
        self, groups: int = 32, axis: int = -1, epsilon: float = 1e-3, **kwargs: Any
    ) -> None:
        super().__init__(axis, epsilon, **kwargs)
        self.groups = groups
        self.autocast = False

    def build(self, input_shape: Any) -> None:
        width = input_shape[self.axis]
        self.groups = width if self.groups == -1 else self.groups
        if width < self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) cannot be more than the number of channels "
                f"({width})."
            )
        if width % self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) must be a multiple of the number of channels "
                f"({width})."
            )
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: width})
        self._make((width,))

    def call(self, inputs: Any) -> Any:
        dims = ops.shape(inputs)
        grouped = ops.reshape(inputs, self._in_groups([-1, *dims[1:]]))
        outputs = ops.reshape(self._normalized(grouped, inputs.shape), ops.shape(inputs))
        return ops.cast(outputs, self.compute_dtype)

    def _in_groups(self, dims: Any) -> list[Any]:
        split = list(dims)
        split[self.axis] = split[self.axis] // self.groups
        split.insert(self.axis, self.groups)
        return split

    def _normalized(self, grouped: Any, shape: Any) -> Any:
        original = grouped.dtype
        grouped = ops.cast(grouped, dtypes.result_type(original, "float32"))
        axes = list(range(1, len(grouped.shape)))
        axes.pop(-2 if self.axis == -1 else self.axis - 1)
        ones = [1] * len(shape)
        ones[self.axis] = shape[self.axis]
        broadcast = self._in_groups(ones)
        mean, variance = ops.moments(grouped, axes=axes, keepdims=True)
        inverse = ops.rsqrt(variance + self.epsilon)
        if self.scale:
            inverse = inverse * ops.cast(ops.reshape(self.gamma, broadcast), grouped.dtype)
        rest = -mean * inverse
        if self.center:
            rest = rest + ops.cast(ops.reshape(self.beta, broadcast), grouped.dtype)
        return ops.cast(grouped * inverse + rest, original)


class RMSNormalization(Layer):
    """Each example divided by the root of the mean of its squares, and scaled."""

    def __init__(self, axis: Any = -1, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon = axis, epsilon

    def build(self, input_shape: Any) -> None:
        self.axis = [self.axis] if isinstance(self.axis, int) else sorted(self.axis)
        shape = tuple(input_shape[axis] for axis in self.axis)
        self.scale = self.add_weight(shape, "ones", name="scale")

    def call(self, inputs: Any) -> Any:
        return ops.rms_normalization(inputs, scale=self.scale, axis=self.axis, epsilon=self.epsilon)


class UnitNormalization(Layer):
    """Each example with length 1."""

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.supports_masking = self.built = True

    def call(self, inputs: Any) -> Any:
        return ops.normalize(inputs, axis=self.axis, order=2, epsilon=1e-12)
