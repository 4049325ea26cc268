"""Images: `tf.image.resize` and `tf.image.convert_image_dtype`.

Told about: `python/ops/image_ops_impl.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arithmetic, arrays, elementary
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor

__all__ = ["ResizeMethod", "convert_image_dtype", "resize"]

_OPS = {"nearest": "ResizeNearestNeighbor", "bilinear": "ResizeBilinear"}


class ResizeMethod:
    """How a pixel follows from those around."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def resize(
    images: Any,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images, or one, of height and width `size`. Raises NotInThisRuntime for other methods than
    two, and ValueError for what are no images.
    """
    if method not in _OPS or preserve_aspect_ratio or antialias:
        raise NotInThisRuntime(f"tf.image.resize(method={method!r}) of that kind")
    with op_scope(name, "resize"):
        images = convert_to_tensor(images, name="images")
        rank = images.shape.rank
        if rank not in (3, 4):
            raise ValueError(
                "'images' contains no shape."
                if rank is None
                else "'images' must have either 3 or 4 dimensions."
            )
        batch = images if rank == 4 else arrays.expand_dims(images, 0)
        size = convert_to_tensor(size, dtypes.int32, name="size")
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        resized = call(_OPS[method], batch, size, half_pixel_centers=True)
        resized.set_shape([None, *constant_shape(size), None])
        return resized if rank == 4 else arrays.squeeze(resized, axis=[0])


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """An image of another type: integers up to their highest are floats up to 1.

    Raises AttributeError for what are no numbers.
    """
    image = convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    for told, kind in (("dtype", dtype), ("image dtype", image.dtype)):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError(f"{told} must be either floating point or integer")
    if dtype == image.dtype:
        return arrays.identity(image, name=name)  # type: ignore[no-any-return]
    cast = arithmetic.saturate_cast if saturate else elementary.cast
    with op_scope(name, "convert_image") as scope:
        if image.dtype.is_floating and dtype.is_floating:
            return elementary.cast(image, dtype, name=scope)
        if image.dtype.is_integer and dtype.is_floating:
            scaled = elementary.cast(image, dtype)
            return arithmetic.multiply(scaled, 1.0 / image.dtype.max, name=scope)  # type: ignore[no-any-return]
        if image.dtype.is_floating:
            # the half is against rounding problems
            return cast(arithmetic.multiply(image, dtype.max + 0.5), dtype, name=scope)
        highest, allowed = image.dtype.max, dtype.max
        if highest > allowed:
            scaled = arithmetic.floordiv(image, (highest + 1) // (allowed + 1))
            return cast(scaled, dtype, name=scope)
        return arithmetic.multiply(cast(image, dtype), (allowed + 1) // (highest + 1), name=scope)  # type: ignore[no-any-return]
