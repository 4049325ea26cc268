"""The progress bar of `fit`.

Told about: `Progbar` of `keras/src/utils/generic_utils.py`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

__all__ = ["ProgressBar", "clock", "count", "duration", "write"]

_INTERVAL = 0.05  # seconds between two updates of the line


class ProgressBar:
    """`verbose` 1 draws a line and overwrites it; 2 prints one line at the end."""

    def __init__(self, target: int | None, verbose: int) -> None:
        self.target = target
        self.verbose = verbose
        self._values: dict[str, Any] = {}
        self._width = 0
        self._start = time.time()
        self._last_update = 0.0
        self._after_first_step: float | None = None

    def update(self, current: int, values: dict[str, Any], *, finish: bool) -> None:
        """Show where we are, with these numbers."""
        self._values.update(values)
        now = time.time()
        if self.verbose == 1 and (finish or now - self._last_update >= _INTERVAL):
            self._draw(current, now, finish=finish)
        elif self.verbose == 2 and finish:
            write(self._line(current, now) + "\n")
        self._last_update = now

    def _line(self, current: int, now: float) -> str:
        passed = now - self._start
        target = self.target or current
        times = f" -{duration(passed, 'epoch')} -{duration(passed / target, 'step')}"
        return f"{count(current, target)} - {passed:.0f}s{self._numbers()}{times}"

    def _draw(self, current: int, now: float, *, finish: bool) -> None:
        previous = self._width
        bar = f"{current:7d}/Unknown" if self.target is None else self._bar(current, self.target)
        per_step = self._per_step(current, now)
        if self.target is None or finish:
            info = f" - {now - self._start:.0f}s{duration(per_step, 'step')}"
        else:
            info = f" - ETA: {clock(per_step * (self.target - current))}"
        info += self._numbers()
        self._width = len(bar) + len(info)
        padding = " " * max(0, previous - self._width)
        end = "\n" if finish else ""
        write("\b" * previous + "\r" + bar + info + padding + end)

    def _bar(self, current: int, target: int) -> str:
        filled = int(30 * (current / target))
        head = ("=" * (filled - 1) + (">" if current < target else "=")) if filled else ""
        return f"{count(current, target)} [{head}{'.' * (30 - filled)}]"

    def _numbers(self) -> str:
        shown = ""
        for name, given in self._values.items():
            value = np.mean(given)  # one number also of a metric with several
            large = value > 1e-3 if self.verbose == 2 else abs(value) > 1e-3
            shown += f" - {name}: {value:.4f}" if large else f" - {name}: {value:.4e}"
        return shown

    def _per_step(self, current: int, now: float) -> float:
        """The first step is left out of the mean: it traces."""
        if not current:
            return 0.0
        if self._after_first_step is not None and current > 1:
            return (now - self._after_first_step) / (current - 1)
        if current == 1:
            self._after_first_step = now
        return (now - self._start) / current


def count(current: int, target: int) -> str:
    """`current` of `target`, as wide for any of them."""
    return f"{current:{len(str(target))}d}/{target}"


def duration(seconds: float, unit: str) -> str:
    """How long one takes."""
    if seconds >= 1 or seconds == 0:
        return f" {seconds:.0f}s/{unit}"
    if seconds >= 1e-3:
        return f" {seconds * 1e3:.0f}ms/{unit}"
    return f" {seconds * 1e6:.0f}us/{unit}"


def clock(seconds: float) -> str:
    """How long it will take."""
    if seconds > 3600:
        return f"{int(seconds // 3600)}:{int(seconds % 3600 // 60):02d}:{int(seconds % 60):02d}"
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}" if seconds > 60 else f"{int(seconds)}s"


def write(text: str) -> None:
    """Show it at once."""
    sys.stdout.write(text)
    sys.stdout.flush()
