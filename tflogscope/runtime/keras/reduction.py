"""From a value per example to one number: masks, sample weights and means, for losses and metrics.

Told about: `keras/src/utils/losses_utils.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf

__all__ = ["Reduction", "apply_mask", "mask_of", "match_ranks", "weighted_loss"]


class Reduction:
    """How a loss is reduced. `AUTO` is the mean over the batch."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError for an unknown one."""
        known = (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)
        if key not in known:
            raise ValueError(f'Invalid Reduction Key: {key}. Expected keys are "{known}"')


def mask_of(tensor: Any) -> Any:
    """The mask that a layer left on its output, or None."""
    return getattr(tensor, "_keras_mask", None)


def apply_mask(predictions: Any, weights: Any, mask: Any) -> Any:
    """The sample weights, 0 where the mask is False."""
    if mask is None:
        return weights
    mask = tf.cast(mask, predictions.dtype)
    if weights is None:
        return mask
    weights = tf.cast(weights, mask.dtype)
    mask, _, weights = match_ranks(mask, weights=weights)
    weights *= mask
    return weights


def apply_valid_mask(losses: Any, weights: Any, mask: Any, reduction: str) -> Any:
    """The same, scaled up so that a mean over all examples is one over those that count."""
    if mask is not None:
        mask = tf.cast(mask, losses.dtype)
        if reduction in (Reduction.AUTO, Reduction.SUM_OVER_BATCH_SIZE):
            total = tf.cast(tf.size(mask), losses.dtype)
            mask *= total / tf.reduce_sum(mask)
    return apply_mask(losses, weights, mask)


def match_ranks(predictions: Any, labels: Any = None, weights: Any = None) -> Any:
    """Predictions, labels and weights with a last dimension of 1 dropped or added where one has it
    and the other not.
    """
    if labels is not None:
        difference = predictions.shape.rank - labels.shape.rank
        if difference != 1 or predictions.shape[-1] == 1:
            labels, predictions = _squeezed(labels, predictions)
    if weights is None:
        return predictions, labels
    if weights.shape.rank:
        difference = weights.shape.rank - predictions.shape.rank
        if difference == 1:
            weights = tf.squeeze(weights, [-1])
        elif difference == -1:
            weights = tf.expand_dims(weights, [-1])
    return predictions, labels, weights


def _squeezed(labels: Any, predictions: Any) -> tuple[Any, Any]:
    with tf.name_scope("remove_squeezable_dimensions"):
        difference = predictions.shape.rank - labels.shape.rank
        if difference == 1 and predictions.shape[-1] in (1, None):
            predictions = tf.squeeze(predictions, [-1])
        elif difference == -1 and labels.shape[-1] in (1, None):
            labels = tf.squeeze(labels, [-1])
        return labels, predictions


def weighted_loss(losses: Any, weights: Any, reduction: str) -> Any:
    """The losses times their weights, reduced."""
    with tf.name_scope("weighted_loss"):
        losses = tf.convert_to_tensor(losses)
        weights = tf.convert_to_tensor(1.0 if weights is None else weights)
        weights = tf.cast(weights, losses.dtype)
        losses, _, weights = match_ranks(losses, None, weights)
        losses = tf.multiply(losses, weights)
        if reduction == Reduction.NONE:
            return losses
        total = tf.reduce_sum(losses)
        if reduction == Reduction.SUM:
            return total
        with tf.name_scope("num_elements") as scope:
            number = tf.cast(tf.size(losses, name=scope), dtype=losses.dtype)
        return tf.math.divide_no_nan(tf.reduce_sum(total), number, name="value")
