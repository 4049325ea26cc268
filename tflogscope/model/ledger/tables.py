"""The tables `ledger` and `time`: stretches with their owners, and their sums by phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tflogscope.grammar.tables import as_table, schema
from tflogscope.model.common.figures import rounded
from tflogscope.model.common.frames import first_case, holds, is_among, looked_up, only, rows
from tflogscope.model.common.once import once
from tflogscope.model.executions.executions import with_places
from tflogscope.model.ledger.owners import Owners
from tflogscope.model.ledger.phases import PHASES, run_window, spans_by_thread, wait_of
from tflogscope.model.ledger.services import serving_threads
from tflogscope.model.ledger.stretches import phases_not_shown, read_stretches

if TYPE_CHECKING:
    from tflogscope.model.pipeline import Evidence

_WALL = (pl.col("end") - pl.col("start")).cast(pl.Float64)  # µs, with the log


@once
def program_stretches(of: Evidence) -> pl.DataFrame:
    """The stretches of the program's thread."""
    stretches = read_stretches(of)
    return stretches.filter(pl.col("thread") == pl.col("thread").first())


def repeated_table(of: Evidence) -> pl.DataFrame:
    """How much of each phase of the table `time` is in loops: phase, repeats_us.

    A longer run has more of it. The rest is one-time: what comes before a loop, the first call of
    each function, the end. What the log took is the recording's, and has no row. Of a service, the
    sums over the threads that serve.
    """
    serving = serving_threads(of)
    work = program_stretches(of)
    if serving:
        work = read_stretches(of).filter(pl.col("thread").is_in(serving))
    sums = work.filter("repeats").group_by("phase").agg(repeats_us=rounded(pl.col("work_us").sum()))
    phases = pl.DataFrame({"phase": PHASES} if work.height else {"phase": []}, {"phase": pl.String})
    phases = phases.filter(pl.col("phase") != "logging")
    return looked_up(phases, sums, "phase").with_columns(pl.col("repeats_us").fill_null(0.0))


def time_table(of: Evidence) -> pl.DataFrame:
    """One row per phase, in the order of `PHASES`: sums over the program's thread.

    Empty if the log has no times.
    """
    run = run_window(of)
    if run is None:
        return pl.DataFrame(schema=schema("time"))
    stretches = program_stretches(of)
    sums = stretches.group_by("phase").agg(
        pl.col("start").min(),
        pl.col("end").max(),
        wall_us=pl.col("work_us").sum(),
    )
    table = looked_up(pl.DataFrame({"phase": PHASES}), sums, "phase").lazy()
    is_log = pl.col("phase") == "logging"
    logging = float(stretches.select(_WALL - pl.col("work_us")).to_series().sum())
    wall = pl.when(is_log).then(logging).otherwise(pl.col("wall_us").fill_null(0.0))
    is_shown = ~pl.col("phase").is_in(phases_not_shown(of))
    table = table.with_columns(wall_us=pl.when(is_shown).then(rounded(wall)))
    work = pl.when(is_log).then(0.0).otherwise("wall_us")
    return as_table(
        "time",
        table.with_columns(
            pl.from_epoch("start", "us"),
            pl.from_epoch("end", "us"),
            work_us=pl.when(of.costs.price is not None).then(work),
            share=pl.col("wall_us") / (run[1] - run[0]),
        ).collect(),
    )


def ledger_table(of: Evidence, owners: Owners, findings: pl.DataFrame) -> pl.DataFrame:
    """The `ledger` table. `findings` has id and subject of each number in `owners`."""
    both = pl.concat(
        [_asking_stretches(of, owners, findings), _pool_stretches(of)], how="diagonal_relaxed"
    )
    run = run_window(of)
    if both.is_empty() and run and of.recorded.tensorflow_dialect:  # nothing says what went on
        whole = {"thread": [-1], "start": [run[0]], "end": [run[1]], "repeats": [False]}
        both = pl.concat([both, pl.DataFrame(whole)], how="diagonal_relaxed")
        both = both.with_columns(work_us=_WALL)
    return _as_ledger(of, both)


def asking_ledger(of: Evidence, owners: Owners, findings: pl.DataFrame) -> pl.DataFrame:
    """The rows of `ledger_table` of threads that call functions or dispatch ops."""
    return _as_ledger(of, _asking_stretches(of, owners, findings))


