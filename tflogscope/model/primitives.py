"""The `primitives` table: verbose lines of oneDNN with their place in the log, one row per line."""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.onednn_header import VERSION
from tflogscope.grammar.rewriters import BY_ID
from tflogscope.grammar.tables import as_table
from tflogscope.model.executions import Executions, with_places
from tflogscope.model.python_lines import PythonLines
from tflogscope.model.reasons.plugins import plugins_of

# What a line says in words, and where in oneDNN, has no column of its own: headers, checks, errors,
# and why an implementation did not fit.
_AUXILIARY = pl.concat_str(
    "auxiliary", "message", "source_location", separator=",", ignore_nulls=True
).replace("", None)
_QUARTER_HOUR = 15 * 60 * 1_000_000  # µs; all zones' offsets are multiples of it


def primitives_table(
    events: Events, executions: Executions, links: pl.DataFrame, lines: PythonLines
) -> pl.DataFrame:
    """The `primitives` table. Durations are in µs.

    `links` has `execution` (row of `Executions.frame`) and `link` of each row of
    `events.primitives`.
    """
    named = pl.when(pl.col("event") == "info").then(pl.col("message").str.extract(VERSION, 1))
    # A plug-in has a oneDNN of its own. After the headers of both, a line may be of either.
    mixed = named.is_first_distinct() & named.is_not_null()
    known = (mixed.cum_sum() < 2) | pl.lit(not plugins_of(events).working)
    execution = links["execution"].cast(pl.UInt32)
    ran_at = executions.frame["at"].gather(execution)
    ran = with_places(events.spans, pl.DataFrame({"at": ran_at.fill_null(0)}))
    is_exec, is_header = pl.col("event") == "exec", pl.col("event") == "info"
    table = events.primitives.with_columns(
        time=(pl.col("time") + _zone(events)).cast(pl.Datetime("us")),
        # oneDNN prints its header before the first line, but create_nested lines may precede it.
        onednn_version=pl.when(
            ~pl.col("marker").is_in(list(BY_ID)).fill_null(value=False) & (known | is_header)
        ).then(named.forward_fill().backward_fill()),
        auxiliary=_AUXILIARY,
        timeline_line=ran["line"].set(ran_at.is_null(), None),
        link=pl.when(is_exec).then(links["link"]),
        python=lines.named(lines.of_executions.gather(execution)),
    )
    return as_table("primitives", with_places(events.spans, table))


def _zone(events: Events) -> int:
    """µs from UTC, in which oneDNN counts, to the time in which the log's records do."""
    rows = events.primitives.select("at", "time").drop_nulls()
    if rows.is_empty():
        return 0
    before = events.record_times.rename({"time": "record"})
    near = rows.join_asof(before, on="at").drop_nulls("record")
    if near.is_empty():
        return 0
    median = (near["record"] - near["time"]).cast(pl.Float64).median()
    assert isinstance(median, float)  # noqa: S101  a column of floats without nulls has a median
    return round(median / _QUARTER_HOUR) * _QUARTER_HOUR
