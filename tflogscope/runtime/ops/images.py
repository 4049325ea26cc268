"""Images made larger or smaller: ResizeNearestNeighbor, ResizeBilinear and the ops of their
gradients.

Told about: `core/kernels/image/resize_nearest_neighbor_op.cc`, `resize_bilinear_op.cc`,
`core/util/image_resizer_state.h`, `python/ops/image_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import TensorShape

Array = NDArray[Any]
_HOW = "align_corners=False, half_pixel_centers=False"


def _resized(i: Inference) -> TensorShape:
    """The image's shape, with the height and width that the second input says."""
    dims = i.shape_of_rank(0, 4).as_list()
    size = folded_value(i.inputs[1])
    dims[1:3] = [None, None] if size is None else [int(each) for each in np.asarray(size)]
    return TensorShape(dims)


def _scale(of: int, to: int, align_corners: bool) -> Any:
    """How many pixels of the image one of the result stands for."""
    if align_corners and to > 1:
        return np.float32(of - 1) / np.float32(to - 1)
    return np.float32(of) / np.float32(to)


def _nearest(of: int, to: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """For each pixel of the result that of the image, along one dimension."""
    half = np.float32(0.5 if half_pixel_centers else 0)
    places = (np.arange(to, dtype=np.float32) + half) * _scale(of, to, align_corners)
    whole = np.floor(places + np.float32(0.5)) if align_corners else np.floor(places)
    return np.asarray(np.clip(whole.astype(np.int64), 0, of - 1))


def _between(
    of: int, to: int, align_corners: bool, half_pixel_centers: bool
) -> tuple[Array, Array, Array]:
    """For each pixel of the result the two of the image that it lies between, and how far from the
    first, along one dimension.
    """
    half = np.float32(0.5 if half_pixel_centers else 0)
    places = (np.arange(to, dtype=np.float32) + half) * _scale(of, to, align_corners) - half
    lower = np.floor(places)
    first = np.maximum(lower.astype(np.int64), 0)
    second = np.minimum(np.ceil(places).astype(np.int64), of - 1)
    return first, second, (places - lower).astype(np.float32)


@op(
    f"ResizeNearestNeighbor(images: T, size: int32; T in real, {_HOW}) -> resized_images: T",
    shape=_resized,
)
def _resize_nearest(
    images: Array, size: Array, align_corners: bool, half_pixel_centers: bool
) -> Array:
    rows = _nearest(images.shape[1], int(size[0]), align_corners, half_pixel_centers)
    columns = _nearest(images.shape[2], int(size[1]), align_corners, half_pixel_centers)
    return images[:, rows][:, :, columns]


@op(
    f"ResizeNearestNeighborGrad(grads: T, size: int32; T in real, {_HOW}) -> output: T",
    shape=_resized,
)
def _resize_nearest_grad(
    grads: Array, size: Array, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = (int(each) for each in size)
    rows = _nearest(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = _nearest(width, grads.shape[2], align_corners, half_pixel_centers)
    result = np.zeros((grads.shape[0], height, width, grads.shape[3]), grads.dtype)
    _add_at(result, rows, columns, grads)
    return result


def _add_at(result: Array, rows: Array, columns: Array, values: Array) -> None:
    """Add the values to these pixels; several may go to one."""
    places: Any = (slice(None), rows[:, None], columns[None, :])
    np.add.at(result, places, values)


@gradient("ResizeNearestNeighbor")
def _resize_nearest_gradient(record: OpRecord, grad: Any) -> list[Any]:
    image = record.inputs[0]
    known = image.shape[1:3]
    size = known if known.is_fully_defined() else arrays.shape(image)[1:3]
    return [call("ResizeNearestNeighborGrad", grad, size, **_how(record)), None]


def _how(record: OpRecord) -> dict[str, Any]:
    return {name: record.get_attr(name) for name in ("align_corners", "half_pixel_centers")}


@op(
    f"ResizeBilinear(images: T, size: int32; T in real, {_HOW}) -> resized_images: float32",
    shape=_resized,
)
def _resize_bilinear(
    images: Array, size: Array, align_corners: bool, half_pixel_centers: bool
) -> Array:
    top, bottom, down = _between(images.shape[1], int(size[0]), align_corners, half_pixel_centers)
    left, right, across = _between(images.shape[2], int(size[1]), align_corners, half_pixel_centers)
    x = images.astype(np.float32)
    across, down = across[None, None, :, None], down[None, :, None, None]

    def row(rows: Array) -> Array:
        one, other = x[:, rows][:, :, left], x[:, rows][:, :, right]
        return np.asarray(one + (other - one) * across)

    above = row(top)
    return np.asarray(above + (row(bottom) - above) * down)


@op(
    f"ResizeBilinearGrad(grads: float32, original_image: T; T in float, {_HOW}) -> output: T",
    shape=lambda i: i.shape(1),
)
def _resize_bilinear_grad(
    grads: Array, original_image: Array, align_corners: bool, half_pixel_centers: bool
) -> Array:
    top, bottom, down = _between(
        original_image.shape[1], grads.shape[1], align_corners, half_pixel_centers
    )
    left, right, across = _between(
        original_image.shape[2], grads.shape[2], align_corners, half_pixel_centers
    )
    result = np.zeros(original_image.shape, np.float32)
    for rows, part in ((top, 1 - down), (bottom, down)):
        for columns, share in ((left, 1 - across), (right, across)):
            weight = part[:, None, None] * share[None, :, None]
            _add_at(result, rows, columns, grads * weight)
    return result.astype(original_image.dtype)


@gradient("ResizeBilinear")
def _resize_bilinear_gradient(record: OpRecord, grad: Any) -> list[Any]:
    image = record.inputs[0]
    if image.dtype not in (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16):
        return [None, None]
    return [call("ResizeBilinearGrad", grad, image, **_how(record)), None]
