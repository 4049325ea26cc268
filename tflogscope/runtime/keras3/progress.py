"""The progress bar of Keras 3: bold and green, with the time of a step in any line.

Told about: `keras/src/utils/progbar.py`.
"""

from __future__ import annotations

from tflogscope.runtime.keras import progress as keras2

__all__ = ["ProgressBar"]

_WIDTH = 20


class ProgressBar(keras2.ProgressBar):
    """The bar of Keras 2 with other lines."""

    def _line(self, current: int, now: float) -> str:
        target = self.target or current
        per_step = keras2.duration(self._per_step(current, now), "step")
        times = f" - {now - self._start:.0f}s -{per_step}"
        return f"{keras2.count(current, target)}{times}{self._numbers()}"

    def _draw(self, current: int, now: float, *, finish: bool) -> None:
        previous, target = self._width, self.target
        per_step = self._per_step(current, now)
        passed = f"{now - self._start:.0f}s"
        if not target:
            bar = shown = f"{current:7d}/Unknown"
        else:
            filled = int(_WIDTH * (current / target))
            number, parts = keras2.count(current, target), ("━" * filled, "━" * (_WIDTH - filled))
            bar = f"{number} {''.join(parts)}"
            green = f"\033[32m{parts[0]}\033[0m" if filled else ""
            shown = f"{_bold(number)} {green}\033[37m{parts[1]}\033[0m"
            if not finish:
                passed = keras2.clock(per_step * (target - current))
        rest = keras2.duration(per_step, "step") + self._numbers()
        self._width = len(bar) + len(f" {passed}{rest}")
        padding = " " * max(0, previous - self._width) + ("\n" if finish else "")
        keras2.write("\b" * previous + f"\r{shown} {_bold(passed)}{rest}{padding}")


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m"
