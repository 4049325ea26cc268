"""`tf.dtypes`."""

from __future__ import annotations

from tflogscope.runtime import dtypes
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import arithmetic, elementary

DType = dtypes.DType
as_dtype = dtypes.as_dtype
cast = elementary.cast
saturate_cast = arithmetic.saturate_cast

bfloat16 = dtypes.bfloat16
bool = dtypes.bool_
complex64 = dtypes.complex64
complex128 = dtypes.complex128
float16 = half = dtypes.float16
float32 = dtypes.float32
float64 = double = dtypes.float64
int8 = dtypes.int8
int16 = dtypes.int16
int32 = dtypes.int32
int64 = dtypes.int64
resource = dtypes.resource
string = dtypes.string
uint8 = dtypes.uint8
uint16 = dtypes.uint16
uint32 = dtypes.uint32
uint64 = dtypes.uint64
variant = dtypes.variant

__getattr__ = missing("tf.dtypes")
