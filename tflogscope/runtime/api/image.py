"""`tf.image`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import images

ResizeMethod = images.ResizeMethod
convert_image_dtype = images.convert_image_dtype
resize = images.resize

__getattr__ = missing("tf.image")
