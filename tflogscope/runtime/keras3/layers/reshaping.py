"""Layers that make images and sequences larger or smaller without weights.

Told about: `keras/src/layers/reshaping/`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = [
    "Cropping1D", "Cropping2D", "RepeatVector", "UpSampling1D", "UpSampling2D", "ZeroPadding1D",
    "ZeroPadding2D",
]  # fmt: skip


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


class _Plain(Layer):
    """A layer for inputs of one rank, with channels last."""

    rank = 4

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime(f"Keras 3's {type(self).__name__} with channels first")
        self.input_spec = InputSpec(ndim=self.rank)


class UpSampling2D(_Plain):
    """Each point several times, in both directions. Raises NotInThisRuntime for interpolation."""

    def __init__(
        self, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(data_format, **kwargs)
        if interpolation != "nearest":
            raise NotInThisRuntime(f"UpSampling2D(interpolation={interpolation!r})")
        self.size = _pair(size)

    def call(self, inputs: Any) -> Any:
        return ops.repeat(ops.repeat(inputs, self.size[0], axis=1), self.size[1], axis=2)


class UpSampling1D(_Plain):
    """Each step several times."""

    rank = 3

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size

    def call(self, inputs: Any) -> Any:
        return ops.repeat(inputs, self.size, axis=1)


class RepeatVector(_Plain):
    """A vector as a sequence of itself."""

    rank = 2

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs: Any) -> Any:
        batch, width = ops.shape(inputs)
        return ops.repeat(ops.reshape(inputs, (batch, 1, width)), self.n, axis=1)


class ZeroPadding2D(_Plain):
    """Zeros around images."""

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = tuple(_pair(each) for each in _pair(padding))

    def call(self, inputs: Any) -> Any:
        return ops.pad(inputs, ((0, 0), *self.padding, (0, 0)))


class ZeroPadding1D(_Plain):
    """Zeros before and behind sequences."""

    rank = 3

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _pair(padding)

    def call(self, inputs: Any) -> Any:
        return ops.pad(inputs, ((0, 0), self.padding, (0, 0)))


class Cropping2D(_Plain):
    """Images without their margins."""

    def __init__(self, cropping: Any = 0, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = tuple(_pair(each) for each in _pair(cropping))

    def call(self, inputs: Any) -> Any:
        rows, columns = (slice(before, -after or None) for before, after in self.cropping)
        return inputs[:, rows, columns, :]


class Cropping1D(_Plain):
    """Sequences without their first and last steps."""

    rank = 3

    def __init__(self, cropping: Any = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cropping = _pair(cropping)

    def call(self, inputs: Any) -> Any:
        before, after = self.cropping
        return inputs[:, before : -after or None, :]
