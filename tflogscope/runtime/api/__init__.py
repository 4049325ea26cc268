"""The public namespace: this package *is* `tf`, and each of its modules the part of that name.

Nothing is done here: every name comes from the chapter that has it. What TensorFlow has and this
runtime has not raises `NotInThisRuntime`, which names it.
"""

from __future__ import annotations

from tflogscope.runtime import context as _context
from tflogscope.runtime import conversion as _conversion
from tflogscope.runtime import copies as _copies
from tflogscope.runtime import dtypes as _dtypes
from tflogscope.runtime import graph as _graph
from tflogscope.runtime import indexed_slices as _indexed_slices
from tflogscope.runtime import module as _module
from tflogscope.runtime import py_function as _py_function
from tflogscope.runtime import ragged as _ragged
from tflogscope.runtime import shapes as _shapes
from tflogscope.runtime import tensors as _tensors
from tflogscope.runtime import variables as _variables
from tflogscope.runtime.api import (
    autograph,
    bitwise,
    compat,
    config,
    debugging,
    dtypes,
    errors,
    experimental,
    image,
    linalg,
    lookup,
    math,
    nest,
    nn,
    ragged,
    random,
    raw_ops,
    strings,
    sysconfig,
    test,
    train,
    types,
    version,
)
from tflogscope.runtime.api.missing import missing as _missing
from tflogscope.runtime.control_flow import case as _case
from tflogscope.runtime.control_flow import cond as _cond
from tflogscope.runtime.control_flow import map_fn as _map_fn
from tflogscope.runtime.control_flow import tensor_array as _tensor_array
from tflogscope.runtime.control_flow import while_loop as _while_loop
from tflogscope.runtime.function import polymorphic as _polymorphic
from tflogscope.runtime.gradients import custom as _custom
from tflogscope.runtime.gradients import gradient_tape as _gradient_tape
from tflogscope.runtime.gradients import registry as _registry
from tflogscope.runtime.library import (
    arithmetic as _arithmetic,
)
from tflogscope.runtime.library import arrays as _arrays
from tflogscope.runtime.library import atrous as _atrous
from tflogscope.runtime.library import comparison as _comparison
from tflogscope.runtime.library import complexes as _complexes
from tflogscope.runtime.library import elementary as _elementary
from tflogscope.runtime.library import graphs as _graphs
from tflogscope.runtime.library import grouping as _grouping
from tflogscope.runtime.library import initializers as _initializers
from tflogscope.runtime.library import joining as _joining
from tflogscope.runtime.library import linalg as _linalg
from tflogscope.runtime.library import operators as _operators
from tflogscope.runtime.library import reductions as _reductions
from tflogscope.runtime.library import segments as _segments
from tflogscope.runtime.library import slicing as _slicing
from tflogscope.runtime.library import strings as _strings
from tflogscope.runtime.ops import call as _call
from tflogscope.runtime.vectorizing import mapping as _mapping

# functions, gradients, variables, modules
function = _polymorphic.function
GradientTape = _gradient_tape.GradientTape
UnconnectedGradients = _gradient_tape.UnconnectedGradients
custom_gradient = _custom.custom_gradient
recompute_grad = _custom.recompute_grad
gradients = _graphs.gradients
grad_pass_through = _custom.grad_pass_through
hessians = _graphs.hessians
RegisterGradient = _registry.gradient
no_gradient = _registry.not_differentiable
Variable = _variables.Variable
variable_creator_scope = _variables.creator_scope
VariableAggregation = _copies.VariableAggregation
VariableSynchronization = _copies.VariableSynchronization
constant_initializer = _initializers.ConstantInitializer
ones_initializer = _initializers.Ones
random_normal_initializer = _initializers.RandomNormal
random_uniform_initializer = _initializers.RandomUniform
zeros_initializer = _initializers.Zeros
Module = _module.Module

