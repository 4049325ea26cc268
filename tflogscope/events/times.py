"""When records were written: clocks as printed → µs since the epoch, and times that can't be.

Most records share the printed date and clock with the one before them, so the scanner keeps them as
distinct strings, and only these are read here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.scan import SourceSpan
from tflogscope.events.store import ScannedLog, texts_of
from tflogscope.grammar.model import Prefix
from tflogscope.native.library import PLACES

Integers = NDArray[np.int64]
Clock = NDArray[np.integer]

NO_TIME = int(np.iinfo(np.int64).min)
SECOND = 1_000_000  # µs
_DAY = 86_400
DAY_US = _DAY * SECOND
"""No primitive, no tracing and no compilation takes longer: the line is damaged."""
_BEGIN, _END = -719_162 * _DAY, 2_932_897 * _DAY  # the years 1 and 10,000
_QUARTER_HOUR = 900  # seconds; all zones' offsets are multiples of it
# A gap of a log that is longer makes two parts of it, in seconds.
_GAP = 2 * 3600
# A part with at most so many records, or this share of them, may be a few damaged dates, if the
# others have most of them.
_FEW, _SMALL_SHARE, _MOST = 16, 0.001, 0.9
_FAR = 30 * _DAY
_NEVER = 1 << 60


def clock_seconds(texts: list[str], prefix: Prefix) -> Integers:
    """Seconds since 1970 of dates and clocks as this prefix prints them, in the zone of the log.

    NO_TIME where they are damaged, where the prefix prints no year, and outside the years 1 to
    9999: Python's datetime has no others.
    """
    shape = prefix.shape[: prefix.fraction]
    # All have as many bytes as the shape, not as many characters: a damaged one may have any.
    raw = np.frombuffer("".join(texts).encode(), np.uint8)
    letters = raw.reshape(len(texts), len(shape)) if texts else np.zeros((0, len(shape)), np.uint8)
    wrong = np.zeros(len(texts), bool)

    def number(letter: str) -> Integers:
        columns = [at for at, mark in enumerate(shape) if mark == letter]
        digits = letters[:, columns].astype(np.int64) - ord("0")
        np.logical_or(wrong, ((digits < 0) | (digits > 9)).any(axis=1), out=wrong)
        powers: Integers = 10 ** np.arange(len(columns) - 1, -1, -1, dtype=np.int64)
        value: Integers = digits @ powers
        return value

    if "E" in shape:
        seconds = number("E")
    elif "Y" in shape:
        year, month, day, hour, minute, second = (number(letter) for letter in "YMDhms")
        first, after = _days(year, month), _days(year, month + 1)
        wrong |= (month < 1) | (month > 12) | (day < 1) | (day > after - first)
        wrong |= (hour > 23) | (minute > 59) | (second > 60)
        seconds = (first + day - 1) * _DAY + hour * 3600 + minute * 60 + second
    else:
        seconds = np.full(len(texts), NO_TIME)
    wrong |= (seconds < _BEGIN) | (seconds >= _END)
    return np.where(wrong, NO_TIME, seconds)


def seconds_of(texts: pl.Series, tags: Clock, prefixes: Sequence[Prefix]) -> Integers:
    """The same of clocks by the number of their prefix (`tags`), and NO_TIME at the end."""
    seconds = np.full(len(tags) + 1, NO_TIME)
    for tag in np.unique(tags).tolist():
        mine = np.flatnonzero(tags == tag)
        seconds[mine] = clock_seconds(texts.gather(mine).to_list(), prefixes[tag])
    return seconds


def _days(year: Integers, month: Integers) -> Integers:
    """Days from 1970 to the first of a month, in the Gregorian calendar."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


def damaged(seconds: Integers, at: Integers, clocks: Clock) -> Integers:
    """The clocks (indexes of `seconds`) that are far from the rest of the log, and no times.

    `at` and `clocks` have a row for each record of one source and one prefix. A flipped digit makes
    a date of another. Then a few records lie by themselves in time, and either others of the log's
    time are written before and after them, or they are a month away from any. Where the log has no
    time that most of its records share, nothing is said.
    """
    used = np.unique(clocks[seconds[clocks] != NO_TIME])
    by_time = used[np.argsort(seconds[used], kind="stable")]
    border = np.flatnonzero(np.diff(seconds[by_time]) > _GAP) + 1
    if not len(border):
        return np.zeros(0, np.int64)
    part_of = np.full(len(seconds), -1)
    part_of[by_time] = np.searchsorted(border, np.arange(len(by_time)), side="right")
    part, at = part_of[clocks][part_of[clocks] >= 0], at[part_of[clocks] >= 0]
    count = np.bincount(part)
    good = count > max(_FEW, _SMALL_SHARE * len(part))
    if count[good].sum() < _MOST * len(part):
        return np.zeros(0, np.int64)
    first, last = np.full(len(count), _NEVER), np.full(len(count), -1)
    np.minimum.at(first, part, at)
    np.maximum.at(last, part, at)
    begins, ends = (
        seconds[by_time[np.append(0, border)]],
        seconds[by_time[np.append(border - 1, -1)]],
    )
    in_order = (first > _before(good, last)) & (last < _after(good, first))
    gap = np.minimum(begins - _before(good, ends), _after(good, begins) - ends)
    bad = ~good & ~(in_order & (gap <= _FAR))
    places: Integers = by_time[bad[part_of[by_time]]].astype(np.int64)
    return places


