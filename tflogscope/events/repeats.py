"""Whether a log holds the same text twice, as a paste may: the same records, to the microsecond."""

from __future__ import annotations

import numpy as np
import polars as pl

_LEAST = 3  # records in a row
_ALL = 0.45  # of records are the one before once more where two writers wrote each; else < .01
_TRIED = 64  # of the places where a record is there again and the clock steps back
# Lines of oneDNN have no time, and quick primitives have one of a few durations.
_LEAST_LINES, _LEAST_DURATIONS = 16, 8


def repeat_of(records: pl.DataFrame) -> tuple[int, int] | None:
    """Where records are those of an earlier place once more, and that place: `at` of both.

    In the order of the log: `at`, `time`, and what was written. The clock steps back at such a
    place. It does, too, where threads write at once, but no three records are there twice.
    Or most of them are right behind themselves: two writers wrote each.
    """
    time = records["time"].to_numpy()
    if (place := _place_of_doubles(records.drop("at"), time)) is not None:
        return records["at"][place + 1], records["at"][place]
    back = np.flatnonzero(time[1:] < time[:-1]) + 1
    if not len(back):
        return None
    written = records.drop("at")
    same_time = written["time"].is_in(written["time"][back].implode()).arg_true()
    earlier, later = (
        written[row].with_columns(index=row.cast(pl.Int64)) for row in (same_time, pl.Series(back))
    )
    again = earlier.join(later, on=written.columns, suffix="_again")
    again = again.filter(pl.col("index") < pl.col("index_again")).sort("index_again", "index")
    for first, row in again.select("index", "index_again").head(_TRIED).rows():
        if written.slice(first, _LEAST).equals(written.slice(row, _LEAST)):
            return records["at"][row], records["at"][first]
    return None


def _place_of_doubles(written: pl.DataFrame, time: np.ndarray) -> int | None:
    """Where the first record is that is right behind itself, if most are."""
    most = max(_LEAST, _ALL * len(time))
    if np.count_nonzero(time[1:] == time[:-1]) < most:
        return None
    behind = pl.all().eq_missing(pl.all().shift(1))
    doubled = written.select(same=pl.all_horizontal(behind))["same"].arg_true()
    return int(doubled[0]) - 1 if len(doubled) >= most else None


def repeated_lines(lines: pl.DataFrame) -> tuple[int, int] | None:
    """The same of lines of oneDNN (`read_verbose`): all are twice, or the first ones once more."""
    timed = np.flatnonzero(lines["duration_us"].is_not_null().to_numpy())
    durations = lines["duration_us"].to_numpy()[timed]
    first = durations[:_LEAST_LINES]
    if len(np.unique(first)) < _LEAST_DURATIONS:
        return None
    written, line = lines.drop("at"), lines["at"]
    all_twice = np.array_equal(durations[::2], durations[1::2])
    if all_twice and written[timed[::2]].equals(written[timed[1::2]]):
        return line[int(timed[1])], line[int(timed[0])]
    starts = np.arange(1, len(durations) - _LEAST_LINES + 1)
    for place, duration in enumerate(first):
        starts = starts[durations[starts + place] == duration]
    for row in starts[:_TRIED]:
        again = timed[row : row + _LEAST_LINES]
        if written[again].equals(written[timed[:_LEAST_LINES]]):
            return line[int(again[0])], line[int(timed[0])]
    return None
