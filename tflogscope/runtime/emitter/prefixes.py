"""The beginning of a record: time, severity, perhaps a thread, file and line.

Told about: `TFDefaultLogSink::Send` of `tsl/platform/default/logging.cc`; in 2.21 absl's
`LogEntry::text_message_with_prefix`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.sites import SITES

__all__ = ["BEGIN", "Levels", "Prefixes", "classic_time"]

BEGIN = 1_795_219_200_000_000
"""The virtual clock starts here: µs since 1970 of 2026-11-21 00:00:00."""

_DAY = 86_400_000_000


@dataclass(frozen=True)
class Levels:
    """Which records are written: `TF_CPP_MAX_VLOG_LEVEL` and `TF_CPP_VMODULE`."""

    level: int = 2
    modules: Mapping[str, int] | None = None
    """By file name up to the first dot; the higher of this and `level` counts."""
    threads: bool = False
    """`TF_CPP_LOG_THREAD_ID`."""

    def shows(self, module: str, level: int) -> bool:
        """Is a record of that file and level written?"""
        return level <= self.level or level <= (self.modules or {}).get(module, 0)


class Prefixes:
    """Makes the text before a message. `None` for a statement that is not written."""

    def __init__(self, dialect: Dialect, levels: Levels) -> None:
        self.absl = dialect.absl
        self.threads = levels.threads
        self._tails: dict[str, tuple[str, str] | None] = {}
        for name, site in SITES.items():
            line = site.lines[dialect.index]
            if line is None or not levels.shows(site.module, site.level):
                self._tails[name] = None
            else:
                path = site.file if self.absl else site.path
                self._tails[name] = (site.severity, f"{path}:{line}] ")

    def shows(self, name: str) -> bool:
        """Is that statement written?"""
        return self._tails[name] is not None

    def of(self, name: str, time: int, thread: int) -> str:
        """The prefix of a record of that statement, which is written."""
        tail = self._tails[name]
        assert tail is not None
        severity, place = tail
        if self.absl:
            seconds, micros = divmod(time, 1_000_000)
            return f"{severity}0000 00:00:{seconds}.{micros:06d} {thread:7d} {place}"
        shown = f" {thread:7d}" if self.threads else ""
        return f"{classic_time(time)}: {severity}{shown} {place}"


def classic_time(time: int) -> str:
    """`2026-11-21 00:00:12.034567`."""
    seconds, micros = divmod(time, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, second = divmod(rest, 60)
    year, month, day = _date(days)
    return f"{year:04d}-{month:02d}-{day:02d} {hours:02d}:{minutes:02d}:{second:02d}"


def _date(days: int) -> tuple[int, int, int]:
    """The civil date of a day since 1970 (proleptic Gregorian)."""
    from datetime import date

    found = date.fromordinal(date(1970, 1, 1).toordinal() + days)
    return found.year, found.month, found.day
