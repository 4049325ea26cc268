"""Pooling: one value for each window, or for the whole.

Told about: `keras/src/layers/pooling/`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "GlobalAveragePooling1D", "GlobalAveragePooling2D",
    "GlobalMaxPooling1D", "GlobalMaxPooling2D", "MaxPooling1D", "MaxPooling2D",
]  # fmt: skip


class _Pooling(Layer):
    rank = 2
    mode: Any

    def __init__(
        self,
        pool_size: Any,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime(f"Keras 3's {type(self).__name__} with channels first")
        sizes = [pool_size, pool_size if strides is None else strides]
        self.pool_size, self.strides = (
            (size,) * self.rank if isinstance(size, int) else tuple(size) for size in sizes
        )
        self.padding = padding.lower()
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return type(self).mode(
            inputs, pool_size=self.pool_size, strides=self.strides, padding=self.padding
        )


class MaxPooling2D(_Pooling):
    """The largest of each window."""

    mode = staticmethod(ops.max_pool)

    def __init__(self, pool_size: Any = 2, *args: Any, **kwargs: Any) -> None:
        super().__init__(pool_size, *args, **kwargs)


class AveragePooling2D(_Pooling):
    """The mean of each window."""

    mode = staticmethod(ops.average_pool)


class MaxPooling1D(MaxPooling2D):
    """The largest of each window of a sequence."""

    rank = 1


class AveragePooling1D(AveragePooling2D):
    """The mean of each window of a sequence."""

    rank = 1


class _Global(Layer):
    rank = 2
    reduce: Any

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime(f"Keras 3's {type(self).__name__} with channels first")
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.built = True

    def call(self, inputs: Any) -> Any:
        axes: Any = 1 if self.rank == 1 else [1, 2]
        return type(self).reduce(inputs, axis=axes, keepdims=self.keepdims)


class GlobalAveragePooling2D(_Global):
    """The mean of each channel."""

    reduce = staticmethod(ops.mean)


class GlobalMaxPooling2D(_Global):
    """The largest of each channel."""

    reduce = staticmethod(ops.max)


class GlobalMaxPooling1D(_Global):
    """The largest over the steps."""

    rank = 1
    reduce = staticmethod(ops.max)


class GlobalAveragePooling1D(_Global):
    """The mean over the steps; over those that a mask lets count."""

    rank = 1
    reduce = staticmethod(ops.mean)

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        wide = ops.cast(ops.expand_dims(mask, 2), "bool")
        inputs = ops.where(wide, inputs, 0)
        counts = ops.cast(wide, inputs.dtype)
        total = ops.sum(inputs, axis=1, keepdims=self.keepdims)
        return total / ops.sum(counts, axis=1, keepdims=self.keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del inputs, mask
