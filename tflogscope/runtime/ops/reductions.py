"""Reductions and scans: Sum, Mean, Max, All, ArgMax, Cumsum, TopKV2, SegmentSum and others.

Told about: `core/kernels/reduction_ops_*.cc`, `core/kernels/topk_op.cc`,
`core/kernels/segment_reduction_ops_impl.h`, `python/ops/math_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import context, dtypes
from tflogscope.runtime.constant_value import constant_value, folded_value
from tflogscope.runtime.context import executing_eagerly
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library import reductions as lib
from tflogscope.runtime.library.arithmetic import div_no_nan, divide, truediv
from tflogscope.runtime.library.elementary import cast, conj
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.library.linalg import transpose
from tflogscope.runtime.library.slicing import gather
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, dims_text

Array = NDArray[Any]


def _reduced_shape(i: Inference) -> TensorShape:
    shape, axes, keep = i.shape(0), folded_value(i.inputs[1]), i.attributes["keep_dims"]
    if shape.rank is None:
        return UNKNOWN
    if axes is None:
        return TensorShape([None] * shape.rank) if keep else UNKNOWN
    chosen = set()
    for axis in np.ravel(axes):
        if not -shape.rank <= axis < shape.rank:
            raise ValueError(
                f"Invalid reduction dimension {axis} for input with {shape.rank} dimensions."
            )
        chosen.add(int(axis) % shape.rank)
    dims = shape.as_list()
    return TensorShape(
        [1 if k in chosen else dim for k, dim in enumerate(dims) if keep or k not in chosen]
    )


def _reduction(function: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(input: Array, reduction_indices: Array, keep_dims: bool) -> Array:
        axes = tuple(int(axis) for axis in np.ravel(reduction_indices))
        for axis in axes:
            if not -input.ndim <= axis < input.ndim:
                text = (
                    f"Invalid reduction dimension ({axis} for input with {input.ndim} dimension(s)"
                )
                raise InvalidArgumentError(None, None, text)
        axes = tuple(axis % input.ndim for axis in axes)
        for place, axis in enumerate(axes):
            if axis in axes[:place]:
                text = "Invalid reduction arguments: Axes contains duplicate dimension: "
                raise InvalidArgumentError(None, None, f"{text}{axis}")
        return np.asarray(function(input, axis=axes, keepdims=keep_dims), input.dtype)

    return kernel


def _mean(x: Array, axis: Any, keepdims: bool) -> Any:
    count = np.prod([x.shape[k] for k in axis], dtype=np.int64)
    if x.dtype.kind in "iu":
        total = np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
        size = x.dtype.type(max(count, 1))
        # as C++ divides integers: towards 0
        return np.sign(total) * (np.abs(total) // size) if x.dtype.kind == "i" else total // size
    if not count:  # NumPy would warn
        return np.sum(x, axis=axis, keepdims=keepdims) * np.nan
    return np.mean(x, axis=axis, keepdims=keepdims)


def _max(x: Array, axis: Any, keepdims: bool) -> Any:
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return np.max(x, axis=axis, keepdims=keepdims, initial=lowest)


def _min(x: Array, axis: Any, keepdims: bool) -> Any:
    highest = np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max
    return np.min(x, axis=axis, keepdims=keepdims, initial=highest)


def _euclidean_norm(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))


for _type, _types, _function in (
    ("Sum", "number", np.sum),
    ("Prod", "number", np.prod),
    ("Mean", "number", _mean),
    ("Max", "real", _max),
    ("Min", "real", _min),
    ("EuclideanNorm", "number", _euclidean_norm),
):
    op(
        f"{_type}(input: T, reduction_indices: Tidx; keep_dims=False, T in {_types}, Tidx=int32) "
        "-> output: T",
        shape=_reduced_shape,
    )(_reduction(_function))

for _type, _test in (("All", np.all), ("Any", np.any)):
    op(
        f"{_type}(input: bool, reduction_indices: Tidx; keep_dims=False, Tidx=int32) -> output: "
        "bool",
        shape=_reduced_shape,
    )(_reduction(_test))

not_differentiable("All", "Any", "ArgMax", "ArgMin")


@gradient("Sum")
def _sum_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """The gradient, repeated along the summed dimensions: by Tile where shapes are known, else by
    BroadcastTo.
    """
    shape, axes = record.inputs[0].shape, constant_value(record.inputs[1])
    if shape.rank is not None and axes is not None:
        if np.array_equal(axes, np.arange(shape.rank)):
            return [_of_everything(record, grad), None]
        if shape.is_fully_defined() and not executing_eagerly():
            kept, factors = _kept_and_factors(shape.as_tuple(), tuple(np.ravel(axes)))
            return [call("Tile", arrays.reshape(grad, kept), factors), None]
    input_shape = arrays.shape(record.inputs[0])
    if not record.get_attr("keep_dims"):
        grad = arrays.reshape(grad, lib.reduced_shape(input_shape, record.inputs[1]))
    return [call("BroadcastTo", grad, input_shape), None]


def _kept_and_factors(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape with summed dimensions as 1, and how often each dimension is to be repeated.

    Computed once in each graph. NB: by ops, which stay behind in the graph, as TensorFlow does it.
    """
    known = _reduced_shapes.setdefault(context.current(), {})
    if (shape, axes) not in known:
        kept = [int(dim) for dim in lib.reduced_shape(shape, axes)]
        factors = call("FloorDiv", shape, call("Maximum", kept, 1, name="Maximum"), name="floordiv")
        repeats: Any = folded_value(factors)
        known[shape, axes] = tuple(kept), tuple(int(each) for each in repeats)
    result: tuple[tuple[int, ...], tuple[int, ...]] = known[shape, axes]
    return result


