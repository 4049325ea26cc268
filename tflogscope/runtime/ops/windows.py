"""The arithmetic of windows that move over images: what convolution and pooling share.

Told about: `core/framework/common_shape_fns.cc`, `core/util/tensor_format.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Geometry",
    "channels_last",
    "geometry",
    "original_layout",
    "output_size",
    "spread",
    "windows",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Geometry:
    """How windows of `size` lie over the two dimensions of an image."""

    size: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: tuple[tuple[int, int], tuple[int, int]]
    output: tuple[int, int]


def output_size(
    whole: int | None, window: int | None, stride: int, dilation: int, padding: Any
) -> tuple[int | None, int, int]:
    """How many windows fit along a dimension, and the padding before and after it.

    `padding` is SAME, VALID, or a pair. Raises ValueError if not even one fits.
    """
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if whole is None or window is None:
        known = whole is not None and padding == "SAME"  # then the window does not matter
        return -(-whole // stride) if known else None, 0, 0  # type: ignore[operator]
    reach = (window - 1) * dilation + 1
    if padding == "SAME":
        count = -(-whole // stride)
        total = max((count - 1) * stride + reach - whole, 0)
        return count, total // 2, total - total // 2
    before, after = (0, 0) if padding == "VALID" else padding
    count = (whole + before + after - reach) // stride + 1
    if count <= 0 and whole > 0:
        raise ValueError(
            f"Negative dimension size caused by subtracting {reach} from {whole + before + after}"
        )
    return count, before, after


def paddings_of(padding: str, explicit: Sequence[int], data_format: str) -> tuple[Any, Any]:
    """The padding of height and width: its name, or pairs cut from the list for all four
    dimensions.
    """
    if padding != "EXPLICIT":
        return padding, padding
    pairs = list(zip(explicit[::2], explicit[1::2], strict=True))
    return (pairs[1], pairs[2]) if data_format == "NHWC" else (pairs[2], pairs[3])


def spatial(values: Sequence[int], data_format: str) -> tuple[int, int]:
    """Of a list for all four dimensions the part for height and width."""
    return (values[1], values[2]) if data_format == "NHWC" else (values[2], values[3])


def geometry(
    image: Sequence[int],
    size: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str,
    explicit_paddings: Sequence[int] = (),
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Geometry:
    """The geometry of windows of (height, width) `size` over an image of (height, width)."""
    steps, gaps = spatial(strides, data_format), spatial(dilations, data_format)
    pads = paddings_of(padding, explicit_paddings, data_format)
    rows = output_size(image[0], size[0], steps[0], gaps[0], pads[0])
    columns = output_size(image[1], size[1], steps[1], gaps[1], pads[1])
    return Geometry(
        (size[0], size[1]),
        steps,
        gaps,
        ((rows[1], rows[2]), (columns[1], columns[2])),
        (rows[0] or 0, columns[0] or 0),
    )


def channels_last(x: Array, data_format: str) -> Array:
    """The image as batch, height, width, channels."""
    return x if data_format == "NHWC" else np.moveaxis(x, 1, -1)


def original_layout(x: Array, data_format: str) -> Array:
    """Back from batch, height, width, channels."""
    return np.ascontiguousarray(x if data_format == "NHWC" else np.moveaxis(x, -1, 1))


def windows(x: Array, g: Geometry, fill: float = 0.0) -> Array:
    """All windows: [batch, rows, columns, height of window, width of window, channels], a view of
    the padded image.
    """
    padded = np.pad(x, ((0, 0), *g.padding, (0, 0)), constant_values=fill)
    batch, row, column, channel = padded.strides
    shape = (x.shape[0], *g.output, *g.size, x.shape[3])
    steps = (
        batch,
        row * g.strides[0],
        column * g.strides[1],
        row * g.dilations[0],
        column * g.dilations[1],
        channel,
    )
    return np.lib.stride_tricks.as_strided(padded, shape, steps, writeable=False)


def spread(parts: Array, image: Sequence[int], g: Geometry) -> Array:
    """The opposite of `windows`: an image of (height, width), overlapping windows added."""
    (top, bottom), (left, right) = g.padding
    padded = np.zeros(
        (parts.shape[0], image[0] + top + bottom, image[1] + left + right, parts.shape[-1]),
        parts.dtype,
    )
    rows, columns = g.output
    for y in range(g.size[0]):
        for x in range(g.size[1]):
            first, second = y * g.dilations[0], x * g.dilations[1]
            padded[
                :,
                first : first + rows * g.strides[0] : g.strides[0],
                second : second + columns * g.strides[1] : g.strides[1],
            ] += parts[:, :, :, y, x]
    return padded[:, top : top + image[0], left : left + image[1]]
