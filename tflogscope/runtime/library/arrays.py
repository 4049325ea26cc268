"""Shapes and filled tensors: `tf.shape`, `tf.reshape`, `tf.zeros`, `tf.range` and others.

In graphs much of it is known while building: the shape of a tensor with a static shape is a
constant.

Told about: `python/ops/array_ops.py`, `range` of `python/ops/math_ops.py`.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tflogscope.runtime import composites, dtypes
from tflogscope.runtime.constant_value import constant_shape, constant_value
from tflogscope.runtime.context import executing_eagerly, op_scope
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.dtypes import DType, as_dtype
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.ops.call import call, generated, results
from tflogscope.runtime.shapes import TensorShape, broadcast_shapes
from tflogscope.runtime.tape import stop_recording
from tflogscope.runtime.tensors import Tensor

bitcast = generated("Bitcast")
broadcast_to = generated("BroadcastTo")
invert_permutation = generated("InvertPermutation")

# -- asking for shapes


def shape_internal(
    input: Any,
    name: str | None = None,
    *,
    optimize: bool = True,
    out_type: Any = None,
) -> Tensor:
    """The shape as a vector: in graphs a constant if it is known, unless `optimize` is False."""
    with op_scope(name, "Shape") as name:
        if not executing_eagerly():
            input = convert_to_tensor(input)
            if optimize and input.shape.is_fully_defined():
                if out_type is None:
                    return constant(input.shape.as_list(), dtypes.int32, name="shape_as_tensor")
                return constant(input.shape.as_list(), out_type, name=name)
        return call("Shape", input, out_type=out_type or dtypes.int32, name=name)


def shape(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """The shape of a tensor as a vector."""
    return shape_internal(input, name, out_type=out_type)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor, refused if it has another shape. Raises ValueError, or InvalidArgumentError."""
    return call("EnsureShape", x, shape=TensorShape(shape), name=name)


def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors, by one op."""
    return results("ShapeN", list(input), out_type=out_type, name=name)  # type: ignore[no-any-return]


def size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements."""
    if executing_eagerly():
        input = convert_to_tensor(input)
        count = np.prod(input.shape.as_tuple(), dtype=as_dtype(out_type).as_numpy_dtype)
        return convert_to_tensor(count, out_type)  # type: ignore[no-any-return]
    with op_scope(name, "Size") as name:
        input = convert_to_tensor(input)
        if input.shape.is_fully_defined():
            return constant(input.shape.num_elements(), out_type, name=name)
        if input.shape.rank is not None and 0 in input.shape.as_list():
            return constant(0, out_type, name=name)
        return call("Size", input, out_type=out_type, name=name)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions."""
    with op_scope(name, "Rank") as name:
        input = convert_to_tensor(input)
        if input.shape.rank is not None:
            return constant(input.shape.rank, dtypes.int32, name=name)
        return call("Rank", input, name=name)


# -- another shape for the same elements


def _set_static_shape(tensor: Tensor, dims: Any) -> None:
    """What is known of the shape from Python, where the graph's shape function could not see it."""
    if executing_eagerly() or tensor.shape.is_fully_defined() or not isinstance(dims, Tensor):
        return
    tensor.set_shape(constant_shape(dims))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape, of which one dimension may be -1: whatever is left."""
    result = call("Reshape", tensor, shape, name=name)
    _set_static_shape(result, shape)
    return result


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """With a dimension of 1 inserted at `axis`."""
    return call("ExpandDims", input, axis, name=name)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Without the dimensions of 1, or those of them that `axis` names."""
    if axis is None:
        axes: list[int] = []
    else:
        axes = [int(axis)] if np.ndim(axis) == 0 else [int(each) for each in axis]
    return call("Squeeze", input, squeeze_dims=axes, name=name)


def identity(input: Any, name: str | None = None) -> Any:
    """The same values, as a tensor of its own."""
    if composites.is_composite(input):
        parts = [identity(part) for part in composites.components(input)]
        return composites.from_components(composites.type_spec(input), parts)
    result = call("Identity", convert_to_tensor(input) if executing_eagerly() else input, name=name)
    if isinstance(input, Tensor):
        result.handle_data = input.handle_data
    return result


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """The same values, all by one op."""
    return results("IdentityN", list(input), name=name)  # type: ignore[no-any-return]


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The same values; no gradient flows back through it."""
    with stop_recording():
        return call("StopGradient", input, name=name)


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """The shape of an element-wise op on two shapes. Raises ValueError if they don't fit."""
    return broadcast_shapes(shape_x, shape_y)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The same for shapes that are tensors."""
    return call("BroadcastArgs", shape_x, shape_y)


# -- filled tensors


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of that shape, all of one value."""
    result = call("Fill", dims, value, name=name)
    _set_static_shape(result, dims)
    return result


