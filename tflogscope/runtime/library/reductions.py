"""Reductions and scans: `tf.reduce_sum`, `tf.argmax`, `tf.cumsum`, `tf.norm` and others.

Told about: `python/ops/math_ops.py`, `python/ops/linalg_ops.py`, `python/ops/sort_ops.py`,
`python/ops/clip_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.indexed_slices import values_of, with_values
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.grouping import colocated_with
from tflogscope.runtime.ops.call import call, generated, results, snake_case
from tflogscope.runtime.release import since
from tflogscope.runtime.tensors import Tensor

segment_max = generated("SegmentMax")
segment_mean = generated("SegmentMean")
segment_min = generated("SegmentMin")
segment_prod = generated("SegmentProd")
segment_sum = generated("SegmentSum")
unsorted_segment_max = generated("UnsortedSegmentMax")
unsorted_segment_min = generated("UnsortedSegmentMin")
unsorted_segment_prod = generated("UnsortedSegmentProd")
unsorted_segment_sum = generated("UnsortedSegmentSum")


def _dimensions(x: Any, axis: Any) -> Any:
    """The dimensions to reduce: all of them, as a constant, if none are named."""
    if axis is not None:
        return axis
    rank = getattr(getattr(x, "shape", None), "rank", None)
    if rank:
        return constant(np.arange(rank, dtype=np.int32))
    return arrays.range(0, arrays.rank(x))


def _reduction(type: str, doc: str) -> Callable[..., Tensor]:
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool | None = False, name: str | None = None
    ) -> Tensor:
        keep = bool(keepdims)
        result = call(
            type, input_tensor, _dimensions(input_tensor, axis), keep_dims=keep, name=name
        )
        if axis is None and not keep:
            result.set_shape(())
        return result

    reduce.__name__ = reduce.__qualname__ = f"reduce_{snake_case(type)}"
    reduce.__doc__ = doc
    return reduce


reduce_sum = _reduction(
    "Sum", "The sum along `axis` (all of them if None); with `keepdims` these stay, as 1."
)
reduce_mean = _reduction("Mean", "The mean along `axis`.")
reduce_prod = _reduction("Prod", "The product along `axis`.")
reduce_max = _reduction("Max", "The largest along `axis`.")
reduce_min = _reduction("Min", "The smallest along `axis`.")
reduce_all = _reduction("All", "Are all true along `axis`?")
reduce_any = _reduction("Any", "Is one true along `axis`?")
reduce_euclidean_norm = _reduction("EuclideanNorm", "The root of the sum of squares along `axis`.")


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The variance along `axis`. Raises TypeError for integers."""
    with op_scope(name or "reduce_variance", "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        means = reduce_mean(x, axis=axis, keepdims=True)
        if means.dtype.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type {means.dtype}."
            )
        difference = x - means
        return reduce_mean(call("Square", difference), axis=axis, keepdims=keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The standard deviation along `axis`."""
    with op_scope(name or "reduce_std", "reduce_std"):
        x = convert_to_tensor(input_tensor)
        return call("Sqrt", reduce_variance(x, axis=axis, keepdims=keepdims))


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """log(sum(exp(x))), computed so that it does not overflow."""
    from tflogscope.runtime.library.arithmetic import add

    with op_scope(name, "ReduceLogSumExp") as name:
        largest = reduce_max(input_tensor, axis=axis, keepdims=True)
        finite = call("IsFinite", largest)
        if since(2, 17):
            shift = arrays.stop_gradient(call("SelectV2", finite, largest, 0))
        else:
            zeros = call("ZerosLike", largest)
            shift = arrays.stop_gradient(call("Select", finite, largest, zeros))
        logs = call(
            "Log",
            reduce_sum(call("Exp", call("Sub", input_tensor, shift)), axis=axis, keepdims=keepdims),
        )
        if not keepdims:
            shift = arrays.reshape(shift, call("Shape", logs))
        result = add(logs, shift, name=name)
        if axis is None and not keepdims:
            result.set_shape(())
        return result


def reduced_shape(input_shape: Any, axes: Any) -> Any:
    """The shape with 1 at the reduced dimensions: computed in Python if all is known."""
    known, known_axes = _value(input_shape), _value(axes)
    if known is not None and known_axes is not None:
        result = np.array(known, np.int32)
        result[np.array(known_axes, np.int32)] = 1
        return result
    input_shape = cast(input_shape, dtypes.int32)
    axes = cast(axes, dtypes.int32)
    rank = arrays.size(input_shape)
    axes = (axes + rank) % rank
    axes_shape = arrays.shape(axes)
    positions, ones = arrays.range(rank), arrays.ones(axes_shape, dtypes.int32)
    return call("DynamicStitch", [positions, axes], [input_shape, ones])


def _value(given: Any) -> Any:
    return constant_value(given) if isinstance(given, Tensor) else given


def argmax(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Where the largest is along `axis` (0); the first of several."""
    return call("ArgMax", input, 0 if axis is None else axis, output_type=output_type, name=name)


def argmin(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Where the smallest is along `axis` (0); the first of several."""
    return call("ArgMin", input, 0 if axis is None else axis, output_type=output_type, name=name)


def _scan(type: str, doc: str) -> Callable[..., Tensor]:
    def scan(
        x: Any,
        axis: Any = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Tensor:
        with op_scope(name, type) as name:
            x = convert_to_tensor(x, name="x")
            return call(type, x, axis, exclusive=exclusive, reverse=reverse, name=name)

    scan.__name__ = scan.__qualname__ = snake_case(type)
    scan.__doc__ = doc
    return scan


cumsum = _scan("Cumsum", "The running sum along `axis`; `exclusive`: without the element itself.")
cumprod = _scan("Cumprod", "The running product along `axis`.")
cumulative_logsumexp = _scan("CumulativeLogsumexp", "The running log-sum-exp along `axis`.")


def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: bool | None = False,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """How many elements are not zero along `axis`."""
    with op_scope(name, "count_nonzero"):
        x = convert_to_tensor(input, name="input")
        if not (x.dtype is dtypes.bool_ and since(2, 20)):
            x = call("NotEqual", x, "" if x.dtype is dtypes.string else arrays.zeros((), x.dtype))
        return cast(reduce_sum(cast(x, dtypes.int64), axis=axis, keepdims=keepdims), dtype)


def top_k(
    input: Any,
    k: Any = 1,
    sorted: bool = True,
    index_type: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """The k largest of each row and where they are: `values, indices`."""
    return results("TopKV2", input, k, sorted=sorted, index_type=index_type, name=name)


def _sorted(values: Any, axis: int, direction: str, *, places: bool) -> Tensor:
    from tflogscope.runtime.library.linalg import transpose

    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            "Argument `direction` should be one of ASCENDING, DESCENDING. Received: "
            f"direction={direction}"
        )
    at = int(constant_value(convert_to_tensor(axis, name="axis")))  # type: ignore[arg-type]
    values = convert_to_tensor(values, name="values")
    rising = direction == "ASCENDING"
    shifted = values.dtype.is_integer
    largest = values.dtype.max if values.dtype.is_unsigned else None
    if rising and largest is not None:
        values = largest - values
    elif rising:
        values = -values - 1 if shifted else -values
    k = arrays.shape(values)[at]
    arrays.rank(values)
    rank = values.shape.rank
    order = None
    if at != -1 and at + 1 != rank:
        at = at if at >= 0 else at + rank
        order = constant(
            np.r_[np.arange(at), [rank - 1], np.arange(at + 1, rank - 1), [at]],
            name="transposition",
        )
        values = transpose(values, order)
    best = top_k(values, k)
    result: Tensor = best.indices if places else best.values
    if order is not None:
        result = transpose(result, order)
    if not rising or places:
        return result
    if largest is not None:
        return largest - result  # type: ignore[no-any-return]
    negated: Tensor = -result
    return negated - 1 if shifted else negated


def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sorted along `axis`.

    Raises ValueError for another direction than ASCENDING and DESCENDING.
    """
    with op_scope(name, "sort"):
        return _sorted(values, axis, direction, places=False)


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The indices that would sort along `axis`."""
    del stable  # it always is
    with op_scope(name, "argsort"):
        return _sorted(values, axis, direction, places=True)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each number from 0 comes, or whether it does; of each row with `axis=-1`."""
    with op_scope(name or "bincount", "bincount"):
        if binary_output or axis is not None:
            of_axis = axis or 0
            return _dense_bincount(
                arr, weights, (minlength, maxlength), dtype, of_axis, binary_output=binary_output
            )
        arr = convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        nonempty = reduce_prod(arrays.shape(arr)) > 0
        size = cast(nonempty, dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = call(
                "Maximum", convert_to_tensor(minlength, dtypes.int32, name="minlength"), size
            )
        if maxlength is not None:
            size = call(
                "Minimum", convert_to_tensor(maxlength, dtypes.int32, name="maxlength"), size
            )
        if weights is not None:
            return call("UnsortedSegmentSum", convert_to_tensor(weights, name="weights"), arr, size)
        empty = constant([], dtype)
        return call("Bincount", arrays.reshape(arr, [-1]), size, empty)


def _dense_bincount(
    arr: Any, weights: Any, lengths: tuple[Any, Any], dtype: Any, axis: int, *, binary_output: bool
) -> Tensor:
    """The same by the newer op. Raises ValueError for other axes than 0 and -1."""
    arr = convert_to_tensor(arr, name="arr")
    if weights is not None:
        weights = convert_to_tensor(weights, name="weights")
        if binary_output:
            raise ValueError(
                "Arguments `binary_output` and `weights` are mutually exclusive. Please specify "
                "only one."
            )
    if not arr.dtype.is_integer:
        arr = cast(arr, dtypes.int32)
    if axis not in (0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )
    nonempty = arrays.size(arr) > 0
    size = cast(nonempty, arr.dtype) * (reduce_max(arr) + 1)
    for name, type, length in zip(
        ("minlength", "maxlength"), ("Maximum", "Minimum"), lengths, strict=True
    ):
        if length is not None:
            size = call(type, convert_to_tensor(length, arr.dtype, name=name), size)
    if axis == 0:
        weights = None if weights is None else arrays.reshape(weights, [-1])
        arr = arrays.reshape(arr, [-1])
    given = constant([], dtype) if weights is None else weights
    return call("DenseBincount", arr, size, given, binary_output=binary_output)


# -- norms


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of the numbers along the last axis."""
    with op_scope(name, "lbeta"):
        x = convert_to_tensor(x, name="x")
        below: Any = reduce_sum(elementary.lgamma(x), axis=[-1])
        return below - elementary.lgamma(reduce_sum(x, axis=[-1]))  # type: ignore[no-any-return]


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The length of vectors along `axis`, or of the whole."""
    matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if matrix:
        axis = tuple(axis)
    elif axis is not None:
        axis = (axis,) if isinstance(axis, int) else tuple(axis)
    with op_scope(name, "norm"):
        tensor = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2):
            if matrix and ord == 2:
                return _largest_singular_value(tensor, axis, keepdims=bool(keepdims))
            result = call("Sqrt", reduce_sum(tensor * elementary.conj(tensor), axis, keepdims=True))
        else:
            result = _other_norm(elementary.abs(tensor), ord, axis, matrix=matrix)
        return result if keepdims else arrays.squeeze(result, axis)


def _largest_singular_value(tensor: Tensor, axis: Any, *, keepdims: bool) -> Tensor:
    """NB: TensorFlow also turns the dimensions, and back. Raises NotInThisRuntime unless the
    matrices are in the last two.
    """
    rank = tensor.shape.rank
    if rank is None or [each % rank for each in axis] != [rank - 2, rank - 1]:
        raise NotInThisRuntime("tf.norm(ord=2) of matrices that are not in the last two dimensions")
    s, _, _ = results("Svd", tensor, compute_uv=False)
    result = reduce_max(elementary.abs(s), axis=-1, keepdims=True)
    result = arrays.expand_dims(result, -1)
    return result if keepdims else arrays.squeeze(result, axis)


def _other_norm(sizes: Tensor, ord: Any, axis: Any, *, matrix: bool) -> Tensor:
    first = None if axis is None else axis[0]
    if ord == 1:
        sums = reduce_sum(sizes, first, keepdims=True)
        return reduce_max(sums, axis[-1], keepdims=True) if matrix else sums
    if ord == np.inf:
        if matrix:
            sizes = reduce_sum(sizes, axis[1], keepdims=True)
        return reduce_max(sizes, first, keepdims=True)
    from tflogscope.runtime.library.arithmetic import pow as power

    return power(reduce_sum(power(sizes, ord), axis, keepdims=True), 1.0 / ord)


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None
) -> Tensor:
    """Each vector along `axis` with length 1."""
    with op_scope(name, "l2_normalize") as name:
        x = convert_to_tensor(x, name="x")
        squares = reduce_sum(call("Square", x), axis, keepdims=True)
        inverse = call("Rsqrt", call("Maximum", squares, epsilon))
        return call("Mul", x, inverse, name=name)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Which part of the elements is zero."""
    with op_scope(name, "zero_fraction"):
        value = convert_to_tensor(value, name="value")
        size = arrays.size(value, out_type=dtypes.int64)
        from tflogscope.runtime.control_flow.cond import cond

        nonzero = cond(
            size <= dtypes.int32.max,
            true_fn=lambda: cast(_count(value, dtypes.int32), dtypes.int64),
            false_fn=lambda: _count(value, dtypes.int64),
        )
        with op_scope(None, "counts_to_fraction"):
            zeros = size - nonzero
            fraction = cast(zeros, dtypes.float32) / cast(size, dtypes.float32)
        return arrays.identity(fraction, "fraction")  # type: ignore[no-any-return]


def _count(value: Tensor, dtype: Any) -> Tensor:
    with op_scope(None, "count_nonzero"):
        zero = arrays.zeros((), value.dtype)
        return reduce_sum(cast(call("NotEqual", value, zero), dtype), name="nonzero_count")


# -- clipping


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t`, made shorter if its length is more than `clip_norm`."""
    with op_scope(name, "clip_by_norm") as name:
        values = convert_to_tensor(values_of(t), name="t")
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        safe = call("Select", positive, squares, arrays.ones_like(squares))
        length = call("Select", positive, call("Sqrt", safe), squares)
        scaled = values * clip_norm
        shorter = arrays.identity(scaled / call("Maximum", length, clip_norm), name=name)
        return with_values(t, shorter)


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The length of all tensors taken together. Raises TypeError unless given a list."""
    from tflogscope.runtime.library.joining import stack

    if not isinstance(t_list, (list, tuple)):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    with op_scope(name, "global_norm"):
        values = [_values(t, index) for index, t in enumerate(t_list)]
        halves = []
        for value in values:
            if value is not None:
                with colocated_with(value):
                    halves.append(call("L2Loss", value))
        half = reduce_sum(stack(halves))
        return call("Sqrt", half * constant(2.0, half.dtype), name="global_norm")


def _values(t: Any, index: int) -> Any:
    return None if t is None else convert_to_tensor(values_of(t), name=f"t_{index}")


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """All tensors, made shorter by one factor if together they are longer than `clip_norm`; and
    that length.
    """
    length = global_norm(t_list, name) if use_norm is None else use_norm
    with op_scope(name, "clip_by_global_norm") as name:
        finite = clip_norm * call("Minimum", 1.0 / length, constant(1.0, length.dtype) / clip_norm)
        scale = finite + (length - length)  # not a number if the length is none
        values = [_values(t, index) for index, t in enumerate(t_list)]
        clipped: list[Any] = []
        for index, (t, value) in enumerate(zip(t_list, values, strict=True)):
            if value is None:
                clipped.append(None)
                continue
            with colocated_with(value):
                result = arrays.identity(value * scale, name=f"{name}_{index}")
            clipped.append(with_values(t, result))
        return clipped, length
