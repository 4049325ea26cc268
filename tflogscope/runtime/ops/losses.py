"""Losses that are ops: the two softmax cross entropies, which also give the gradient of their
logits, and L2Loss.

Told about: `core/kernels/xent_op.cc`, `core/kernels/sparse_xent_op.cc`, `python/ops/nn_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays, nn
from tflogscope.runtime.library.linalg import matmul
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.activations import log_softmax, softmax
from tflogscope.runtime.ops.declare import op, scalar
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import TensorShape, broadcast_shapes, dims_text
from tflogscope.runtime.tensors import Tensor

Array = NDArray[Any]


def _xent_shape(i: Inference) -> list[TensorShape]:
    shape = broadcast_shapes(i.shape(0), i.shape(1)).with_rank(2)
    return [shape[:1], shape]


@op(
    "SoftmaxCrossEntropyWithLogits(features: T, labels: T; T in neural) -> loss: T, backprop: T",
    shape=_xent_shape,
)
def _xent(features: Array, labels: Array) -> tuple[Array, Array]:
    """-sum(labels * log(softmax)) of each row, and softmax - labels."""
    try:
        shape = np.broadcast_shapes(features.shape, labels.shape)
    except ValueError:
        raise InvalidArgumentError(
            None,
            None,
            f"logits and labels must be broadcastable: logits_size={dims_text(features.shape)} "
            f"labels_size={dims_text(labels.shape)}",
        ) from None
    if len(shape) != 2:
        text = "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
        raise InvalidArgumentError(None, None, text)
    loss = -np.sum(labels * log_softmax(features), axis=-1)
    return np.asarray(loss, features.dtype), softmax(features) - labels


def _sparse_shape(i: Inference) -> list[TensorShape]:
    features = i.shape_of_rank(0, 2)
    rows = features[:1].merge_with(i.shape(1))
    return [rows, rows.concatenate(features[1:])]


@op("SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels; T in neural, Tlabels=int64)"
    " -> loss: T, backprop: T", shape=_sparse_shape)  # fmt: skip
def _sparse_xent(features: Array, labels: Array) -> tuple[Array, Array]:
    """The same with the label as a number. NB: TensorFlow gives NaN for a label out of range on
    GPUs.
    """
    _check_sparse(features.shape, labels.shape)
    classes = features.shape[1]
    bad = (labels < 0) | (labels >= classes)
    if np.any(bad):
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value of {labels[bad][0]} which is outside the valid range of [0, "
            f"{classes}).  Label values: {' '.join(map(str, labels))}",
        )
    rows = np.arange(len(labels))
    backprop = softmax(features)
    loss = -log_softmax(features)[rows, labels]
    backprop[rows, labels] -= 1
    return np.asarray(loss, features.dtype), backprop


def _check_sparse(logits: tuple[int, ...], labels: tuple[int, ...]) -> None:
    wrong = ""
    if len(logits) != 2:
        wrong = f"logits must be 2-D, but got shape {dims_text(logits)}"
    elif len(labels) != 1:
        wrong = f"labels must be 1-D, but got shape {dims_text(labels)}"
    elif logits[0] != labels[0]:
        wrong = (
            "logits and labels must have the same first dimension, got logits shape "
            f"{dims_text(logits)} and labels shape {dims_text(labels)}"
        )
    elif not logits[1]:
        wrong = f"Must have at least one class, but got logits shape {dims_text(logits)}"
    if wrong:
        raise InvalidArgumentError(None, None, wrong)


def _of_logits(record: OpRecord, grad_loss: Any, grad_grad: Any) -> Tensor:
    """The op computed it already; only a second gradient has to be added."""
    grad = arrays.expand_dims(grad_loss, -1) * record.outputs[1]
    if grad_grad is None or getattr(grad_grad, "is_zeros", False):
        return grad  # type: ignore[no-any-return]
    probabilities = nn.softmax(record.inputs[0])
    product = matmul(arrays.expand_dims(grad_grad, 1), arrays.expand_dims(probabilities, 2))
    return grad + (grad_grad - arrays.squeeze(product, axis=1)) * probabilities  # type: ignore[no-any-return]


@gradient("SoftmaxCrossEntropyWithLogits")
def _xent_gradient(record: OpRecord, grad_loss: Any, grad_grad: Any) -> list[Any]:
    of_logits = _of_logits(record, grad_loss, grad_grad)
    logs = -nn.log_softmax(record.inputs[0])
    return [of_logits, arrays.expand_dims(grad_loss, -1) * logs]


@gradient("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_xent_gradient(record: OpRecord, grad_loss: Any, grad_grad: Any) -> list[Any]:
    return [_of_logits(record, grad_loss, grad_grad), None]


@op("L2Loss(t: T; T in neural) -> output: T", shape=scalar)
def _l2_loss(t: Array) -> Array:
    """Half the sum of squares."""
    return np.asarray(np.sum(t * t) / 2, t.dtype)


@gradient("L2Loss")
def _l2_loss_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [record.inputs[0] * grad]