def _filled(number: Any, shape: Any, dtype: Any, name: str | None, default: str) -> Tensor:
    dtype = as_dtype(dtype)
    value = bool(number) if dtype.is_bool else "" if dtype is dtypes.string else number
    with op_scope(name, default) as name:
        if not isinstance(shape, Tensor):
            try:
                if _is_small(shape) and not executing_eagerly():
                    return constant(
                        value, dtype, _dimensions(shape), name=name
                    )  # small ones are constants in graphs
                shape = constant(TensorShape(shape).as_list(), dtypes.int32, name="shape_as_tensor")
            except (TypeError, ValueError, NotImplementedError):
                shape = convert_to_tensor(shape, dtypes.int32)
        if shape.shape.rank == 0:
            shape = reshape(shape, [-1])
        return fill(shape, constant(value, dtype), name=name)


def _is_small(shape: Any) -> bool:
    """Is it a shape of few elements? Only lists of dimensions are asked."""
    return not isinstance(shape, Integral) and bool(np.prod(_dimensions(shape)) < 1000)


def _dimensions(shape: Any) -> list[int]:
    """A shape given in Python. Raises TypeError if tensors of a graph are in it."""
    return [int(dim) for dim in TensorShape(shape).as_tuple()]


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (False, empty strings)."""
    return marked_zeros(_filled(0, shape, dtype, name, "zeros"))


def marked_zeros(tensor: Tensor) -> Tensor:
    """The tensor, with a note that it is zeros: a gradient function may save itself work then."""
    tensor.is_zeros = True
    return tensor


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True)."""
    return _filled(1, shape, dtype, name, "ones")


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros in the shape of another tensor; of its dtype unless another is given."""
    with op_scope(name, "zeros_like") as name:
        tensor = input if hasattr(input, "handle") else convert_to_tensor(input, name="tensor")
        other: DType | None = (
            None if dtype is None or as_dtype(dtype) is tensor.dtype else as_dtype(dtype)
        )
        if (
            not executing_eagerly()
            and tensor.shape.is_fully_defined()
            and tensor.dtype is not dtypes.variant
        ):
            return zeros(tensor.shape, other or tensor.dtype, name=name)
        if other is not None and other is not dtypes.variant:
            return zeros(shape_internal(tensor), other, name=name)
        return marked_zeros(call("ZerosLike", tensor, name=name))


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones in the shape of another tensor; of its dtype unless another is given."""
    with op_scope(name, "ones_like") as name:
        tensor = convert_to_tensor(input, name="tensor")
        result = ones(shape_internal(tensor), dtype or tensor.dtype, name=name)
        result.set_shape(tensor.shape)
        return result


