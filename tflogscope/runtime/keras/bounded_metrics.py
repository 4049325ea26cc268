"""Metrics that are the best of one rate where another is good enough: the sensitivity at a
specificity, and so on.

Told about: `SensitivitySpecificityBase` of `keras/src/metrics/confusion_metrics.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.confusion_metrics import COUNTS, Counting

__all__ = [
    "PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
]  # fmt: skip

_RATES = {
    "precision": ("true_positives", "false_positives"),
    "recall": ("true_positives", "false_negatives"),
    "sensitivity": ("true_positives", "false_negatives"),
    "specificity": ("true_negatives", "false_positives"),
}
"""The first count is the share of both that is meant."""


class _Bounded(Counting):
    """The highest `wanted` rate at the thresholds where the `bounded` one is at least `value`."""

    kept = {name: name for name in COUNTS}  # noqa: RUF012
    wanted: str
    bounded: str

    def __init__(
        self, value: float, num_thresholds: int, class_id: int | None, name: str | None, dtype: Any
    ) -> None:
        """Raises ValueError for a bound outside 0 to 1, or no threshold."""
        if not 0 <= value <= 1:
            raise ValueError(
                f"Argument `{self.bounded}` must be in the range [0, 1]. Received: "
                f"{self.bounded}={value}"
            )
        if num_thresholds <= 0:
            raise ValueError(
                "Argument `num_thresholds` must be an integer > 0. Received: "
                f"num_thresholds={num_thresholds}"
            )
        last = num_thresholds - 1
        limits = [number / last for number in range(num_thresholds)] if last else [0.5]
        super().__init__(limits, name, dtype, class_id=class_id)
        self.value = value

    def _rate(self, name: str) -> Any:
        first, second = (self._counts[count] for count in _RATES[name])
        return tf.math.divide_no_nan(first, tf.math.add(first, second))

    def result(self) -> Any:
        bounded, wanted = self._rate(self.bounded), self._rate(self.wanted)
        feasible = tf.where(tf.greater_equal(bounded, self.value))
        there_are = tf.greater(tf.size(feasible), 0)
        best = tf.reduce_max(tf.gather(wanted, feasible))
        return tf.where(there_are, best, 0.0)


class SensitivityAtSpecificity(_Bounded):
    """The highest sensitivity where the specificity is at least so much."""

    wanted, bounded = "sensitivity", "specificity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name, dtype)


class SpecificityAtSensitivity(_Bounded):
    """The highest specificity where the sensitivity is at least so much."""

    wanted, bounded = "specificity", "sensitivity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)


class PrecisionAtRecall(_Bounded):
    """The highest precision where the recall is at least so much."""

    wanted, bounded = "precision", "recall"

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name, dtype)


class RecallAtPrecision(_Bounded):
    """The highest recall where the precision is at least so much."""

    wanted, bounded = "recall", "precision"

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name, dtype)