# tensors
Tensor = _tensors.Tensor
RaggedTensor = _ragged.RaggedTensor
TensorSpec = _tensors.TensorSpec
TensorShape = _shapes.TensorShape
IndexedSlices = _indexed_slices.IndexedSlices
constant = _conversion.constant
convert_to_tensor = _conversion.convert_to_tensor
get_logger = _graphs.get_logger
register_tensor_conversion_function = _graphs.register_tensor_conversion_function
is_tensor = _graphs.is_tensor
timestamp = _call.generated("Timestamp")
is_symbolic_tensor = _graphs.is_symbolic_tensor
type_spec_from_value = _graphs.type_spec_from_value
get_static_value = _arrays.static_value
newaxis = None
space_to_batch = _atrous.space_to_batch
batch_to_space = _atrous.batch_to_space

# dtypes
DType = _dtypes.DType
as_dtype = _dtypes.as_dtype
bfloat16 = _dtypes.bfloat16
bool = _dtypes.bool_
complex64 = _dtypes.complex64
complex128 = _dtypes.complex128
float16 = half = _dtypes.float16
float32 = _dtypes.float32
float64 = double = _dtypes.float64
int8 = _dtypes.int8
int16 = _dtypes.int16
int32 = _dtypes.int32
int64 = _dtypes.int64
resource = _dtypes.resource
string = _dtypes.string
uint8 = _dtypes.uint8
uint16 = _dtypes.uint16
uint32 = _dtypes.uint32
uint64 = _dtypes.uint64
variant = _dtypes.variant

# contexts and graphs
Graph = _graph.Graph
Operation = _graph.Node
control_dependencies = _call.control_dependencies
device = _context.device
executing_eagerly = _context.executing_eagerly
get_current_name_scope = _context.current_scope
init_scope = _context.init_scope
inside_function = _context.inside_function
name_scope = _context.NameScope
group = _grouping.group
no_op = _grouping.no_op
tuple = _grouping.tuple_of

# control flow
TensorArray = _tensor_array.TensorArray
case = _case.case
cond = _cond.cond
switch_case = _case.switch_case
while_loop = _while_loop.while_loop
vectorized_map = _mapping.vectorized_map
map_fn = _map_fn.map_fn
scan = _map_fn.scan
foldl = _map_fn.foldl
foldr = _map_fn.foldr
py_function = _py_function.py_function
numpy_function = _py_function.numpy_function