def _asking_stretches(of: Evidence, owners: Owners, findings: pl.DataFrame) -> pl.DataFrame:
    """Stretches of threads that call functions or dispatch ops, with what each is of."""
    stretches = read_stretches(of)
    items = spans_by_thread(of)
    owned = rows(findings[["id", "subject"]], owners.owner)
    avoidable = pl.when(pl.col("owner").is_not_null()).then("avoidable_us")
    now = rows(items[["at", "end_at", "op", "is_call", "call"]], stretches["item"])
    following = rows(items[["begin_at"]], stretches["before"])
    names = of.calls.select("at", name="function")
    placed = stretches.hstack(now).with_columns(
        owned["id"].alias("owner"),
        owned["subject"],
        following["begin_at"],
        avoidable_us=pl.Series(owners.avoidable_us),
    )
    is_call = pl.col("is_call").fill_null(value=False)
    return looked_up(placed, names, "at").with_columns(
        avoidable,
        mode=first_case({"graph": is_call, "eager": pl.col("item").is_not_null()}),
        function=pl.when(is_call).then("name"),
        op=pl.when(~is_call).then("op"),
        python=of.lines.begun_at(placed["at"].fill_null(-1)),
    )


def _as_ledger(of: Evidence, stretches: pl.DataFrame) -> pl.DataFrame:
    """The columns of the table `ledger`, with the lines of each stretch."""
    # A gap has the lines between which it is.
    place = pl.col("at").fill_null(strategy="forward").fill_null(0)
    end = pl.coalesce("end_at", pl.when(pl.col("at").is_null()).then("begin_at"))
    stretches = stretches.with_columns(at=pl.coalesce("at", place.over("thread")), end_at=end)
    table = with_places(of.events.spans, stretches).with_columns(
        thread=pl.when(pl.col("thread") >= 0).then("thread"),
        wall_us=_WALL,
        work_us=rounded(pl.col("work_us")),
        avoidable_us=rounded(pl.col("avoidable_us")),
        start=pl.from_epoch("start", "us"),
        end=pl.from_epoch("end", "us"),
    )
    return as_table("ledger", table)


def _pool_stretches(of: Evidence) -> pl.DataFrame:
    """Stretches of threads that only ran nodes; in between they wait for work (no phase).

    Columns: thread, start, end, phase, work_us, repeats, at, end_at, mode, function, call.
    """
    frame = of.executions.frame
    of_nodes = frame["definition"].is_not_null() & frame["end_time"].is_not_null()
    asking = read_stretches(of)["thread"].unique()
    chosen = of_nodes & ~is_among(frame["thread"], asking)
    names = ["thread", "time", "end_time", "call", "step_row", "definition", "at", "end_at"]
    runs = only(frame[names], chosen).hstack([of.costs.known("work_us").filter(chosen)])
    runs = runs.sort("thread", "time", maintain_order=True)
    reach = pl.col("end_time").cum_max().shift(1).over("thread")
    wait = wait_of(pl.col("kernel"), pl.col("attributes")).alias("wait")
    waits = rows(of.executions.runs.definitions.select(wait), runs["definition"])["wait"]
    first = of.calls.filter(pl.col("name").is_first_distinct())["call"]
    of_first = pl.when(pl.col("call").is_in(first.implode())).then(pl.lit("first-runs"))
    runs = runs.with_columns(
        start=pl.max_horizontal("time", reach), reach=reach, wait=waits
    ).with_columns(phase=pl.coalesce("wait", of_first.otherwise(pl.lit("compute"))))
    runs = runs.filter(pl.col("end_time") > pl.col("start"))
    # Another number where what goes on changes, and behind each pause.
    goes_on = pl.struct("thread", "call", "step_row", "phase").rle_id()
    pauses = holds(pl.col("start") > pl.col("reach")).cum_sum()
    busy = runs.group_by(number=goes_on + pauses, maintain_order=True).agg(
        pl.col("thread", "phase", "call", "step_row", "at", "start").first(),
        pl.col("end_time").max().alias("end"),
        pl.col("end_at").max(),
        pl.col("work_us").sum(),
    )
    since = pl.col("end").shift(1).over("thread")
    idle = busy.select("thread", "at", start=since, end="start", end_at="at")
    idle = idle.filter(pl.col("end") > pl.col("start"))
    both = pl.concat([busy, idle], how="diagonal_relaxed").sort("thread", "start")
    return both.select(
        *("thread", "start", "end", "phase", "at", "end_at", "call"),
        work_us=pl.min_horizontal("work_us", _WALL),
        mode=pl.when(pl.col("phase").is_not_null()).then(pl.lit("graph")),
        function=rows(of.executions.steps["name"], both["step_row"]),
        repeats=pl.lit(value=False),
    )
