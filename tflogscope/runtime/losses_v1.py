"""Losses of TensorFlow 1: each is one number, weighted, and added to the graph's collection of
losses.

Told about: `python/ops/losses/losses_impl.py`, `python/ops/losses/util.py`,
`python/ops/weights_broadcast_ops.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.collections_v1 import GraphKeys, add_to_collection, get_collection
from tflogscope.runtime.context import executing_eagerly, name_scope, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arithmetic, arrays, nn
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.grouping import no_op
from tflogscope.runtime.library.reductions import reduce_sum
from tflogscope.runtime.ops.call import call, control_dependencies
from tflogscope.runtime.tensors import Tensor

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "get_losses",
    "get_regularization_loss", "get_regularization_losses", "get_total_loss", "huber_loss",
    "log_loss", "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]  # fmt: skip


class Reduction:
    """How the losses of elements become one."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS


_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS
_LOSSES = GraphKeys.LOSSES


def add_loss(loss: Any, loss_collection: str | None = _LOSSES) -> None:
    """Add it to the collection of losses."""
    if loss_collection and not executing_eagerly():
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = _LOSSES) -> list[Any]:
    """The losses of the graph."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Those of regularizers."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Any:
    """Their sum; 0 if there are none."""
    losses = get_regularization_losses(scope)
    return arithmetic.add_n(losses, name=name) if losses else convert_to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """The sum of all losses."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return arithmetic.add_n(losses, name=name)


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """The losses times their weights, reduced. Raises ValueError for weights of a wrong shape."""
    with op_scope(scope, "weighted_loss"), control_dependencies(_checked(weights, losses)):
        losses = convert_to_tensor(losses)
        dtype = losses.dtype
        losses, weights = cast(losses, dtypes.float32), cast(weights, dtypes.float32)
        loss: Any = call("Mul", losses, weights)
        if reduction != Reduction.NONE:
            loss = _reduced(reduce_sum(loss), losses, weights, reduction)
        loss = cast(loss, dtype)
        add_loss(loss, loss_collection)
        return loss


def _reduced(total: Any, losses: Any, weights: Any, reduction: str) -> Any:
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        count = reduce_sum(arrays.ones_like(losses) * weights)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = _count(losses)
    elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        count = _count_present(losses, weights)
    else:
        raise ValueError(f"Invalid Reduction Key {reduction}.")
    return call("DivNoNan", reduce_sum(total), count, name="value")


def _count(losses: Any) -> Any:
    with op_scope(None, "num_elements") as scope:
        return cast(arrays.size(losses, name=scope), losses.dtype)


def _count_present(losses: Any, weights: Any) -> Any:
    """How many of the losses have a weight that is not zero."""
    if executing_eagerly() and weights.shape.rank == 0 and float(weights) != 0.0:
        return _count(losses)
    with op_scope(None, "num_present") as scope:
        zeros, ones = arrays.zeros_like(weights), arrays.ones_like(weights)
        present: Any = call("SelectV2", call("Equal", weights, 0.0), zeros, ones)
        with (
            name_scope("broadcast_weights") as inner,
            control_dependencies(_checked(present, losses)),
        ):
            present = call("Mul", present, arrays.ones_like(losses), name=inner)
        return reduce_sum(present, name=scope)


def _checked(weights: Any, values: Any) -> list[Any]:
    """Nodes that do nothing, after a look at the shapes. Told about: `assert_broadcastable`."""
    weights, values = convert_to_tensor(weights), convert_to_tensor(values)
    with op_scope(None, "assert_broadcastable"):
        if weights.shape.rank == 0:
            return [] if executing_eagerly() else [no_op(name="static_scalar_check_success")]
        if None in (weights.shape.rank, values.shape.rank):
            raise NotInThisRuntime("Weights of losses whose shapes are not known")
        rank = weights.shape.rank
        text = "weights can not be broadcast to values."
        if rank != values.shape.rank:
            raise ValueError(
                f"{text} values.rank={values.shape.rank}. weights.rank={rank}. "
                f"values.shape={values.shape}. weights.shape={weights.shape}. "
                f"Received weights={weights}, values={values}"
            )
        for dim, (size, of_values) in enumerate(zip(weights.shape, values.shape, strict=True)):
            if None not in (size, of_values) and size not in (1, of_values):
                raise ValueError(
                    f"{text} Mismatch at dim {dim}. values.shape={values.shape}, weights.shape="
                    f"{weights.shape}. Received weights={weights}, values={values}"
                )
        return [] if executing_eagerly() else [no_op(name="static_dims_check_success")]


def _pair(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Predictions and labels as floats of one shape. Raises ValueError."""
    for name, value in (("labels", labels), ("predictions", predictions)):
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")
    predictions, labels = cast(predictions, dtypes.float32), cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def absolute_difference(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """How far they are from each other."""
    with op_scope(scope, "absolute_difference") as inner:
        predictions, labels = _pair(labels, predictions)
        losses = call("Abs", call("Sub", predictions, labels))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """The square of how far they are from each other."""
    with op_scope(scope, "mean_squared_error") as inner:
        predictions, labels = _pair(labels, predictions)
        losses = call("SquaredDifference", predictions, labels)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0,
    scope: str | None = None, loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """Squares up to `delta`, straight from there."""
    with op_scope(scope, "huber_loss") as inner:
        predictions, labels = _pair(labels, predictions)
        distance = call("Abs", call("Sub", predictions, labels))
        quadratic = call("Minimum", distance, delta)
        linear = call("Sub", distance, quadratic)
        half = convert_to_tensor(0.5, dtype=quadratic.dtype)
        squares = call("Mul", half, call("Mul", quadratic, quadratic))
        losses = call("AddV2", squares, call("Mul", delta, linear))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7,
    scope: str | None = None, loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """The cross entropy of probabilities."""
    with op_scope(scope, "log_loss") as inner:
        given, wanted = _pair(labels, predictions)
        predictions, labels = given, wanted
        losses = -call("Mul", labels, call("Log", predictions + epsilon)) - call(
            "Mul", 1 - labels, call("Log", 1 - predictions + epsilon)
        )
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: str | None = None, loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """The cross entropy of one class against none, for each class."""
    with op_scope(scope, "sigmoid_cross_entropy_loss") as inner:
        logits = convert_to_tensor(logits)
        labels: Any = cast(multi_class_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: str | None = None, loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """The cross entropy of classes that exclude each other."""
    with op_scope(scope, "softmax_cross_entropy_loss") as inner:
        logits = convert_to_tensor(logits)
        labels: Any = cast(onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes: Any = cast(arrays.shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = arrays.stop_gradient(labels, name="labels_stop_gradient")
        losses = nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _MEAN,
) -> Any:  # fmt: skip
    """The same, of labels that are numbers of classes."""
    with op_scope(scope, "sparse_softmax_cross_entropy_loss") as inner:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        weights = convert_to_tensor(weights)
        with op_scope(None, "remove_squeezable_dimensions"):
            if None not in (labels.shape.rank, logits.shape.rank) and (
                logits.shape.rank - labels.shape.rank == 0 and labels.shape[-1] == 1
            ):
                labels = arrays.squeeze(labels, [-1])
        if weights.shape.rank and weights.shape.rank - labels.shape.rank == 1:
            weights = arrays.squeeze(weights, [-1])
        losses = nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)
