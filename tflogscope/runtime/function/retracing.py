"""The warning that a function is traced too often.

Told about: `_FrequentTracingDetector` of `eager/polymorphic_function/polymorphic_function.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.logs import log

__all__ = ["FrequentTracingDetector"]


HISTORY = 10
THRESHOLD = 5
MOST_WARNINGS = 2


class FrequentTracingDetector:
    """Counts the calls of one Python function: how many of the last ten were traced?"""

    def __init__(self) -> None:
        self._calls_per_trace: list[int] = []
        self._calls = 0
        self._warnings = 0

    def traced(self, function: Any, *, quiet: bool) -> None:
        """A call traced it; warn if too many of the last ones did."""
        self._calls += 1
        self._calls_per_trace.append(1)
        while self._calls_per_trace and self._calls - self._calls_per_trace[0] > HISTORY:
            self._calls -= self._calls_per_trace.pop(0)
        if quiet or self._warnings >= MOST_WARNINGS or len(self._calls_per_trace) < THRESHOLD:
            return
        self._warnings += 1
        log.warning(
            "%s out of the last %s calls to %s triggered tf.function retracing. Tracing is "
            "expensive and the excessive number of tracings could be due to (1) creating "
            "@tf.function repeatedly in a loop, (2) passing tensors with different shapes, (3) "
            "passing Python objects instead of tensors. For (1), please define your @tf.function "
            "outside of the loop. For (2), @tf.function has reduce_retracing=True option that "
            "can avoid unnecessary retracing. For (3), please refer to "
            "https://www.tensorflow.org/guide/function#controlling_retracing and "
            "https://www.tensorflow.org/api_docs/python/tf/function for  more details.",
            len(self._calls_per_trace),
            self._calls,
            function,
        )

    def not_traced(self) -> None:
        """A call found its trace."""
        if not self._calls_per_trace:
            self._calls_per_trace = [0]
        self._calls_per_trace[-1] += 1
        self._calls += 1