# ops
abs = math.abs
acos = math.acos
acosh = math.acosh
add = math.add
add_n = math.add_n
argmax = math.argmax
argmin = math.argmin
argsort = _reductions.argsort
as_string = _strings.as_string
asin = math.asin
asinh = math.asinh
Assert = debugging.Assert
assert_equal = debugging.assert_equal
assert_greater = debugging.assert_greater
assert_less = debugging.assert_less
assert_rank = debugging.assert_rank
atan = math.atan
atan2 = math.atan2
atanh = math.atanh
bitcast = _arrays.bitcast
boolean_mask = _comparison.boolean_mask
broadcast_dynamic_shape = _arrays.broadcast_dynamic_shape
broadcast_static_shape = _arrays.broadcast_static_shape
broadcast_to = _arrays.broadcast_to
cast = _elementary.cast
clip_by_global_norm = _reductions.clip_by_global_norm
clip_by_norm = _reductions.clip_by_norm
clip_by_value = _arithmetic.clip_by_value
complex = _complexes.complex
concat = _joining.concat
cos = math.cos
cosh = math.cosh
cumsum = math.cumsum
divide = math.divide
dynamic_partition = _joining.dynamic_partition
dynamic_stitch = _joining.dynamic_stitch
einsum = linalg.einsum
ensure_shape = _arrays.ensure_shape
equal = math.equal
exp = math.exp
expand_dims = _arrays.expand_dims
eye = linalg.eye
fill = _arrays.fill
floor = math.floor
gather = _slicing.gather
gather_nd = _slicing.gather_nd
greater = math.greater
greater_equal = math.greater_equal
histogram_fixed_width = _segments.histogram_fixed_width
histogram_fixed_width_bins = _segments.histogram_fixed_width_bins
identity = _arrays.identity
identity_n = _arrays.identity_n
less = math.less
less_equal = math.less_equal
linspace = _arrays.linspace
logical_and = math.logical_and
logical_not = math.logical_not
logical_or = math.logical_or
matmul = linalg.matmul
maximum = math.maximum
meshgrid = _arrays.meshgrid
minimum = math.minimum
multiply = math.multiply
negative = math.negative
norm = linalg.norm
not_equal = math.not_equal
one_hot = _arrays.one_hot
ones = _arrays.ones
ones_like = _arrays.ones_like
pad = _joining.pad
pow = math.pow
print = _strings.print_tensors
range = _arrays.range
rank = _arrays.rank
realdiv = _arithmetic.realdiv
reduce_all = math.reduce_all
reduce_any = math.reduce_any
reduce_logsumexp = math.reduce_logsumexp
reduce_max = math.reduce_max
reduce_mean = math.reduce_mean
reduce_min = math.reduce_min
reduce_prod = math.reduce_prod
reduce_sum = math.reduce_sum
repeat = _joining.repeat
reshape = _arrays.reshape
reverse = _joining.reverse
reverse_sequence = _joining.reverse_sequence
roll = _joining.roll
round = math.round
saturate_cast = _arithmetic.saturate_cast
scalar_mul = math.scalar_mul
scatter_nd = _slicing.scatter_nd
searchsorted = _slicing.searchsorted
sequence_mask = _arrays.sequence_mask
shape = _arrays.shape
shape_n = _arrays.shape_n
sigmoid = math.sigmoid
sign = math.sign
sin = math.sin
sinh = math.sinh
size = _arrays.size
slice = _slicing.slice
sort = _reductions.sort
split = _joining.split
sqrt = math.sqrt
square = math.square
squeeze = _arrays.squeeze
stack = _joining.stack
stop_gradient = _arrays.stop_gradient
strided_slice = _slicing.strided_slice
subtract = math.subtract
tan = math.tan
tanh = math.tanh
tensor_scatter_nd_add = _slicing.tensor_scatter_nd_add
tensor_scatter_nd_max = _slicing.tensor_scatter_nd_max
tensor_scatter_nd_min = _slicing.tensor_scatter_nd_min
tensor_scatter_nd_sub = _slicing.tensor_scatter_nd_sub
tensor_scatter_nd_update = _slicing.tensor_scatter_nd_update
tensordot = linalg.tensordot
tile = _joining.tile
transpose = _linalg.transpose
truediv = math.truediv
truncatediv = _arithmetic.truncatediv
truncatemod = _arithmetic.truncatemod
unique = _joining.unique
unique_with_counts = _joining.unique_with_counts
unravel_index = _call.generated("UnravelIndex")
unstack = _joining.unstack
where = _comparison.where
zeros = _arrays.zeros
zeros_like = _arrays.zeros_like

__version__ = version.VERSION
__operators__ = _operators

# last, since they are written in terms of `tf`
from tflogscope.runtime import data, keras  # noqa: E402
from tflogscope.runtime.keras import initializers, losses, metrics, optimizers  # noqa: E402

__all__ = [
    "autograph",
    "bitwise",
    "compat",
    "config",
    "data",
    "debugging",
    "dtypes",
    "errors",
    "experimental",
    "image",
    "initializers",
    "keras",
    "linalg",
    "lookup",
    "losses",
    "math",
    "metrics",
    "nest",
    "nn",
    "optimizers",
    "ragged",
    "random",
    "raw_ops",
    "strings",
    "sysconfig",
    "test",
    "train",
    "types",
    "version",
]
__getattr__ = _missing("tf")
