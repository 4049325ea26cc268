"""Comparison, logic, bits, and choosing: Less, Equal, LogicalAnd, SelectV2, Where and others.

Told about: `core/ops/math_ops.cc`, `core/ops/bitwise_ops.cc`, `core/kernels/cwise_op_*.cc`,
`core/kernels/where_op.cc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.broadcasting import (
    broadcast_gradient_args,
    broadcast_kernel,
    broadcast_shape,
    incompatible,
    reduced_to,
)
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, broadcast_shapes

Array = NDArray[Any]

for _type, _kernel in {
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
}.items():
    op(f"{_type}(x: T, y: T; T in real) -> z: bool", shape=broadcast_shape)(
        broadcast_kernel(_kernel)
    )

op("LogicalAnd(x: bool, y: bool) -> z: bool", shape=broadcast_shape)(
    broadcast_kernel(np.logical_and)
)
op("LogicalOr(x: bool, y: bool) -> z: bool", shape=broadcast_shape)(broadcast_kernel(np.logical_or))
op("LogicalNot(x: bool) -> y: bool")(np.logical_not)

for _type, _bitwise in {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "LeftShift": np.left_shift,
    "RightShift": np.right_shift,
}.items():
    op(f"{_type}(x: T, y: T; T in integer) -> z: T", shape=broadcast_shape)(
        broadcast_kernel(_bitwise)
    )
op("Invert(x: T; T in integer) -> y: T")(np.invert)


def _equality_shape(i: Inference) -> TensorShape:
    try:
        return broadcast_shape(i)
    except ValueError:
        if i.attributes["incompatible_shape_error"]:
            raise
        return UNKNOWN  # `==` of tensors that can't be broadcast is a plain False


@op("Equal(x: T, y: T; incompatible_shape_error=True) -> z: bool", shape=_equality_shape)
def _equal(x: Array, y: Array, incompatible_shape_error: bool) -> Any:
    return _compared(np.equal, x, y, raises=incompatible_shape_error, otherwise=False)


@op("NotEqual(x: T, y: T; incompatible_shape_error=True) -> z: bool", shape=_equality_shape)
def _not_equal(x: Array, y: Array, incompatible_shape_error: bool) -> Any:
    return _compared(np.not_equal, x, y, raises=incompatible_shape_error, otherwise=True)


def _compared(compare: Any, x: Array, y: Array, *, raises: bool, otherwise: bool) -> Any:
    try:
        return np.asarray(compare(x, y), np.bool_)
    except ValueError:
        if raises:
            raise incompatible(x, y) from None
        return np.array(otherwise)


@op("ApproximateEqual(x: T, y: T; T in number, tolerance=1e-05) -> z: bool")
def _approximate_equal(x: Array, y: Array, tolerance: float) -> Array:
    return np.asarray(np.abs(x - y) < tolerance)


not_differentiable(
    "Less",
    "LessEqual",
    "Greater",
    "GreaterEqual",
    "Equal",
    "NotEqual",
    "ApproximateEqual",
    "LogicalAnd",
    "LogicalOr",
    "LogicalNot",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Invert",
    "LeftShift",
    "RightShift",
    "IsNan",
    "IsInf",
    "IsFinite",
    "Where",
)

# -- choosing


def _select_shape(i: Inference) -> TensorShape:
    return i.shape(1).merge_with(i.shape(2))


@op("Select(condition: bool, t: T, e: T) -> output: T", shape=_select_shape)
def _select(condition: Array, t: Array, e: Array) -> Array:
    """One condition for all, for each row, or for each element."""
    if condition.ndim == 1 and t.ndim > 1:
        condition = condition.reshape((-1,) + (1,) * (t.ndim - 1))
    return np.where(condition, t, e)


@gradient("Select")
def _select_gradient(record: OpRecord, grad: Any) -> list[Any]:
    condition, x, _ = record.inputs
    zeros = arrays.zeros_like(x)
    return [None, call("Select", condition, grad, zeros), call("Select", condition, zeros, grad)]


def _select_v2_shape(i: Inference) -> TensorShape:
    return broadcast_shapes(i.shape(0), broadcast_shapes(i.shape(1), i.shape(2)))


@op("SelectV2(condition: bool, t: T, e: T) -> output: T", shape=_select_v2_shape)
def _select_v2(condition: Array, t: Array, e: Array) -> Array:
    try:
        return np.where(condition, t, e)
    except ValueError:
        shapes = [f"[{','.join(map(str, each.shape))}]" for each in (condition, t, e)]
        text = "condition {}, then {}, and else {} must be broadcastable".format(*shapes)
        raise InvalidArgumentError(None, None, text) from None


@gradient("SelectV2")
def _select_v2_gradient(record: OpRecord, grad: Any) -> list[Any]:
    condition, x, y = record.inputs
    zeros = arrays.zeros([], grad.dtype)
    gx = call("SelectV2", condition, grad, zeros)
    if since(2, 15):
        gy = call("SelectV2", condition, zeros, grad)
        output = record.outputs[0]
        return [None, reduced_to(gx, x, output), reduced_to(gy, y, output)]
    x_shape, output_shape = arrays.shape(x), arrays.shape(record.outputs[0])
    gx = _reduced(gx, x_shape, output_shape)
    gy = call("SelectV2", condition, zeros, grad)
    y_shape = arrays.shape(y)
    return [None, gx, _reduced(gy, y_shape, output_shape)]


def _reduced(grad: Any, shape: Any, output_shape: Any) -> Any:
    axes, _ = broadcast_gradient_args(shape, output_shape)
    return arrays.reshape(reductions.reduce_sum(grad, axes, keepdims=True), shape)


def _where_shape(i: Inference) -> TensorShape:
    return TensorShape([None, i.shape(0).rank])


@op("Where(input: T; T=bool) -> index: int64", shape=_where_shape)
def _where(input: Array) -> Array:
    """The coordinates of the elements that are true, or not 0."""
    return np.argwhere(input).astype(np.int64)


@op("ClipByValue(t: T, clip_value_min: T, clip_value_max: T; T in number) -> output: T")
def _clip_by_value(t: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
    return np.minimum(np.maximum(t, clip_value_min), clip_value_max)


@gradient("ClipByValue")
def _clip_by_value_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """Only what was not clipped has a gradient; a limit gets the sum of what it stands for."""
    x, low, high = record.inputs
    zeros = arrays.zeros_like(grad)
    below, above = call("Less", x, low), call("Greater", x, high)
    kept = call("LogicalNot", call("LogicalOr", below, above))
    sums = [
        reductions.reduce_sum(call("SelectV2", mask, grad, zeros))
        if limit.shape.rank == 0
        else None
        for mask, limit in ((below, low), (above, high))
    ]
    return [call("SelectV2", kept, grad, zeros), *sums]


def _in_top_k_shape(i: Inference) -> TensorShape:
    rows, targets = i.shape_of_rank(0, 2)[0], i.shape_of_rank(1, 1)[0]
    if None not in (rows, targets) and rows != targets:
        raise ValueError(f"Dimensions must be equal, but are {rows} and {targets}")
    return TensorShape([rows if targets is None else targets])


@op(
    "InTopKV2(predictions: float32, targets: T, k: T; T=int32) -> precision: bool",
    shape=_in_top_k_shape,
)
def _in_top_k(predictions: Array, targets: Array, k: Array) -> Array:
    """Is the target's prediction among the k highest of its row (ties count as among them)?"""
    if len(predictions) != len(targets):
        text = (
            f"First dimension of predictions {len(predictions)} must match length of targets "
            f"{len(targets)}"
        )
        raise InvalidArgumentError(None, None, text)
    rows = np.arange(len(targets))
    valid = (targets >= 0) & (targets < predictions.shape[1])
    chosen = predictions[rows, np.where(valid, targets, 0)]
    higher = (predictions > chosen[:, None]).sum(axis=1)
    return np.asarray(valid & np.isfinite(chosen) & (higher < k))


not_differentiable("InTopKV2")
