"""`tf.keras.backend` of Keras 3: little is left of it."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.backend import epsilon, floatx, image_data_format, set_floatx
from tflogscope.runtime.keras3.dtypes import is_float as is_float_dtype
from tflogscope.runtime.keras3.dtypes import is_int as is_int_dtype
from tflogscope.runtime.keras3.dtypes import result_type
from tflogscope.runtime.keras3.dtypes import standardize as standardize_dtype
from tflogscope.runtime.keras3.state import clear_session

__all__ = [
    "clear_session", "epsilon", "floatx", "image_data_format", "is_float_dtype", "is_int_dtype",
    "result_type", "set_floatx", "standardize_dtype",
]  # fmt: skip

__getattr__ = missing("tf.keras.backend")
