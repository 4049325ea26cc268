"""Stretches: the time of each thread that asks for ops, cut where what goes on changes.

The program's thread calls an op or a function from Python, and waits until it is done
(python/eager/execute.py, quick_execute). What other threads do meanwhile is in the phase that the
program waits in. docs/time.md says what each phase is.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import (
    Integers,
    begins,
    filled,
    first_with,
    holds,
    is_among,
    looked_up,
    only,
    rows,
    where,
)
from tflogscope.model.common.intervals import covered_within, first_open
from tflogscope.model.common.names import NEXT, SAVING
from tflogscope.model.common.once import once
from tflogscope.model.costs.first_calls import compile_times
from tflogscope.model.executions.servers import serves
from tflogscope.model.executions.stack_traces import read_stack_traces
from tflogscope.model.ledger.phases import (
    PHASES,
    WAITS,
    run_window,
    spans_by_thread,
    traced,
    wait_of,
)
from tflogscope.model.ledger.remade import remade_models
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.rows.spans import LEAST

if TYPE_CHECKING:
    from tflogscope.model.pipeline import Evidence

_COLD_US, _PAUSE = threshold("loop.cold"), threshold("loop.pause")
# What is open counts as the first of these; what none is open in is Python's.
_ORDER = (
    *("logging", "xla", "graph-passes", "tracing", "start-up"),
    *("busy first", "busy", *WAITS, "checkpoint", "first-runs", "compute", "eager", "python"),
)
_WITHIN = {"busy first": "first-runs", "busy": "compute"}
# Of these the log says what each execution would have taken without it.
_ESTIMATED = ("first-runs", "compute", "eager", *WAITS)
# Rules of eager ops of a step of training.
_OF_STEPS = ("gradient", "jacobian", "keras-batch")
_SCHEMA = {
    "thread": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
    "phase": pl.String,
    "work_us": pl.Float64,
    "repeats": pl.Boolean,
    "item": pl.UInt32,
    "before": pl.UInt32,
}


@once
def read_stretches(of: Evidence) -> pl.DataFrame:
    """One row per stretch, by thread and start; those of the program's thread come first.

    Columns: thread (-1: the log has no ids), start and end (µs), phase (null: the log can't show
    it), work_us (without the log; as printed where the log doesn't show what a record costs),
    repeats (in a loop), item (row of `spans_by_thread`: the op or call that goes on; null: Python),
    before (the row of the one that comes next, where none goes on).
    """
    run = run_window(of)
    spans = spans_by_thread(of)
    if run is None or spans.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    pieces, first_item = list[pl.DataFrame](), 0
    for items in spans.partition_by("thread", maintain_order=True):
        program_time = (int(items["begin"].min()), int(items["end"].max() or 0))  # type: ignore[arg-type]
        times = program_time if pieces else run
        thread = _Thread(of, items, first_item, *times, is_program=not pieces)
        if not pieces or program_time[1] > program_time[0]:
            pieces.append(thread.stretches())
        first_item += items.height
    return pl.concat(pieces)


def traced_time(of: Evidence, names: pl.Series) -> float | None:
    """How long functions of these names were traced, as the table `time` has it; None: unknown."""
    windows = traced(of).filter(pl.col("name").is_in(names.implode())).sort("end")
    stretches = read_stretches(of).filter(phase="tracing").sort("end")
    mine = stretches.join_asof(
        windows, on="end", by="thread", strategy="forward", check_sortedness=False
    )
    mine = mine.filter(pl.col("start") >= pl.col("begin"))
    return float(mine["work_us"].sum()) if mine.height else None


def phases_not_shown(of: Evidence) -> list[str]:
    """The phases that this log can't show."""
    items, unpriced = spans_by_thread(of), of.costs.price is None
    items = items.filter(thread=next(iter(items["thread"]), -1))
    if not items["end"].count():
        shown = ["start-up", *["logging"] * (not unpriced)] * (items.height > 0)
        return [phase for phase in PHASES if phase not in shown]
    missing = ["logging"] * unpriced
    if of.calls.height:
        missing += ["tracing"] * traced(of).is_empty()
        waits = [*WAITS] * of.executions.frame["definition"].is_null().all()
        missing += [wait for wait in waits if wait not in spans_by_thread(of)["phase"]]
        compiled = compiled_runs(of.executions)["call"].count()
        missing += ["xla"] * (compiled > 0 and compile_times(of.events).is_empty())
    return missing


class _Thread:
    """One thread that asked for `items`, from `first` to `last`.

    Its items are the rows of `spans_by_thread` from `first_item` on.
    """

    def __init__(
        self,
        of: Evidence,
        items: pl.DataFrame,
        first_item: int,
        first: int,
        last: int,
        *,
        is_program: bool,
    ) -> None:
        self._of, self._items, self._is_program = of, items, is_program
        self._first_item, self._first, self._last = first_item, first, last

    def stretches(self) -> pl.DataFrame:
        """See `read_stretches`."""
        every = pl.concat([*self._preparations(), *self._spans()])
        spans = every.filter(pl.col("end") > pl.col("begin")).collect()
        phases = spans["phase"].replace_strict(_ORDER, range(len(_ORDER)), return_dtype=pl.Int64)
        edges, order = first_open(
            spans["begin"].to_numpy(),
            spans["end"].to_numpy(),
            phases.to_numpy(),
            self._first,
            self._last,
        )
        order[order > phases.to_numpy().max(initial=-1)] = _ORDER.index("python")  # nothing ran
        item, following = self._items_at(edges[:-1])
        phase = _PHASE_OF_ORDER[order]
        kept = begins(phase, item, following)
        edges = np.append(edges[:-1][kept], edges[-1])
        phase, item, following = phase[kept], item[kept], following[kept]
        log = self._log_of(edges, phase, item, following)
        # In a server no Python of a user's runs: between requests it waits for them.
        between = {"python": "remote-wait"} if serves(self._of.events) else {}
        middle = (edges[:-1] + edges[1:]) // 2
        in_loop = covered_within(self._loops, pl.DataFrame([middle, middle + 1])) > 0
        frame = pl.DataFrame(
            {
                "thread": pl.repeat(
                    self._items["thread"][0], len(phase), dtype=pl.Int64, eager=True
                ),
                "start": edges[:-1],
                "end": edges[1:],
                "phase": pl.Series(_NAMES)[phase].replace(between),
                "work_us": np.diff(edges) - log,
                "repeats": in_loop,
                "item": item,
                "before": following,
            }
        ).with_columns(
            pl.when(pl.col(name) >= 0).then(pl.col(name) + self._first_item).alias(name)
            for name in ("item", "before")
        )
        hidden = set(phases_not_shown(self._of)) if not self._items["end"].count() else set()
        shown = pl.when(~pl.col("phase").is_in(hidden)).then("phase").alias("phase")
        return frame.with_columns(shown).cast(_SCHEMA)  # type: ignore[arg-type]

    def _items_at(self, times: Integers) -> tuple[Integers, Integers]:
        """Of each time the item that goes on then, else the one that comes next; -1: neither."""
        begin, end = self._items["begin"].to_numpy(), filled(self._items["end"])
        reach = np.maximum.accumulate(np.maximum(begin, end))
        last = np.searchsorted(np.maximum.accumulate(begin), times, side="right") - 1
        goes_on = (last >= 0) & (reach[last] > times)
        following = np.where(last + 1 < len(begin), last + 1, -1)
        return np.where(goes_on, last, -1), np.where(goes_on, -1, following)

    def _own(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("thread") == self._items["thread"][0])

    # ---- what goes on ----------------------------------------------------------------------------

    def _preparations(self) -> list[pl.LazyFrame]:
        """What is done before functions run."""
        of = self._of
        prepared = [
            _spans("graph-passes", self._own(of.instantiations.spans), "time", "end_time"),
            _spans("logging", self._own(read_stack_traces(of.events)), "since", "until"),
        ]
        if self._is_program:
            made = compile_times(of.events)
            made = made.select(end="time", begin=pl.col("time") - pl.col("took").cast(pl.Int64))
            begin = self._items["begin"].min()
            start_up = pl.DataFrame({"begin": [self._first], "end": [begin]})
            prepared += [_spans("tracing", self._own(traced(of))), _spans("xla", made)]
            prepared.append(_spans("start-up", start_up))
        return prepared

    def _spans(self) -> list[pl.LazyFrame]:
        """Phases of what ran, with checkpoints as a whole, and nodes that wait for data."""
        items = self._items.lazy()
        saved = items.group_by(pl.col("phase").rle_id().alias("run"), "phase").agg(
            pl.col("begin").min(), pl.col("end").max()
        )
        saved = saved.filter(phase="checkpoint")
        return [*map(_as_spans, (items, saved, self._waiting.lazy()))]

    @cached_property
    def _waiting(self) -> pl.DataFrame:
        return self._own(_waiting_nodes(self._of))

    @cached_property
    def _loops(self) -> pl.DataFrame:
        """When the thread was in a loop: since and end of its ops with the gaps before them.

        The first trace and call of a Python function are of no loop (threads that call at once each
        instantiate the function), nor are those of a trace that the program comes back to after
        another one: it is kept, however long the program runs. Those of other later traces may be,
        and those of models that a line makes again.
        Nor is the first run of an op that makes a primitive, nor what makes variables, nor what
        comes before the calls of a thread that calls in a loop.
        """
        of = self._of
        no_loop = _of_no_loop(of)
        made = self._own(traced(of)).filter(pl.col("name").is_in(no_loop.names.implode()))
        spans = self._own(of.spans).filter(~pl.col("once"))
        cold = pl.col("op").is_first_distinct() & (pl.col("work_us") - pl.col("cost") > _COLD_US)
        eager = self._items.filter(phase="eager")["at"]
        warm_ups = spans.filter(cold & pl.col("at").is_in(eager.implode()))
        first = pl.concat([no_loop.first, warm_ups["at"]])
        # Of a function that is called here and there its calls repeat, and no gap before others.
        in_turn = pl.len().over("op", "before") >= LEAST
        # Of a pause that is far longer than such gaps are nothing repeats; disks vary by as much.
        saved = pl.concat([self._items.filter(phase="checkpoint")["at"], no_loop.saved])
        paused = pl.col("gap") > _PAUSE * pl.col("most_gap")
        paused &= ~pl.col("at").is_in(saved.implode())
        follows = (in_turn | (pl.col("op") == pl.col("before"))) & ~paused
        spans = spans.with_columns(since=pl.when(follows).then("since").otherwise("begin"))
        spans = spans.filter(in_turn | pl.col("at").is_in(no_loop.again.implode()))
        later = spans.filter(pl.col("at") > self._prepared())
        spans = later if later["is_call"].any() else spans
        spans = looked_up(spans[["at", "since"]], self._items[["at", "end"]], "at")
        of_loop = spans[["since", "end"]]
        of_tracing = covered_within(made[["begin", "end"]], of_loop)
        return only(of_loop, (of_tracing == 0) & ~is_among(spans["at"], first))

    def _prepared(self) -> int:
        """Up to where the thread makes variables and data, a few or hundreds of each: -1, nowhere.

        That is the first call of a function, unless steps run op by op before it.
        """
        called = _calls_of_program(self._of)
        steps = pl.col("op").str.contains(NEXT) | pl.col("rule").is_in(_OF_STEPS)
        begun = self._items.filter(steps)["at"]
        return min((*called.head(1), *begun.head(1))) if len(called) else -1

    # ---- what the log took -----------------------------------------------------------------------

    def _log_of(
        self, edges: Integers, phase: Integers, item: Integers, following: Integers
    ) -> NDArray[np.float64]:
        """What the log took of each stretch.

        That of an op or a call is estimated with what it took; elsewhere lines have a price, and
        right before an op or a call the hook of `record` looks up where the program is. A phase has
        no more of it than it takes, and one stretch what others of its phase have not.
        """
        wall = np.diff(edges).astype(np.float64)
        if self._of.costs.price is None:
            return np.zeros_like(wall)
        log = np.diff(self._lines(edges)) * self._of.line_price
        begin = self._items["begin"].to_numpy()
        right_before = (following >= 0) & (edges[1:] == begin[following])
        log[right_before] += self._hook()[following[right_before]]
        names = np.array(_NAMES)[phase]
        waits = np.isin(names, WAITS) & self._items["is_call"].to_numpy()[item]
        estimated = np.isin(names, _ESTIMATED) & (item >= 0)
        for which, share in zip((waits, ~waits), _log_shares(self._of), strict=True):
            here = estimated & which
            log[here] = share[self._first_item + item[here]] * wall[here]
        log[names == "logging"] = wall[names == "logging"]
        return _within(log, wall, phase)

    def _hook(self) -> NDArray[np.float64]:
        """What the hook took before each item, beyond the price of its lines."""
        items = self._items.select("thread", "begin_at", last="begin_at")
        items = items.with_columns(pl.col("last").shift().fill_null(-1))
        return self._of.without_log.hook(
            items, ("last", "begin_at"), self._of.line_price
        ).to_numpy()

    def _lines(self, times: Integers) -> Integers:
        """How many lines were written by then."""
        items = self._items.lazy()
        ends = items.select(begin="end", at="end_at").drop_nulls()
        both = pl.concat([items.select("begin", at="begin_at"), ends])
        marks = both.sort("begin", "at").collect()
        time, at = marks["begin"].to_numpy(), np.maximum.accumulate(marks["at"].to_numpy())
        return np.interp(times, time, at, left=0).astype(np.int64) // PLACES


class _NoLoop(NamedTuple):
    """What is of no loop: full names of functions whose calls are first ones; lines of these calls
    and of first elements; lines of calls of functions that are called repeatedly, which are; and
    lines of what saves.
    """

    names: pl.Series
    first: pl.Series
    again: pl.Series
    saved: pl.Series


@once
def _of_no_loop(of: Evidence) -> _NoLoop:
    remade = remade_models(of).filter("later")["name"]
    names = of.python_functions.filter(traces=1)["name"]
    names = only(names.to_frame(), ~is_among(names, remade))["name"]
    turns = of.calls.drop_nulls("python_function").sort("begin_at")
    turns = turns.with_columns(turn=pl.col("name").rle_id().over("python_function"))
    back = turns.filter(pl.col("turn").n_unique().over("name") > 1)["name"]
    names = pl.concat([names, back])
    called = of.calls.lazy().filter(pl.col("name").is_in(names.implode()))
    made_by = called.join(
        of.instantiations.spans.lazy().select("thread", name="function", made_at="at"),
        on=["name", "thread"],
    ).filter(pl.col("made_at").is_between("begin_at", "at"))
    earliest = called.filter(pl.col("name").is_first_distinct())
    first = pl.concat([earliest.select("at"), made_by.select("at")]).collect()["at"]
    # Each replica has an iterator, whose first element is waited for while buffers are filled.
    is_first = pl.struct("op", "device").is_first_distinct()
    fills = of.eager.filter(pl.col("op").str.contains(NEXT) & is_first)
    again = of.calls.filter(pl.len().over("name") >= LEAST)["at"]
    return _NoLoop(names, pl.concat([first, fills["at"]]), again, of.asked_by(SAVING))


@once
def _waiting_nodes(of: Evidence) -> pl.DataFrame:
    """Nodes of calls that wait for data or other processes, and what else runs meanwhile.

    thread (that called), phase, begin, end, call, log (µs, of nodes that wait).
    """
    frame, definitions = of.executions.frame, of.executions.runs.definitions
    wait = wait_of(pl.col("kernel"), pl.col("attributes")).alias("phase")
    phases = definitions.select(wait).to_series()
    waits = where(phases.is_not_null())
    row = where(is_among(frame["definition"], waits))
    names = ["call", "time", "end_time", "definition"]
    waiting = rows(frame[names], row)
    work = rows(of.costs.of_executions["work_us"], row)
    log = (waiting["end_time"] - waiting["time"] - work).alias("log")
    waiting = waiting.hstack([log, rows(phases, waiting["definition"])])
    calls = spans_by_thread(of).select("call", "thread", of="phase").drop_nulls()
    waiting = looked_up(waiting, calls, "call").drop_nulls("of")
    within = waiting.group_by("call", "of", "thread").agg(
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
    beside = beside.hstack(rows(within[["of", "thread"]], place[there.to_numpy()]))
    busy = pl.col("of").replace_strict({phase: name for name, phase in _WITHIN.items()})
    shown = {"begin": "time", "end": "end_time", "call": "call"}
    return pl.concat(
        [
            waiting.select("thread", "log", "phase", **shown),
            beside.select("thread", log=pl.lit(None, pl.Float64), phase=busy, **shown),
        ],
        how="vertical_relaxed",
    )


@once
def _log_shares(of: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each row of `spans_by_thread` the share of the log in its waits, and in the rest of it."""
    passed = (pl.col("end") - pl.col("begin")).sum().cast(pl.Float64)
    nodes = _waiting_nodes(of).lazy().filter(pl.col("phase").is_in(WAITS)).group_by("call")
    waited = nodes.agg(waited=passed, wait_log=pl.col("log").sum()).collect()
    items = spans_by_thread(of)[["call", "log", "duration_us"]]
    items = looked_up(items, waited, "call").fill_null(0.0)
    of_waits = items["wait_log"] / items["waited"]
    others = (items["log"] - items["wait_log"]) / (items["duration_us"] - items["waited"])
    of_waits, others = (share.fill_nan(0.0).clip(0.0, 1.0) for share in (of_waits, others))
    return of_waits.to_numpy(), others.to_numpy()


@once
def _calls_of_program(of: Evidence) -> pl.Series:
    """The lines of calls of functions that are not TensorFlow's own."""
    return of.calls.filter(pl.col("made_by").is_null())["at"].sort()


_NAMES = [_WITHIN.get(name, name) for name in _ORDER]
# Two kinds of `_ORDER` that are one phase are one number.
_PHASE_OF_ORDER = np.array([_NAMES.index(name) for name in _NAMES])


def _within(
    log: NDArray[np.float64], wall: NDArray[np.float64], phase: Integers
) -> NDArray[np.float64]:
    """Costs, each at most its wall time; what is more goes to other stretches of the phase."""
    kept = np.clip(log, 0.0, wall)
    over, room = (np.bincount(phase, us, len(_NAMES)) for us in (log - kept, wall - kept))
    share = np.clip(over / np.where(room, room, 1.0), 0.0, 1.0)
    return np.asarray(kept + (wall - kept) * share[phase])


def _spans(phase: str, frame: pl.DataFrame, begin: str = "begin", end: str = "end") -> pl.LazyFrame:
    return _as_spans(frame.lazy().select(phase=pl.lit(phase), begin=begin, end=end))


def _as_spans(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.select("phase", pl.col("begin", "end").cast(pl.Int64))
