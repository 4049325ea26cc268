"""Eager ops and calls of functions as one row of spans for each thread of the program.

Between two spans the thread ran Python code, or TensorFlow's dispatch of the second one.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.causes.rules import cause_grammar
from tflogscope.model.common.frames import Integers, holds, is_among, last_before, rows
from tflogscope.model.common.names import CHECKPOINTS, NEXT
from tflogscope.model.costs.costs import COLD, Costs

DISPATCH_US = threshold("dispatch.most")
LEAST = threshold("loop.least_turns")
_PAUSE = threshold("loop.pause")
_FAR = 1 << 44  # beyond any `at`
_USUAL_LINE_US = threshold("dispatch.line")
_HOOK = 1  # of the kinds of lines of `WithoutLog`, those of the hook about ops


def select_outermost(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """What the program asked for: eager ops and calls of functions that no call is around.

    Args:
        ops: rows of `Evidence.placed`.
        calls: of `Evidence.calls`.

    Columns: thread, at (of `Executing op`), begin_at, begin, end_at, end, op (of calls the
    function), is_call, first (call of its function), call, status, rule (of its cause); in µs cost
    (kernels of ops; of first calls the median of all), duration_us (from `Executing op` to the end)
    and log (what records took of that).
    """
    first = pl.col("name").is_first_distinct()
    usual = pl.col("wall_us").median().over("function")
    both = pl.concat(
        [
            ops.filter(~pl.col("inside")).with_columns(
                begin_at="at",
                begin="time",
                end="end_time",
                is_call=False,
                first=False,
                duration_us=pl.col("end_time") - pl.col("time"),
                log=pl.col("end_time") - pl.col("time") - pl.col("work_us"),
            ),
            calls.with_columns(first=first)
            .filter(~pl.col("nested"))
            .with_columns(
                op="function",
                duration_us=pl.col("end") - pl.col("executing"),
                is_call=True,
                cost=pl.when("first").then(usual).otherwise("wall_us"),
            )
            .cast({"log": pl.Float64}),
        ],
        how="diagonal_relaxed",
    )
    names = ("thread", "at", "begin_at", "begin", "end_at", "end", "op", "is_call", "first", "call")
    return both.select(*names, "status", "rule", "cost", "duration_us", "log").drop_nulls("begin")


def read_spans(outermost: pl.DataFrame, without_log: WithoutLog) -> pl.DataFrame:
    """The spans, in the order of their begins on each thread: of `select_outermost` what has ended.

    Columns: thread, at, op, is_call, begin, end, before (the op of the span before), after_call
    (that was a call), since (its end); in µs, without the log, gap (from there on), work_us and
    cost (wall time, and kernels), usual_gap (of these two), most_gap (what a dispatch takes at
    most, or this gap usually); is_python: their gaps are usually too long for a dispatch; again:
    the two follow each other in a loop; once: they are of no loop, for one of them makes a
    variable, unless a model is loaded in it, or it is of one of a few checkpoints; session (how
    many calls began on the thread).
    """
    spans = outermost.drop_nulls("end").sort("thread", "begin_at", maintain_order=True)
    makes = [rule.id for rule in cause_grammar().rules if rule.makes_variable]
    making = holds(pl.col("rule").is_in(makes))
    before = pl.col("op", "end", "end_at", "is_call").shift().over("thread").name.prefix("last_")
    spans = spans.with_columns(before).with_columns(
        last_end=pl.coalesce("last_end", "begin"), last_at=pl.coalesce("last_end_at", "begin_at")
    )
    spans = spans.with_columns(
        gap=without_log.wall(spans, ("last_at", "begin_at"), ("last_end", "begin")),
        work_us=without_log.wall(spans, ("begin_at", "end_at"), ("begin", "end")),
    )
    dispatch = DISPATCH_US * (without_log.python_pace or 1.0)
    spans = spans.with_columns(session=pl.col("is_call").cast(pl.Int64).cum_sum().over("thread"))
    # Of two conversions for each call one may take long. Where turns have the same ops, each is
    # compared with those in its place.
    place = pl.int_range(pl.len()).over("thread", "session")
    alike = ["thread", "op", "last_op", place]
    gap = pl.col("gap").median()
    in_place = pl.when(pl.len().over(alike) >= LEAST).then(gap.over(alike))
    usual = in_place.otherwise(gap.over("op", "last_op"))
    # What one checkpoint does for each of its variables is no loop.
    counts = spans["op"].filter(spans["op"].str.contains(CHECKPOINTS)).value_counts()["count"]
    saved = holds(pl.lit((counts < LEAST).all()) & (pl.col("rule") == "checkpoint"))
    # Records of other threads are in what waits for these: `Costs` knows.
    waits = pl.col("op").str.contains(NEXT) & pl.col("cost").is_not_null()
    return spans.select(
        *("thread", "at", "op", "is_call", "begin", "end", "gap", "cost", "session"),
        before="last_op",
        usual_gap=usual,
        most_gap=usual.clip(dispatch),
        after_call=holds(pl.col("last_is_call")),
        since="last_end",
        work_us=pl.when(pl.col("is_call") | waits).then("cost").otherwise("work_us"),
        is_python=~pl.col("is_call") & (usual > dispatch),
        again=holds(
            (pl.len().over("op", "last_op") >= LEAST)
            & (pl.col("gap") <= _PAUSE * usual.clip(dispatch))
        ),
        once=making | holds(making.shift().over("thread")) | saved,
    )


def with_computed(events: Events, spans: pl.DataFrame) -> pl.DataFrame:
    """The spans of whole threads, with computed: for how many µs of the gap before it a thread
    computed, and waited, the rest of it. Both are 0 where that gap is short, for `record` writes
    nothing there; empty where the log doesn't say it.
    """
    records = events.messages("python_computed")
    if records.is_empty() or spans.is_empty():
        return spans.clear()
    spans = spans.with_columns(last_at=pl.col("at").shift().over("thread")).sort("at")
    last = last_before(spans[["at", "thread"]], records[["at", "os_thread"]])
    spans = spans.hstack(rows(records.select("computed", said_at="at"), last))
    of_gap = pl.col("said_at") > pl.col("last_at")
    computed = pl.when(of_gap).then(pl.min_horizontal("computed", "gap"))
    waited = (pl.col("gap") - computed).fill_null(0.0)
    return spans.with_columns(computed=computed.fill_null(0.0), waited=waited)


class WithoutLog:
    """What windows of some threads would have taken without the log.

    Each record in a window cost its thread the price of one (none where the log doesn't say it),
    and each line that the hook of `record` writes before an op or for a node what it says of
    itself: it looks up where the program is.
    """

    def __init__(self, events: Events, costs: Costs, threads: pl.Series) -> None:
        took, price = costs.hook_line_us, costs.price
        usual = price.usual if price else 0.0
        self._cold = price.quick if price else 0.0
        hook = (took or usual) if price else 0.0
        # A line about a node does not say which thread it is of; one thread traces at a time.
        nodes = events.messages("python_node").select("at")
        ops = events.messages("python_op").select("at", thread=pl.col("os_thread").cast(pl.Int64))
        self._threads = np.unique(threads.to_numpy())
        ops = ops.filter(is_among(ops["thread"], self._threads))
        records = events.records_on(self._threads)[["at", "thread"]]
        lines = ((usual, records), (hook, ops), (hook, nodes))
        # Lines are in order already, or nearly: this way that is quicker.
        self._lines = [
            (price, frame.columns, np.sort(self._places(frame), kind="stable"))
            for price, frame in lines
        ]
        self.python_pace: float | None = max(took / _USUAL_LINE_US, 1.0) if took else None
        """How many times as long Python takes here as where its own times were measured."""

    def wall(self, windows: pl.DataFrame, at: tuple[str, str], time: tuple[str, str]) -> pl.Series:
        """What windows would have taken, in µs, at least 0.

        `costs.COLD` of each is left out, at most the price of its lines.

        Args:
            windows: thread, and the columns that the others name.
            at: the lines that each begins behind, and ends with.
            time: when it begins and ends.
        """
        begin, end = time
        wall = (windows[end] - windows[begin]).cast(pl.Float64)
        lines = np.zeros(windows.height)
        for number, (price, *_) in enumerate(self._lines):
            count = self._count(number, windows, at)
            wall -= pl.Series(price * count)
            lines += count
        work = wall.clip(0.0).to_numpy()
        return pl.Series(work - np.minimum(work * COLD, self._cold * np.maximum(lines, 1)))

    def hook(self, windows: pl.DataFrame, at: tuple[str, str], line: float) -> pl.Series:
        """What the hook took in windows, in µs, beyond the price `line` of its lines about ops.

        `windows` and `at` are those of `wall`.
        """
        price = self._lines[_HOOK][0]
        return pl.Series(max(price - line, 0.0) * self._count(_HOOK, windows, at))

    def _count(self, number: int, windows: pl.DataFrame, at: tuple[str, str]) -> Integers:
        """How many lines of a kind are in windows."""
        _, columns, lines = self._lines[number]
        before, behind = (
            np.searchsorted(lines, self._places(windows[[edge, *columns[1:]]]), side="right")
            for edge in at
        )
        return np.asarray(behind - before)

    def _places(self, lines: pl.DataFrame) -> Integers:
        """Places in the log, and where lines have a thread, after all those of the threads before:
        between two of one thread are only lines of that thread.
        """
        places: Integers = lines[:, 0].to_numpy()
        if lines.width > 1 and len(self._threads) > 1:
            places = places + np.searchsorted(self._threads, lines["thread"].to_numpy()) * _FAR
        return places