_reduced_shapes: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def _of_everything(record: OpRecord, grad: Any) -> Any:
    shape = record.inputs[0].shape
    ones: Any = [1] * len(shape)
    if executing_eagerly():
        if len(shape) not in _ones_of_rank:
            _ones_of_rank[len(shape)] = constant(ones, dtypes.int32)
        ones = _ones_of_rank[len(shape)]
    grad = arrays.reshape(grad, ones)
    if shape.is_fully_defined():
        return call("Tile", grad, constant(shape.as_list(), dtypes.int32))
    return call("Tile", grad, arrays.shape(record.inputs[0]))


_ones_of_rank: dict[int, Any] = {}
"""Eager tensors [1], [1, 1], …: TensorFlow keeps them in the context too."""


@gradient("EuclideanNorm")
def _euclidean_norm_gradient(record: OpRecord, grad: Any) -> list[Any]:
    length = record.outputs[0]
    if not record.get_attr("keep_dims"):
        kept = lib.reduced_shape(arrays.shape(record.inputs[0]), record.inputs[1])
        length, grad = arrays.reshape(length, kept), arrays.reshape(grad, kept)
    return [truediv(record.inputs[0], length / grad), None]


@gradient("Mean")
def _mean_gradient(record: OpRecord, grad: Any) -> list[Any]:
    of_sum = _sum_gradient(record, grad)[0]
    whole, part = record.inputs[0].shape, record.outputs[0].shape
    if whole.is_fully_defined() and part.is_fully_defined():
        # np.prod(()) is a float and others are NumPy integers, which no cache of constants knows.
        count: Any = np.prod(whole.as_tuple()) // max(np.prod(part.as_tuple()), 1)
        count = constant(count if part.rank else float(count), of_sum.dtype)
    elif since(2, 15):
        shape = arrays.shape(record.inputs[0])
        rank: Any = arrays.size(shape)
        axes = (record.inputs[1] + rank) % rank
        count = lib.reduce_prod(gather(shape, axes))
    else:
        shapes = [arrays.shape(each) for each in (record.inputs[0], record.outputs[0])]
        total, kept = (lib.reduce_prod(each) for each in shapes)
        count = call("FloorDiv", total, call("Maximum", kept, 1), name="floordiv")
    return [truediv(of_sum, cast(count, of_sum.dtype)), None]


