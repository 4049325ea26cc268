"""Pieces of tensors: StridedSlice, Slice, and where they go back to: StridedSliceGrad.

Told about: `core/kernels/strided_slice_op.cc`, `core/util/strided_slice_op.cc`,
`python/ops/array_grad.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape, constant_value, folded_value
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library import slicing as lib
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op, unknown_shape
from tflogscope.runtime.ops.state import value_of
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.resources import Resource
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

Array = NDArray[Any]
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _keys(begin: Any, end: Any, strides: Any, masks: dict[str, int]) -> list[Any]:
    """What StridedSlice was told, as it would stand between brackets; unknown limits are None."""
    keys: list[Any] = []
    for k in range(len(begin)):
        bit = 1 << k
        if masks["ellipsis_mask"] & bit:
            keys.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            keys.append(None)
        elif masks["shrink_axis_mask"] & bit:
            keys.append(int(begin[k]))
        else:
            first = None if masks["begin_mask"] & bit else int(begin[k])
            last = None if masks["end_mask"] & bit else int(end[k])
            keys.append(slice(first, last, int(strides[k])))
    return keys


def _strided_slice_shape(i: Inference) -> TensorShape:
    begin, end, strides = (folded_value(each) for each in i.inputs[1:4])
    masks = {name: i.attributes[name] for name in _MASKS}
    if i.shape(0).rank is None or begin is None or end is None or strides is None:
        return _unknown_limits(i, masks)
    keys = _keys(begin, end, strides, masks)
    dims = i.shape(0).as_list()
    _check_bounds(keys, dims)
    return TensorShape(_dimensions_of(keys, dims))


def _unknown_limits(i: Inference, masks: dict[str, int]) -> TensorShape:
    """Without the limits the number of entries still tells the rank."""
    count = i.inputs[1].shape[0] if i.inputs[1].shape.rank == 1 else None
    rank = i.shape(0).rank
    if rank is None or count is None:
        return UNKNOWN
    dims: list[int | None] = []
    source = iter(i.shape(0).as_list())
    for k in range(count):
        bit = 1 << k
        if masks["ellipsis_mask"] & bit:
            used = sum(1 for j in range(count) if j != k and not masks["new_axis_mask"] & (1 << j))
            dims += [next(source) for _ in range(rank - used)]
        elif masks["new_axis_mask"] & bit:
            dims.append(1)
        elif masks["shrink_axis_mask"] & bit:
            next(source)
        else:
            whole = next(source)
            both = masks["begin_mask"] & masks["end_mask"] & bit
            dims.append(whole if both and _is_one(i, k) else None)
    return TensorShape(dims + list(source))


def _is_one(i: Inference, position: int) -> bool:
    strides = folded_value(i.inputs[3])
    return strides is not None and int(strides[position]) == 1


_PROBES = (10**6, 10**6 + 7, 0)
"""Sizes for an unknown dimension: even `x[:2]` may be shorter than that."""


def _dimensions_of(keys: list[Any], dims: list[int | None]) -> list[int | None]:
    """The shape of `x[keys]`, where a dimension of x may be unknown."""
    dims = list(dims)
    for at, key in _placed(keys, len(dims)):
        if isinstance(key, int) and dims[at] is None:
            dims[at] = abs(key) + 1  # it goes away, whatever its size
    shapes = []
    for unknown in _PROBES:
        sizes = [unknown if dim is None else dim for dim in dims]
        shapes.append(np.broadcast_to(np.int8(0), sizes)[tuple(keys)].shape)
    return [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)]


def _placed(keys: list[Any], rank: int) -> Iterator[tuple[int, Any]]:
    """Each key with the dimension that it is for."""
    positions = iter(range(rank))
    for place, key in enumerate(keys):
        if key is Ellipsis:
            after = sum(1 for each in keys[place + 1 :] if each is not None)
            positions = iter(range(rank - after, rank))
        elif key is not None:
            yield next(positions), key


def _check_bounds(keys: list[Any], dims: list[int | None]) -> None:
    """Raise ValueError for a single index outside of its dimension, or too many of them."""
    if sum(1 for key in keys if key is Ellipsis) > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed")
    real = [key for key in keys if key is not None and key is not Ellipsis]
    if len(real) > len(dims):
        raise ValueError(
            f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims"
        )
    for at, key in _placed(keys, len(dims)):
        dim = dims[at]
        if isinstance(key, int) and dim is not None and not -dim <= key < dim:
            raise ValueError(f"slice index {key} of dimension {at} out of bounds.")


@op(
    "StridedSlice(input: T, begin: Index, end: Index, strides: Index; Index in int16 int32 "
    "int64, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0) -> "
    "output: T",
    shape=_strided_slice_shape,
)
def _strided_slice(
    input: Array, begin: Array, end: Array, strides: Array, **attributes: Any
) -> Array:
    keys = _keys(begin, end, strides, attributes)
    for at, stride in enumerate(strides):
        if stride == 0:
            raise InvalidArgumentError(None, None, f"strides[{at}] must be non-zero")
    try:
        _check_bounds(keys, list(input.shape))
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    return np.array(input[tuple(keys)])


@op(
    "ResourceStridedSliceAssign(ref: resource, begin: Index, end: Index, strides: Index, value: T;"
    " Index in index, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,"
    " shrink_axis_mask=0)",
    shape=unknown_shape,
    stateful=True,
)
def _assign(
    ref: Resource, begin: Array, end: Array, strides: Array, value: Array, **attributes: Any
) -> None:
    with ref.lock:
        changed = value_of(ref).copy()
        changed[tuple(_keys(begin, end, strides, attributes))] = value
        ref.value = changed


@gradient("StridedSlice")
def _strided_slice_gradient(record: OpRecord, grad: Any) -> list[Any]:
    begin = record.inputs[1]
    shape = arrays.shape(record.inputs[0], out_type=begin.dtype)
    limits = [_static_or_self(each) for each in (shape, *record.inputs[1:4])]
    masks = {name: record.get_attr(name) for name in _MASKS}
    return [call("StridedSliceGrad", *limits, grad, **masks), None, None, None]


def _static_or_self(tensor: Any) -> Any:
    value = constant_value(tensor)
    return tensor if value is None else value


@op(
    "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T; Index in "
    "index, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0) -> "
    "output: T",
    shape=lambda i: constant_shape(i.inputs[0]),
)
def _strided_slice_grad(
    shape: Array, begin: Array, end: Array, strides: Array, dy: Array, **attributes: Any
) -> Array:
    """Zeros, with `dy` where the slice was taken."""
    result = np.zeros(tuple(shape), dy.dtype)
    result[tuple(_keys(begin, end, strides, attributes))] = dy
    return result


@gradient("StridedSliceGrad")
def _strided_slice_grad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    masks = {name: record.get_attr(name) for name in _MASKS}
    begin, end, strides = record.inputs[1:4]
    return [None, None, None, None, lib.strided_slice(grad, begin, end, strides, **masks)]


# -- a box


def _slice_shape(i: Inference) -> TensorShape:
    sizes, begin = constant_shape(i.inputs[2]), folded_value(i.inputs[1])
    if sizes.rank is None or i.shape(0).rank is None:
        return sizes
    known = folded_value(i.inputs[2])
    dims = []
    for k, (size, whole) in enumerate(zip(sizes.as_list(), i.shape(0).as_list(), strict=True)):
        rest = size is None and known is not None and begin is not None and whole is not None
        dims.append(whole - int(begin[k]) if rest else size)  # type: ignore[index, operator]
    return TensorShape(dims)


@op("Slice(input: T, begin: Index, size: Index; Index in index) -> output: T", shape=_slice_shape)
def _slice(input: Array, begin: Array, size: Array) -> Array:
    keys = []
    for k, (first, count, whole) in enumerate(zip(begin, size, input.shape, strict=True)):
        last = whole if count == -1 else int(first) + int(count)
        if not 0 <= first <= whole:
            raise InvalidArgumentError(
                None, None, f"Expected begin[{k}] in [0, {whole}], but got {int(first)}"
            )
        if not first <= last <= whole:
            raise InvalidArgumentError(
                None, None, f"Expected size[{k}] in [0, {whole - int(first)}], but got {int(count)}"
            )
        keys.append(slice(int(first), last))
    return input[tuple(keys)].copy()


@gradient("Slice")
def _slice_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """The gradient, padded with zeros to the whole."""
    x, begin, _ = record.inputs
    rank = arrays.rank(x)
    size = arrays.shape(record.outputs[0], out_type=begin.dtype)
    shape = stack([rank, 1])
    before = arrays.reshape(begin, shape)
    after = arrays.reshape(arrays.shape(x, out_type=begin.dtype) - size - begin, shape)
    return [call("Pad", grad, concat([before, after], 1)), None, None]
