"""Putting tensors together and taking them apart: `tf.concat`, `tf.stack`, `tf.split` and others.

Told about: `python/ops/array_ops.py`, `python/ops/array_ops_stack.py`.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.call import call, generated, results
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import EagerTensor, Tensor

dynamic_partition = generated("DynamicPartition")
dynamic_stitch = generated("DynamicStitch")
reverse = generated("ReverseV2")


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: Any = None
) -> Tensor:
    """Each element of the batch with its first `seq_lengths` places the other way round."""
    axes = {"seq_dim": seq_axis, "batch_dim": batch_axis or 0}
    return call("ReverseSequence", input, seq_lengths, **axes, name=name)


roll = generated("Roll")
tile = generated("Tile")
unique = generated("Unique")
unique_with_counts = generated("UniqueWithCounts")


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """All in a row along `axis`."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    if len(values) == 1:
        with op_scope(name, "concat"):
            convert_to_tensor(axis, dtypes.int32, name="concat_dim").shape.assert_has_rank(0)
            return arrays.identity(values[0], name=name)  # type: ignore[no-any-return]
    return call("ConcatV2", values, axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """All beside each other along a new dimension. Raises ValueError for an axis that can't be."""
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)  # type: ignore[no-any-return]
        except (TypeError, ValueError, NotImplementedError):
            pass  # not all of one dtype yet: the op converts them
    rank = convert_to_tensor(values[0], name=name).shape.rank
    if rank is not None and not -(rank + 1) <= axis < rank + 1:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-(rank + 1)}, {rank + 1})")
    return call("Pack", list(values), axis=axis, name=name)


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts along a dimension. Raises ValueError if how many there are is not known."""
    if num is None:
        value = convert_to_tensor(value)
        rank = value.shape.rank
        if rank is not None:
            if not -rank <= axis < rank:
                raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
            num = value.shape[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return results("Unpack", value, num=num, axis=axis, name=name)  # type: ignore[no-any-return]


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Into so many equal parts, or parts of these sizes, along `axis`."""
    if isinstance(num_or_size_splits, Integral):
        return results("Split", axis, value, num_split=int(num_or_size_splits), name=name)  # type: ignore[no-any-return]
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.rank == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = sizes.shape[0] if sizes.shape.rank else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return results("SplitV", value, sizes, axis, num_split=num, name=name)  # type: ignore[no-any-return]


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Tensor:
    """With borders: of a constant, or mirrored (REFLECT without the edge, SYMMETRIC with it)."""
    mode = mode.upper()
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(
            "Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT', or "
            f"'SYMMETRIC'. Received `mode` = {mode}"
        )
    if mode != "CONSTANT":
        result = call("MirrorPad", tensor, paddings, mode=mode, name=name)
    elif (
        not isinstance(constant_values, Tensor)
        and np.ndim(constant_values) == 0
        and constant_values == 0
    ):
        result = call("Pad", tensor, paddings, name=name)
    else:
        result = call("PadV2", tensor, paddings, constant_values, name=name)
    return result


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element so many times, one after the other; of the flat tensor without an axis."""
    if axis is None:
        input, axis = arrays.reshape(input, [-1]), 0
    with op_scope(name, "Repeat"):
        data = convert_to_tensor(input, name="data")
        repeats = arrays.convert_to_int_tensor(repeats, name="repeats")
        repeats.shape.with_rank(0) if repeats.shape.rank == 0 else repeats.shape.assert_has_rank(1)
        if data.shape.rank == 0:
            data = stack([data])
        dims = arrays.shape(data, out_type=repeats.dtype)
        axis = _positive(axis, data.shape.rank)
        if repeats.shape.num_elements() == 1:
            return _repeat_all(data, arrays.reshape(repeats, []), dims, axis)
        if repeats.shape.rank == 1:
            _check_same(data.shape[axis], repeats.shape[0])
        return _repeat_each(data, repeats, dims, axis)


def _check_same(size: int | None, count: int | None) -> None:
    """Told about: `Dimension.assert_is_compatible_with` of `framework/tensor_shape.py`."""
    if None not in (size, count) and size != count:
        raise ValueError(f"Dimensions {size} and {count} are not compatible")


def _positive(axis: int, rank: int | None) -> int:
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    if axis < 0 and rank is None:
        raise ValueError(f"axis={axis} may only be negative if rank(data) is statically known.")
    return axis if axis >= 0 else axis + (rank or 0)


def _tile_one_dimension(data: Tensor, axis: int, multiple: Any) -> Tensor:
    if data.shape.rank is None:
        each = arrays.ones(arrays.rank(data), dtypes.int32)
        return tile(data, concat([each[:axis], [multiple], each[axis + 1 :]], axis=0))  # type: ignore[no-any-return]
    multiples: list[Any] = [1] * data.shape.rank
    multiples[axis] = multiple
    return tile(data, multiples)  # type: ignore[no-any-return]


def _repeat_all(data: Tensor, repeats: Tensor, dims: Tensor, axis: int) -> Tensor:
    tiled = _tile_one_dimension(arrays.expand_dims(data, axis + 1), axis + 1, repeats)
    shape = concat([dims[:axis], [repeats * dims[axis]], dims[axis + 1 :]], axis=0)
    return arrays.reshape(tiled, shape)


def _repeat_each(data: Tensor, repeats: Tensor, dims: Tensor, axis: int) -> Tensor:
    """Tile as often as the most repeated element wants, then mask what is too much."""
    from tflogscope.runtime.library.comparison import boolean_mask

    original = repeats = arrays.broadcast_to(repeats, [dims[axis]])
    if repeats.shape.rank != axis + 1:
        shape, count = arrays.shape(repeats), arrays.rank(repeats)
        repeats = arrays.broadcast_to(repeats, concat([dims[: axis + 1 - count], shape], axis=0))
        repeats.set_shape([None] * (axis + 1))
    most = call("Max", repeats, arrays._all_dimensions(repeats))  # noqa: SLF001
    most = call("Maximum", convert_to_tensor(0, most.dtype, name="zero"), most)
    mask = arrays.sequence_mask(repeats, most)
    tiled = _tile_one_dimension(arrays.expand_dims(data, axis + 1), axis + 1, most)
    result = boolean_mask(tiled, mask)
    if axis:
        total = call("Sum", original, call("Range", 0, arrays.rank(original), 1))
        result = arrays.reshape(result, concat([dims[:axis], [total], dims[axis + 1 :]], axis=0))
    if data.shape.rank is not None:
        result.set_shape(data.shape[:axis].concatenate([None]).concatenate(data.shape[axis + 1 :]))
    return result


def paddings_shape(shape: TensorShape, paddings: Tensor) -> TensorShape:
    """What a shape becomes by these paddings, which also tell its rank.

    Told about: `PadShapeFn` of `core/framework/common_shape_fns.cc`.
    """
    value = None if isinstance(paddings, EagerTensor) else folded_value(paddings)
    rank = paddings.shape[0] if paddings.shape.rank == 2 else None
    if rank is not None and shape.rank not in (None, rank):
        raise ValueError(f"Shape must be rank {rank} but is rank {shape.rank}")
    if rank is not None and shape.rank is None:
        shape = TensorShape([None] * rank)
    if shape.rank is None or value is None:
        return TensorShape([None] * shape.rank) if shape.rank is not None else TensorShape(None)
    if (value < 0).any():
        raise ValueError("Paddings must be non-negative")
    return TensorShape(
        None if dim is None else dim + int(sum(pair))
        for dim, pair in zip(shape.as_list(), value, strict=True)
    )