def _extreme_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """To the largest, in equal parts if there are several."""
    input_shape = arrays.shape(record.inputs[0])
    y = record.outputs[0]
    if record.get_attr("keep_dims"):
        kept = arrays.shape(y)
    else:
        kept = lib.reduced_shape(input_shape, record.inputs[1])
        y, grad = arrays.reshape(y, kept), arrays.reshape(grad, kept)
    chosen = cast(call("Equal", y, record.inputs[0]), grad.dtype)
    number = arrays.reshape(lib.reduce_sum(chosen, record.inputs[1]), kept)
    return [divide(chosen, number) * grad, None]


gradient("Max")(_extreme_gradient)
gradient("Min")(_extreme_gradient)


@gradient("Prod")
def _prod_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """For each element the product of all the others: that of those before it times that of those
    after it.
    """
    x, axes = record.inputs
    shape = arrays.shape(x)
    axes = arrays.reshape(axes, [-1])
    if not record.get_attr("keep_dims"):
        grad = arrays.reshape(grad, lib.reduced_shape(shape, record.inputs[1]))
    grad = call("BroadcastTo", grad, shape)
    rank = arrays.rank(x)
    axes = (axes + rank) % rank
    reduced = cast(axes, dtypes.int32)
    positions = arrays.range(0, rank)
    other, _ = results("ListDiff", positions, reduced, out_idx=dtypes.int32)
    order = concat([reduced, other], 0)
    reduced_count = lib.reduce_prod(gather(shape, reduced))
    other_count = lib.reduce_prod(gather(shape, other))
    turned = transpose(x, order)
    turned_shape = arrays.shape(turned)
    rows = arrays.reshape(turned, (reduced_count, other_count))
    before = lib.cumprod(rows, axis=0, exclusive=True)
    after = lib.cumprod(rows, axis=0, exclusive=True, reverse=True)
    others = arrays.reshape(conj(before) * conj(after), turned_shape)
    out = grad * transpose(others, arrays.invert_permutation(order))
    return [arrays.reshape(out, shape), None]


# -- where the largest is


def _arg_shape(i: Inference) -> TensorShape:
    axis, shape = folded_value(i.inputs[1]), i.shape(0)
    if shape.rank is None:
        return UNKNOWN
    if axis is None:
        return TensorShape([None] * (shape.rank - 1))
    at = int(axis)
    if not -shape.rank <= at < shape.rank:
        raise ValueError(
            f"Dimension ({at}) must be in the range [{-shape.rank}, {shape.rank}), where "
            f"{shape.rank} is the number of dimensions in the input."
        )
    dims = shape.as_list()
    dims.pop(at)
    return TensorShape(dims)


