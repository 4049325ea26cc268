"""Metrics that weigh precision against recall.

Told about: `keras/src/metrics/f_score_metrics.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.metrics_base import Metric

__all__ = ["F1Score", "FBetaScore"]


class FBetaScore(Metric):
    """The harmonic mean of precision and recall, of which recall counts `beta` times as much, for
    each class or as the average says.
    """

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        """Raises ValueError for an average, a beta or a threshold that makes no sense."""
        super().__init__(name=name, dtype=dtype)
        if average not in {None, "micro", "macro", "weighted"}:
            raise ValueError(
                "Invalid `average` argument value. Expected one of: {None, 'micro', 'macro', "
                f"'weighted'}}. Received: average={average}"
            )
        if not isinstance(beta, float):
            raise ValueError(
                "Invalid `beta` argument value. It should be a Python float. Received: "
                f"beta={beta} of type '{type(beta)}'"
            )
        if beta <= 0.0:
            raise ValueError(
                f"Invalid `beta` argument value. It should be > 0. Received: beta={beta}"
            )
        _check_threshold(threshold)
        self.average, self.beta, self.threshold = average, beta, threshold
        self.axis = None if average == "micro" else 0
        self.built = False

    def build(self, y_true_shape: Any, y_pred_shape: Any = None) -> None:
        """Raises ValueError unless both are rows of known length."""
        told = f"shapes: y_pred.shape={y_pred_shape} and y_true.shape={y_true_shape}."
        if len(y_pred_shape) != 2 or len(y_true_shape) != 2:
            raise ValueError(
                "FBetaScore expects 2D inputs with shape (batch_size, output_dim). Received input "
                + told
            )
        if y_pred_shape[-1] is None or y_true_shape[-1] is None:
            raise ValueError(
                "FBetaScore expects 2D inputs with shape (batch_size, output_dim), with output_dim "
                "fully defined (not None). Received input " + told
            )
        shape = () if self.average == "micro" else (y_pred_shape[-1],)
        self.true_positives = self.add_weight("true_positives", shape)
        self.false_positives = self.add_weight("false_positives", shape)
        self.false_negatives = self.add_weight("false_negatives", shape)
        self.intermediate_weights = self.add_weight("intermediate_weights", shape)
        self.built = True

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_true = tf.convert_to_tensor(y_true, dtype=self.dtype)
        y_pred = tf.convert_to_tensor(y_pred, dtype=self.dtype)
        if not self.built:
            self.build(y_true.shape, y_pred.shape)
        if self.threshold is None:
            threshold = tf.reduce_max(y_pred, axis=-1, keepdims=True)
            # a row of zeros has no highest
            y_pred = tf.logical_and(y_pred >= threshold, tf.abs(y_pred) > 1e-9)
        else:
            y_pred = y_pred > self.threshold
        y_pred = tf.cast(y_pred, dtype=self.dtype)

        def counted(values: Any) -> Any:
            if sample_weight is not None:
                values = tf.math.multiply(values, tf.expand_dims(sample_weight, 1))
            return tf.reduce_sum(values, axis=self.axis)

        self.true_positives.assign_add(counted(y_pred * y_true))
        self.false_positives.assign_add(counted(y_pred * (1 - y_true)))
        self.false_negatives.assign_add(counted((1 - y_pred) * y_true))
        self.intermediate_weights.assign_add(counted(y_true))

    def result(self) -> Any:
        precision = tf.math.divide_no_nan(
            self.true_positives, self.true_positives + self.false_positives
        )
        recall = tf.math.divide_no_nan(
            self.true_positives, self.true_positives + self.false_negatives
        )
        product = precision * recall
        total = (tf.math.square(self.beta) * precision) + recall
        score = tf.math.divide_no_nan(product, total) * (1 + tf.math.square(self.beta))
        if self.average == "weighted":
            weights = tf.math.divide_no_nan(
                self.intermediate_weights, tf.reduce_sum(self.intermediate_weights)
            )
            return tf.reduce_sum(score * weights)
        return score if self.average is None else tf.reduce_mean(score)

    def reset_state(self) -> None:
        """There is nothing to forget before it is built."""
        for variable in self.variables:
            variable.assign(tf.zeros(variable.shape, dtype=variable.dtype))


class F1Score(FBetaScore):
    """Precision and recall count the same."""

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str = "f1_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)


def _check_threshold(threshold: Any) -> None:
    start = "Invalid `threshold` argument value. It should "
    if threshold is None:
        return
    if not isinstance(threshold, float):
        raise ValueError(
            f"{start}be a Python float. Received: threshold={threshold} of type '{type(threshold)}'"
        )
    if threshold > 1.0 or threshold <= 0.0:
        raise ValueError(f"{start}verify 0 < threshold <= 1. Received: threshold={threshold}")
