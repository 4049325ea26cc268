"""Precision and recall: counts of right and wrong positives.

Told about: `keras/src/metrics/confusion_metrics.py`, `update_confusion_matrix_variables` of
`metrics_utils.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.metrics_base import Metric
from tflogscope.runtime.keras3.reduction import same_rank

__all__ = ["Precision", "Recall"]


class _Positives(Metric):
    """Two counts: predictions that are positive and right, and others of one kind."""

    others: str

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        """Raises NotInThisRuntime for several thresholds and `top_k`."""
        super().__init__(dtype, name)
        found = [0.5] if thresholds is None else list(np.atleast_1d(thresholds))
        if top_k is not None or len(found) > 1:
            raise NotInThisRuntime(f"{type(self).__name__} with several thresholds or top_k")
        self.thresholds, self.class_id = [float(each) for each in found], class_id
        self.true_positives = self.add_variable((1,), "zeros", name="true_positives")
        self.counted = self.add_variable((1,), "zeros", name=self.others)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        dtype = self.true_positives.dtype
        y_true, y_pred = ops.cast(y_true, dtype), ops.cast(y_pred, dtype)
        limit = ops.convert_to_tensor(self.thresholds, dtype)
        ops.shape(limit)
        y_pred, y_true = same_rank(y_pred, y_true)
        if sample_weight is not None:
            sample_weight = ops.expand_dims(ops.cast(sample_weight, dtype), axis=-1)
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id, None], y_pred[..., self.class_id, None]
        label, positive, weights = self._tiled(y_true, y_pred, limit, sample_weight)
        self._count(self.true_positives, label, positive, weights)
        if self.others == "false_negatives":
            self._count(self.counted, label, ops.logical_not(positive), weights)
        else:
            self._count(self.counted, ops.logical_not(label), positive, weights)

    def _tiled(self, y_true: Any, y_pred: Any, limit: Any, weights: Any) -> tuple[Any, Any, Any]:
        """Labels and predictions as rows of bools, one row per threshold."""
        shape = ops.shape(y_pred)
        predictions = ops.reshape(y_pred, [1, -1])
        labels = ops.reshape(ops.cast(y_true, "bool"), [1, -1])
        repeats = [1, shape[0] * math.prod(shape[1:])]
        limits = tf.tile(ops.reshape(limit, [1, -1]), repeats)
        positive = ops.greater(tf.tile(predictions, [1, 1]), limits)
        label = tf.tile(labels, [1, 1])
        if weights is not None:
            weights = ops.broadcast_to(ops.cast(weights, y_pred.dtype), ops.shape(y_pred))
            weights = tf.tile(ops.reshape(weights, repeats), [1, 1])
        return label, positive, weights

    def _count(self, variable: Any, one: Any, other: Any, weights: Any) -> None:
        both = ops.logical_and(one, other)
        if weights is None:
            counted = ops.cast(both, variable.dtype)
        else:
            counted = ops.where(both, ops.cast(weights, variable.dtype), 0)
        variable.assign(variable + ops.sum(counted, 1))

    def result(self) -> Any:
        total = ops.add(self.true_positives, self.counted)
        return ops.divide_no_nan(self.true_positives, total)[0]

    def reset_state(self) -> None:
        for variable in (self.true_positives, self.counted):
            variable.assign(ops.zeros((1,)))


class Precision(_Positives):
    """How many of the positive predictions are right."""

    others = "false_positives"


class Recall(_Positives):
    """How many of the positive labels are found."""

    others = "false_negatives"