def _arg(function: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(input: Array, dimension: Array, output_type: DType) -> Array:
        at = int(dimension)
        if not -input.ndim <= at < input.ndim:
            text = f"Expected dimension in the range [{-input.ndim}, {input.ndim}), but got {at}"
            raise InvalidArgumentError(None, None, text)
        if not input.shape[at]:
            text = f"Reduction axis {at} is empty in shape {dims_text(input.shape)}"
            raise InvalidArgumentError(None, None, text)
        return np.asarray(function(input, axis=at), output_type.as_numpy_dtype)

    return kernel


def _arg_max(x: Array, axis: int) -> Any:
    """Eigen's ArgMax begins with the lowest number and compares with `>`: it passes by NaN."""
    if x.dtype.kind == "f":
        lowest = np.finfo(x.dtype).min
        x = np.maximum(np.where(np.isnan(x), lowest, x), lowest)
    return np.argmax(x, axis)


def _arg_min(x: Array, axis: int) -> Any:
    return _arg_max(-x, axis) if x.dtype.kind == "f" else np.argmin(x, axis)


_ARG = "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64 bool"
_places: dict[str, Callable[..., Any]] = {"ArgMax": _arg_max, "ArgMin": _arg_min}
for _type, _place in _places.items():
    op(
        f"{_type}(input: T, dimension: Tidx; T in {_ARG}, Tidx=int32, output_type=int64) -> "
        "output: output_type",
        shape=_arg_shape,
    )(_arg(_place))


def _top_k_shape(i: Inference) -> list[TensorShape]:
    k = folded_value(i.inputs[1])
    if i.shape(0).rank is None:
        return [UNKNOWN] * 2
    shape = i.shape(0)[:-1].concatenate([None if k is None else int(k)])
    if k is not None and i.shape(0)[-1] is not None and i.shape(0)[-1] < int(k):
        raise ValueError(f"input must have last dimension >= k = {int(k)} but is {i.shape(0)[-1]}")
    return [shape, shape]


@op(
    "TopKV2(input: T, k: Tk; sorted=True, T in real, Tk=int32, index_type=int32) -> values: T, "
    "indices: index_type",
    shape=_top_k_shape,
)
def _top_k(input: Array, k: Array, index_type: DType) -> tuple[Array, Array]:
    """The largest of each row, of equal ones the first first."""
    count = int(k)
    if count > input.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"input must have at least k columns. Had {input.shape[-1]}, needed {count}"
        )
    flipped = np.flip(input, -1)
    order = np.flip(np.argsort(flipped, axis=-1, kind="stable"), -1)[..., :count]
    places = input.shape[-1] - 1 - order
    return np.take_along_axis(input, places, -1), places.astype(index_type.as_numpy_dtype)


@gradient("TopKV2")
def _top_k_gradient(record: OpRecord, grad: Any, _: Any) -> list[Any]:
    x, places = record.inputs[0], record.outputs[1]
    in_shape, places_shape = arrays.shape(x), arrays.shape(places)
    chosen = gather(cast(places_shape, dtypes.int64), arrays.size(places_shape) - 1)
    rows = arrays.reshape(places, stack([-1, chosen]))
    width = gather(cast(in_shape, dtypes.int64), arrays.size(in_shape) - 1)
    outer = arrays.shape(rows)[0]
    starts = arrays.range(0, cast(outer, dtypes.int64) * width, width)
    flat = arrays.reshape(rows + cast(arrays.expand_dims(starts, -1), dtypes.int32), [-1])
    scattered = call(
        "ScatterNd",
        arrays.expand_dims(flat, -1),
        arrays.reshape(grad, [-1]),
        [lib.reduce_prod(in_shape)],
    )
    return [arrays.reshape(scattered, in_shape), arrays.zeros([], dtypes.int32)]


# -- scans


def _scan(function: Callable[..., Any], neutral: float) -> Callable[..., Array]:
    def kernel(x: Array, axis: Array, exclusive: bool, reverse: bool) -> Array:
        at = int(axis)
        if not -x.ndim <= at < x.ndim:
            limits = f"[{-x.ndim}, {x.ndim})"
            text = f"ScanOp: Expected scan axis in the range {limits}, but got {at}"
            raise InvalidArgumentError(None, None, text)
        moved = np.moveaxis(x, at, 0)
        if reverse:
            moved = moved[::-1]
        result = np.asarray(function(moved, axis=0), x.dtype)
        if exclusive:
            first = np.full_like(moved[:1], neutral)
            result = np.concatenate([first, result[:-1]])
        if reverse:
            result = result[::-1]
        return np.ascontiguousarray(np.moveaxis(result, 0, at))

    return kernel


