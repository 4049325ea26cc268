"""Layers that only move values within an image or a sequence: padding, cropping, repeating.

Told about: `keras/src/layers/reshaping/`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec

__all__ = [
    "Cropping1D", "Cropping2D", "Permute", "RepeatVector", "UpSampling1D", "UpSampling2D",
    "ZeroPadding1D", "ZeroPadding2D",
]  # fmt: skip


def _two(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def _sides(value: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Before and after, for height and width."""
    if isinstance(value, int):
        return (value, value), (value, value)
    height, width = value
    return _two(height), _two(width)


class _OfImage(Layer):
    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        if data_format == "channels_first":
            raise NotInThisRuntime("data_format='channels_first'")
        super().__init__(**kwargs)
        self.input_spec = InputSpec(ndim=4)


class ZeroPadding1D(Layer):
    """Zeros before and after the steps."""

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = _two(padding)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> Any:
        return tf.pad(inputs, [[0, 0], list(self.padding), [0, 0]])


class ZeroPadding2D(_OfImage):
    """Zeros around the image."""

    def __init__(
        self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _sides(padding)

    def call(self, inputs: Any) -> Any:
        return tf.pad(inputs, [[0, 0], *(list(side) for side in self.padding), [0, 0]])


class Cropping1D(Layer):
    """Without the first and last steps."""

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cropping = _two(cropping)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> Any:
        before, after = self.cropping
        return inputs[:, before : -after if after else None, :]


class Cropping2D(_OfImage):
    """Without the border of the image."""

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _sides(cropping)

    def call(self, inputs: Any) -> Any:
        (top, bottom), (left, right) = self.cropping
        return inputs[:, top : -bottom if bottom else None, left : -right if right else None, :]


def _repeated(inputs: Any, times: int, axis: int) -> Any:
    """Each slice `times` times. NB: Keras splits and concatenates, where the size is known."""
    parts = tf.split(inputs, num_or_size_splits=inputs.shape[axis], axis=axis)
    return tf.concat([part for part in parts for _ in range(times)], axis)


class UpSampling1D(Layer):
    """Each step `size` times."""

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = int(size)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> Any:
        return _repeated(inputs, self.size, 1)


class UpSampling2D(_OfImage):
    """Images made larger: each row and column several times, or what lies between."""

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.size = _two(size)
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        known = inputs.shape[1:3]
        size = (
            tf.constant(known.as_list(), dtype="int32")
            if known.is_fully_defined()
            else tf.shape(inputs)[1:3]
        )
        size *= tf.constant(np.array(self.size, dtype="int32"))
        return tf.image.resize(inputs, size, method=self.interpolation)


class RepeatVector(Layer):
    """A sequence of the same vector `n` times."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {type(n)}.")
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        return tf.tile(tf.expand_dims(inputs, 1), tf.stack([1, self.n, 1]))


class Permute(Layer):
    """The dimensions behind the batch in another order, counted from 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                "Invalid permutation argument `dims` for Permute Layer. The set of indices in "
                f"`dims` must be consecutive and start from 1. Received dims={dims}"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Any:
        return tf.transpose(inputs, perm=(0, *self.dims))
