"""Services: several threads call functions while the thread that began waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.common.figures import rounded
from tflogscope.model.common.frames import looked_up
from tflogscope.model.common.once import once

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables
    from tflogscope.model.pipeline import Evidence

_FEWEST = 2  # threads: one alone may be that of another process


@once
def serving_threads(of: Evidence) -> list[int]:
    """The threads that call functions; none where the thread that began makes most calls itself.

    First calls don't count: that thread may warm up what it serves.
    """
    began = of.asked.sort("begin_at")["thread"].head(1)
    again = ~pl.col("nested") & ~pl.col("name").is_first_distinct()
    calls = of.calls.filter(again)["thread"].value_counts()
    others = calls.filter(~pl.col("thread").is_in(began.implode()))
    serves = others.height >= _FEWEST and 2 * others["count"].sum() > calls["count"].sum()
    return sorted(others["thread"]) if serves else []


def service_facts(of: Evidence) -> pl.DataFrame:
    """How each Python function was served: function, function_uid (of its first trace), service.

    That is a struct: calls (of the serving threads, that ended), threads, what so many of a hundred
    calls took at most (p50_us, p95_us, p99_us), calls_per_s (by the clock of the recorded run,
    from the begin of the first of these calls to the end of the last).
    """
    calls = of.calls.drop_nulls("work_us")
    calls = calls.filter(pl.col("thread").is_in(serving_threads(of)), ~pl.col("nested"))
    passed = pl.col("end").max() - pl.col("begin").min()
    fields = {
        "calls": pl.len(),
        "threads": pl.col("thread").unique().sort(),
        **quantiles("work_us"),
        "calls_per_s": pl.when(passed > 0).then((pl.len() / (passed / 1e6)).round(3)),
    }
    per = calls.lazy().group_by("python_function", maintain_order=True)
    served = per.agg(pl.col("function", "function_uid").first(), **fields).collect()
    return served.select("function", "function_uid", service=pl.struct(*fields))


def threads_of_service(functions: pl.DataFrame) -> list[int]:
    """The serving threads, by the facts of functions; none in a store of before."""
    if "service" not in functions.columns or not functions["service"].count():
        return []
    threads = functions["service"].drop_nulls().struct.field("threads")
    return threads.explode().unique().sort().to_list() if threads.len() else []


def time_of_service(run: Tables, threads: Sequence[int]) -> pl.DataFrame:
    """Phases of the threads that serve: phase, end (of the last stretch) and wall_us, as the table
    `time` has them of the program's own thread.
    """
    of_threads = run.asking_ledger.filter(
        pl.col("thread").is_in(threads), pl.col("phase").is_not_null()
    )
    phases = of_threads.group_by("phase").agg(pl.col("end").max(), wall_us=pl.col("work_us").sum())
    log = float(of_threads.select((pl.col("wall_us") - pl.col("work_us")).sum()).item())
    table = looked_up(run.time.select("phase"), phases, "phase")
    is_log = pl.col("phase") == "logging"
    return table.with_columns(wall_us=pl.when(is_log).then(log).otherwise("wall_us"))


def quantiles(column: str) -> dict[str, pl.Expr]:
    """What so many of a hundred values don't exceed: `p50_us`, `p95_us`, `p99_us`."""
    return {
        f"p{percent}_us": rounded(pl.col(column).quantile(percent / 100, "linear").cast(pl.Float64))
        for percent in (50, 95, 99)
    }
