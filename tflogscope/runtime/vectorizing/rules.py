"""How the work of all iterations is done by one op, or a few: op by op.

Told about: the converters of `python/ops/parallel_for/pfor.py`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library import (
    arithmetic,
    arrays,
    comparison,
    joining,
    linalg,
    reductions,
    slicing,
)
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.vectorizing.conversion import NotVectorized, Stacked, Task, again

__all__ = ["RULES"]

Rule = Callable[[Task], Stacked | Sequence[Stacked]]

RULES: dict[str, Rule] = {}
"""By the type of the op."""


def _rule(*types: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(types, rule))
        return rule

    return register


# -- element by element

_ELEMENTWISE = """
Abs Add AddV2 Atan Ceil Cos Cosh Div DivNoNan Elu Erf Exp Expm1 Floor FloorDiv FloorMod Greater
GreaterEqual Less LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul MulNoNan
Neg Pow RealDiv Reciprocal Relu Relu6 Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square
SquaredDifference Sub Tan Tanh Xdivy Xlogy
"""


@_rule(*_ELEMENTWISE.split())
def _elementwise(task: Task) -> Stacked:
    if len(task.inputs) > 1:
        task.align()
    return Stacked(again(task.node, [each.tensor for each in task.inputs])[0], True)


@_rule(
    *("EluGrad", "LeakyReluGrad", "Relu6Grad", "ReluGrad", "RsqrtGrad", "SeluGrad", "SigmoidGrad"),
    *("ReciprocalGrad", "SoftplusGrad", "SoftsignGrad", "SqrtGrad", "TanhGrad"),
)
def _gradient(task: Task) -> Stacked:
    task.stack()  # these ops don't broadcast
    return Stacked(again(task.node, [each.tensor for each in task.inputs])[0], True)


@_rule("Identity", "StopGradient", "Softmax", "LogSoftmax")
def _as_it_is(task: Task) -> Stacked:
    return Stacked(again(task.node, [task.stacked(0)])[0], True)


@_rule("Cast")
def _cast(task: Task) -> Stacked:
    return Stacked(cast(task.stacked(0), task.node.attributes["DstT"]), True)


@_rule("SelectV2")
def _select_v2(task: Task) -> Stacked:
    task.align()
    condition, x, y = (each.tensor for each in task.inputs)
    return Stacked(comparison.where(condition, x, y), True)


@_rule("AddN")
def _sum_of_several(task: Task) -> Stacked:
    task.stack()
    return Stacked(arithmetic.add_n([each.tensor for each in task.inputs]), True)


# -- shapes


@_rule("Shape")
def _shape(task: Task) -> Stacked:
    shape: Any = arrays.shape(task.stacked(0), task.node.attributes["out_type"])
    return Stacked(shape[1:], False)


@_rule("ZerosLike")
def _zeros(task: Task) -> Stacked:
    tensor = task.stacked(0)
    shape: Any = arrays.shape(tensor)
    return Stacked(arrays.zeros(shape[1:], tensor.dtype), False)


@_rule("Reshape")
def _reshape(task: Task) -> Stacked:
    tensor = task.stacked(0)
    shape = joining.concat([task.conversion.length, task.same(1)], 0)
    return Stacked(arrays.reshape(tensor, shape), True)


@_rule("BroadcastTo")
def _broadcast(task: Task) -> Stacked:
    tensor = task.stacked(0)
    wanted: Any = joining.concat([task.conversion.length, task.same(1)], 0)
    shape_of_shape: Any = arrays.shape(wanted)
    missing = shape_of_shape[0] - arrays.rank(tensor)
    ones = joining.tile([1], arrays.reshape(missing, [1]))
    shape: Any = arrays.shape(tensor)
    aligned = arrays.reshape(tensor, joining.concat([shape[:1], ones, shape[1:]], 0))
    return Stacked(call("BroadcastTo", aligned, wanted), True)


@_rule("ExpandDims")
def _expand(task: Task) -> Stacked:
    return Stacked(arrays.expand_dims(task.stacked(0), _one_further(task.same(1))), True)


@_rule("Squeeze")
def _squeeze(task: Task) -> Stacked:
    axes = [at + 1 if at >= 0 else at for at in task.node.attributes["squeeze_dims"]]
    return Stacked(arrays.squeeze(task.stacked(0), axes), True)


@_rule("Tile")
def _tile(task: Task) -> Stacked:
    return Stacked(joining.tile(task.stacked(0), joining.concat([[1], task.same(1)], 0)), True)


@_rule("Transpose")
def _transpose(task: Task) -> Stacked:
    order = joining.concat([[0], task.same(1) + 1], 0)
    return Stacked(call("Transpose", task.stacked(0), order), True)


def _one_further(axis: Any) -> Any:
    """An axis, behind the new first one; if it is counted from the end, it stays."""
    return axis + cast(axis >= 0, axis.dtype)


# -- parts and sums


@_rule("Pack")
def _pack(task: Task) -> Stacked:
    task.stack()
    axis = task.node.attributes["axis"]
    parts = [each.tensor for each in task.inputs]
    return Stacked(joining.stack(parts, axis + 1 if axis >= 0 else axis), True)


@_rule("ConcatV2")
def _concat(task: Task) -> Stacked:
    last = len(task.inputs) - 1
    task.stack(*range(last))
    axis = _one_further(task.same(last))
    return Stacked(joining.concat([each.tensor for each in task.inputs[:last]], axis), True)


@_rule("Split")
def _split(task: Task) -> list[Stacked]:
    count = task.node.attributes["num_split"]
    parts = joining.split(task.stacked(1), count, _one_further(task.same(0)))
    return [Stacked(each, True) for each in parts]


@_rule("SplitV")
def _split_by_sizes(task: Task) -> list[Stacked]:
    count = task.node.attributes["num_split"]
    parts = joining.split(task.stacked(0), task.same(1), _one_further(task.same(2)), count)
    return [Stacked(each, True) for each in parts]


@_rule("Slice")
def _slice(task: Task) -> Stacked:
    begin = joining.concat([[0], task.same(1)], 0)
    size = joining.concat([[-1], task.same(2)], 0)
    return Stacked(call("Slice", task.stacked(0), begin, size), True)


@_rule("StridedSlice")
def _strided_slice(task: Task) -> Stacked:
    begin, end, strides = _slice_of_each(task, 1)
    tensor = task.stacked(0)
    return Stacked(slicing.strided_slice(tensor, begin, end, strides, **_masks(task)), True)


@_rule("StridedSliceGrad")
def _strided_slice_gradient(task: Task) -> Stacked:
    shape: Any = task.same(0)
    shape = joining.concat([cast(task.conversion.length, shape.dtype), shape], 0)
    begin, end, strides = _slice_of_each(task, 1)
    gradient = task.stacked(4)
    inputs = (shape, begin, end, strides, gradient)
    return Stacked(call("StridedSliceGrad", *inputs, **_masks(task)), True)


def _slice_of_each(task: Task, at: int) -> tuple[Any, Any, Any]:
    """Begin, end and strides, which are inputs from `at` on, with those of the new dimension."""
    begin, end, strides = (task.same(at + index) for index in range(3))
    return (
        joining.concat([[0], begin], 0),
        joining.concat([[0], end], 0),
        joining.concat([[1], strides], 0),
    )


def _masks(task: Task) -> dict[str, Any]:
    whole = ("begin_mask", "end_mask")
    plain = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    attributes = task.node.attributes
    return {name: attributes[name] << 1 | (name in whole) for name in (*whole, *plain)}


@_rule("GatherV2")
def _gather(task: Task) -> Stacked:
    (source, source_stacked), (indices, indices_stacked) = task.inputs[:2]
    axis = arrays.static_value(cast(task.same(2), dtypes.int32))
    batched: int = task.node.attributes["batch_dims"]
    if axis is None or axis < 0 or batched:
        raise NotVectorized("GatherV2 along an axis that is not known, or in batches")
    if source_stacked:
        task.stack(1)
        indices = task.inputs[1].tensor
        return Stacked(slicing.gather(source, indices, axis=axis + 1, batch_dims=1), True)
    assert indices_stacked
    each_its_row = indices is task.conversion.numbers and axis == 0
    if each_its_row and source.shape[0] == indices.shape[0]:
        return Stacked(source, True)
    gathered = slicing.gather(source, indices, axis=axis)
    if axis:
        before: Any = convert_to_tensor(axis)
        order = joining.concat(
            [[before], arrays.range(axis), arrays.range(axis + 1, arrays.rank(gathered))], 0
        )
        gathered = linalg.transpose(gathered, order)
    return Stacked(gathered, True)


@_rule("Sum", "Prod", "Max", "Min", "Mean", "All", "Any")
def _reduce(task: Task) -> Stacked:
    tensor, axes = task.stacked(0), _one_further(task.same(1))
    reduce = getattr(reductions, f"reduce_{task.node.type.lower()}")
    return Stacked(reduce(tensor, axes, keepdims=task.node.attributes["keep_dims"]), True)


# -- products


@_rule("MatMul")
def _matmul(task: Task) -> Stacked:
    (a, a_stacked), (b, b_stacked) = task.inputs
    flip_a, flip_b = (task.node.attributes[f"transpose_{each}"] for each in "ab")
    if a_stacked and b_stacked:
        return Stacked(linalg.matmul(a, b, adjoint_a=flip_a, adjoint_b=flip_b), True)
    if a_stacked:  # all rows below each other
        if flip_a:
            a = linalg.transpose(a, [0, 2, 1])
        x, y, z = _sizes(a)
        product = linalg.matmul(arrays.reshape(a, [x * y, z]), b, transpose_b=flip_b)
        return Stacked(arrays.reshape(product, [x, y, -1]), True)
    x, y, z = _sizes(b := _iterations_second(b, flip=flip_b))  # all columns side by side
    product = linalg.matmul(a, arrays.reshape(b, [x, y * z]), transpose_a=flip_a)
    product = arrays.reshape(product, [-1, y, z])
    return Stacked(linalg.transpose(product, [1, 0, 2]), True)


def _iterations_second(b: Any, *, flip: bool) -> Any:
    if flip:
        return linalg.transpose(b, [2, 0, 1])
    shape: Any = arrays.shape(b)
    smaller = call("Minimum", shape[0], shape[1])
    order = comparison.where_v1(call("Equal", smaller, 1), [0, 1, 2], [1, 0, 2])
    new_shape = joining.stack([shape[1], shape[0], shape[2]])
    return arrays.reshape(linalg.transpose(b, order), new_shape)


def _sizes(tensor: Any) -> Sequence[Any]:
    if tensor.shape.is_fully_defined():
        return tensor.shape.as_list()  # type: ignore[no-any-return]
    return [arrays.reshape(each, []) for each in joining.split(arrays.shape(tensor), 3)]


@_rule("BatchMatMulV2")
def _batch_matmul(task: Task) -> Stacked:
    task.align()
    (x, _), (y, _) = task.inputs
    flips = {f"adjoint_{new}": task.node.attributes[f"adj_{old}"] for new, old in ("ax", "by")}
    return Stacked(linalg.matmul(x, y, **flips), True)


@_rule("BiasAddGrad")
def _bias_gradient(task: Task) -> Stacked:
    if task.node.attributes["data_format"] != "NHWC":
        raise NotVectorized("BiasAddGrad with the channels first")
    gradient = task.stacked(0)
    shape: Any = arrays.shape(gradient)
    channels, iterations = shape[-1], shape[0]
    rows = arrays.reshape(gradient, [iterations, -1, channels])
    return Stacked(reductions.reduce_sum(rows, axis=[1], keepdims=False), True)


@_rule("UnsortedSegmentSum")
def _segment_sum(task: Task) -> Stacked:
    """Each iteration has segments of its own, behind those of the one before."""
    task.stack(0, 1)
    data, segments, count = task.stacked(0), task.stacked(1), task.same(2)
    if segments.dtype is not count.dtype:
        segments, count = cast(segments, dtypes.int64), cast(count, dtypes.int64)
    shape: Any = arrays.shape(segments, out_type=segments.dtype)
    iterations = shape[0]
    ones: Any = arrays.ones_like(shape, dtype=segments.dtype)
    ones = ones[1:]
    first = count * arrays.range(iterations, dtype=segments.dtype)
    first = arrays.reshape(first, joining.concat([[iterations], ones], 0))
    segments += first
    count = cast(count, dtypes.int64) * cast(iterations, dtypes.int64)
    sums = reductions.unsorted_segment_sum(data, segments, count)
    inner: Any = arrays.shape(sums)
    return Stacked(arrays.reshape(sums, joining.concat([[iterations, -1], inner[1:]], 0)), True)


@_rule("Einsum")
def _einsum(task: Task) -> Stacked:
    equation: str = task.node.attributes["equation"]
    letter = next(each for each in string.ascii_letters if each not in equation)
    given, result = equation.split("->")
    parts = [
        letter + part if stacked else part
        for part, (_, stacked) in zip(given.split(","), task.inputs, strict=True)
    ]
    new = f"{','.join(parts)}->{letter}{result}"
    return Stacked(linalg.einsum(new, *(each.tensor for each in task.inputs)), True)
