"""When the primitives of oneDNN ran, for a picture: a verbose line says how long, rarely when."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.common.frames import looked_up, ranks
from tflogscope.model.slices.lanes import assign_lanes

_COLUMNS = (
    "row",
    "primitive",
    "track",
    "begin_ns",
    "end_ns",
    "has_end",
    "placed",
    "sequence",
    "end_sequence",
    "place",
)


FARTHEST = 2**61 // 1000
"""µs from one time of a log to another. Farther is a damaged date; the sum of three fits in ns."""

# A day, in ns. A primitive that is said to take longer, or to have begun longer before or after the
# record before it, has a damaged line.
_DAY = 86_400 * 10**9


def primitive_slices(
    ops: pl.DataFrame,
    primitives: pl.DataFrame,
    record_times: pl.DataFrame,
    near: int,
) -> pl.DataFrame:
    """Lay out the `exec` lines: inside the op that ran them, or on tracks after those of `ops`.

    A primitive with a time of its own begins then. Without one, those of an op are drawn one after
    the other up to its end (making the primitive comes first), and shortened if they took longer
    than the op; those without an op begin at the record before their line, or when the one before
    has ended.

    Args:
        ops: executions on tracks: row, track, at, begin and end (µs), has_end, is_leaf.
        primitives: the `primitives` table, at, and execution (row of the timeline; null: not
            known).
        record_times: at and time of records.
        near: what times count from, in µs since the epoch; those of `ops` do already.
    """
    took = pl.col("duration_us") * 1000
    lines = (
        primitives.select(
            "event",
            "at",
            row=pl.col("execution").cast(pl.Int64),
            time=_nanoseconds(pl.col("time").to_physical() - near),
            duration=pl.when(took <= _DAY).then(took).round().cast(pl.Int64).clip(0),
        )
        .with_row_index("primitive")
        .with_columns(pl.col("primitive").cast(pl.Int64))
        .filter(pl.col("event") == "exec")
        .with_columns(
            has_end=pl.col("duration").is_not_null(), duration=pl.col("duration").fill_null(0)
        )
    )
    homes = ops.filter(pl.col("has_end") & pl.col("is_leaf")).select(
        pl.col("row").cast(pl.Int64),
        "track",
        op_at="at",
        op_begin=pl.col("begin") * 1000,
        op_end=pl.col("end") * 1000,
    )
    joined = looked_up(lines, homes, "row")
    has_op = pl.col("track").is_not_null()
    first_track = int(ops["track"].to_numpy().max()) + 1 if ops.height else 0
    inside = _inside(joined.filter(has_op)).select(*_COLUMNS)
    lost = _lost(record_times, joined.filter(~has_op), first_track, near).select(*_COLUMNS)
    return pl.concat([inside, lost])


def _nanoseconds(microseconds: pl.Expr) -> pl.Expr:
    """A time in ns, null where it would not fit."""
    return pl.when(microseconds.abs() <= FARTHEST).then(microseconds * 1000)


def _inside(lines: pl.DataFrame) -> pl.DataFrame:
    """Primitives of known ops, within their ops' times."""
    own_end = pl.col("time") + pl.col("duration")
    before = pl.coalesce(own_end.shift(1).over("row"), "op_begin")
    fits = (pl.col("time") >= before) & (own_end <= pl.col("op_end"))
    total = pl.col("duration").sum().over("row")
    done = pl.col("duration").cum_sum().over("row")
    room = pl.col("op_end") - pl.col("op_begin")
    used = pl.min_horizontal(total, room)
    # Shortened, a part of a primitive's time is less than 2**63 only as a float.
    scale = pl.when(total > room).then(room / total).otherwise(1.0)
    start = pl.col("op_end") - used
    # In two steps: `over` an expression that has one is quadratic in the number of rows.
    lines = lines.with_columns(own=fits.fill_null(value=False))
    return lines.with_columns(pl.col("own").all().over("row")).with_columns(
        begin_ns=pl.when("own")
        .then("time")
        .otherwise(start + ((done - pl.col("duration")) * scale).floor().cast(pl.Int64)),
        end_ns=pl.when("own")
        .then(own_end)
        .otherwise(start + (done * scale).floor().cast(pl.Int64)),
        placed=~pl.col("own"),
        # Behind the begin of the op, before its end, and each behind the one before.
        sequence=4 * pl.col("op_at") + 1,
        end_sequence=4 * pl.col("op_at") + 1,
        place=pl.int_range(pl.len(), dtype=pl.Int64).over("row"),
    )


def _lost(
    record_times: pl.DataFrame, lines: pl.DataFrame, first_track: int, near: int
) -> pl.DataFrame:
    """Primitives of which no op is known, in lanes of their own."""
    records = record_times.select("at", record=_nanoseconds(pl.col("time") - near))
    lines = lines.sort("at", maintain_order=True).join_asof(records, on="at")
    away = (pl.col("time") - pl.coalesce("record", pl.col("time").median())).abs()
    lines = lines.with_columns(time=pl.when(away <= _DAY).then("time"))
    has_time = lines["time"].is_not_null().to_numpy()
    time = lines["time"].fill_null(0).to_numpy()
    record = lines["record"].fill_null(strategy="backward").fill_null(0).to_numpy()
    duration = lines["duration"].to_numpy()
    # One after the other: begin is the latest of all earlier records plus what ran since.
    ran = np.where(has_time, 0, duration)
    ran_before = np.cumsum(ran) - ran
    earliest = np.where(has_time, np.iinfo(np.int64).min // 2, record) - ran_before
    packed = np.maximum.accumulate(earliest) + ran_before if len(lines) else earliest
    begin = np.where(has_time, time, packed)
    end = begin + duration
    sequence = 4 * lines["at"].to_numpy()
    rank = ranks(np.concatenate([sequence, sequence + 3]), np.concatenate([begin, end]))
    lane = assign_lanes(np.zeros(len(begin), np.int64), rank[: len(begin)], rank[len(begin) :])
    return lines.with_columns(
        track=pl.Series(lane) + first_track,
        begin_ns=pl.Series(begin),
        end_ns=pl.Series(end),
        placed=pl.Series(~has_time),
        sequence=pl.Series(sequence),
        end_sequence=pl.Series(sequence + 3),
        place=pl.lit(0, pl.Int64),
    )
