"""Phases: when the run began and ended, and in which phase each op or call of a thread is.

docs/time.md says what each phase is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.op_kinds import OF_OTHERS, op_kinds
from tflogscope.model.calls.python_functions import read_tracing
from tflogscope.model.common.frames import first_case
from tflogscope.model.common.names import NEXT
from tflogscope.model.common.once import once
from tflogscope.model.common.origin import footer_of, read_moment

if TYPE_CHECKING:
    from tflogscope.model.pipeline import Evidence

PHASE_NAMES = {row["id"]: row["name"] for row in packaged_toml("ledger.toml")["phase"]}
"""What screens call the phases, in the order in which they are in the table `time`."""
PHASES = (*PHASE_NAMES,)
MAKING = ("tracing", "graph-passes", "xla", "first-runs")
"""What a function takes once, before it runs."""
WAITS = ("input-wait", "collective-wait", "remote-wait")
_LONGEST = 3600e6  # µs without a record at the start of a program, and at its end


@once
def spans_by_thread(of: Evidence) -> pl.DataFrame:
    """What threads asked for (`spans.select_outermost`), in order, each with its phase.

    The program's thread, which asked first, comes first. What is unfinished goes on until the next
    begins.
    """
    remote = of.executions.dispatches.eager.filter("remote")["at"]
    phase = first_case(
        {
            "remote-wait": pl.col("at").is_in(remote.implode()),
            "first-runs": pl.col("is_call") & pl.col("first"),
            "compute": pl.col("is_call"),
            "checkpoint": pl.col("rule") == "checkpoint",
        }
    )
    phase = pl.coalesce(phase, wait_of(pl.col("op")), pl.lit("eager"))
    spans = of.asked.sort("begin_at").with_columns(phase=phase)
    if spans.is_empty():
        return spans
    run = run_window(of)
    spans = pl.concat(spans.partition_by("thread", maintain_order=True))
    until = pl.col("begin").shift(-1).over("thread").fill_null(run[1] if run else 0)
    unfinished = pl.when(status="unfinished").then(until)
    return spans.with_columns(end=pl.coalesce("end", unfinished))


def wait_of(op: pl.Expr, attributes: pl.Expr | None = None) -> pl.Expr:
    """The phase in which an op waits; null: it computes."""
    phase = pl.when(op.str.contains(NEXT)).then(pl.lit("input-wait"))
    for name in OF_OTHERS:
        kind = op_kinds()[name]
        waits = op.str.contains(kind.ops)
        if kind.tasks and attributes is None:
            continue
        if kind.tasks and attributes is not None:
            there, here = (attributes.str.extract(task, 1) for task in kind.tasks)
            waits &= here != there
        phase = phase.when(waits).then(pl.lit(f"{name}-wait"))  # type: ignore[assignment]
    return phase.otherwise(None)


@once
def run_window(of: Evidence) -> tuple[int, int] | None:
    """When the run began and ended, in µs; None: the log has no times."""
    first, last = of.recorded.first, of.recorded.last
    if first is None or last is None or last <= first:
        return None
    began = read_moment(of.recorded_as, "started")
    first = began if began is not None and 0 <= first - began < _LONGEST else first
    return first, _ended(of, first, last)


def _ended(of: Evidence, first: int, last: int) -> int:
    """When the program had ended, where `record` wrote that down; else when the last record came.

    After its own code Python and TensorFlow take a second or so to clear up, which is no phase.
    """
    hook_ended = of.events.messages("python_cost")["ended"].max()
    if isinstance(hook_ended, int) and first < hook_ended < last + _LONGEST:
        return hook_ended
    ended = read_moment(footer_of(of.events.spans[-1].tail), "ended")
    return ended if ended is not None and 0 <= ended - last < _LONGEST else last


@once
def traced(of: Evidence) -> pl.DataFrame:
    """When functions were traced: thread, name, at (where tracing ended), begin and end.

    Tracing ends before the next call or op. What `record` logs is taken for the program's thread.
    """
    items, run, recorded = spans_by_thread(of), run_window(of), read_tracing(of.events)
    if recorded.is_empty() or run is None or items.is_empty():
        calls = of.first_calls.drop_nulls("tracing")
        ends = calls.select("thread", "name", at="begin_at", took="tracing", end="begin")
    else:
        items = items.filter(pl.col("thread") == items["thread"][0])
        following = np.searchsorted(items["begin_at"].to_numpy(), recorded["at"].to_numpy())
        end = items["begin"].extend_constant(run[1], 1)[following]
        ends = recorded.with_columns(end.alias("end"), thread=pl.lit(items["thread"][0]))
    begin = pl.col("end") - pl.col("took").cast(pl.Int64)
    return ends.select(pl.col("thread").cast(pl.Int64), "name", "at", begin=begin, end="end")