_RANGE_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """The numbers from `start` (0 if only one is given) up to, not with `limit`, `delta` apart."""
    if limit is None:
        start, limit = 0, start
    with op_scope(name, "Range") as scope:
        given = {"start": start, "limit": limit, "delta": delta}
        tensors = [
            value if isinstance(value, Tensor) else convert_to_tensor(value, dtype, name=key)
            for key, value in given.items()
        ]
        if dtype is None:
            dtype = max((each.dtype for each in tensors), key=_RANGE_TYPES.index)
        return call("Range", *(cast(each, dtype) for each in tensors), name=scope)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Rows of `depth` elements: `on_value` (1) at the index, `off_value` (0) elsewhere.

    Raises TypeError if the values and `dtype` contradict each other.
    """
    with op_scope(name, "one_hot") as name:
        given = {"on_value": on_value, "off_value": off_value}
        values = {
            key: convert_to_tensor(value, dtype_hint=dtype)
            for key, value in given.items()
            if value is not None
        }
        for key, value in values.items():
            if dtype is not None and value.dtype is not as_dtype(dtype):
                raise TypeError(
                    f"dtype {value.dtype} of {key} does not match dtype parameter {dtype}"
                )
        if dtype is None:
            dtype = next((value.dtype for value in values.values()), dtypes.float32)
        for key, number in (("on_value", 1), ("off_value", 0)):
            if key not in values:
                values[key] = convert_to_tensor(number, dtype, name=key)
        on, off = values["on_value"], values["off_value"]
        if on.dtype is not off.dtype:
            raise TypeError(
                f"dtype {on.dtype} of on_value does not match dtype {off.dtype} of off_value"
            )
        return call("OneHot", indices, depth, on, off, axis=-1 if axis is None else axis, name=name)


def _all_dimensions(x: Tensor) -> Tensor:
    if x.shape.rank is not None:
        return constant(np.arange(x.shape.rank), dtypes.int32)
    return call("Range", 0, rank(x), 1)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool_, name: str | None = None
) -> Tensor:
    """For each length a row: True up to it.

    Raises ValueError if `maxlen` is not a single number.
    """
    with op_scope(name, "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            longest = call("Max", lengths, _all_dimensions(lengths))
            maxlen = call("Maximum", constant(0, longest.dtype), longest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.rank not in (None, 0):
            raise ValueError(
                f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen}"
            )
        row = call("Range", constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        matrix = call("Cast", expand_dims(lengths, -1), DstT=maxlen.dtype)
        result = row < matrix
        return result if as_dtype(dtype) is result.dtype else call("Cast", result, DstT=dtype)


def convert_to_int_tensor(tensor: Any, name: str, dtype: DType = dtypes.int32) -> Tensor:
    """As a tensor of ints: by a Cast in any case. Raises TypeError for anything but integers."""
    tensor = convert_to_tensor(tensor, name=name, dtype_hint=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"Argument `tensor` (name: {name}) must be of type integer. Received {tensor} of "
            f"{tensor.dtype}"
        )
    return call("Cast", tensor, DstT=dtype)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: Any = 0) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, along a new dimension."""
    from tflogscope.runtime.library.joining import concat

    with op_scope(name, "linspace"):
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, start.dtype, name="stop")
        number = convert_to_int_tensor(num, name="num")
        cast(number, start.dtype)  # NB: made by TensorFlow too, and not used
        common = broadcast_dynamic_shape(shape(start), shape(stop))
        start, stop = broadcast_to(start, common), broadcast_to(stop, common)
        first, last = expand_dims(start, axis=axis), expand_dims(stop, axis=axis)
        dims = shape(first)
        ndims = shape(dims)[0]
        axis = call("SelectV2", axis >= 0, axis, ndims + axis)
        between = call("Maximum", number - 2, 0)
        steps = call("Maximum", number - 1, 1)
        delta = (last - first) / cast(steps, last.dtype)
        first, last = cast(first, delta.dtype), cast(last, delta.dtype)
        end = call("SelectV2", number >= 0, steps, -1)
        multiples = cast(range(1, end, dtype=dtypes.int64), delta.dtype)
        mask = call("Equal", axis, range(ndims))
        multiples = reshape(multiples, call("SelectV2", mask, between, 1))
        middle = first + delta * multiples
        joined = concat((first, middle, last), axis=axis)
        begin = zeros_like(dims)
        return call("Slice", joined, begin, call("SelectV2", mask, number, dims))


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """The coordinates of a grid, as one tensor per axis. Raises ValueError for another `indexing`
    than xy or ij.
    """
    from tflogscope.runtime.library.joining import stack

    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    with op_scope(name, "meshgrid"):
        count = len(args)
        if not count:
            return []
        ones_before = (1,) * count
        output = [
            reshape(stack(x), (*ones_before[:i], -1, *ones_before[i + 1 :]))
            for i, x in enumerate(args)
        ]
        sizes = [size(x) for x in args]
        dtype = convert_to_tensor(args[0]).dtype
        if indexing == "xy" and count > 1:
            output[0] = reshape(output[0], (1, -1) + (1,) * (count - 2))
            output[1] = reshape(output[1], (-1, 1) + (1,) * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        factor = ones(sizes, dtype)
        return [x * factor for x in output]


def static_value(tensor: Any) -> Any:
    """`tf.get_static_value`: the value if it is known while building, else None."""
    return constant_value(tensor)
