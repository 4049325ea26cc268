"""`tf.math`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import (
    arithmetic,
    arrays,
    comparison,
    complexes,
    debugging,
    elementary,
    nn,
    reductions,
    segments,
)

abs = elementary.abs
accumulate_n = arithmetic.accumulate_n
acos = elementary.acos
acosh = elementary.acosh
add = arithmetic.add
add_n = arithmetic.add_n
angle = complexes.angle
argmax = reductions.argmax
argmin = reductions.argmin
asin = elementary.asin
asinh = elementary.asinh
atan = elementary.atan
atan2 = arithmetic.atan2
atanh = elementary.atanh
bincount = reductions.bincount
ceil = elementary.ceil
confusion_matrix = segments.confusion_matrix
conj = elementary.conj
cos = elementary.cos
cosh = elementary.cosh
count_nonzero = reductions.count_nonzero
cumprod = reductions.cumprod
cumsum = reductions.cumsum
cumulative_logsumexp = reductions.cumulative_logsumexp
digamma = elementary.digamma
divide = arithmetic.divide
divide_no_nan = arithmetic.div_no_nan
equal = comparison.equal
erf = elementary.erf
erfcinv = elementary.erfcinv
erfinv = elementary.erfinv
erfc = elementary.erfc
exp = elementary.exp
expm1 = elementary.expm1
floor = elementary.floor
floordiv = arithmetic.floordiv
floormod = mod = arithmetic.floormod
greater = comparison.greater
greater_equal = comparison.greater_equal
imag = complexes.imag
in_top_k = nn.in_top_k
invert_permutation = arrays.invert_permutation
is_finite = elementary.is_finite
is_inf = elementary.is_inf
is_nan = elementary.is_nan
is_non_decreasing = debugging.is_non_decreasing
is_strictly_increasing = debugging.is_strictly_increasing
l2_normalize = reductions.l2_normalize
lbeta = reductions.lbeta
less = comparison.less
less_equal = comparison.less_equal
lgamma = elementary.lgamma
log = elementary.log
log1p = elementary.log1p
log_sigmoid = elementary.log_sigmoid
log_softmax = nn.log_softmax
logical_and = comparison.logical_and
logical_not = comparison.logical_not
logical_or = comparison.logical_or
logical_xor = comparison.logical_xor
maximum = arithmetic.maximum
minimum = arithmetic.minimum
multiply = arithmetic.multiply
multiply_no_nan = arithmetic.multiply_no_nan
ndtri = elementary.ndtri
negative = elementary.negative
nextafter = arithmetic.nextafter
not_equal = comparison.not_equal
polygamma = elementary.polygamma
polyval = arithmetic.polyval
pow = arithmetic.pow
real = complexes.real
reciprocal = elementary.reciprocal
reciprocal_no_nan = elementary.reciprocal_no_nan
reduce_all = reductions.reduce_all
reduce_any = reductions.reduce_any
reduce_euclidean_norm = reductions.reduce_euclidean_norm
reduce_logsumexp = reductions.reduce_logsumexp
reduce_max = reductions.reduce_max
reduce_mean = reductions.reduce_mean
reduce_min = reductions.reduce_min
reduce_prod = reductions.reduce_prod
reduce_std = reductions.reduce_std
reduce_sum = reductions.reduce_sum
reduce_variance = reductions.reduce_variance
rint = elementary.rint
round = elementary.round
rsqrt = elementary.rsqrt
scalar_mul = arithmetic.scalar_mul
segment_max = reductions.segment_max
segment_mean = reductions.segment_mean
segment_min = reductions.segment_min
segment_prod = reductions.segment_prod
segment_sum = reductions.segment_sum
sigmoid = elementary.sigmoid
sign = elementary.sign
sin = elementary.sin
sinh = elementary.sinh
softmax = nn.softmax
softplus = nn.softplus
softsign = nn.softsign
sqrt = elementary.sqrt
square = elementary.square
squared_difference = arithmetic.squared_difference
subtract = arithmetic.subtract
tan = elementary.tan
tanh = elementary.tanh
top_k = reductions.top_k
truediv = arithmetic.truediv
unsorted_segment_max = reductions.unsorted_segment_max
unsorted_segment_mean = segments.unsorted_segment_mean
unsorted_segment_min = reductions.unsorted_segment_min
unsorted_segment_prod = reductions.unsorted_segment_prod
unsorted_segment_sqrt_n = segments.unsorted_segment_sqrt_n
unsorted_segment_sum = reductions.unsorted_segment_sum
xdivy = arithmetic.xdivy
xlog1py = arithmetic.xlog1py
xlogy = arithmetic.xlogy
zero_fraction = reductions.zero_fraction
zeta = elementary.zeta

__getattr__ = missing("tf.math")
