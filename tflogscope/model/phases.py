"""Where the wall time of the run went: the table `time`; docs/time.md says what each phase is.

It follows one thread: Python calls an op or a function, and waits until it is done
(python/eager/execute.py, quick_execute). What other threads do meanwhile is in the phase that the
program waits in.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES
from tflogscope.grammar.tables import as_table, schema
from tflogscope.model.figures import rounded
from tflogscope.model.first_calls import compile_times
from tflogscope.model.frames import (
    Integers,
    first_with,
    holds,
    is_among,
    looked_up,
    only,
    rows,
    where,
)
from tflogscope.model.intervals import covered_within, first_open
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.once import once
from tflogscope.model.origin import footer_of, moment_us
from tflogscope.model.python_functions import tracing_us
from tflogscope.model.spans import LEAST
from tflogscope.model.stack_traces import read_stack_traces

if TYPE_CHECKING:
    from tflogscope.model.findings.evidence import Evidence

PHASES = (
    *("start-up", "tracing", "graph-passes", "first-runs", "compute", "eager", "input-wait"),
    *("python", "checkpoint", "xla", "logging"),
)
"""In the order in which they are in the table."""
ITERATORS = r"^\w*Iterator\w*GetNext\w*$"
"""Kernels in which a program waits for the next element (core/kernels/data/iterator_ops.cc)."""

# What is open counts as the first of these; what none is open in is Python's.
_ORDER = (
    *("logging", "xla", "graph-passes", "tracing", "start-up"),
    *("busy first", "busy", "input-wait", "checkpoint", "first-runs", "compute", "eager"),
)
# Of these the log says what each execution would have taken without it.
_ESTIMATED = ("first-runs", "compute", "eager", "input-wait")
_WITHIN = {"busy first": "first-runs", "busy": "compute"}
_LONGEST = 3600e6  # µs without a record at the start of a program, and at its end


def time_table(of: Evidence) -> pl.DataFrame:
    """One row per phase, in the order of `PHASES`; empty if the log has no times."""
    return as_table("time", _phases(of))


def paid_again(of: Evidence) -> pl.DataFrame:
    """What of each phase is of a loop, so that a longer run pays more of it: phase, again_us.

    The rest is paid once: what comes before a loop, the first call of each function, the end. What
    the log took is the recording's, and has no row.
    """
    return _phases(of)[["phase", "again_us"]].filter(pl.col("phase") != "logging")


@once
def _phases(of: Evidence) -> pl.DataFrame:
    first, last = of.recorded.first, of.recorded.last
    if first is None or last is None or last <= first:
        return pl.DataFrame(schema={**schema("time"), "again_us": pl.Float64})
    began = moment_us(of.recorded_as, "started")
    first = began if began is not None and 0 <= first - began < _LONGEST else first
    last = _ended(of, first, last)
    thread = _Thread(of, last)
    begin = thread.items["begin"].min()
    start_up = _spans("start-up", pl.DataFrame({"begin": [first], "end": [begin]}))
    every = pl.concat([start_up, *_preparations(of, thread), *thread.spans()])
    spans = every.filter(pl.col("end") > pl.col("begin")).collect()
    edges, order = first_open(
        spans["begin"].to_numpy(),
        spans["end"].to_numpy(),
        spans["phase"].replace_strict(_ORDER, range(len(_ORDER)), return_dtype=pl.Int64).to_numpy(),
        first,
        last,
    )
    names = pl.Series([*_ORDER, "python"]).replace(_WITHIN)
    pieces = pl.DataFrame(
        {
            "phase": names[order],
            "start": edges[:-1],
            "end": edges[1:],
            "lines": np.diff(thread.lines(edges)),
            "again": covered_within(*thread.loops, edges[:-1], edges[1:]),
        }
    )
    return _table(pieces, of, thread, last - first)


def _ended(of: Evidence, first: int, last: int) -> int:
    """When the program had ended, where `record` wrote that down; else when the last record came.

    After its own code Python and TensorFlow take a second or so to clear up, which is no phase.
    """
    own = of.events.messages("python_cost")["ended_us"].max()
    if isinstance(own, int) and first < own < last + _LONGEST:
        return own
    ended = moment_us(footer_of(of.events.spans[-1].tail), "ended")
    return ended if ended is not None and 0 <= ended - last < _LONGEST else last


def _table(pieces: pl.DataFrame, of: Evidence, thread: _Thread, whole: int) -> pl.DataFrame:
    passed = (pl.col("end") - pl.col("start")).cast(pl.Float64)
    grouped = (
        pieces.lazy()
        .group_by("phase")
        .agg(
            pl.col("start").min(),
            pl.col("end").max(),
            pl.col("lines", "again").sum(),
            passed=passed.sum(),
        )
    )
    price = of.costs.price
    log = pl.lit(0.0)
    if price is not None:
        a_line = price.quick * of.recorded.records / of.recorded.lines
        written = pl.col("phase").replace_strict(thread.logged_us, default=None)
        log = pl.coalesce(written, pl.col("lines") * a_line)
        log = pl.when(phase="logging").then("passed").otherwise(log)
    found = grouped.with_columns(log=log.clip(0, pl.col("passed"))).collect()
    is_log = pl.col("phase") == "logging"
    wall = (
        pl.when(is_log).then(float(found["log"].sum())).otherwise(pl.col("passed") - pl.col("log"))
    )
    known = ~pl.col("phase").is_in(_not_shown(of, thread))
    table = looked_up(pl.DataFrame({"phase": PHASES}), found, "phase").lazy()
    table = table.with_columns(wall_us=pl.when(known).then(rounded(wall.fill_null(0.0))))
    work = pl.when(is_log).then(0.0).otherwise("wall_us")
    return table.select(
        "phase",
        pl.from_epoch("start", "us"),
        pl.from_epoch("end", "us"),
        "wall_us",
        work_us=pl.when(price is not None).then(work),
        share=pl.col("wall_us") / whole,
        again_us=rounded(pl.col("wall_us") * pl.col("again") / pl.col("passed")),
    ).collect()


def _not_shown(of: Evidence, thread: _Thread) -> list[str]:
    """The phases that this log can't show."""
    if not thread.items["end"].count():
        shown = ["start-up", *["logging"] * (of.costs.price is not None)]
        shown = shown if thread.items.height else []  # nothing follows a thread of a session's
        return [phase for phase in PHASES if phase not in shown]
    found = ["logging"] * (of.costs.price is None)
    if of.calls.height:
        found += ["tracing"] * thread.traced.is_empty()
        found += ["input-wait"] * of.executions.frame["definition"].is_null().all()
        compiled = compiled_runs(of.executions)["call"].count()
        found += ["xla"] * (compiled > 0 and compile_times(of.events).is_empty())
    return found


