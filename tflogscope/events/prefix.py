"""How a record begins: the fixed-width part of each prefix dialect, tested and read by words.

Every dialect starts with a part of fixed width (date, time) and goes on with the *site*: severity,
thread, file and line number up to `] `. The fixed part is tested here eight bytes at a time; the
site has few distinct values, which are parsed once each (`parse_sites`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.block import Block
from tflogscope.events.digits import Positions, Words, eight_digits

MICROSECONDS_PER_SECOND = 1_000_000
MICROSECONDS_PER_DAY = 86_400 * MICROSECONDS_PER_SECOND
NO_TIME = np.iinfo(np.int64).min
_U = np.uint64


@dataclass(frozen=True, slots=True)
class Dialect:
    """A prefix dialect: `shape` holds 0 for a digit, ? for any byte, else the byte itself."""

    name: str
    shape: str

    @property
    def width(self) -> int:
        """Bytes of the fixed part."""
        return len(self.shape)

    def begins(self, words: Words) -> NDArray[np.bool_]:
        """Whether the end of the fixed part, the fraction of the second, is where it should be."""
        shape = ("?" * (self.width - 8) + self.shape[-8:]).ljust(8 * len(words), "?")
        found = np.ones(words.shape[1], bool)
        for index, word in enumerate(words):
            part = shape[8 * index : 8 * index + 8]
            if part != "?" * 8:
                found &= _has_shape(word, part)
        return found


# tsl/platform/default/logging.cc, TFLogSink / LogMessage::GenerateLogMessage: local time, no zone.
CLASSIC = Dialect("classic", "0000-00-00 00:00:00.000000: ")
# absl/log before InitializeLog: epoch seconds in UTC, the date is zero.
ABSL = Dialect("absl", "?0000 00:00:0000000000.000000 ")
# absl/log after InitializeLog: local time of day, month and day, no year.
GLOG = Dialect("glog", "?0000 00:00:00.000000 ")
DIALECTS = (CLASSIC, ABSL, GLOG)
WIDTHS = np.array([dialect.width for dialect in DIALECTS], np.int64)
SHORTEST_PREFIX = min(dialect.width for dialect in DIALECTS)
_WORDS = 4  # hold the widest fixed part


def prefixes_of_lines(
    block: Block,
) -> tuple[Positions, NDArray[np.int8], NDArray[np.int64]]:
    """Return which lines begin with a prefix, the index of its dialect in DIALECTS, and its time.

    The time is in µs since the epoch, classic as printed, absl in UTC; NO_TIME where the digits
    are no time (a torn record) or the dialect prints no year.
    """
    long = np.flatnonzero(block.lengths > SHORTEST_PREFIX)
    words = block.words(block.starts[long], _WORDS)
    found = np.full(len(long), -1, np.int8)
    times = np.full(len(long), NO_TIME, np.int64)
    left = np.arange(len(long))
    for index, (dialect, times_of) in enumerate(_TIMES.items()):
        mine = dialect.begins(words) & (block.lengths[long[left]] > dialect.width)
        if mine.all() and len(left) == len(long):  # all of them: nothing to pick out
            found[:], times[:] = index, times_of(words)
            break
        rows = left[mine]
        found[rows], times[rows] = index, times_of(words[:, mine])
        left, words = left[~mine], words[:, ~mine]
        if not len(left):
            break
    rows = np.flatnonzero(found >= 0)
    return long[rows], found[rows], times[rows]


def _absl_times(words: Words) -> NDArray[np.int64]:
    """`?0000 00:|00:00000|00000.00|0000 `: ten digits of seconds, six of the fraction."""
    _, second, third, last = words
    high = (second >> _U(32)) | (third << _U(32))
    low = third << _U(16)
    micros = (third >> _U(56) << _U(16)) | (last << _U(24))
    seconds = eight_digits(high).astype(np.int64) * 100
    seconds += eight_digits(low & _U(0xFFFF000000000000)).astype(np.int64)
    times = seconds * MICROSECONDS_PER_SECOND
    times += eight_digits(micros & _U(0xFFFFFFFFFFFF0000)).astype(np.int64)
    whole = _has_digits(high, "00000000") & _has_digits(micros, "??000000")
    times[~(whole & _has_digits(low, "??????00"))] = NO_TIME
    return times


def _classic_times(words: Words) -> NDArray[np.int64]:
    """`0000-00-|00 00:00|:00.0000|00: `: the date, day and clock, second and fraction."""
    if not words.shape[1]:
        return np.zeros(0, np.int64)
    date, clock, second, last = words
    days, lengths, wrong = _months(date)
    day, hour, minute = (_two_digits(clock >> _U(8 * at)) for at in (0, 3, 6))
    micros = (second >> _U(32) << _U(16)) | (last << _U(48))
    seconds = ((days + day - 1) * 24 + hour) * 3600 + minute * 60 + _two_digits(second >> _U(8))
    times = seconds * MICROSECONDS_PER_SECOND + eight_digits(micros).astype(np.int64)
    wrong = wrong | (day < 1) | (day > lengths) | (hour > 23) | (minute > 59)
    for word, digits in ((clock, "00 00:00"), (second, "?00?????"), (micros, "??000000")):
        wrong |= ~_has_digits(word, digits)
    times[wrong] = NO_TIME
    return times


def _no_times(words: Words) -> NDArray[np.int64]:
    return np.full(words.shape[1], NO_TIME)


_TIMES = {CLASSIC: _classic_times, ABSL: _absl_times, GLOG: _no_times}


def _has_shape(words: Words, shape: str) -> NDArray[np.bool_]:
    """Whether each word has a digit at each 0 of `shape` and the bytes that it names."""
    masks = {"0": 0xF0, "?": 0}
    mask = sum(masks.get(mark, 0xFF) << 8 * index for index, mark in enumerate(shape))
    value = sum(ord(mark) << 8 * index for index, mark in enumerate(shape))
    same: NDArray[np.bool_] = (words & _U(mask)) == _U(mask & value)
    return same


def _has_digits(words: Words, shape: str) -> NDArray[np.bool_]:
    """Whether each word has a digit (or a colon, which no clock has there) at each 0 of `shape`."""
    mask = sum(0xF0 << (8 * index) for index, mark in enumerate(shape) if mark == "0")
    same: NDArray[np.bool_] = (words & _U(mask)) == _U(mask & 0x3030303030303030)
    return same


def _two_digits(words: Words) -> NDArray[np.int64]:
    """Return the value of the two digits that each word begins with."""
    return ((words & _U(15)) * _U(10) + ((words >> _U(8)) & _U(15))).astype(np.int64)


def _months(
    dates: Words,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return of each month ("2026-11-") its first day since 1970, its length, and if it is none."""
    if (dates == dates[0]).all():
        dates = dates[:1]  # a block of a log rarely spans months: one look-up serves all its lines
    year = eight_digits(dates << _U(32)).astype(np.int64)
    month = _two_digits(dates >> _U(40))
    first = np.ones(len(year), np.int64)
    days = _days_by_calendar(year, month, first)
    after = _days_by_calendar(year + month // 12, month % 12 + 1, first)
    wrong = (month < 1) | (month > 12) | (year < 1) | ~_has_digits(dates, "0000?00?")
    return days, after - days, wrong


def _days_by_calendar(
    year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]
) -> NDArray[np.int64]:
    year = year - (month <= 2)
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    days: NDArray[np.int64] = era * 146_097 + day_of_era - 719_468
    return days


