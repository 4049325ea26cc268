"""Constants, shapes, moving and joining. See `core/ops/array_ops.cc`,
`tensorflow/python/ops/array_grad.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.known import known_shape, known_value
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape, known, merged
from tflogscope.runtime.library import arrays as lib
from tflogscope.runtime.library.matrices import transpose
from tflogscope.runtime.library.numbers import reduce_sum
from tflogscope.runtime.library.slices import dense
from tflogscope.runtime.ops.rules import agreed, invalid, known_int, same, scalar, stretched

_PASS = lambda op, g: [g]  # noqa: E731 - a row of the table

# -- constants, and values handed on


def _unfed() -> Any:
    raise invalid("You must feed a value for placeholder tensor")


_GIVEN = lambda i: TensorShape(i["shape"])  # noqa: E731
op("Const(; value, dtype) -> output: dtype", lambda i: TensorShape(np.shape(i["value"])),
   lambda value: value)  # fmt: skip
op("Placeholder(; dtype, shape=None) -> output: dtype", _GIVEN, _unfed)
op("Identity(input: T) -> output: T", same, lambda x: x, _PASS)
op("IdentityN(input: list(T)) -> output: list(T)", lambda i: [each.shape for each in i.inputs],
   lambda *values: values, lambda op, *grads: list(grads))  # fmt: skip
op("StopGradient(input: T) -> output: T", same, lambda x: x)
op("Snapshot(input: T) -> output: T", same, lambda x: x)
op("NoOp()", lambda _: [], lambda: None)


def _ranks(i: Inference) -> list[TensorShape]:
    return [TensorShape([each.shape.rank]) for each in i.inputs]


op("Shape(input: T; out_type=int32) -> output: out_type", _ranks,
   lambda x: np.array(np.shape(x)))  # fmt: skip
op("ShapeN(input: N*T; out_type=int32) -> output: N*out_type", _ranks,
   lambda *inputs: [np.shape(each) for each in inputs])  # fmt: skip
op("Size(input: T; out_type=int32) -> output: out_type", scalar, np.size)
op("Rank(input: T) -> output: int32", scalar, np.ndim)
op("BroadcastGradientArgs(s0: T, s1: T) -> r0: T, r1: T", lambda _: [TensorShape([None])] * 2,
   stretched)  # fmt: skip

# -- another shape for the same elements


def _reshaped(i: Inference) -> TensorShape:
    wanted, before = known_shape(i.inputs[1]), i.shape(0)
    if wanted.dims is None or before.dims is None:
        return wanted
    free = [at for at, dim in enumerate(wanted.dims) if dim is None]
    size = math.prod(dim for dim in wanted.dims if dim is not None and dim >= 0)
    sizes = [dim for dim in before.dims if dim is not None and dim >= 0]
    unknown = [dim for dim in before.dims if not known(dim)]
    if len(unknown) == len(free) == 1 and math.prod(sizes) == size:  # then it is the same dimension
        return TensorShape([unknown[0] if dim is None else dim for dim in wanted.dims])
    if unknown or any(dim is not None and dim < 0 for dim in wanted.dims):
        return wanted
    count = math.prod(sizes)
    if (not free and size != count) or (len(free) == 1 and size and count % size):
        raise ValueError(f"Cannot reshape a tensor with {count} elements to shape {wanted}")
    if len(free) == 1 and size:
        return TensorShape([count // size if dim is None else dim for dim in wanted.dims])
    return wanted


def _back(op: Any, g: Any) -> list[Any]:
    """The gradient in the shape of the input."""
    return [lib.reshape(dense(g), lib.shape(op.inputs[0]))] + [None] * (len(op.inputs) - 1)


def _expanded(i: Inference) -> TensorShape:
    at, dims = known_int(i.inputs[1]), i.shape(0).dims
    if dims is None or at is None:
        return UNKNOWN
    at = at if at >= 0 else at + len(dims) + 1
    return TensorShape([*dims[:at], 1, *dims[at:]])


def _squeezed(i: Inference) -> TensorShape:
    dims, axes = i.shape(0).dims, i["squeeze_dims"]
    if dims is None or (not axes and not all(map(known, dims))):
        return UNKNOWN
    chosen = {axis % len(dims) for axis in axes} or {k for k, dim in enumerate(dims) if dim == 1}
    return TensorShape([dim for k, dim in enumerate(dims) if k not in chosen])


op("Reshape(tensor: T, shape: Tshape; Tshape=int32) -> output: T", _reshaped,
   lambda tensor, shape: tensor.reshape(shape.ravel()), _back)  # fmt: skip
op("ExpandDims(input: T, dim: Tdim; Tdim=int32) -> output: T", _expanded,
   lambda x, dim: np.expand_dims(x, int(np.ravel(dim)[0])), _back)  # fmt: skip
op("Squeeze(input: T; squeeze_dims=[]) -> output: T", _squeezed,
   lambda x, squeeze_dims: np.squeeze(x, tuple(squeeze_dims) or None), _back)  # fmt: skip


def _ensured(x: Any, shape: Any) -> Any:
    if not shape.is_compatible_with(x.shape):
        raise invalid(f"Shape {list(x.shape)} is not compatible with expected shape {shape}.")
    return x


op("EnsureShape(input: T; shape) -> output: T", lambda i: i.shape(0).merge_with(i["shape"]),
   _ensured, _PASS)  # fmt: skip

# -- filled tensors


def _range_shape(i: Inference) -> TensorShape:
    values = [known_value(each) for each in i.inputs]
    if any(value is None for value in values):
        return TensorShape([None])
    start, limit, delta = (value.item() for value in values)
    return TensorShape([max(0, math.ceil((limit - start) / delta))])


def _one_hot(indices: Any, depth: Any, on: Any, off: Any) -> Any:
    return np.where(indices[..., None] == np.arange(depth), on, off)


def _like(i: Inference) -> Any:
    handle = i.inputs[0].handle_data
    return i.shape(0) if handle is None else [(i.shape(0), handle)]


def _zeros_like(x: Any) -> Any:
    if not isinstance(x, np.ndarray):  # a list of tensors makes its own zeros
        return x.zeros_like()
    return np.full(x.shape, b"", object) if x.dtype == object else np.zeros_like(x)


op("Fill(dims: index_type, value: T; index_type=int32) -> output: T",
   lambda i: known_shape(i.inputs[0]), lambda dims, value: np.full(tuple(dims), value[()]),
   lambda op, g: [None, reduce_sum(g)])  # fmt: skip
op("ZerosLike(x: T) -> y: T", _like, _zeros_like)
op("Range(start: Tidx, limit: Tidx, delta: Tidx; Tidx=int32) -> output: Tidx", _range_shape,
   np.arange)  # fmt: skip
op("OneHot(indices: TI, depth: int32, on_value: T, off_value: T; axis=-1, TI=int64) -> output: T",
   lambda i: i.shape(0).concatenate([known_int(i.inputs[1])]), _one_hot)  # fmt: skip


# -- broadcasting, tiling, turning


def _broadcast_gradient(op: Any, g: Any) -> list[Any]:
    x, shape = op.inputs
    x_shape = lib.shape(x, shape.dtype)
    axes, _ = O.BroadcastGradientArgs(x_shape, shape)
    return [lib.reshape(reduce_sum(g, axes, keepdims=True), x_shape), None]


def _tiled(i: Inference) -> TensorShape:
    dims, times = i.shape(0).dims, known_shape(i.inputs[1]).dims
    if dims is None or times is None:
        return TensorShape(None if times is None else [None] * len(times))
    pairs: Any = zip(dims, times, strict=True)
    return TensorShape(
        [d if t == 1 else d * t if known(d) and known(t) else None for d, t in pairs]
    )


def _transposed(i: Inference) -> TensorShape:
    dims, order = i.shape(0).dims, known_value(i.inputs[1])
    if dims is None:
        return TensorShape(None if order is None else [None] * len(order))
    return TensorShape([None] * len(dims) if order is None else [dims[int(k)] for k in order])


def _inverted(x: Any) -> Any:
    result = np.empty_like(x)
    result[x] = np.arange(x.size, dtype=x.dtype)
    return result


op("BroadcastTo(input: T, shape: Tidx; Tidx=int32) -> output: T",
   lambda i: known_shape(i.inputs[1]), lambda x, shape: np.broadcast_to(x, tuple(shape)).copy(),
   _broadcast_gradient)  # fmt: skip
op("Tile(input: T, multiples: Tmultiples; Tmultiples=int32) -> output: T", _tiled,
   lambda x, multiples: np.tile(x, tuple(multiples)))  # fmt: skip
op("Transpose(x: T, perm: Tperm; Tperm=int32) -> y: T", _transposed,
   lambda x, perm: np.transpose(x, perm).copy(),
   lambda op, g: [transpose(g, O.InvertPermutation(op.inputs[1])), None])  # fmt: skip
op("InvertPermutation(x: T) -> y: T", same, _inverted)

# -- joining and splitting


def _concatenated(i: Inference) -> TensorShape:
    shapes = [each.shape for each in i.inputs[:-1]]
    at = known_int(i.inputs[-1])
    rank = next((shape.rank for shape in shapes if shape.rank is not None), None)
    if rank is None or at is None:
        return TensorShape(None if rank is None else [None] * rank)
    at %= rank
    dims = [shape.with_rank(rank).dims or () for shape in shapes]
    rest = TensorShape([*dims[0][:at], *dims[0][at + 1 :]])
    for each in dims[1:]:
        other = TensorShape([*each[:at], *each[at + 1 :]])
        rest.assert_is_compatible_with(other)
        rest = merged(rest, other)
    along = [each[at] for each in dims]
    total = sum(dim or 0 for dim in along) if all(map(known, along)) else None
    kept = rest.dims or ()
    return TensorShape([*kept[:at], total, *kept[at:]])


def _concat_gradient(op: Any, g: Any) -> list[Any]:
    *values, axis = op.inputs
    g = dense(g)
    non_negative = axis % lib.rank(values[0])
    shapes = [lib.shape(each) for each in values]
    if any(each.op.type != "Const" for each in shapes):
        shapes = O.ShapeN(values)
    offsets = O.ConcatOffset(non_negative, shapes)
    return [*(O.Slice(g, at, size) for at, size in zip(offsets, shapes, strict=True)), None]


def _offsets(at: Any, *shapes: Any) -> list[Any]:
    begins = np.cumsum([0, *(shape[int(at)] for shape in shapes[:-1])])
    return [np.where(np.arange(len(shapes[0])) == at, begin, 0) for begin in begins]


def _packed(i: Inference) -> TensorShape:
    dims, at = agreed(i).dims, i["axis"]
    if dims is None:
        return UNKNOWN
    at = at if at >= 0 else at + len(dims) + 1
    return TensorShape([*dims[:at], len(i.inputs), *dims[at:]])


def _unpacked(i: Inference) -> list[TensorShape]:
    if i.shape(0).dims is None:
        return [UNKNOWN] * i["num"]
    dims = list(i.shape(0).dims or ())
    del dims[i["axis"]]
    return [TensorShape(dims)] * i["num"]


def _split_shape(i: Inference) -> list[TensorShape]:
    at, count = known_int(i.inputs[0]), i["num_split"]
    if i.shape(1).dims is None or at is None:
        return [UNKNOWN] * count
    dims = list(i.shape(1).dims or ())
    dims[at] = dims[at] // count if known(dims[at]) else None
    return [TensorShape(dims)] * count


op("ConcatV2(values: N*T, axis: Tidx; Tidx=int32) -> output: T", _concatenated,
   lambda *inputs: np.concatenate(inputs[:-1], int(inputs[-1])), _concat_gradient)  # fmt: skip
op("ConcatOffset(concat_dim: int32, shape: N*int32) -> offset: N*int32",
   lambda i: [each.shape for each in i.inputs[1:]], _offsets)  # fmt: skip
op("Pack(values: N*T; axis=0) -> output: T", _packed,
   lambda *values, axis: np.stack(values, axis),
   lambda op, g: lib.unstack(g, num=op.get_attr("N"), axis=op.get_attr("axis")))  # fmt: skip
op("Unpack(value: T; num, axis=0) -> output: num*T", _unpacked,
   lambda value, num, axis: [np.asarray(each) for each in np.moveaxis(value, axis, 0)],
   lambda op, *grads: [lib.stack(list(grads), axis=op.get_attr("axis"))])  # fmt: skip
op("Split(split_dim: int32, value: T; num_split) -> output: num_split*T", _split_shape,
   lambda axis, value, num_split: np.split(value, num_split, int(axis)),
   lambda op, *grads: [None, lib.concat(list(grads), op.inputs[0])])  # fmt: skip