def _spans(phase: str, frame: pl.DataFrame, begin: str = "begin", end: str = "end") -> pl.LazyFrame:
    return _as_spans(frame.lazy().select(phase=pl.lit(phase), begin=begin, end=end))


def _as_spans(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.select("phase", pl.col("begin", "end").cast(pl.Int64))


def _preparations(of: Evidence, thread: _Thread) -> list[pl.LazyFrame]:
    """What is done before functions run."""
    made = compile_times(of.events)
    made = made.select(end="time", begin=pl.col("time") - pl.col("compile_us").cast(pl.Int64))
    return [
        _spans("tracing", thread.traced),
        _spans("graph-passes", thread.own(of.instantiations.spans), "time", "end_time"),
        _spans("xla", made),
        _spans("logging", thread.own(read_stack_traces(of.events)), "since", "until"),
    ]


class _Thread:
    """What ran on the thread that ran the program's first op."""

    def __init__(self, of: Evidence, last: int) -> None:
        self._of, self._last = of, last

    @cached_property
    def items(self) -> pl.DataFrame:
        """What the program asked for (`spans.asked_for`), in order, each with its phase.

        What is unfinished goes on until the next begins.
        """
        of_call = pl.when("first").then(pl.lit("first-runs")).otherwise(pl.lit("compute"))
        phase = (
            pl.when("is_call")
            .then(of_call)
            .when(rule="checkpoint")
            .then(pl.lit("checkpoint"))
            .when(pl.col("op").str.contains(ITERATORS))
            .then(pl.lit("input-wait"))
            .otherwise(pl.lit("eager"))
        )
        asked = self._of.asked.lazy().sort("begin_at").with_columns(phase=phase)
        own = asked.filter(pl.col("thread") == pl.col("thread").first())
        until = pl.col("begin").shift(-1, fill_value=self._last)
        unfinished = pl.when(status="unfinished").then(until)
        return own.with_columns(end=pl.coalesce("end", unfinished)).collect()

    def own(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of a frame that are of this thread."""
        if self.items.is_empty():
            return frame.clear()
        return frame.filter(pl.col("thread") == self.items["thread"][0])

    @cached_property
    def traced(self) -> pl.DataFrame:
        """When functions were traced: name, begin and end. It ends before the next call or op."""
        of, items = self._of, self.items
        said = tracing_us(of.events)
        if said.is_empty():
            known = self.own(of.first_calls).drop_nulls("tracing_us")
            name, took, end = known["name"], known["tracing_us"], known["begin"]
        else:
            next_ = np.searchsorted(items["begin_at"].to_numpy(), said["at"].to_numpy())
            name, took = said["name"], said["took_us"]
            end = items["begin"].extend_constant(self._last, 1)[next_]
        begin = (end - took.cast(pl.Int64)).alias("begin")
        return pl.DataFrame([name.alias("name"), begin, end.alias("end")])

    @cached_property
    def loops(self) -> tuple[Integers, Integers]:
        """When the program was in a loop: begins and ends of its ops with the gaps before them.

        The first trace and call of a Python function are of no loop, the later ones may be; nor is
        what makes variables.
        """
        names = self._of.python_functions.filter(pl.col("traces") == 1)["name"].implode()
        of_first = pl.col("name").is_in(names)
        called = self._of.calls.lazy().filter(of_first)
        first = called.filter(pl.col("name").is_first_distinct()).select("at").collect()["at"]
        made = self.traced.filter(of_first)
        spans = self.own(self._of.spans).filter(~pl.col("makes"))
        spans = spans.filter(pl.len().over("op", "before") >= LEAST)
        spans = looked_up(spans[["at", "since"]], self.items[["at", "end"]], "at")
        since, end = spans["since"].to_numpy(), spans["end"].to_numpy()
        traced = covered_within(made["begin"].to_numpy(), made["end"].to_numpy(), since, end)
        kept = where(pl.Series(traced == 0) & ~is_among(spans["at"], first))
        return since[kept], end[kept]

    def spans(self) -> list[pl.LazyFrame]:
        """Phases of what ran, with checkpoints as a whole, and nodes that wait for data."""
        items = self.items.lazy()
        saved = items.group_by(pl.col("phase").rle_id().alias("run"), "phase").agg(
            pl.col("begin").min(), pl.col("end").max()
        )
        saved = saved.filter(phase="checkpoint")
        return [*map(_as_spans, (items, saved, self._waiting.lazy()))]

    @cached_property
    def _waiting(self) -> pl.DataFrame:
        """Nodes of calls that wait for data, and what else runs meanwhile.

        phase, begin, end, log_us, of (the phase of the call).
        """
        of = self._of
        frame, definitions = of.executions.frame, of.executions.runs.definitions
        waits = where(definitions["kernel"].str.contains(ITERATORS))
        row = where(is_among(frame["definition"], waits))
        names = ["call", "time", "end_time", "definition"]
        waiting = rows(frame[names], row)
        work = rows(of.costs.of_executions["work_us"], row)
        waiting = waiting.hstack([(waiting["end_time"] - waiting["time"] - work).alias("log_us")])
        calls = self.items.select("call", of="phase").drop_nulls()
        waiting = looked_up(waiting, calls, "call").drop_nulls("of")
        within = waiting.group_by("call", "of").agg(
            since=pl.col("time").min(), until=pl.col("end_time").max()
        )
        # The row of `within` of each call, -1: none; and behind them that of no call.
        count = of.executions.dispatches.calls.height + 1
        place = first_with(within["call"].to_numpy(), count)
        place = place[frame["call"].fill_null(count - 1).to_numpy()]
        since, until = (rows(within[name], place) for name in ("since", "until"))
        node = frame["definition"]
        there = node.is_not_null() & ~is_among(node, waits)
        there = holds(there & (frame["time"] < until) & (frame["end_time"] > since))
        beside = only(frame[names[:3]], there)
        beside = beside.hstack([rows(within["of"], place[there.to_numpy()])])
        busy = pl.col("of").replace_strict({phase: name for name, phase in _WITHIN.items()})
        shown = {"begin": "time", "end": "end_time", "of": "of"}
        return pl.concat(
            [
                waiting.select("log_us", phase=pl.lit("input-wait"), **shown),
                beside.select(log_us=pl.lit(None, pl.Float64), phase=busy, **shown),
            ],
            how="vertical_relaxed",
        )

    @cached_property
    def logged_us(self) -> dict[str, float]:
        """What the log took of the phases of which each execution's share is estimated."""
        log = self.items.group_by("phase").agg(pl.col("log_us").sum())
        found = dict.fromkeys(_ESTIMATED, 0.0) | dict(log.rows())
        for phase, inside in self._waiting.group_by("of").agg(pl.col("log_us").sum()).rows():
            found[phase] -= inside
            found["input-wait"] += inside
        return {phase: found[phase] for phase in _ESTIMATED}

    def lines(self, times: Integers) -> Integers:
        """How many lines were written by then."""
        if self.items.is_empty():
            return np.zeros_like(times)
        items = self.items.lazy()
        ends = items.select(begin="end", at="end_at").drop_nulls()
        both = pl.concat([items.select("begin", at="begin_at"), ends])
        known = both.sort("begin", "at").collect()
        time, at = known["begin"].to_numpy(), np.maximum.accumulate(known["at"].to_numpy())
        return np.interp(times, time, at, left=0).astype(np.int64) // PLACES
