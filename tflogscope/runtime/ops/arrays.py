"""Constants, shapes and filled tensors: Const, Identity, Shape, Reshape, Fill, Range and others.

Told about: `core/ops/array_ops.cc`, `python/ops/array_grad.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape, folded_value
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import DType, of_array
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.indexed_slices import dense
from tflogscope.runtime.library import arrays as lib
from tflogscope.runtime.library import reductions
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.broadcasting import broadcast_gradient_args
from tflogscope.runtime.ops.declare import op, scalar, unknown_shape
from tflogscope.runtime.ops.references import dereferenced
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, dims_text
from tflogscope.runtime.tensors import EagerTensor, SymbolicTensor

Array = NDArray[Any]

# -- constants, and values passed through


def _const_shape(i: Inference) -> TensorShape:
    return TensorShape(i.attributes["value"].shape)


@op("Const(; value, dtype) -> output: dtype", shape=_const_shape)
def _const(value: Array) -> Array:
    return value


@op(
    "Placeholder(; dtype, shape=None) -> output: dtype",
    shape=lambda i: TensorShape(i.attributes["shape"]),
)
def _placeholder() -> Array:
    raise InvalidArgumentError(None, None, "You must feed a value for placeholder tensor")


@op(
    "PlaceholderWithDefault(input: dtype; dtype, shape) -> output: dtype",
    shape=lambda i: TensorShape(i.attributes["shape"]),
)
def _placeholder_with_default(input: Array) -> Array:
    return input


def _same_value(input: Any) -> Any:
    return input


@op("Identity(input: T) -> output: T")
def _identity(input: Any) -> Any:
    return dereferenced(input)


op("StopGradient(input: T) -> output: T")(_same_value)
op("PreventGradient(input: T; message='') -> output: T")(_same_value)
op("Snapshot(input: T) -> output: T")(_same_value)


@op(
    "IdentityN(input: list(T)) -> output: list(T)",
    shape=lambda i: [each.shape for each in i.inputs],
)
def _identity_n(*values: Any) -> tuple[Any, ...]:
    return values


@op("NoOp()", shape=unknown_shape)
def _no_op() -> None:
    return None


@gradient("Identity")
def _identity_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [grad]


@gradient("IdentityN")
def _identity_n_gradient(record: OpRecord, *grads: Any) -> list[Any]:  # noqa: ARG001
    return list(grads)


@gradient("PreventGradient")
def _prevent_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    raise LookupError(f"Gradient explicitly disabled. Reason: {record.get_attr('message')}")


not_differentiable(
    "Const",
    "StopGradient",
    "Shape",
    "ShapeN",
    "Size",
    "Rank",
    "ZerosLike",
    "OnesLike",
    "Range",
    "LinSpace",
    "OneHot",
    "InvertPermutation",
    "BroadcastArgs",
    "BroadcastGradientArgs",
)

# -- asking for shapes


@op(
    "Shape(input: T; out_type=int32) -> output: out_type",
    shape=lambda i: TensorShape([i.shape(0).rank]),
)
def _shape(input: Array, out_type: DType) -> Array:
    return np.array(input.shape, out_type.as_numpy_dtype)


def _ranks(i: Inference) -> list[TensorShape]:
    return [TensorShape([each.shape.rank]) for each in i.inputs]


@op("ShapeN(input: N*T; out_type=int32) -> output: N*out_type", shape=_ranks)
def _shape_n(*inputs: Array, out_type: DType) -> list[Array]:
    return [np.array(each.shape, out_type.as_numpy_dtype) for each in inputs]


@op("Size(input: T; out_type=int32) -> output: out_type", shape=scalar)
def _size(input: Array, out_type: DType) -> Array:
    return np.array(input.size, out_type.as_numpy_dtype)


@op("Rank(input: T) -> output: int32", shape=scalar)
def _rank(input: Array) -> Array:
    return np.array(input.ndim, np.int32)


# -- another shape for the same elements


def _reshape_shape(i: Inference) -> TensorShape:
    i.shape_of_rank(1, 1)
    wanted = constant_shape(i.inputs[1])
    count = i.shape(0).num_elements()
    if wanted.rank is None or count is None:
        return wanted
    known = math.prod(dim for dim in wanted.as_list() if dim is not None)
    free = [k for k, dim in enumerate(wanted.as_list()) if dim is None]
    if not free and known != count:
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {_text(wanted)} ({known} "
            "elements)"
        )
    if len(free) != 1 or not known or not _literal(i.inputs[1]):
        return wanted
    if count % known:
        text = f"Dimension size must be evenly divisible by {known} but is {count}"
        raise ValueError(text)
    dims = wanted.as_list()
    dims[free[0]] = count // known
    return TensorShape(dims)


def _missing_of_empty(shape: tuple[int, ...], dims: list[int]) -> int:
    """What -1 stands for in a shape with a 0. Told about: `core/kernels/reshape_op.h`."""
    product = math.prod(dim for dim in dims if dim > 0)
    return math.prod(dim for dim in shape if dim) // product


def _literal(tensor: Any) -> bool:
    return folded_value(tensor) is not None or isinstance(tensor, SymbolicTensor)


def _text(shape: Any) -> str:
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"


@op("Reshape(tensor: T, shape: Tshape; Tshape=int32) -> output: T", shape=_reshape_shape)
def _reshape(tensor: Array, shape: Array) -> Array:
    dims = [int(dim) for dim in shape.ravel()]  # NB: a scalar passes
    if dims.count(-1) == 1 and not tensor.size and 0 in dims:
        # NB: what is missing is then inferred from the other dimensions that are not 0
        dims[dims.index(-1)] = _missing_of_empty(tensor.shape, dims)
    for place, dim in enumerate(dims):
        if dim < -1:
            text = f"Size {place} must be non-negative, not {dim}"
            raise InvalidArgumentError(None, None, text)
    try:
        return tensor.reshape(dims)
    except ValueError:
        if dims.count(-1) > 1:
            text = (
                f"Only one input size may be -1, not both {dims.index(-1)} and "
                f"{dims.index(-1, dims.index(-1) + 1)}"
            )
        elif -1 in dims:
            text = (
                f"Input to reshape is a tensor with {tensor.size} values, but the requested shape "
                f"requires a multiple of {math.prod(dim for dim in dims if dim != -1)}"
            )
        else:
            text = (
                f"Input to reshape is a tensor with {tensor.size} values, but the requested shape "
                f"has {math.prod(dims)}"
            )
        raise InvalidArgumentError(None, None, text) from None


def _to_shape_of_input(record: OpRecord, grad: Any) -> Any:
    return lib.reshape(dense(grad), lib.shape(record.inputs[0]))


@gradient("Reshape")
def _reshape_gradient(record: OpRecord, grad: Any) -> list[Any]:
    dims = None if record.inputs[0].shape.rank is None else record.inputs[0].shape.as_list()
    if dims is not None and dims.count(None) == 1 and 0 not in dims and since(2, 15):
        shape = [-1 if dim is None else dim for dim in dims]
        return [lib.reshape(dense(grad), shape), None]
    return [_to_shape_of_input(record, grad), None]


def _expand_shape(i: Inference) -> TensorShape:
    axis = folded_value(i.inputs[1])
    if i.shape(0).rank is None or axis is None:
        return UNKNOWN
    dims, at = i.shape(0).as_list(), int(axis.reshape(()))
    if not -len(dims) - 1 <= at <= len(dims):
        raise ValueError(f"dim {at} not in the interval [{-len(dims) - 1}, {len(dims)}].")
    dims.insert(at if at >= 0 else at + len(dims) + 1, 1)
    return TensorShape(dims)


@op("ExpandDims(input: T, dim: Tdim; Tdim=int32) -> output: T", shape=_expand_shape)
def _expand_dims(input: Array, dim: Array) -> Array:
    at = int(dim.reshape(()))
    if not -input.ndim - 1 <= at <= input.ndim:
        text = f"Tried to expand dim index {at} for tensor with {input.ndim} dimensions."
        raise InvalidArgumentError(None, None, text)
    return np.expand_dims(input, at)


@gradient("ExpandDims")
def _expand_dims_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [_to_shape_of_input(record, grad), None]


def _squeeze_shape(i: Inference) -> TensorShape:
    axes = i.attributes["squeeze_dims"]
    if i.shape(0).rank is None:
        return UNKNOWN
    dims = i.shape(0).as_list()
    if not axes:
        return UNKNOWN if None in dims else TensorShape([dim for dim in dims if dim != 1])
    chosen = {axis % len(dims) for axis in axes}
    for axis in chosen:
        if dims[axis] not in (1, None):
            raise ValueError(
                f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}"
            )
    return TensorShape([dim for k, dim in enumerate(dims) if k not in chosen])


@op("Squeeze(input: T; squeeze_dims=[]) -> output: T", shape=_squeeze_shape)
def _squeeze(input: Array, squeeze_dims: list[int]) -> Array:
    try:
        return np.squeeze(input, tuple(squeeze_dims) or None)
    except ValueError:
        axis = next(k for k in squeeze_dims if input.shape[k] != 1)
        text = f"Can not squeeze dim[{axis}], expected a dimension of 1, got {input.shape[axis]}"
        raise InvalidArgumentError(None, None, text) from None


@gradient("Squeeze")
def _squeeze_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [_to_shape_of_input(record, grad)]


def _ensured_shape(i: Inference) -> TensorShape:
    found, wanted = i.shape(0), i.attributes["shape"]
    if found.rank == wanted.rank and found.rank is not None:
        for place, (one, other) in enumerate(zip(wanted.as_list(), found.as_list(), strict=True)):
            if one != other and None not in (one, other):
                raise ValueError(
                    f"Dimension {place} in both shapes must be equal, but are {one} and {other}. "
                    f"Shapes are {_text(wanted)} and {_text(found)}."
                )
    return found.merge_with(wanted)


@op("EnsureShape(input: T; shape) -> output: T", shape=_ensured_shape)
def _ensure_shape(input: Array, shape: Any) -> Array:
    if not TensorShape(shape).is_compatible_with(input.shape):
        raise InvalidArgumentError(
            None,
            None,
            f"Shape of tensor input {_text(input.shape)} is not compatible with expected shape "
            f"{_text(TensorShape(shape))}.",
        )
    return input


@gradient("EnsureShape")
def _ensure_shape_gradient(record: OpRecord, grad: Any) -> list[Any]:
    del record
    return [grad]


def _bitcast_shape(i: Inference) -> TensorShape:
    shape, have, want = i.shape(0), i.dtype(0).size, i.attributes["type"].size
    if have == want or shape.rank is None:
        return shape
    if have > want:
        return shape.concatenate([have // want])
    last, wanted = i.shape_of_rank_from(0, 1)[-1], want // have
    if last not in (None, wanted):
        raise ValueError(f"Cannot bitcast due to shape. {last} does not match {wanted}")
    return shape[:-1]


@op("Bitcast(input: T; type) -> output: type", shape=_bitcast_shape)
def _bitcast(input: Array, type: DType) -> Array:
    have, want = input.dtype.itemsize, np.dtype(type.as_numpy_dtype).itemsize
    if have < want and (not input.ndim or input.shape[-1] * have != want):
        kinds = of_array(input.dtype).as_datatype_enum, type.as_datatype_enum
        raise InvalidArgumentError(None, None, "Cannot bitcast from {} to {}".format(*kinds))
    same_bytes: Array = np.ascontiguousarray(input).reshape(-1).view(type.as_numpy_dtype)
    if have > want:  # the parts of a number in a dimension of their own
        return same_bytes.reshape(*input.shape, have // want)
    return same_bytes.reshape(input.shape if have == want else input.shape[:-1])


# -- filled tensors


def _filled_shape(i: Inference) -> TensorShape:
    i.shape_of_rank(0, 1)
    dims = folded_value(i.inputs[0])
    if dims is not None and (dims < 0).any():
        raise ValueError("Fill dimensions must be >= 0")
    return constant_shape(i.inputs[0])


@op(
    "Fill(dims: index_type, value: T; index_type=int32) -> output: T",
    shape=_filled_shape,
)
def _fill(dims: Array, value: Array) -> Array:
    if dims.ndim > 1:  # NB: a scalar passes
        text = f"dims must represent a vector, got shape {dims_text(dims.shape)}"
        raise InvalidArgumentError(None, None, text)
    if np.any(dims < 0):
        raise InvalidArgumentError(None, None, f"Dimension {int(dims[dims < 0][0])} must be >= 0")
    return np.full(tuple(dims.ravel()), value[()], value.dtype)


@gradient("Fill")
def _fill_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [None, reductions.reduce_sum(grad)]


@op("ZerosLike(x: T) -> y: T")
def _zeros_like(x: Any) -> Any:
    if not isinstance(x, np.ndarray):  # a variant: a list of tensors makes its own zeros
        return x.zeros_like()
    return np.full(x.shape, b"", object) if x.dtype == object else np.zeros_like(x)


op("OnesLike(x: T) -> y: T")(np.ones_like)


def _range_shape(i: Inference) -> TensorShape:
    values = [folded_value(each) for each in i.inputs]
    if any(value is None for value in values):
        return TensorShape([None])
    start, limit, delta = (value.item() for value in values if value is not None)
    if delta == 0:
        raise ValueError("Requires delta != 0")
    return TensorShape([max(0, math.ceil((limit - start) / delta))])


@op(
    "Range(start: Tidx, limit: Tidx, delta: Tidx; Tidx=int32, Tidx in real) -> output: Tidx",
    shape=_range_shape,
)
def _range(start: Array, limit: Array, delta: Array) -> Array:
    if delta == 0:
        raise InvalidArgumentError(None, None, "Requires delta != 0: 0")
    if (limit - start) * np.sign(delta) < 0:
        signs = ("<=", ">") if delta > 0 else (">=", "<")
        text = "Requires start {} limit when delta {} 0: {}/{}".format(*signs, start, limit)
        raise InvalidArgumentError(None, None, text)
    count = max(0, math.ceil((limit.item() - start.item()) / delta.item()))
    return np.asarray(start + np.arange(count, dtype=start.dtype) * delta, start.dtype)


def _lin_space_shape(i: Inference) -> TensorShape:
    count = folded_value(i.inputs[2])
    return TensorShape([None if count is None else int(count)])


@op(
    "LinSpace(start: T, stop: T, num: Tidx; T in float, Tidx=int32) -> output: T",
    shape=_lin_space_shape,
)
def _lin_space(start: Array, stop: Array, num: Array) -> Array:
    return np.linspace(start, stop, int(num), dtype=start.dtype)


def _one_hot_shape(i: Inference) -> TensorShape:
    depth = folded_value(i.inputs[1])
    if i.shape(0).rank is None:
        return UNKNOWN
    dims = i.shape(0).as_list()
    axis = i.attributes["axis"]
    if depth is not None and depth < 0:
        raise ValueError(
            f"Dimension size, given by scalar input 1, must be non-negative but is {depth}"
        )
    dims.insert(len(dims) if axis == -1 else axis, None if depth is None else int(depth))
    return TensorShape(dims)


@op(
    "OneHot(indices: TI, depth: int32, on_value: T, off_value: T; axis=-1, TI=int64, TI in uint8 "
    "int8 int32 int64) -> output: T",
    shape=_one_hot_shape,
)
def _one_hot(indices: Array, depth: Array, on_value: Array, off_value: Array, axis: int) -> Array:
    if not -1 <= axis <= indices.ndim:
        text = f"Expected axis to be -1 or between [0, {indices.ndim + 1}).  But received: {axis}"
        raise InvalidArgumentError(None, None, text)
    if depth.ndim:
        text = f"depth must be a scalar, but got: {dims_text(depth.shape)}"
        raise InvalidArgumentError(None, None, text)
    if depth < 0:
        raise InvalidArgumentError(None, None, f"depth must be non-negative, got: {depth}")
    hot = np.expand_dims(indices, axis) == np.arange(int(depth)).reshape(
        [-1 if k == (axis % (indices.ndim + 1)) else 1 for k in range(indices.ndim + 1)]
    )
    return np.where(hot, on_value, off_value)


@op("InvertPermutation(x: T; T=int32) -> y: T", shape=lambda i: i.shape_of_rank(0, 1))
def _invert_permutation(x: Array) -> Array:
    result = np.full(x.shape, -1, x.dtype)
    if x.size and (x.min() < 0 or x.max() >= x.size):
        outside = x[(x < 0) | (x >= x.size)][0]
        raise InvalidArgumentError(None, None, f"{outside} is not between 0 and {x.size}")
    result[x] = np.arange(x.size, dtype=x.dtype)
    return result


# -- broadcasting


def _broadcast_to_shape(i: Inference) -> TensorShape:
    source, target = i.shape(0), constant_shape(i.inputs[1])
    if source.rank is None or target.rank is None:
        return target
    for have, want in zip(reversed(source.as_list()), reversed(target.as_list()), strict=False):
        if have not in (None, 1, want) and want is not None:
            raise ValueError(f"Dimensions must be equal, but are {have} and {want}")
    return target


@op(
    "BroadcastTo(input: T, shape: Tidx; Tidx=int32) -> output: T",
    shape=_broadcast_to_shape,
)
def _broadcast_to(input: Array, shape: Array) -> Array:
    try:
        return np.array(np.broadcast_to(input, tuple(shape)))
    except ValueError:
        text = f"Incompatible shapes: {_text(input.shape)} vs. {_text(shape)}"
        raise InvalidArgumentError(None, None, text) from None


@gradient("BroadcastTo")
def _broadcast_to_gradient(record: OpRecord, grad: Any) -> list[Any]:
    value, target = record.inputs
    shape = lib.shape(value, out_type=target.dtype)
    wanted: Any = target
    if not isinstance(target, EagerTensor):
        known = folded_value(target)
        if known is not None:
            wanted = constant([int(dim) for dim in known], target.dtype)
    _, axes = broadcast_gradient_args(wanted, shape)
    return [lib.reshape(reductions.reduce_sum(grad, axes, keepdims=True), shape), None]