_CLASSIC_SITE = r"^(?P<severity>[IWEF]) (?: *(?P<thread>\d{1,19}) )?(?P<path>\S+):(?P<line>\d+)$"
_ABSL_SITE = r"^ *(?P<thread>\d{1,19}) (?P<path>\S+):(?P<line>\d+)$"


def parse_sites(sites: pl.Series) -> pl.DataFrame:
    """Parse distinct sites (text between the fixed prefix and `] `).

    Columns: `severity` (null for absl: it stands in the fixed part), `thread` (u64, null: not
    printed), `path`, `file` (basename), `file_line`; all null where the text is no site.
    """
    text = pl.col("site")
    classic, absl = text.str.extract_groups(_CLASSIC_SITE), text.str.extract_groups(_ABSL_SITE)
    frame = sites.cast(pl.String).rename("site").to_frame()
    frame = frame.with_columns(classic=classic, absl=absl).select(
        severity=pl.col("classic").struct.field("severity"),
        **{
            name: pl.coalesce(
                pl.col("classic").struct.field(name), pl.col("absl").struct.field(name)
            )
            for name in ("thread", "path", "line")
        },
    )
    return frame.select(
        "severity",
        pl.col("thread").cast(pl.UInt64, strict=False),
        "path",
        file=pl.col("path").str.extract(r"([^/\\]+)$", 1),
        file_line=pl.col("line").cast(pl.UInt32, strict=False),
    )