def without_damaged(times: pl.Series, at: Integers, spans: Sequence[SourceSpan]) -> pl.Series:
    """Times in µs of records in the order of the log; those that can't be are null."""
    values = times.to_numpy()  # with nulls, of float64, which has room for µs until the year 2255
    timed = np.flatnonzero(~np.isnan(values))
    seconds = values[timed].astype(np.int64) // SECOND
    wrong = []
    for inside in _sources(at[timed], spans):
        row = timed[inside]
        wrong.append(row[damaged(seconds[inside], at[row], np.arange(len(row)))])
    return times.scatter(np.concatenate(wrong), None) if any(map(len, wrong)) else times


def _sources(at: Integers, spans: Sequence[SourceSpan]) -> list[slice]:
    """The rows of each source."""
    borders = [[span.first * PLACES, (span.first + span.lines) * PLACES] for span in spans]
    return [slice(*np.searchsorted(at, both)) for both in borders]


def _before(good: NDArray[np.bool_], values: Integers) -> Integers:
    """The largest value of the good parts up to each part in time."""
    nearest: Integers = np.maximum.accumulate(np.where(good, values, -_NEVER))
    return nearest


def _after(good: NDArray[np.bool_], values: Integers) -> Integers:
    """The smallest value of the good parts from each part on."""
    nearest: Integers = np.minimum.accumulate(np.where(good, values, _NEVER)[::-1])[::-1]
    return nearest


class Clocks:
    """The times of all records, from the clocks as printed and the fractions of a second."""

    def __init__(
        self, store: ScannedLog, prefixes: Sequence[Prefix], spans: Sequence[SourceSpan]
    ) -> None:
        self._store = store
        self._tags = store.entries("clocks")["tag"]
        self._seconds = seconds_of(texts_of(store, "clocks"), self._tags, prefixes)
        for tag in range(len(prefixes)):
            mine = self._seconds[:-1][self._tags == tag]
            seconds = np.sort(mine[mine != NO_TIME])
            if (np.diff(seconds) > _GAP).any():
                self._drop_damaged(tag, spans)
        utc = np.isin(self._tags, [n for n, prefix in enumerate(prefixes) if "E" in prefix.shape])
        timed = self._seconds[:-1] != NO_TIME
        if (timed & utc).any() and (timed & ~utc).any():
            self._align(utc)

    def of(self, clock: Clock, micros: Clock) -> pl.Series:
        """µs of each row, null: none."""
        times = self._seconds[np.minimum(clock, len(self._seconds) - 1)]
        none = times == NO_TIME
        times *= SECOND  # in place: there may be millions of rows
        times += micros
        if not none.any():
            return pl.Series(times)
        times[none] = 0
        return pl.Series(times).set(pl.Series(none), None)

    def column(self, table: str, of: str = "") -> pl.Series:
        """The same of the rows of a table; `of`: of their ends (`end_`)."""
        return self.of(*(self._store.column(table, of + name) for name in ("clock", "micros")))

    def _records(self) -> tuple[Integers, Clock]:
        """Place and clock of all records, in the order of the log."""
        column = self._store.column
        tables = (("texts", ""), ("nodes", ""), ("nodes", "end_"))
        at = np.concatenate([column(table, f"{of}at") for table, of in tables])
        clock = np.concatenate([column(table, f"{of}clock") for table, of in tables])
        order = np.argsort(at, kind="stable")
        order = order[clock[order] < len(self._tags)]  # others have none, or no end
        return at[order], clock[order]

    def _drop_damaged(self, tag: int, spans: Sequence[SourceSpan]) -> None:
        at, clock = self._records()
        mine = self._tags[clock] == tag
        at, clock = at[mine], clock[mine]
        for inside in _sources(at, spans):
            self._seconds[damaged(self._seconds, at[inside], clock[inside])] = NO_TIME

    def _align(self, utc: NDArray[np.bool_]) -> None:
        """Bring UTC to the local time of the other prefixes: by the record before each."""
        clock = self._records()[1]
        seconds, is_utc = self._seconds[clock], utc[clock]
        timed = seconds != NO_TIME
        seconds, is_utc = seconds[timed], is_utc[timed]
        last = np.maximum.accumulate(np.where(is_utc, -1, np.arange(len(is_utc))))
        row = np.flatnonzero(is_utc & (last >= 0))
        if len(row):
            offset = float(np.median(seconds[last[row]] - seconds[row]))
            shift = round(offset / _QUARTER_HOUR) * _QUARTER_HOUR
            self._seconds[:-1][utc & (self._seconds[:-1] != NO_TIME)] += shift
