"""Tables of stores of an older schema version, in the columns of today.

Version 4 had no `ledger`, and `work_us` of its sums was what is `steady_us` today. Stores of 0.3.0
have version 5, and call `repeats_us` of `avoidable` `in_loops_us`.
"""

from __future__ import annotations

import polars as pl

from tflogscope.exports.schema import SCHEMA_VERSION
from tflogscope.grammar.tables import schema

READ = (4, SCHEMA_VERSION)
"""The schema versions of runs that can be read."""
MISSING = {4: {"ledger": "findings", "repeated": "findings", "avoidable": "findings"}}
"""Tables that a version had not, each with one that has a file in their place."""
_SUMS = ("ops", "functions", "nodes")


def in_todays_columns(table: str, frame: pl.LazyFrame, version: int) -> pl.LazyFrame:
    """A table of a run of some version, after its column `run`."""
    if version == SCHEMA_VERSION:
        renamed = {"in_loops_us": "repeats_us"} if table == "avoidable" else {}
        return frame.rename(renamed, strict=False)
    unknown = pl.lit(None, pl.Float64)
    if table == "avoidable":
        return frame.select("run", repeats_us=unknown)
    if table == "repeated":
        return frame.select("run", phase=pl.lit(""), repeats_us=unknown).head(0)
    if table == "ledger":
        columns = {name: pl.lit(None, kind) for name, kind in schema(table).items()}
        return frame.select("run", **columns).head(0)
    if table in _SUMS:
        frame = frame.rename({"work_us": "steady_us"}).with_columns(work_us=unknown)
    if table == "timeline":
        frame = frame.with_columns(steady_us=unknown)
    today = schema(table) if table in (*_SUMS, "timeline") else {}
    return frame.select("run", *today) if today else frame
