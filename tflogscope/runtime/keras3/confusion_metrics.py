"""Metrics that count right and wrong positives: precision, recall, F score, area under the curve.

Told about: `keras/src/metrics/confusion_metrics.py`, `f_score_metrics.py`,
`update_confusion_matrix_variables` of `metrics_utils.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.backend import epsilon
from tflogscope.runtime.keras3 import activations, ops
from tflogscope.runtime.keras3.metrics_base import Metric
from tflogscope.runtime.keras3.reduction import same_rank

__all__ = ["AUC", "F1Score", "FBetaScore", "Precision", "Recall"]


def _prepared(
    y_true: Any, y_pred: Any, weights: Any, thresholds: Any, dtype: str
) -> tuple[Any, Any, Any, Any]:
    """Labels, predictions, weights and thresholds as tensors of one dtype, ready to be compared."""
    y_true, y_pred = ops.cast(y_true, dtype), ops.cast(y_pred, dtype)
    limits = ops.convert_to_tensor(thresholds, dtype)
    ops.shape(limits)
    y_pred, y_true = same_rank(y_pred, y_true)
    if weights is not None:
        weights = ops.expand_dims(ops.cast(weights, dtype), axis=-1)
    return y_true, y_pred, weights, limits


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
        """Raises NotInThisRuntime for `top_k`."""
        if top_k is not None:
            raise NotInThisRuntime(f"{type(self).__name__}(top_k=...)")
        super().__init__(dtype, name)
        found = [0.5] if thresholds is None else list(np.atleast_1d(thresholds))
        self.thresholds, self.class_id = [float(each) for each in found], class_id
        self.true_positives = self.add_variable((len(found),), "zeros", name="true_positives")
        self.counted = self.add_variable((len(found),), "zeros", name=self.others)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        y_true, y_pred, weights, limits = _prepared(
            y_true, y_pred, sample_weight, self.thresholds, self.true_positives.dtype
        )
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id, None], y_pred[..., self.class_id, None]
        label, positive, weights = self._tiled(y_true, y_pred, limits, weights)
        if self.others == "false_negatives":
            wrong = label, ops.logical_not(positive)
        else:
            wrong = ops.logical_not(label), positive
        self._count(self.true_positives, label, positive, weights)
        self._count(self.counted, *wrong, weights)

    def _tiled(self, y_true: Any, y_pred: Any, limits: Any, weights: Any) -> tuple[Any, Any, Any]:
        """Labels and predictions as rows of bools, one row per threshold."""
        shape = ops.shape(y_pred)
        predictions = ops.reshape(y_pred, [1, -1])
        labels = ops.reshape(ops.cast(y_true, "bool"), [1, -1])
        number, repeats = len(self.thresholds), [1, shape[0] * math.prod(shape[1:])]
        limits = ops.tile(ops.reshape(limits, [number, -1]), repeats)
        positive = ops.greater(ops.tile(predictions, [number, 1]), limits)
        label = ops.tile(labels, [number, 1])
        if weights is not None:
            weights = ops.broadcast_to(ops.cast(weights, y_pred.dtype), ops.shape(y_pred))
            weights = ops.tile(ops.reshape(weights, repeats), [number, 1])
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
        found = ops.divide_no_nan(self.true_positives, total)
        return found[0] if len(self.thresholds) == 1 else found

    def reset_state(self) -> None:
        for variable in (self.true_positives, self.counted):
            variable.assign(ops.zeros((len(self.thresholds),)))


class Precision(_Positives):
    """How many of the positive predictions are right."""

    others = "false_positives"


class Recall(_Positives):
    """How many of the positive labels are found."""

    others = "false_negatives"


class AUC(Metric):
    """The area under the curve of right over wrong positives (`ROC`), or of precision over recall
    (`PR`), by 200 thresholds.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        """Raises NotInThisRuntime for several labels, thresholds of one's own and other curves."""
        if multi_label or num_labels or label_weights is not None or thresholds is not None:
            raise NotInThisRuntime("Keras 3's AUC of several labels, or with thresholds")
        if curve not in {"ROC", "PR"} or summation_method not in _HEIGHTS:
            raise NotInThisRuntime(f"Keras 3's AUC of {curve!r} by {summation_method!r}")
        super().__init__(dtype, name)
        self.num_thresholds, self.curve = num_thresholds, curve
        self.summation_method, self._from_logits = summation_method, from_logits
        inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        self.thresholds = np.array([-epsilon(), *inner, 1.0 + epsilon()])
        for kind in _COUNTS:
            setattr(self, kind, self.add_variable((num_thresholds,), "zeros", name=kind))

    true_positives: Any
    false_positives: Any
    true_negatives: Any
    false_negatives: Any

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Sort the predictions into buckets between thresholds, which are evenly spaced."""
        if self._from_logits:
            y_pred = activations.sigmoid(y_pred)
        y_true, y_pred, weights, limits = _prepared(
            y_true, y_pred, sample_weight, self.thresholds, self.true_positives.dtype
        )
        number = ops.shape(limits)[0]
        if weights is not None:
            weights = ops.broadcast_to(ops.cast(weights, y_pred.dtype), ops.shape(y_pred))
            weights = ops.reshape(weights, [-1])
        weights = ops.cast(ops.multiply(1.0 if weights is None else weights, 1.0), y_true.dtype)
        y_pred = ops.clip(y_pred, x_min=0.0, x_max=1.0)
        y_true = ops.cast(ops.cast(y_true, "bool"), y_true.dtype)
        y_true, y_pred = ops.reshape(y_true, [-1]), ops.reshape(y_pred, [-1])
        right = ops.multiply(y_true, weights)
        wrong = ops.multiply(1.0 - y_true, weights)
        buckets = ops.ceil(y_pred * (ops.cast(number, dtype=y_pred.dtype) - 1)) - 1
        buckets = ops.cast(ops.relu(buckets), "int32")
        in_buckets = [ops.segment_sum(each, buckets, number) for each in (right, wrong)]
        positives = [ops.flip(ops.cumsum(ops.flip(each))) for each in in_buckets]
        totals = [ops.sum(right), ops.sum(wrong)]
        self.true_positives.assign(self.true_positives + positives[0])
        self.false_positives.assign(self.false_positives + positives[1])
        negatives = totals[1] - positives[1]
        self.true_negatives.assign(self.true_negatives + negatives)
        negatives = totals[0] - positives[0]
        self.false_negatives.assign(self.false_negatives + negatives)

    def result(self) -> Any:
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._interpolated()
        recall = _share(self.true_positives, self.false_negatives)
        if self.curve == "ROC":
            x, y = _share(self.false_positives, self.true_negatives), recall
        else:
            x, y = recall, _share(self.true_positives, self.false_positives)
        last = self.num_thresholds - 1
        heights = _HEIGHTS[self.summation_method](y[:last], y[1:])
        return ops.sum(ops.multiply(ops.subtract(x[:last], x[1:]), heights))

    def _interpolated(self) -> Any:
        """The area under precision over recall: between two thresholds precision is no line."""
        last, right = self.num_thresholds - 1, self.true_positives
        steps = ops.subtract(right[:last], right[1:])
        all_positives = ops.add(right, self.false_positives)
        widths = ops.subtract(all_positives[:last], all_positives[1:])
        slopes = ops.divide_no_nan(steps, ops.maximum(widths, 0))
        intercepts = ops.subtract(right[1:], ops.multiply(slopes, all_positives[1:]))
        ratios = ops.where(
            ops.logical_and(all_positives[:last] > 0, all_positives[1:] > 0),
            ops.divide_no_nan(all_positives[:last], ops.maximum(all_positives[1:], 0)),
            ops.ones_like(all_positives[1:]),
        )
        areas = ops.multiply(slopes, ops.add(steps, ops.multiply(intercepts, ops.log(ratios))))
        labels = ops.maximum(ops.add(right[1:], self.false_negatives[1:]), 0)
        return ops.sum(ops.divide_no_nan(areas, labels))

    def reset_state(self) -> None:
        for kind in _COUNTS:
            getattr(self, kind).assign(ops.zeros((self.num_thresholds,)))


_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_HEIGHTS = {
    "interpolation": lambda one, other: ops.divide(ops.add(one, other), 2.0),
    "minoring": ops.minimum,
    "majoring": ops.maximum,
}


def _share(part: Any, rest: Any) -> Any:
    return ops.divide_no_nan(part, ops.add(part, rest))


class FBetaScore(Metric):
    """The harmonic mean of precision and recall, of each class or averaged."""

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        """Raises ValueError for an unknown average."""
        super().__init__(dtype, name)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                "Invalid `average` argument value. Expected one of: "
                f"{{None, 'micro', 'macro', 'weighted'}}. Received: average={average}"
            )
        self.average, self.beta, self.threshold = average, beta, threshold
        self.axis = None if average == "micro" else 0
        self._built = False

    true_positives: Any
    false_positives: Any
    false_negatives: Any
    intermediate_weights: Any

    def _build(self, classes: int) -> None:
        shape = () if self.average == "micro" else (classes,)
        for kind in (
            "true_positives", "false_positives", "false_negatives", "intermediate_weights",
        ):  # fmt: skip
            setattr(self, kind, self.add_variable(shape, "zeros", self.dtype, kind))
        self._built = True

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        y_true = ops.convert_to_tensor(y_true, self.dtype)
        y_pred = ops.convert_to_tensor(y_pred, self.dtype)
        if not self._built:
            self._build(y_pred.shape[-1])
        if self.threshold is None:
            largest = ops.max(y_pred, axis=-1, keepdims=True)
            y_pred = ops.logical_and(y_pred >= largest, ops.abs(y_pred) > 1e-9)
        else:
            y_pred = y_pred > self.threshold
        y_pred, y_true = ops.cast(y_pred, self.dtype), ops.cast(y_true, self.dtype)
        if sample_weight is not None:
            sample_weight = ops.convert_to_tensor(sample_weight, self.dtype)

        def add(variable: Any, value: Any) -> None:
            if sample_weight is not None:
                value = ops.multiply(value, ops.expand_dims(sample_weight, 1))
            variable.assign(variable + ops.sum(value, axis=self.axis))

        add(self.true_positives, y_pred * y_true)
        add(self.false_positives, y_pred * (1 - y_true))
        add(self.false_negatives, (1 - y_pred) * y_true)
        add(self.intermediate_weights, y_true)

    def result(self) -> Any:
        right = self.true_positives
        precision = ops.divide(right, right + self.false_positives + epsilon())
        recall = ops.divide(right, right + self.false_negatives + epsilon())
        product = precision * recall
        total = ((self.beta**2) * precision) + recall
        score = ops.divide(product, total + epsilon()) * (1 + (self.beta**2))
        if self.average == "weighted":
            weights = self.intermediate_weights
            return ops.sum(score * ops.divide(weights, ops.sum(weights) + epsilon()))
        return score if self.average is None else ops.mean(score)

    def reset_state(self) -> None:
        for variable in self.variables:
            variable.assign(ops.zeros(variable.shape, dtype=variable.dtype))


class F1Score(FBetaScore):
    """With precision and recall of equal weight."""

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)
