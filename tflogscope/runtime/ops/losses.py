"""Softmax and cross entropy. See `core/kernels/xent_op.cc`, `tensorflow/python/ops/nn_grad.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.library import nn
from tflogscope.runtime.library.numbers import reduce_sum
from tflogscope.runtime.ops.rules import invalid, same, scalar


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
