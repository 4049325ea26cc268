"""Sums, extremes, scans, softmax and cross entropies. See `core/ops/math_ops.cc`, `core/kernels/xent_op.cc`,
`tensorflow/python/ops/math_grad.py`, `nn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import int32
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.library import arrays, nn
from tflogscope.runtime.library.arrays import cast, reshape
from tflogscope.runtime.library.numbers import reduce_prod, reduce_sum, reduced_shape, truediv
from tflogscope.runtime.ops.rules import invalid, known_int, same, scalar


def _reduced(i: Inference) -> TensorShape:
    dims, axes, keep = i.shape(0).dims, known_value(i.inputs[1]), i["keep_dims"]
    if dims is None or axes is None:
        return TensorShape([None] * len(dims)) if keep and dims is not None else UNKNOWN
    if any(not -len(dims) <= axis < len(dims) for axis in np.ravel(axes)):
        raise ValueError(
            f"Invalid reduction dimension {axes} for input with {len(dims)} dimensions"
        )
    chosen = {int(axis) % len(dims) for axis in np.ravel(axes)}
    pairs = enumerate(dims)
    return TensorShape([1 if k in chosen else d for k, d in pairs if keep or k not in chosen])


def _kernel(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    def kernel(input: Any, axes: Any, keep_dims: bool) -> Any:
        chosen = tuple(int(axis) for axis in np.ravel(axes))
        return np.asarray(function(input, axis=chosen, keepdims=keep_dims, **options), input.dtype)

    return kernel


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    """NB: as C++ divides, integers towards 0."""
    found = np.mean(x, axis=axis, keepdims=keepdims)
    return found if x.dtype.kind == "f" else np.trunc(found)


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any, keepdims: bool) -> Any:
        info = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        start = sign * np.inf if info is None else info.min if sign < 0 else info.max
        return function(x, axis=axis, keepdims=keepdims, initial=start)

    return _kernel(reduce)


def _sum_gradient(op: Any, g: Any) -> list[Any]:
    x, axes = op.inputs
    known_axes = known_value(axes)
    if x.shape.rank is not None and known_axes is not None:
        if np.array_equal(known_axes, np.arange(x.shape.rank)):
            return [_of_everything(x, g), None]
        if x.shape.is_fully_defined() and not executing_eagerly():
            # NB: TensorFlow makes ops that compute these, which nothing reads
            kept = reduced_shape(x.shape.sizes(), known_axes)
            return [
                O.Tile(
                    reshape(g, kept), np.array(x.shape.sizes(), np.int32) // np.maximum(kept, 1)
                ),
                None,
            ]
    shape = arrays.shape(x)
    if not op.get_attr("keep_dims"):
        g = reshape(g, reduced_shape(shape, axes))
    return [O.BroadcastTo(g, shape), None]


def _of_everything(x: Any, g: Any) -> Any:
    rank, known = len(x.shape), x.shape.is_fully_defined()
    g = reshape(g, _ones(rank) if executing_eagerly() else [1] * rank)
    return O.Tile(g, constant(x.shape.as_list(), int32) if known else arrays.shape(x))


@cache
def _ones(count: int) -> Any:
    """Made eagerly once, and kept."""
    return constant([1] * count, int32)


def _mean_gradient(op: Any, g: Any) -> list[Any]:
    of_sum = _sum_gradient(op, g)[0]
    x, y = op.inputs[0], op.outputs[0]
    if x.shape.is_fully_defined() and y.shape.is_fully_defined():
        count: Any = np.prod(x.shape.sizes()) // max(np.prod(y.shape.sizes()), 1)
        count = constant(count if y.shape.rank else float(count), of_sum.dtype)
    else:
        total, kept = (reduce_prod(arrays.shape(each)) for each in (x, y))
        count = O.FloorDiv(total, O.Maximum(kept, 1), name="floordiv")
    return [truediv(of_sum, cast(count, of_sum.dtype)), None]


_ROW = "(input: T, reduction_indices: Tidx; keep_dims=False, Tidx=int32) -> output: T"
op("Sum" + _ROW, _reduced, _kernel(np.sum), _sum_gradient)
op("Mean" + _ROW, _reduced, _kernel(_mean), _mean_gradient)
op("Prod" + _ROW, _reduced, _kernel(np.prod))
op("Max" + _ROW, _reduced, _extreme(np.max, -1))
op("Min" + _ROW, _reduced, _extreme(np.min, 1))
_BOOL = _ROW.replace("input: T", "input: bool").replace("output: T", "output: bool")
op("All" + _BOOL, _reduced, _kernel(np.all))
op("Any" + _BOOL, _reduced, _kernel(np.any))


# -- where the largest is


def _without_axis(i: Inference) -> TensorShape:
    dims, axis = i.shape(0).dims, known_int(i.inputs[1])
    if dims is None or axis is None:
        return UNKNOWN
    return TensorShape([dim for k, dim in enumerate(dims) if k != axis % len(dims)])


_ARG = "(input: T, dimension: Tidx; Tidx=int32, output_type=int64) -> output: output_type"
op("ArgMax" + _ARG, _without_axis, lambda x, axis: np.argmax(x, int(axis)))


def softmax(x: Any) -> Any:
    """Shares that add up to 1."""
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return (powers / np.sum(powers, axis=-1, keepdims=True)).astype(x.dtype)


def log_softmax(x: Any) -> Any:
    shifted = x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    return (shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))).astype(x.dtype)


def _softmax_gradient(op: Any, g: Any) -> list[Any]:
    y = op.outputs[0]
    return [(g - reduce_sum(g * y, -1, keepdims=True)) * y]


def _log_softmax_gradient(op: Any, g: Any) -> list[Any]:
    return [g - reduce_sum(g, -1, keepdims=True) * O.Exp(op.outputs[0])]


op("Softmax(logits: T) -> softmax: T", same, softmax, _softmax_gradient)
op("LogSoftmax(logits: T) -> logsoftmax: T", same, log_softmax, _log_softmax_gradient)


def _xent_shape(i: Inference) -> Any:
    shape = broadcast_shapes(i.shape(0), i.shape(1)).with_rank(2)
    return [shape[:1], shape]


def _xent(features: Any, labels: Any) -> Any:
    return -np.sum(labels * log_softmax(features), axis=-1), softmax(features) - labels


def _sparse_shape(i: Inference) -> Any:
    features = i.shape(0).with_rank(2)
    rows = features[:1].merge_with(i.shape(1))
    return [rows, rows.concatenate(features[1:])]


def _sparse_xent(features: Any, labels: Any) -> Any:
    if np.any(bad := (labels < 0) | (labels >= features.shape[1])):
        raise invalid(f"The label {labels[bad][0]} is outside the valid range")
    rows, backprop = np.arange(len(labels)), softmax(features)
    backprop[rows, labels] -= 1
    return -log_softmax(features)[rows, labels], backprop


def _of_logits(op: Any, grad_loss: Any, grad_grad: Any) -> Any:
    if grad_grad is not None:
        raise NotInThisRuntime(f"the gradient of the gradient of {op.type}")
    return O.ExpandDims(grad_loss, -1) * op.outputs[1]


def _xent_gradient(op: Any, grad_loss: Any, grad_grad: Any) -> list[Any]:
    of_logits = _of_logits(op, grad_loss, grad_grad)
    logs = -nn.log_softmax(op.inputs[0])
    return [of_logits, O.ExpandDims(grad_loss, -1) * logs]


op("SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> loss: T, backprop: T", _xent_shape,
   _xent, _xent_gradient)  # fmt: skip
op("SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels; Tlabels=int64) -> loss: T, "
   "backprop: T", _sparse_shape, _sparse_xent,
   lambda op, *grads: [_of_logits(op, *grads), None])  # fmt: skip
op("L2Loss(t: T) -> output: T", scalar, lambda t: np.sum(t * t) / 2,
   lambda op, g: [op.inputs[0] * g])  # fmt: skip