_scans: dict[str, tuple[Callable[..., Any], float]] = {
    "Cumsum": (np.cumsum, 0.0),
    "Cumprod": (np.cumprod, 1.0),
    "CumulativeLogsumexp": (np.logaddexp.accumulate, -np.inf),
}
for _type, (_scanned, _neutral) in _scans.items():
    op(
        f"{_type}(x: T, axis: Tidx; exclusive=False, reverse=False, T in number, Tidx=int32) -> "
        "out: T"
    )(_scan(_scanned, _neutral))


@gradient("Cumsum")
def _cumsum_gradient(record: OpRecord, grad: Any) -> list[Any]:
    axis, exclusive, reverse = (
        record.inputs[1],
        record.get_attr("exclusive"),
        record.get_attr("reverse"),
    )
    return [lib.cumsum(grad, axis, exclusive=exclusive, reverse=not reverse), None]


@gradient("Cumprod")
def _cumprod_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, axis = record.inputs
    exclusive, reverse = record.get_attr("exclusive"), record.get_attr("reverse")
    product = lib.cumprod(x, axis, exclusive=exclusive, reverse=reverse)
    out = lib.cumsum(product * grad, axis, exclusive=exclusive, reverse=not reverse)
    return [div_no_nan(out, x), None]


def _bincount_shape(i: Inference) -> TensorShape:
    """One row for a vector, one for each row of a matrix."""
    shape, size = i.shape(0), folded_value(i.inputs[1])
    if shape.rank is None:
        return UNKNOWN
    if shape.rank > 2:
        raise ValueError(f"Shape must be at most rank 2 but is rank {shape.rank}")
    if size is None:
        return UNKNOWN
    return TensorShape([shape[0], int(size)] if shape.rank == 2 else [int(size)])


@gradient("CumulativeLogsumexp")
def _cumulative_logsumexp_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """Positive and negative parts on their own, so that logarithms can be taken."""
    x, axis = record.inputs
    exclusive, reverse = record.get_attr("exclusive"), record.get_attr("reverse")

    def part(log_grad: Any) -> Any:
        scanned = lib.cumulative_logsumexp(
            log_grad - record.outputs[0], axis=axis, reverse=not reverse, exclusive=exclusive
        )
        return call("Exp", scanned + x)

    lowest = grad.dtype.min
    positive = call("SelectV2", call("Greater", grad, 0), call("Log", grad), lowest)
    negative = call("SelectV2", call("Less", grad, 0), call("Log", -grad), lowest)
    return [part(positive) - part(negative), None]


@op(
    "DenseBincount(input: Tidx, size: Tidx, weights: T; Tidx in index, T in int32 int64 float32 "
    "float64, binary_output=False) -> output: T",
    shape=_bincount_shape,
)
def _dense_bincount(
    input: Array, size: Array, weights: Array, binary_output: bool = False
) -> Array:
    """How often each number comes, or whether it does; of a matrix row by row."""
    if np.any(input < 0):
        raise InvalidArgumentError(None, None, "Input must be non-negative")
    rows = np.zeros((input.shape[0] if input.ndim > 1 else 1, int(size)), weights.dtype)
    places = input.reshape(len(rows), -1) if len(rows) else input
    kept = places < size
    where = (np.nonzero(kept)[0], places[kept])
    if binary_output:
        rows[where] = 1
    else:
        np.add.at(rows, where, weights.reshape(places.shape)[kept] if weights.size else 1)
    return rows if input.ndim > 1 else rows[0]


@op("Bincount(arr: int32, size: int32, weights: T; T in int32 int64 float32 float64) -> bins: T",
    shape=lambda _: TensorShape([None]))  # fmt: skip
def _bincount(arr: Array, size: Array, weights: Array) -> Array:
    if np.any(arr < 0):
        raise InvalidArgumentError(None, None, "Input arr must be non-negative!")
    bins: Array = _dense_bincount(arr, size, weights)
    return bins


not_differentiable("Bincount")
