"""Putting tensors together and taking them apart: ConcatV2, Pack, Unpack, Split, SplitV.

Told about: `core/ops/array_ops.cc`, `core/ops/data_flow_ops.cc`, `python/ops/array_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_value, folded_value
from tflogscope.runtime.context import executing_eagerly
from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import int32
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.indexed_slices import IndexedSlices, dense
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library import joining as lib
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, merged
from tflogscope.runtime.tensors import EagerTensor, SymbolicTensor

Array = NDArray[Any]


def _refuse(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


# -- concat


def _concat_shape(i: Inference) -> TensorShape:
    """Told about: `ConcatShapeHelper` of `core/framework/common_shape_fns.cc`."""
    axis = folded_value(i.inputs[-1])
    shapes = [each.shape for each in i.inputs[:-1]]
    rank = next((shape.rank for shape in shapes if shape.rank is not None), None)
    if rank is None:
        return UNKNOWN
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    shapes = [shape.with_rank(rank) if shape.rank is None else shape for shape in shapes]
    if axis is None:
        return TensorShape([None] * rank)
    at = int(axis)
    needed = -at if at < 0 else at + 1
    if rank < needed:
        raise ValueError(f"Shape must be at least rank {needed} but is rank {rank}")
    first = shapes[0].as_list()
    at = at if at >= 0 else at + len(first)
    total: int | None = 0
    rest = TensorShape(first[:at] + first[at + 1 :])
    for shape in shapes:
        dims = shape.as_list()
        rest = merged(rest, TensorShape(dims[:at] + dims[at + 1 :]))
        total = None if total is None or dims[at] is None else total + dims[at]  # type: ignore[operator]
    sizes = rest.as_list()
    return TensorShape([*sizes[:at], total, *sizes[at:]])


def _text(shape: Any) -> str:
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"


@op("ConcatV2(values: N*T, axis: Tidx; Tidx=int32) -> output: T", shape=_concat_shape)
def _concat(*inputs: Array) -> Array:
    *values, axis = inputs
    at = int(axis)
    if not values[0].ndim:
        raise _refuse("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -values[0].ndim <= at < values[0].ndim:
        raise _refuse(
            f"ConcatOp : Expected concatenating dimensions in the range [{-values[0].ndim}, "
            f"{values[0].ndim}), but got {at}"
        )
    try:
        return np.concatenate(values, at)
    except ValueError:
        raise _concat_error(values, at % values[0].ndim) from None


def _concat_error(values: list[Array], at: int) -> InvalidArgumentError:
    first = values[0].shape
    for number, value in enumerate(values):
        shapes = f"shape[0] = {_text(first)} vs. shape[{number}] = {_text(value.shape)}"
        if value.ndim != len(first):
            return _refuse(f"ConcatOp : Ranks of all input tensors should match: {shapes}")
        for dim in range(len(first)):
            if dim != at and value.shape[dim] != first[dim]:
                return _refuse(f"ConcatOp : Dimension {dim} in both shapes must be equal: {shapes}")
    return _refuse("ConcatOp : inputs do not fit")


@gradient("ConcatV2")
def _concat_gradient(record: OpRecord, grad: Any) -> list[Any]:
    *values, axis = record.inputs
    if len(values) == 1:
        return [grad, None]
    if isinstance(grad, IndexedSlices):
        grad = dense(grad)
    known = constant_value(axis)
    if known is not None and (executing_eagerly() or isinstance(axis, EagerTensor)):
        at = int(known) % len(values[0].shape)
        sizes_along = np.array([value.shape[at] for value in values], np.int32)
        return [*lib.split(grad, EagerTensor(sizes_along, int32, CPU), at), None]
    at_tensor = axis % arrays.rank(values[0])
    sizes = _sizes(values)
    offsets = results("ConcatOffset", at_tensor, sizes)
    pairs = zip(offsets, sizes, strict=True)
    return [*(call("Slice", grad, begin, size) for begin, size in pairs), None]


def _sizes(values: list[Any]) -> list[Any]:
    """The shapes of the inputs, each a constant if all are known; else by one op."""
    sizes = []
    for value in values:
        size = arrays.shape(value)
        if not isinstance(size, SymbolicTensor) or size.op.type != "Const":
            return arrays.shape_n(values)
        sizes.append(size)
    return sizes


@op(
    "ConcatOffset(concat_dim: int32, shape: N*int32) -> offset: N*int32",
    shape=lambda i: [each.shape for each in i.inputs[1:]],
)
def _concat_offset(concat_dim: Array, *shapes: Array) -> list[Array]:
    """Where each input begins in the output."""
    at, begin, offsets = int(concat_dim), 0, []
    for shape in shapes:
        offset = np.zeros_like(shape)
        offset[at] = begin
        begin += int(shape[at])
        offsets.append(offset)
    return offsets


not_differentiable("ConcatOffset")

# -- pack and unpack


def _pack_shape(i: Inference) -> TensorShape:
    shape = i.shape(0)
    for each in i.inputs[1:]:
        shape = _merged_exactly(shape, each.shape)
    if shape.rank is None:
        return UNKNOWN
    dims = shape.as_list()
    at = i.attributes["axis"]
    dims.insert(at if at >= 0 else at + len(dims) + 1, len(i.inputs))
    return TensorShape(dims)


def _merged_exactly(first: TensorShape, second: TensorShape) -> TensorShape:
    if first.rank is not None and second.rank is not None and first.rank != second.rank:
        raise ValueError(
            f"Shapes must be equal rank, but are {first.rank} and {second.rank}\n\tFrom merging "
            "shape 0 with other shapes."
        )
    try:
        return merged(first, second)
    except ValueError as error:
        raise ValueError(f"{error}\n\tFrom merging shape 0 with other shapes.") from None


@op("Pack(values: N*T; axis=0) -> output: T", shape=_pack_shape)
def _pack(*values: Array, axis: int) -> Array:
    for number, value in enumerate(values):
        if value.shape != values[0].shape:
            raise _refuse(
                f"Shapes of all inputs must match: values[0].shape = {_text(values[0].shape)} != "
                f"values[{number}].shape = {_text(value.shape)}"
            )
    rank = values[0].ndim + 1
    if not -rank <= axis < rank:
        raise _refuse(f"axis = {axis} not in [{-rank}, {rank})")
    return np.stack(values, axis)


@gradient("Pack")
def _pack_gradient(record: OpRecord, grad: Any) -> Any:
    return lib.unstack(grad, num=record.get_attr("N"), axis=record.get_attr("axis"))


def _unpack_shape(i: Inference) -> list[TensorShape]:
    number = i.attributes["num"]
    if i.shape(0).rank is None:
        return [UNKNOWN] * number
    dims = i.shape(0).as_list()
    found = dims.pop(i.attributes["axis"])
    if found not in (None, number):
        raise ValueError(f"Dimension must be {number} but is {found}")
    return [TensorShape(dims)] * number


@op("Unpack(value: T; num, axis=0) -> output: num*T", shape=_unpack_shape)
def _unpack(value: Array, num: int, axis: int) -> list[Array]:
    if value.shape[axis] != num:
        raise _refuse(f"Input shape axis {axis} must equal {num}, got shape {_text(value.shape)}")
    return [np.asarray(each) for each in np.moveaxis(value, axis, 0)]


@gradient("Unpack")
def _unpack_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    return [lib.stack(list(grads), axis=record.get_attr("axis"))]


# -- split


def _split_shape(i: Inference) -> list[TensorShape]:
    number, axis = i.attributes["num_split"], folded_value(i.inputs[0])
    shape = i.shape(1)
    if axis is None or shape.rank is None:
        return [UNKNOWN if shape.rank is None else TensorShape([None] * shape.rank)] * number
    dims = shape.as_list()
    whole = dims[int(axis)]
    if whole is not None and whole % number:
        raise ValueError(
            f"Dimension size must be evenly divisible by {number} but is {whole}\n\tNumber of ways "
            "to split should evenly divide the split dimension"
        )
    dims[int(axis)] = None if whole is None else whole // number
    return [TensorShape(dims)] * number


@op("Split(split_dim: int32, value: T; num_split) -> output: num_split*T", shape=_split_shape)
def _split(split_dim: Array, value: Array, num_split: int) -> list[Array]:
    at = int(split_dim)
    if value.shape[at] % num_split:
        raise _refuse(
            "Number of ways to split should evenly divide the split dimension, but got split_dim "
            f"{at} (size = {value.shape[at]}) and num_split {num_split}"
        )
    return [part.copy() for part in np.split(value, num_split, at)]


@gradient("Split")
def _split_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    return [None, lib.concat(list(grads), record.inputs[0])]


def _split_v_shape(i: Inference) -> list[TensorShape]:
    number, axis, sizes = (
        i.attributes["num_split"],
        folded_value(i.inputs[2]),
        folded_value(i.inputs[1]),
    )
    shape = i.shape(0)
    if axis is None or shape.rank is None:
        return [UNKNOWN if shape.rank is None else TensorShape([None] * shape.rank)] * number
    whole = shape[int(axis)]
    known = [None if sizes is None or sizes[k] == -1 else int(sizes[k]) for k in range(number)]
    if whole is not None and sizes is not None:
        total, free = sum(size or 0 for size in known), known.count(None)
        if total > whole or (not free and total < whole):
            pieces = "[" + ",".join(str(size) for size in sizes) + "]"
            raise ValueError(f"can't split axis of size {whole} into pieces of size {pieces}")
        if free == 1:
            known[known.index(None)] = whole - total
    found = []
    for size in known:
        dims = shape.as_list()
        dims[int(axis)] = size
        found.append(TensorShape(dims))
    return found


@op(
    "SplitV(value: T, size_splits: Tlen, split_dim: int32; num_split, Tlen=int64) -> output: "
    "num_split*T",
    shape=_split_v_shape,
)
def _split_v(value: Array, size_splits: Array, split_dim: Array) -> list[Array]:
    at, sizes = int(split_dim), [int(size) for size in size_splits]
    if -1 in sizes:
        sizes[sizes.index(-1)] = value.shape[at] - sum(size for size in sizes if size != -1)
    if sum(sizes) != value.shape[at]:
        raise _refuse(
            "Determined shape must either match input shape along split_dim exactly if fully "
            "specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {sum(sizes)}"
        )
    return [part.copy() for part in np.split(value, np.cumsum(sizes)[:-1], at)]


@gradient("SplitV")
def _split_v_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    return [lib.concat(list(grads), record.inputs[2]), None, None]
