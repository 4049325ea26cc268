"""Metrics that count how often yes and no are right: precision, recall, the area under a curve.

All keep counts for one or more thresholds; what is above a threshold is a yes. If thresholds are
evenly spaced, predictions are sorted into buckets rather than compared with each.

Told about: `keras/src/metrics/confusion_metrics.py`, `iou_metrics.py`, and
`update_confusion_matrix_variables` of `keras/src/utils/metrics_utils.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.metrics_base import Metric
from tflogscope.runtime.keras.reduction import match_ranks

__all__ = [
    "AUC", "COUNTS", "Counting", "FalseNegatives", "FalsePositives", "MeanIoU", "Precision",
    "Recall", "TrueNegatives", "TruePositives",
]  # fmt: skip

COUNTS = ("true_positives", "true_negatives", "false_positives", "false_negatives")
_VERY_LOW = -1e10


class Counting(Metric):
    """`kept` says which of the four counts there are, under which variable names."""

    kept: dict[str, str]
    _counts: dict[str, Any]

    def __init__(
        self,
        thresholds: Sequence[float],
        name: str | None = None,
        dtype: Any = None,
        *,
        top_k: int | None = None,
        class_id: int | None = None,
        by_label: bool = False,
    ) -> None:
        """`top_k`: only the highest predictions of a row can be a yes. `class_id`: only that column
        counts. `by_label`: there are counts for each column; they are made when it is known how
        many there are.
        """
        super().__init__(name=name, dtype=dtype)
        self._limits = list(thresholds)
        self._top_k, self._class_id = top_k, class_id
        self._by_label = by_label
        self._counts = {}
        if not by_label:
            self._make_counts()

    def _make_counts(self, *columns: int) -> None:
        self._counts = {
            count: self.add_weight(variable, shape=(len(self._limits), *columns))
            for count, variable in self.kept.items()
        }

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_true, y_pred = tf.cast(y_true, self.dtype), tf.cast(y_pred, self.dtype)
        limits = tf.convert_to_tensor(self._limits, self.dtype)
        one_set = tf.cast(True, dtype=tf.bool)
        y_pred, y_true = match_ranks(y_pred, y_true)
        if self._top_k is not None:
            y_pred = _only_highest(y_pred, self._top_k)
        if self._class_id is not None:
            y_true, y_pred = (y[..., self._class_id, tf.newaxis] for y in (y_true, y_pred))
        if _evenly_spaced(self._limits):
            return self._update_by_buckets(y_true, y_pred, sample_weight)
        shape = tf.shape(y_pred)
        count = shape[0]
        columns = 1 if y_pred.shape.rank == 1 else tf.reduce_prod(shape[1:], axis=0)
        tf.where(one_set, columns, tf.ones([], dtype=tf.int32))  # NB: Keras' other case
        flat = tf.reshape(y_pred, [1, -1])
        labels = tf.reshape(tf.cast(y_true, dtype=tf.bool), [1, -1])
        width = count * columns
        times = [len(self._limits), 1]
        limits = tf.tile(tf.reshape(limits, [len(self._limits), -1]), tf.stack([1, width]))
        said_yes = tf.greater(tf.tile(flat, times), limits)
        is_so = tf.tile(labels, times)
        weights = None
        if sample_weight is not None:
            wide = tf.cast(sample_weight, self.dtype) * tf.ones_like(y_pred)
            weights = tf.tile(tf.reshape(wide, [1, -1]), times)
        return tf.group(*self._counted(said_yes, is_so, weights))

    def _update_by_buckets(self, y_true: Any, y_pred: Any, sample_weight: Any) -> Any:
        """Told about: `_update_confusion_matrix_variables_optimized`.

        NB: Keras also checks that weights can be broadcast.
        """
        last = len(self._limits) - 1
        each: Any = 1.0
        if sample_weight is not None:
            wide = tf.cast(sample_weight, self.dtype) * tf.ones_like(y_pred)
            each = wide if self._by_label else tf.reshape(wide, [-1])
        weights = tf.multiply(each, 1.0)
        y_pred = tf.clip_by_value(y_pred, 0.0, 1.0)
        y_true = tf.cast(tf.cast(y_true, tf.bool), self.dtype)
        if not self._by_label:
            y_true, y_pred = tf.reshape(y_true, [-1]), tf.reshape(y_pred, [-1])
        are_so = tf.multiply(y_true, weights)
        are_not = tf.multiply(1.0 - y_true, weights)
        # a prediction is in the bucket of the highest threshold below it
        bucket = tf.math.ceil(y_pred * last) - 1
        if self._limits[0] < 0.0 or self._limits[-1] > 1.0:
            bucket = tf.nn.relu(bucket)
        bucket = tf.cast(bucket, tf.int32)
        axis = None
        if self._by_label:
            axis = 1
            are_so, are_not, bucket = map(tf.transpose, (are_so, are_not, bucket))
            in_buckets = [
                tf.vectorized_map(
                    lambda pair: tf.math.unsorted_segment_sum(*pair, last + 1), (labels, bucket)
                )
                for labels in (are_so, are_not)
            ]
            right, wrong = (
                tf.transpose(tf.cumsum(count, reverse=True, axis=1)) for count in in_buckets
            )
        else:
            in_buckets = [
                tf.math.unsorted_segment_sum(labels, bucket, last + 1)
                for labels in (are_so, are_not)
            ]
            right, wrong = (tf.cumsum(count, reverse=True) for count in in_buckets)
        kept = self._counts
        if kept.keys() & {"true_negatives", "false_negatives"}:
            all_so, all_not = tf.reduce_sum(are_so, axis), tf.reduce_sum(are_not, axis)
        updates = []
        if "true_positives" in kept:
            updates.append(kept["true_positives"].assign_add(right))
        if "false_positives" in kept:
            updates.append(kept["false_positives"].assign_add(wrong))
        if "true_negatives" in kept:
            updates.append(kept["true_negatives"].assign_add(all_not - wrong))
        if "false_negatives" in kept:
            updates.append(kept["false_negatives"].assign_add(all_so - right))
        return tf.group(*updates)

    def _counted(self, said_yes: Any, is_so: Any, weights: Any) -> list[Any]:
        """The counts with what is new added to them."""
        counts = self._counts
        kept = counts.keys()
        said_no = tf.logical_not(said_yes) if kept & {COUNTS[1], COUNTS[3]} else None
        is_not = tf.logical_not(is_so) if kept & {COUNTS[1], COUNTS[2]} else None
        pairs = {
            "true_positives": (is_so, said_yes),
            "false_negatives": (is_so, said_no),
            "false_positives": (is_not, said_yes),
            "true_negatives": (is_not, said_no),
        }
        updates = []
        for count, (label, said) in pairs.items():
            if count in kept:
                hits = tf.cast(tf.logical_and(label, said), dtype=self.dtype)
                hits = hits if weights is None else hits * weights
                updates.append(counts[count].assign_add(tf.reduce_sum(hits, 1)))
        return updates

    def _one_or_all(self, values: Any) -> Any:
        return values[0] if len(self._limits) == 1 else values

    def reset_state(self) -> None:
        backend.batch_set_value([(each, np.zeros(each.shape)) for each in self._counts.values()])


def _only_highest(values: Any, count: int) -> Any:
    """All but the highest of a row become very low. Told about: `_filter_top_k`."""
    _, places = tf.math.top_k(values, count, sorted=False)
    kept = tf.reduce_sum(tf.one_hot(places, tf.shape(values)[-1], axis=-1), axis=-2)
    return values * kept + _VERY_LOW * (1 - kept)


def _evenly_spaced(limits: Sequence[float]) -> bool:
    return len(limits) >= 3 and np.allclose(limits, np.linspace(0, 1, len(limits)), atol=1e-7)


def _listed(thresholds: Any) -> list[float]:
    """Raises ValueError for one outside 0 to 1."""
    limits = (
        [0.5]
        if thresholds is None
        else [thresholds]
        if isinstance(thresholds, (int, float))
        else list(thresholds)
    )
    wrong = [limit for limit in limits if not 0 <= limit <= 1]
    if wrong:
        raise ValueError(f"Threshold values must be in [0, 1]. Received: {wrong}")
    return limits


class _SingleCount(Counting):
    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(_listed(thresholds), name, dtype)

    def result(self) -> Any:
        (counts,) = self._counts.values()
        return self._one_or_all(tf.convert_to_tensor(counts))


class TruePositives(_SingleCount):
    """How many yeses are right."""

    kept = {"true_positives": "accumulator"}  # noqa: RUF012


class TrueNegatives(_SingleCount):
    """How many noes are right."""

    kept = {"true_negatives": "accumulator"}  # noqa: RUF012


class FalsePositives(_SingleCount):
    """How many yeses are wrong."""

    kept = {"false_positives": "accumulator"}  # noqa: RUF012


class FalseNegatives(_SingleCount):
    """How many noes are wrong."""

    kept = {"false_negatives": "accumulator"}  # noqa: RUF012


class _Share(Counting):
    """The first count as a share of both."""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        lowest = top_k is not None and thresholds is None
        limits = [_VERY_LOW] if lowest else _listed(thresholds)
        super().__init__(limits, name, dtype, top_k=top_k, class_id=class_id)

    def result(self) -> Any:
        first, second = self._counts.values()
        return self._one_or_all(tf.math.divide_no_nan(first, tf.math.add(first, second)))


class Precision(_Share):
    """How many of the yeses are right."""

    kept = {name: name for name in ("true_positives", "false_positives")}  # noqa: RUF012


class Recall(_Share):
    """How many of those that are so were found."""

    kept = {name: name for name in ("true_positives", "false_negatives")}  # noqa: RUF012


class AUC(Counting):
    """The area under the curve of two rates over all thresholds, `ROC` or `PR`."""

    kept = {name: name for name in COUNTS}  # noqa: RUF012

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
        """With `multi_label`, the mean of the areas of each column. Raises ValueError for fewer
        than two thresholds, or for a number of labels that are not told apart.
        """
        if label_weights is not None:
            raise NotInThisRuntime("AUC(label_weights=...)")
        if thresholds is None:
            if num_thresholds <= 1:
                raise ValueError(
                    "Argument `num_thresholds` must be an integer > 1. Received: "
                    f"num_thresholds={num_thresholds}"
                )
            thresholds = [k / (num_thresholds - 1) for k in range(1, num_thresholds - 1)]
        self.curve, self.summation_method = curve.upper(), summation_method.lower()
        self._from_logits = from_logits
        limits = [-backend.epsilon(), *sorted(thresholds), 1.0 + backend.epsilon()]
        if multi_label and not _evenly_spaced(limits):
            raise NotInThisRuntime("AUC(multi_label=True) of thresholds that are not evenly spaced")
        super().__init__(limits, name, dtype, by_label=multi_label)
        if num_labels and not multi_label:
            raise ValueError("`num_labels` is needed only when `multi_label` is True.")
        if num_labels:
            self._make_counts(num_labels)

    @property
    def thresholds(self) -> list[float]:
        """The thresholds, from below 0 to above 1."""
        return self._limits

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        if not self._counts:
            self._make_counts(*self._columns_of(y_pred))
        y_pred = tf.sigmoid(tf.cast(y_pred, self.dtype)) if self._from_logits else y_pred
        return super().update_state(y_true, y_pred, sample_weight)

    @staticmethod
    def _columns_of(y_pred: Any) -> list[Any]:
        shape = tf.TensorShape(y_pred.shape)
        if shape.rank != 2:
            raise ValueError(
                "`y_true` must have rank 2 when `multi_label=True`. Found rank "
                f"{shape.rank}. Full shape received for `y_true`: {shape}"
            )
        return shape.as_list()[1:]

    def result(self) -> Any:
        counts = self._counts
        positives, negatives, wrong_yes, wrong_no = (counts[name] for name in COUNTS)
        if self.curve == "PR" and self.summation_method == "interpolation":
            increments = _interpolated(*map(tf.convert_to_tensor, (positives, wrong_yes, wrong_no)))
            return self._summed(increments, "interpolate_pr_auc")
        recall = tf.math.divide_no_nan(positives, tf.math.add(positives, wrong_no))
        if self.curve == "ROC":
            x, y = tf.math.divide_no_nan(wrong_yes, tf.math.add(wrong_yes, negatives)), recall
        else:
            x = recall
            y = tf.math.divide_no_nan(positives, tf.math.add(positives, wrong_yes))
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        elif self.summation_method == "minoring":
            heights = tf.minimum(y[:-1], y[1:])
        else:
            heights = tf.maximum(y[:-1], y[1:])
        return self._summed(tf.multiply(x[:-1] - x[1:], heights), self.name)

    def _summed(self, areas: Any, name: str) -> Any:
        if not self._by_label:
            return tf.reduce_sum(areas, name=name)
        of_labels = tf.reduce_sum(areas, name=f"{self.name}_by_label", axis=0)
        return tf.reduce_mean(of_labels, name=self.name)


def _interpolated(positives: Any, wrong_yes: Any, wrong_no: Any) -> Any:
    """The areas under precision-recall between thresholds, with the true positives interpolated and
    not the precision.

    After Davis & Goadrich, 2006.
    """
    gained = positives[:-1] - positives[1:]
    yes = positives + wrong_yes
    slope = tf.math.divide_no_nan(gained, tf.maximum(yes[:-1] - yes[1:], 0))
    intercept = positives[1:] - tf.multiply(slope, yes[1:])
    ratio = tf.where(
        tf.logical_and(yes[:-1] > 0, yes[1:] > 0),
        tf.math.divide_no_nan(yes[:-1], tf.maximum(yes[1:], 0)),
        tf.ones_like(yes[1:]),
    )
    return tf.math.divide_no_nan(
        slope * (gained + intercept * tf.math.log(ratio)),
        tf.maximum(positives[1:] + wrong_no[1:], 0),
    )


class MeanIoU(Metric):
    """Intersection over union of prediction and label, the mean over the classes."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_true, y_pred = (tf.reshape(tf.cast(y, self.dtype), [-1]) for y in (y_true, y_pred))
        if sample_weight is not None:
            sample_weight = tf.reshape(tf.cast(sample_weight, self.dtype), [-1])
        found: Any = tf.math.confusion_matrix(
            y_true, y_pred, self.num_classes, weights=sample_weight, dtype=self.dtype
        )
        return self.total_cm.assign_add(found)

    def result(self) -> Any:
        labels = tf.reduce_sum(self.total_cm, axis=0)
        predictions = tf.reduce_sum(self.total_cm, axis=1)
        right = tf.linalg.tensor_diag_part(tf.convert_to_tensor(self.total_cm))
        union = labels + predictions - right
        there = tf.reduce_sum(tf.cast(tf.not_equal(union, 0), self.dtype))
        ratios = tf.math.divide_no_nan(right, union)
        return tf.math.divide_no_nan(tf.reduce_sum(ratios, name="mean_iou"), there)
