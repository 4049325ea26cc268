"""Images: `tf.image.resize` and what turns them over.

Told about: `python/ops/image_ops_impl.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor

__all__ = ["ResizeMethod", "resize"]

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
