"""Slices by their indices: GatherV2, GatherNd, ScatterNd, TensorScatterAdd, sorted search.

Told about: `core/kernels/gather_op.cc`, `core/kernels/scatter_nd_op.cc`,
`python/ops/array_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_shape, constant_value, folded_value
from tflogscope.runtime.context import executing_eagerly
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.indexed_slices import IndexedSlices, dense
from tflogscope.runtime.library import arrays, slicing
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.library.linalg import transpose
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, dims_text
from tflogscope.runtime.tensors import Tensor

Array = NDArray[Any]


def check_indices(indices: Array, size: int) -> None:
    """Raise InvalidArgumentError for an index outside of [0, size)."""
    bad = (indices < 0) | (indices >= size)
    if np.any(bad):
        where = tuple(int(k) for k in np.argwhere(bad)[0])
        place = f"[{','.join(map(str, where))}]" if where else ""
        raise InvalidArgumentError(
            None, None, f"indices{place} = {indices[where]} is not in [0, {size})"
        )


def _gather_shape(i: Inference) -> TensorShape:
    axis, batch = folded_value(i.inputs[2]), i.attributes["batch_dims"]
    params, indices = i.shape(0), i.shape(1)
    if axis is None or params.rank is None or indices.rank is None:
        return UNKNOWN
    least = int(axis) + 1 if axis >= 0 else -int(axis)
    if params.rank < least:
        raise ValueError(f"Shape must be at least rank {least} but is rank {params.rank}")
    at = int(axis) % params.rank
    if batch < 0:
        batch += indices.rank
    return params[:at].concatenate(indices[batch:]).concatenate(params[at + 1 :])


@op(
    "GatherV2(params: Tparams, indices: Tindices, axis: Taxis; batch_dims=0, Tindices in int16 "
    "int32 int64, Taxis in index) -> output: Tparams",
    shape=_gather_shape,
)
def _gather(params: Array, indices: Array, axis: Array, batch_dims: int) -> Array:
    at = int(axis)
    if not -params.ndim <= at < params.ndim:
        least = at + 1 if at >= 0 else -at
        text = f"Shape must be at least rank {least} but is rank {params.ndim}"
        raise InvalidArgumentError(None, None, text)
    at %= params.ndim
    check_indices(indices, params.shape[at])
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not batch:
        return np.take(params, indices, axis=at)
    rows = [
        _gather(a, b, np.array(at - 1), batch - 1) for a, b in zip(params, indices, strict=True)
    ]
    return np.stack(rows)


@gradient("GatherV2")
def _gather_gradient(record: OpRecord, grad: Any) -> list[Any]:
    params, indices, axis = record.inputs
    if since(2, 15):
        shape = arrays.shape(params)
    else:
        shape = cast(arrays.shape(params, out_type=dtypes.int64), dtypes.int32)
    count = arrays.expand_dims(arrays.size(indices), 0)
    known = constant_value(axis)
    batch = int(record.get_attr("batch_dims"))
    if batch < 0:
        batch += len(indices.shape)
    if known is not None and int(known) == 0:
        tail = (arrays.identity(shape) if executing_eagerly() else shape)[1:]
        values = arrays.reshape(dense(grad), concat([count, tail], 0))
        return [IndexedSlices(values, arrays.reshape(indices, count), shape), None, None]
    found = _gather_gradient_along(shape, indices, axis, batch, grad)
    if since(2, 15):
        found = arrays.reshape(found, arrays.shape(params))
    return [found, None, None]


def _gather_gradient_along(
    shape: Tensor, indices: Tensor, axis: Any, batch: int, grad: Any
) -> Tensor:
    """Along another axis than the first: turned so that it is, summed by index, and turned back."""
    outer, inner = shape[:axis], shape[axis:][1:]
    values_shape = concat([outer, [-1], inner], 0)
    all_dims, outer_dims = arrays.size(values_shape), arrays.size(outer)
    batches = arrays.range(batch)
    between = arrays.range(batch, outer_dims)
    inner_dims = arrays.range(outer_dims + 1, all_dims)
    values = arrays.reshape(dense(grad), values_shape)
    forth = concat([batches, [outer_dims], between, inner_dims], 0)
    turned = transpose(values, forth)
    turned_shape = slicing.gather(shape, forth)
    summed = _batch_gather_gradient(turned_shape, turned, indices, batch, shape[axis])
    back = concat([batches, between + 1, [batch], inner_dims], 0)
    return transpose(summed, back)


def _batch_gather_gradient(
    shape: Tensor, values: Tensor, indices: Tensor, batch: int, size: Any
) -> Tensor:
    count = arrays.expand_dims(arrays.size(indices), 0)
    if batch:
        values_shape = arrays.shape(values)
        outer, inner = values_shape[:batch], values_shape[batch:][1:]
        batches = call("Prod", outer, [0], keep_dims=False)
        flat = concat([[-1], inner], 0)
        size = size * batches
        indices = _batch_indices(shape, indices, batch)
        values = arrays.reshape(values, flat)
    indices = arrays.reshape(indices, count)
    summed = call("UnsortedSegmentSum", values, indices, size)
    return arrays.reshape(summed, concat([outer, flat], 0)) if batch else summed


def _batch_indices(shape: Tensor, indices: Tensor, batch: int) -> Tensor:
    """Indices into the flat tensor, where each batch has its own part."""
    result = indices
    dims = cast(shape, indices.dtype)
    factor = arrays.ones((), indices.dtype)
    for dim in range(batch, 0, -1):
        size = dims[dim - 1]
        factor = factor * dims[dim]
        start, step = arrays.zeros((), indices.dtype), arrays.ones((), indices.dtype)
        offsets = arrays.range(start, size, step) * factor
        ones = call("Tile", [1], [dim - 1]), call("Tile", [1], [arrays.rank(indices) - dim])
        result = result + arrays.reshape(offsets, concat([ones[0], [size], ones[1]], axis=0))
    return result


def _gather_nd_shape(i: Inference) -> TensorShape:
    params, indices = i.shape(0), i.shape(1)
    if params.rank is None or indices.rank is None or indices[-1] is None:
        return UNKNOWN
    return indices[:-1].concatenate(params[indices[-1] :])


@op(
    "GatherNd(params: Tparams, indices: Tindices; Tindices in int16 int32 int64) -> output: "
    "Tparams",
    shape=_gather_nd_shape,
)
def _gather_nd(params: Array, indices: Array) -> Array:
    check_coordinates(indices, params.shape, "param shape", ", node name: GatherNd")
    return np.asarray(params[tuple(np.moveaxis(indices, -1, 0))])


def check_coordinates(
    indices: Array, shape: tuple[int, ...], what: str = "shape", where_from: str = ""
) -> None:
    """Raises InvalidArgumentError for coordinates outside of that shape."""
    limits = np.array(shape[: indices.shape[-1]])
    bad = np.any((indices < 0) | (indices >= limits), axis=-1)
    if np.any(bad):
        where = tuple(int(k) for k in np.argwhere(bad)[0])
        place = "".join(f"[{k}]" for k in where[:1]) if where else ""
        found = ", ".join(str(int(k)) for k in indices[where])
        raise InvalidArgumentError(
            None,
            None,
            f"indices{place} = [{found}] does not index into {what} "
            f"[{','.join(map(str, shape))}]{where_from}",
        )


@gradient("GatherNd")
def _gather_nd_gradient(record: OpRecord, grad: Any) -> list[Any]:
    params, indices = record.inputs
    shape = arrays.shape(params, out_type=indices.dtype)
    if indices.shape.rank == 2 and indices.shape[-1] == 1:
        return [IndexedSlices(grad, arrays.squeeze(indices, axis=-1), shape), None]
    return [call("ScatterNd", indices, grad, shape), None]


def _scattered_shape(i: Inference) -> TensorShape:
    """Told about: `ScatterNdShapeHelper` of `core/framework/common_shape_fns.cc`."""
    indices, updates, shape = i.shape(0), i.shape(1), constant_shape(i.inputs[2])
    if indices.rank and updates.rank is not None:
        outer = indices.rank - 1
        one, other = indices[:-1], updates[:outer]
        if one.rank == other.rank and not one.is_compatible_with(other):
            pairs = enumerate(zip(one, other, strict=True))
            at, (a, b) = next(
                (k, pair) for k, pair in pairs if None not in pair and len({*pair}) > 1
            )
            texts = [dims_text("?" if d is None else d for d in s) for s in (one, other)]
            whole = [dims_text("?" if d is None else d for d in s) for s in (indices, updates)]
            raise ValueError(
                f"Dimensions [0,{outer}) of indices[shape={whole[0]}] = {texts[0]} must match "
                f"dimensions [0,{outer}) of updates[shape={whole[1]}] = {texts[1]}: Dimension {at} "
                f"in both shapes must be equal, but are {a} and {b}. Shapes are {texts[0]} and "
                f"{texts[1]}."
            )
    return shape


@op(
    "ScatterNd(indices: Tindices, updates: T, shape: Tindices; Tindices in int16 int32 int64) -> "
    "output: T",
    shape=_scattered_shape,
)
def _scatter_nd(indices: Array, updates: Array, shape: Array) -> Array:
    result = np.zeros(tuple(shape), updates.dtype)
    outer = indices.ndim - 1
    if indices.shape[:-1] != updates.shape[:outer]:
        text = (
            f"Dimensions [0,{outer}) of indices[shape={dims_text(indices.shape)}] must match "
            f"dimensions [0,{outer}) of updates[shape={dims_text(updates.shape)}]"
        )
        raise InvalidArgumentError(None, None, text)
    check_coordinates(indices, result.shape)
    np.add.at(result, tuple(np.moveaxis(indices, -1, 0)), updates)
    return result


@gradient("ScatterNd")
def _scatter_nd_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [None, slicing.gather_nd(grad, record.inputs[0]), None]


def _tensor_scatter(function: Any) -> Any:
    def kernel(tensor: Array, indices: Array, updates: Array) -> Array:
        result = tensor.copy()
        check_coordinates(indices, result.shape)
        where = tuple(np.moveaxis(indices, -1, 0))
        if function is None:
            result[where] = updates
        else:
            function.at(result, where, updates)
        return result

    return kernel


for _type, _function in {
    "TensorScatterUpdate": None,
    "TensorScatterAdd": np.add,
    "TensorScatterSub": np.subtract,
    "TensorScatterMax": np.maximum,
    "TensorScatterMin": np.minimum,
}.items():
    op(f"{_type}(tensor: T, indices: Tindices, updates: T; Tindices in index) -> output: T")(
        _tensor_scatter(_function)
    )


@gradient("TensorScatterUpdate")
def _tensor_scatter_update_gradient(record: OpRecord, grad: Any) -> list[Any]:
    indices = record.inputs[1]
    updates = slicing.gather_nd(grad, indices)
    kept = call(
        "TensorScatterUpdate",
        arrays.identity(grad),
        indices,
        arrays.zeros_like(record.inputs[2], grad.dtype),
    )
    return [kept, None, updates]


@gradient("TensorScatterAdd")
def _tensor_scatter_add_gradient(record: OpRecord, grad: Any) -> list[Any]:
    updates = slicing.gather_nd(grad, record.inputs[1])
    return [arrays.identity(grad), None, updates]


@gradient("TensorScatterSub")
def _tensor_scatter_sub_gradient(record: OpRecord, grad: Any) -> list[Any]:
    updates = slicing.gather_nd(grad, record.inputs[1])
    return [arrays.identity(grad), None, -updates]


def _tensor_scatter_extreme_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """To whoever is the largest, in equal parts if there are several."""
    x, indices, y = record.inputs
    output = record.outputs[0]
    of_x = cast(call("Equal", x, output), grad.dtype)
    found = slicing.gather_nd(output, indices)
    of_y = cast(call("Equal", y, found), grad.dtype)
    shape = arrays.shape(x, out_type=indices.dtype)
    number: Any = of_x + call("ScatterNd", indices, of_y, shape)
    x_grad = grad * of_x / number
    return [x_grad, None, slicing.gather_nd(grad / number, indices) * of_y]


gradient("TensorScatterMax")(_tensor_scatter_extreme_gradient)
gradient("TensorScatterMin")(_tensor_scatter_extreme_gradient)


def _bound(side: str) -> Any:
    def kernel(sorted_inputs: Array, values: Array, out_type: DType) -> Array:
        rows = [np.searchsorted(a, b, side) for a, b in zip(sorted_inputs, values, strict=True)]  # type: ignore[call-overload]
        return np.array(rows, out_type.as_numpy_dtype)

    return kernel


for _type, _side in {"LowerBound": "left", "UpperBound": "right"}.items():
    op(
        f"{_type}(sorted_inputs: T, values: T; out_type=int32) -> output: out_type",
        shape=lambda i: i.shape(1),
    )(_bound(_side))

not_differentiable("LowerBound", "UpperBound")
