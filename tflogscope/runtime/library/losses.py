"""Cross entropies. See `tensorflow/python/ops/nn_ops.py`, `nn_impl.py`."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import bfloat16, float16, float32
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.arrays import cast
from tflogscope.runtime.library.numbers import add

# -- losses


def _flatten_outer_dims(logits: Any) -> Any:
    last = O.Slice(arrays.shape(logits), [O.Sub(arrays.rank(logits), 1)], [1])
    output = arrays.reshape(logits, arrays.concat([[-1], last], 0))
    outer = logits.shape[:-1].num_elements() if logits.shape.rank else None
    if outer is not None and not executing_eagerly():
        output.set_shape([outer, logits.shape[-1]])
    return output


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, axis: int = -1, name: str | None = None
) -> Any:
    """The cross entropy of shares and `labels`, which are shares too."""
    assert axis == -1, "only along the last axis"
    with op_scope(name, "softmax_cross_entropy_with_logits") as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        narrow = logits.dtype in {float16, bfloat16}
        precise = cast(logits, float32) if narrow else logits
        labels = cast(labels, precise.dtype)
        rank, shape = arrays.rank(precise), arrays.shape(precise)
        precise, labels = _flatten_outer_dims(precise), _flatten_outer_dims(labels)
        cost, _ = O.SoftmaxCrossEntropyWithLogits(precise, labels, name=scope)
        cost = arrays.reshape(cost, O.Slice(shape, [0], [O.Sub(rank, 1)]))
        if not executing_eagerly() and logits.shape.rank is not None:
            cost.set_shape(logits.shape[:-1])
        return cast(cost, logits.dtype) if narrow else cost


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """The cross entropy of shares and `labels`, which are numbers of classes."""
    with op_scope(name, "SparseSoftmaxCrossEntropyWithLogits"):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        precise = cast(logits, float32) if logits.dtype is float16 else logits
        labels_shape = arrays.shape(labels)
        if logits.shape.rank == 2:
            cost, _ = O.SparseSoftmaxCrossEntropyWithLogits(precise, labels, name=name)
            return cast(cost, logits.dtype)
        # NB: TensorFlow asserts that the shapes fit, where they are not known
        classes = arrays.shape(logits)[arrays.rank(logits) - 1]
        precise = arrays.reshape(precise, [-1, classes])
        flat = arrays.reshape(labels, [-1])
        cost, _ = O.SparseSoftmaxCrossEntropyWithLogits(precise, flat, name=name)
        cost = arrays.reshape(cost, labels_shape)
        cost.set_shape(labels.shape)
        return cast(cost, logits.dtype)


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    with op_scope(name, "logistic_loss") as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        zeros = arrays.zeros_like(logits, logits.dtype)
        positive = logits >= zeros
        relu_logits = O.Select(positive, logits, zeros)
        negative = O.Select(positive, -logits, logits)
        return add(relu_logits - logits * labels, O.Log1p(O.Exp(negative)), name=scope)
