"""What takes the time between the calls of one function, where eager ops don't (`gaps`).

One finding says all of it, by what takes more of it: `eager-steady-state` or `between-steps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.causes.rules import causes_that_count
from tflogscope.model.common.frames import is_among, last_before, only, rows
from tflogscope.model.common.recorded import is_busy
from tflogscope.model.executions.executing import printed_by_python
from tflogscope.model.executions.servers import serves
from tflogscope.model.findings.eager import eager_training
from tflogscope.model.findings.finding import AVOIDABLE, Finding, most, total
from tflogscope.model.findings.gaps import claim_gaps, measure_gaps, read_gaps
from tflogscope.model.pipeline import Evidence

_WAITED, _SLEPT = threshold("between-steps.waited"), threshold("between-steps.slept")


def between_findings(evidence: Evidence) -> Iterator[Finding]:
    """Where what no record covers takes more than the program's eager ops do."""
    events = evidence.events
    # In a notebook Python prints each dispatch into the cell: that takes longer than a short gap.
    prints = printed_by_python(events) and events.messages("executing_op").height
    if prints or serves(events):  # a server waits for requests
        return
    # Beside these, eager ops do the training; their gaps are that.
    trained = eager_training(evidence)["beside"].drop_nulls()
    idle = measure_gaps(evidence).filter(
        pl.col("idle") > pl.col("eager"), ~pl.col("function").is_in(trained.implode())
    )
    for per in idle.to_dicts():
        gaps, spans = read_gaps(evidence)
        mine = gaps.filter(pl.col("name") == per["name"])
        spans = spans.filter(pl.col("gap_at").is_in(mine["at"].implode()))
        # Of callbacks their ops say where they are; elsewhere the op behind most of the time does.
        by_callback = spans.filter("asked")
        most_idle = spans.group_by("op").agg(pl.col("idle").sum(), "at")
        behind = most_idle.sort("idle", "op", descending=[True, False]).row(0, named=True)
        facts = {
            "behind": behind["op"],
            "next": behind["op"] == per["function"],
            "constant": behind["op"] == "_EagerConst",
            **_filled(_inside(evidence, mine), mine, float(spans["made"].sum())),
            "idle": AVOIDABLE,
            "between": per["idle"],
            **_waits(evidence, spans.filter(pl.col("idle") > 0)["at"], per["idle"]),
            "of_keras": bool(mine["of_keras"][0]),
            "by_callback": bool(spans["known"].any()),
            "called": int(spans["called"].sum()),
            "inside": per["inside"],
            "calls": per["calls"],
            "pauses": int(mine["pauses"][0]),
        }
        at = by_callback["at"].to_list() or behind["at"]
        stake = idle.filter(name=per["name"])
        claims = [claim_gaps(evidence, stake, "idle"), claim_gaps(evidence, stake, "eager")]
        yield Finding("between-steps", per["function"], mine.height, None, at, facts, claims=claims)


def _waits(evidence: Evidence, at: pl.Series, idle: float) -> dict[str, Any]:
    """Whether the gaps before spans are a wait for the most, and for how long Python computed.

    In gaps too short for a line of `record` nothing is a wait.
    """
    spans = evidence.computed
    if spans.is_empty():
        return {"waits": False}
    mine = only(spans, is_among(spans["at"], at))
    gap, waited = (float(mine[name].sum()) for name in ("gap", "waited"))
    # On a busy machine a thread that computes waits for a processor as well.
    most = _SLEPT if is_busy(evidence.recorded) else _WAITED
    # Not all of these gaps is idle: what eager ops and the loop itself take is left out of that.
    return {"waits": waited > most * gap, "ran": idle * (1 - waited / (gap or 1.0))}


def _inside(evidence: Evidence, gaps: pl.DataFrame) -> pl.DataFrame:
    """The eager ops in the gaps: rows of `Evidence.placed`."""
    ops = only(evidence.placed, evidence.placed["time"] >= 0)
    # A gap may begin in the same µs as an op.
    begins = pl.DataFrame([ops["time"] + 1, ops["thread"]])
    until = rows(gaps["begin"], last_before(begins, gaps[["last_end", "thread"]]))
    return only(ops, ops["time"] < until)


def _filled(ops: pl.DataFrame, gaps: pl.DataFrame, made: float) -> dict[str, Any]:
    """What ran eagerly in the gaps of a function, and who can have asked for it."""
    if ops.is_empty():
        return {}
    time = total(ops["cost"])
    callback: list[str] = []
    if gaps["of_keras"][0]:
        never = pl.col("judged_by").is_in(causes_that_count("never"))
        callback = most(ops.filter(~never & ~pl.col("own"))["op"])
    return {
        "ops": ops.height,
        "ops_time": time,
        "kernels": made if made > (time or 0.0) else None,
        "callback": callback,
    }
