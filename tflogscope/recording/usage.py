"""How much of the machine's processors others used while a program ran (Linux)."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path


class Usage:
    """What processors did from now on."""

    def __init__(self) -> None:
        self._began = _now()

    def facts(self) -> dict[str, float]:
        """`program_cpu_s` and `others_cpu_share`, 0 to 1 of all processors; none where unknown.

        Ask once the program was waited for: only then is its time known.
        """
        began, now = self._began, _now()
        if began is None or now is None:
            return {}
        passed = [after - before for before, after in zip(began, now, strict=True)]
        clock, busy, ours, children = passed
        room = clock * (os.cpu_count() or 1)
        share = (busy - ours - children) / room if room else 0.0
        return {
            "program_cpu_s": round(children, 3),
            "others_cpu_share": round(min(max(share, 0.0), 1.0), 3),
        }


def _now() -> tuple[float, ...] | None:
    """Seconds by the clock, of all processors that were busy, of this process, of its children.

    proc(5), /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
    """
    with suppress(OSError, ValueError, IndexError, AttributeError):
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        ticks = [int(tick) for tick in first[1:9]]
        busy = sum(ticks) - ticks[3] - ticks[4]
        times = os.times()
        return (
            time.monotonic(),
            busy / os.sysconf("SC_CLK_TCK"),
            times.user + times.system,
            times.children_user + times.children_system,
        )
    return None
