"""What executions would have taken had no log been written; docs/costs.md has the method.

A record is stamped when it is worded and written after that (LogMessage::GenerateLogMessage in
tsl/platform/default/logging.cc). So the time from the start of a node to its end holds the writing
of the first record, the work, and the wording of the second: the price of one record, and that of
each record between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES, Events
from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import rounded
from tflogscope.model.common.frames import (
    Integers,
    first_with,
    is_among,
    last_before,
    looked_up,
    only,
    rows,
    where,
)
from tflogscope.model.common.intervals import covered_within
from tflogscope.model.common.names import FUNCTION_CALLS, NEXT, PYTHON_OPS
from tflogscope.model.executions.executions import Executions
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.links.linked import Linked

_LEAST_RUNS = threshold("costs.least_runs")
_STEADY_RUNS = threshold("costs.steady_runs")
_CHEAP_US = threshold("costs.cheap")
_NOT_CHEAP = threshold("costs.not_cheap")
COLD = threshold("costs.cold_share")
_OF_LINES = threshold("costs.lines_share")
_RECORDS_A_LINE = threshold("costs.records_a_line")
_SURE_AT = threshold("costs.sure_at")
_MOST_A_RECORD = threshold("costs.most_a_record")
_SPAN = ("time", "end_time", "at", "end_at")


class Price(NamedTuple):
    """What a record costs its writer in this log, in µs: the quicker quarter, and the middle."""

    quick: float
    usual: float


@dataclass(eq=False, repr=False)
class Costs:
    """What each execution would have taken without the log.

    `calibrated`: see `origin.calibrated_of`.
    """

    executions: Executions
    linked: Linked
    events: Events
    calibrated: Mapping[str, float]

    @cached_property
    def of_executions(self) -> pl.DataFrame:
        """Two columns in µs, a row for each execution.

        work_us: what this run would have taken. steady_us: the same, and for the first run of a
        node, an eager op or a function what its later runs say, since it also makes what they use.
        Null where no duration is known, where the log doesn't show what a record costs, and of
        kernels that run a function, whose nodes have rows of their own.
        """
        times = np.full((2, self.executions.frame.height), np.nan)
        if self.price is not None:
            frame = self.executions.frame
            is_dead = (frame["status"] == "dead") & frame["duration_us"].is_not_null()
            times[:, where(is_dead)] = 0  # nothing ran
            nodes = self._node_runs["row"].to_numpy()
            times[0][nodes], times[1][nodes] = self._of_nodes(self.price)
            vars(self).pop("_node_runs")  # in a large log it takes as much memory as the rest
            _set(times, self._of_eager_ops(self.price))
            # These two go by what nodes would have taken.
            _set(times, self._of_waits(self.price, nodes, times[1]))
            _set(times, self._of_calls(self.price, nodes, times))
            if self.calibrated:
                times = self._as_calibrated(times)
        table = pl.DataFrame({"work_us": times[0], "steady_us": times[1]}, nan_to_null=True)
        return table.select(rounded(pl.all()))

    def known(self, name: str) -> pl.Series:
        """A column of `of_executions`, or where no price is known the durations as printed."""
        if self.price is not None:
            return self.of_executions[name]
        return self.executions.frame["duration_us"].cast(pl.Float64).alias(name)

    def clock(self, name: str) -> pl.Expr:
        """What later calls took without a log, by a column of full names; null: not known.

        A calibration names functions without the number at the end of their names.
        """
        taken = pl.Series([*self.calibrated.values()], dtype=pl.Float64)
        names = pl.Series([*self.calibrated], dtype=pl.String)
        return _unnumbered(name).replace_strict(names, taken, default=None)

    # ---- what a record costs ---------------------------------------------------------------------

    @cached_property
    def price(self) -> Price | None:
        """What a record costs; None: the log shows too little of it."""
        nodes = self._nodes
        cheap = only(nodes, nodes["cheap"] & (nodes["runs"] >= _STEADY_RUNS))
        runs = cheap["runs"].to_numpy()
        if runs.sum() < _LEAST_RUNS:
            return self._price_of_gaps()
        return Price(*(float(np.average(cheap[name], weights=runs)) for name in ("quick", "usual")))

    def _price_of_gaps(self) -> Price | None:
        """The same of the time between neighbouring records of one thread.

        Most of them have nothing between them but their own wording and writing.
        """
        records = self.events.record_times
        at, time, thread = (records[name].to_numpy() for name in ("at", "time", "thread"))
        gap = np.diff(time)
        gap = gap[(np.diff(at) == PLACES) & (thread[1:] == thread[:-1]) & (gap >= 0)]
        if len(gap) < _LEAST_RUNS:
            return None
        return Price(float(np.quantile(gap, 0.25)), float(np.quantile(gap, 0.5)))

    # ---- nodes and eager ops ---------------------------------------------------------------------

    @cached_property
    def _node_runs(self) -> pl.DataFrame:
        """The runs of nodes that have a duration, in the order of the log: see `_runs`."""
        return self._runs(self._known & self.executions.frame["definition"].is_not_null())

    @cached_property
    def _known(self) -> pl.Series:
        """Which executions have a duration and are no calls."""
        frame = self.executions.frame
        is_call = self.executions.signatures["kind"] == "call"
        alive = (frame["status"] != "dead") & ~is_call[frame["signature"]]
        return alive & frame["duration_us"].is_not_null()

    def _runs(self, chosen: pl.Series) -> pl.DataFrame:
        """Rows of the executions.

        row, definition, signature, duration_us, records (as many as its duration holds),
        primitives, primitive_us.
        """
        frame = self.executions.frame
        runs = only(frame[["definition", "signature", "duration_us"]], chosen)
        lines = (frame["end_at"] - frame["at"]).filter(chosen) // PLACES
        ran = only(self.linked.by_execution, chosen).fill_null(0)
        row = pl.Series("row", where(chosen))
        return self._without_hook(runs.hstack([row, lines.clip(1).alias("records"), *ran]))

    def _without_hook(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The runs without what `record`'s hook took in those of Python code that asks for ops.

        Such a line costs more than a record: the hook looks up where the program is.
        """
        took = self.hook_line_us
        is_python = self.executions.signatures["op"].str.contains(PYTHON_OPS)
        place = where(is_python[runs["signature"]])
        if took is None or not len(place):
            return runs
        lines = self.events.messages("python_op").select("at", thread="os_thread").sort("at")
        count = lines.select(pl.int_range(1, pl.len() + 1).over("thread")).to_series()
        windows = rows(self.executions.frame[["at", "end_at", "thread"]], runs["row"][place])
        before, behind = (
            rows(count, last_before(windows[[edge, "thread"]], lines)).fill_null(0)
            for edge in ("at", "end_at")
        )
        inside = np.zeros(runs.height, np.int64)
        inside[place] = (behind - before).to_numpy()
        count_of_run = pl.lit(pl.Series(inside))
        return runs.with_columns(
            duration_us=(pl.col("duration_us") - took * count_of_run).clip(0),
            records=(pl.col("records") - count_of_run).clip(1),
        )

    @cached_property
    def hook_line_us(self) -> float | None:
        """What a line of `record`'s hook about an eager op took, in µs; None: there is none."""
        costs = self.events.messages("python_cost")
        return costs.select(pl.col("took_ns").median() / 1000).item()  # type: ignore[no-any-return]

    @cached_property
    def _nodes(self) -> pl.DataFrame:
        """One row per definition of a node that ran.

        definition, runs, mean, quick and usual (µs, of its later runs), records (at least),
        primitives (at most), primitive_us (of the quicker quarter), cheap, calls (it runs a
        function).
        """
        later = pl.max_horizontal(pl.len() - 1, 1)  # the first run makes kernel and primitives
        duration = pl.col("duration_us").tail(later)
        nodes = self._node_runs.group_by("definition").agg(
            runs=pl.len(),
            mean=pl.col("duration_us").mean(),
            quick=duration.quantile(0.25, "linear"),
            usual=duration.quantile(0.5, "linear"),
            records=pl.col("records").min(),
            primitives=pl.col("primitives").max(),
            primitive_us=pl.col("primitive_us").tail(later).quantile(0.25, "linear"),
        )
        # Kernels that do next to nothing.
        cheap = [
            kernel for row in packaged_toml("costs.toml")["cheap"] for kernel in row["kernels"]
        ]
        kernels = self.executions.runs.definitions.select(
            cheap=pl.col("kernel").is_in(cheap),
            calls=pl.col("kernel").str.contains(FUNCTION_CALLS),
        )
        nodes = nodes.hstack(rows(kernels, nodes["definition"]))
        nodes = nodes.with_columns(cheap=pl.col("cheap") & ~_take_long(nodes))
        # What XLA compiled has no nodes with rows of their own: its printed time is all there is.
        return nodes.with_columns(
            calls=nodes["calls"] & ~is_among(nodes["definition"], self._compiled)
        )

    @cached_property
    def _compiled(self) -> pl.Series:
        """The nodes that ran code of XLA's."""
        return compiled_runs(self.executions)["definition"].drop_nulls().unique()

    def _taking(self, price: Price) -> pl.DataFrame:
        """What later runs of nodes take: definition, runs, takes, log (µs), calls."""
        nodes = self._nodes
        names = ("quick", "usual", "records", "primitives", "primitive_us", "mean", "cheap")
        quick, usual, records, primitives, primitive_us, mean, cheap = (
            nodes[name].to_numpy() for name in names
        )
        lines = np.minimum(primitives, records - 1)
        quicker = quick - price.quick * (records - lines)
        usually = usual - price.usual * (records - lines)
        of_lines = np.minimum(
            np.maximum(quicker - primitive_us, 0) * _OF_LINES,
            lines * (_RECORDS_A_LINE * price.quick),
        )
        quicker, usually = (np.maximum(time - of_lines, _CHEAP_US) for time in (quicker, usually))
        sure = quicker / (quicker + _SURE_AT * price.usual)
        takes = np.maximum(quicker + sure * (usually - quicker), primitive_us)
        cold = np.minimum(takes * COLD, price.quick * np.maximum(records - lines, 1))
        takes = np.where(primitives == 0, takes - cold, takes)
        takes = np.minimum(np.where(cheap, _CHEAP_US, takes), mean)
        pace = pl.DataFrame({"takes": takes, "log": usual - takes})
        return nodes[["definition", "runs", "calls"]].hstack(pace)

    def _of_nodes(self, price: Price) -> tuple[np.ndarray, np.ndarray]:
        """work_us and steady_us of the runs of nodes; NaN where a node runs a function."""
        runs, taking = self._node_runs, self._taking(price)
        definition, duration, records, least = (
            runs[name].to_numpy()
            for name in ("definition", "duration_us", "records", "primitive_us")
        )
        definitions = self.executions.runs.definitions.height
        of_definition = first_with(taking["definition"].to_numpy(), definitions)[definition]
        taking = taking.with_columns(pl.col("takes", "log").fill_null(np.nan))
        log = taking["log"].to_numpy()[of_definition]
        first = first_with(definition, definitions)
        first = first[first >= 0]
        log[first] = price.usual * records[first]
        work = np.minimum(np.maximum(duration - log, least), duration)
        steady = taking["takes"].to_numpy()[of_definition]
        once, calls = (
            np.flatnonzero(condition[of_definition])
            for condition in ((taking["runs"] == 1).to_numpy(), taking["calls"].to_numpy())
        )
        steady[once] = work[once]
        work[calls] = steady[calls] = np.nan
        return work, steady

    def _of_eager_ops(self, price: Price) -> pl.DataFrame:
        """The same of eager ops."""
        runs = self._runs(self._known & self.executions.frame["definition"].is_null())
        log = price.quick * pl.col("records")
        work = pl.max_horizontal(pl.col("duration_us") - log, "primitive_us").cast(pl.Float64)
        work = pl.min_horizontal(work, "duration_us")
        runs = runs.select("row", "signature", work_us=work, steady_us=work)
        return _at_pace(runs, "signature")

    def _of_waits(
        self, price: Price, nodes: Integers, steady: NDArray[np.floating]
    ) -> pl.DataFrame:
        """The same of what waits for an element of tf.data, given what nodes would have taken.

        `nodes` are rows, `steady` is the time of each row. It waits for records of other threads,
        too. Of the time in which tf.data ran functions it is left what part of that their nodes
        would have taken; of the rest, all but its records.
        """
        frame, of_data = self.executions.frame, self.executions.steps["flavour"] == "dataset"
        is_wait = (
            self.executions.signatures["op"].str.contains(NEXT)[frame["signature"]] & self._known
        )
        row = pl.Series("row", where(is_wait), dtype=pl.UInt32)
        waits = rows(frame[["signature", *_SPAN]], row).with_columns(row)
        # Functions that fetch an element for another device wait (multi_device_iterator_ops.py).
        fetches = self.executions.signatures["op"].str.contains(f"{NEXT}|^RemoteCall$")
        step = frame["step_row"]
        waits_itself = step.filter(fetches[frame["signature"]]).drop_nulls()
        step = rows(step, nodes)
        chosen = rows(of_data, step).fill_null(value=False) & ~is_among(step, waits_itself)
        runs = nodes[where(chosen)]
        steps = (
            rows(frame[["step_row", *_SPAN]], runs)
            .with_columns(steady_us=pl.Series(steady[runs]).fill_nan(None))
            .group_by("step_row")
            .agg(pl.col("steady_us").sum(), pl.min("time", "at"), pl.max("end_time", "end_at"))
        )
        if not steps.height:
            return pl.DataFrame(
                schema={"row": pl.UInt32, "work_us": pl.Float64, "steady_us": pl.Float64}
            )
        span = float(steps.select((pl.col("end_time") - pl.col("time")).sum()).item())
        share = min(float(steps["steady_us"].sum()) / max(span, 1.0), 1.0)
        in_steps, lines = (
            covered_within(steps[ends], waits[ends])
            for ends in (["time", "end_time"], ["at", "end_at"])
        )
        rest = pl.col("end_time") - pl.col("time") - in_steps
        records = (pl.col("end_at") - pl.col("at") - lines) // PLACES
        work = in_steps * share + (rest - price.usual * records).clip(0)
        waits = waits.with_columns(work_us=work)
        return _at_pace(waits.with_columns(steady_us="work_us"), "signature")

    # ---- calls -----------------------------------------------------------------------------------

    def _of_calls(self, price: Price, nodes: Integers, times: NDArray[np.floating]) -> pl.DataFrame:
        """The same of calls, given what nodes would have taken.

        Nodes run side by side as they do in the log. What comes before the first node and after
        the last is the call's own, less its records; the thread waits for others there, so the
        pace of later calls goes by half of them.
        """
        frame = self.executions.frame
        called = rows(frame["call"], nodes).is_not_null().to_numpy()
        nodes = nodes[called & ~np.isnan(times[1][nodes])]
        names = ["call", "definition", "at", "end_at", "time", "end_time", "duration_us"]
        runs = rows(frame[names], nodes)
        work, steady = times[:, nodes]
        # A run of XLA's code may take longer than others: what is more is not the log's.
        as_printed = is_among(runs["definition"], self._compiled).to_numpy()
        runs = runs.with_columns(
            work_us=pl.Series(work), steady_us=pl.Series(np.where(as_printed, work, steady))
        )
        ran = runs.group_by("call").agg(
            pl.col("steady_us").sum(),
            began=pl.col("time").min(),
            began_at=pl.col("at").min(),
            ended=pl.col("end_time").max(),
            ended_at=pl.col("end_at").max(),
            busy=pl.col("duration_us").sum(),
        )
        calls = self.executions.calls
        first_calls = calls.filter(pl.col("name").is_first_distinct())
        first = only(runs, is_among(runs["call"], first_calls["call"].drop_nulls()))
        # In a loop of a first call, a node's later runs make nothing.
        made = pl.when(pl.struct("call", "definition").is_first_distinct()).then("work_us")
        first = first.with_columns(first_us=made.otherwise("steady_us"))
        first = first.group_by("call").agg(pl.col("first_us").sum())
        calls = looked_up(looked_up(calls.drop_nulls("duration_us"), ran, "call"), first, "call")
        ran_for = ["time", "end_time"]
        together = covered_within(runs[ran_for], calls[ran_for]).alias("together")
        side_by_side = (pl.col("busy") / pl.col("together")).clip(1)
        in_nodes = (
            pl.when(pl.col("name").is_first_distinct()).then("first_us").otherwise("steady_us")
        )
        in_nodes = in_nodes / side_by_side
        time, at = pl.col("end_time") - pl.col("time"), pl.col("end_at") - pl.col("at")
        ends = time - (pl.col("ended") - pl.col("began")).fill_null(0)
        records = (at - (pl.col("ended_at") - pl.col("began_at")).fill_null(0)) // PLACES
        calls = calls.with_columns(together, own=(ends - price.usual * records).clip(0))
        later = pl.when(~pl.col("name").is_first_distinct()).then("own").median()
        own_pace = pl.min_horizontal("own", later.over("name"))
        work, pace = (
            pl.min_horizontal(in_nodes.fill_null(0) + us, time) for us in (pl.col("own"), own_pace)
        )
        # What took longer than usual for another reason is no cost of records.
        work = pl.max_horizontal(work, time - _MOST_A_RECORD * price.usual * (at // PLACES))
        return _at_pace(calls.with_columns(work_us=work, steady_us=pace), "name")

    def _as_calibrated(self, times: np.ndarray) -> np.ndarray:
        """work_us and steady_us, such that later calls take what they took without a log."""
        calls = self.executions.calls.select("row", "call", "name", clock=self.clock("name"))
        calls = calls.with_columns(work_us=pl.Series(times[0])[calls["row"]].fill_nan(None))
        later = pl.when(~pl.col("name").is_first_distinct()).then("work_us").median()
        factor = pl.col("clock") / later.over(_unnumbered("name"))
        calls = calls.select("call", factor=pl.when(factor.is_finite()).then(factor))
        frame = looked_up(self.executions.frame[["call", "duration_us"]], calls, "call")
        by = frame["factor"].fill_null(1).to_numpy()
        printed = frame["duration_us"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        scaled = times * by
        return np.where((by > 1) & (scaled > printed), printed, scaled)


def _set(times: np.ndarray, part: pl.DataFrame) -> None:
    """Set work_us and steady_us of the rows of a part."""
    times[:, part["row"].to_numpy()] = part[["work_us", "steady_us"]].to_numpy().T


def _take_long(nodes: pl.DataFrame) -> pl.Series:
    """Which cheap kernels do something here: their later runs take much longer than most.

    core/kernels/resource_variable_ops.cc: ReadVariableOp copies a variable whose rows were updated.
    """
    cheap = nodes.filter("cheap", pl.col("runs") >= _STEADY_RUNS).sort("quick")
    if cheap.is_empty():
        return pl.repeat(False, nodes.height, dtype=pl.Boolean, eager=True)
    runs = cheap["runs"].cum_sum()
    usual = float(cheap["quick"][int(runs.search_sorted(runs[-1] / 2))])
    return (nodes["quick"] > _NOT_CHEAP * usual) & (nodes["runs"] >= _STEADY_RUNS)


def _unnumbered(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.replace(r"_\d+$", "")


def _at_pace(runs: pl.DataFrame, key: str) -> pl.DataFrame:
    """row, work_us and steady_us: for the first run of a key the later ones' median, if less."""
    first = pl.col(key).is_first_distinct()
    later = pl.when(~first).then("steady_us").median().over(key)
    pace = pl.when(first).then(pl.min_horizontal(later, "work_us")).otherwise("steady_us")
    return runs.select("row", "work_us", steady_us=pace)
