"""What is worked out of a log, stage by stage, in the order in which a log is understood."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.calls import read_calls
from tflogscope.model.calls.python_functions import (
    KERAS_STEPS,
    defined_by_packages,
    python_functions,
)
from tflogscope.model.calls.steps import read_steps
from tflogscope.model.causes.causes import Causes, package_of, read_causes
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.frames import holds, is_among, looked_up, only, row_with, rows, where
from tflogscope.model.common.names import NEXT, SAVING, function_columns
from tflogscope.model.common.origin import calibrated_of, footer_of
from tflogscope.model.common.recorded import recorded_facts
from tflogscope.model.costs.costs import Costs
from tflogscope.model.costs.first_calls import first_calls, tracing_times
from tflogscope.model.costs.python_lines import PythonLines
from tflogscope.model.executions.dispatches import read_dispatches
from tflogscope.model.executions.executions import Executions, spelled
from tflogscope.model.executions.failures import read_failures, read_statuses
from tflogscope.model.executions.instantiations import Instantiations
from tflogscope.model.executions.node_runs import read_failed_nodes, read_node_runs
from tflogscope.model.links.linked import Linked, read_links
from tflogscope.model.reasons.reasons import Reasons, read_reasons
from tflogscope.model.rows.node_tables import eager_kernels, graph_nodes, kernels_of_dispatches
from tflogscope.model.rows.spans import WithoutLog, read_spans, select_outermost, with_computed
from tflogscope.model.rows.timeline import Timeline
from tflogscope.model.rows.unexpected import eager_executions, is_unexpected

METRIC_UPDATE = "metric-update"
"""The rule of causes that fits a metric's update_state."""
NEW_VALUE = "new-value"
"""That of what assigns a variable."""
_COPIES = threshold("eager-steady-state.copies")
_EAGER = (
    *("at", "end_at", "time", "end_time", "cost", "work_us", "call", "thread", "dispatch"),
    *("device", "cause", "rule", "own", "status", "mode", "kind", "op", "kernel", "rewrite"),
    *("function", "function_uid", "flavour"),
)


class Evidence:
    """What is worked out of one log, stage by stage: each is made when first asked for.

    `recorded_as` is what `tflogscope record` wrote above the log.
    """

    def __init__(self, events: Events, recorded_as: Mapping[str, Any] | None = None) -> None:
        self.events, self.recorded_as = events, recorded_as

    @cached_property
    def instantiations(self) -> Instantiations:
        """Functions that were instantiated, and the kernels made for them."""
        return Instantiations(self.events)

    @cached_property
    def executions(self) -> Executions:
        """All executions, with the step and the call that each belongs to."""
        dispatches = read_dispatches(self.events, self.instantiations)
        runs = read_node_runs(self.events)
        steps = read_steps(runs, self.instantiations, dispatches)
        failed = read_failed_nodes(self.events, runs)
        dispatches = dispatches.with_ends_of(steps)
        return Executions(self.events.spans, dispatches, runs, steps, failed)

    @cached_property
    def lines(self) -> PythonLines:
        """Which line of the program asked for what."""
        return PythonLines(self.events, self.executions)

    @cached_property
    def causes(self) -> Causes:
        """Why each eager op ran eagerly."""
        return read_causes(self.events, self.executions, self.instantiations, self.lines)

    @cached_property
    def linked(self) -> Linked:
        """Which execution ran each primitive."""
        return read_links(self.events, self.executions)

    @cached_property
    def costs(self) -> Costs:
        """What each execution would have taken without the log."""
        calibrated = calibrated_of(self.recorded_as)
        return Costs(self.executions, self.linked, self.events, calibrated)

    @cached_property
    def line_price(self) -> float:
        """What a line of the log cost its writer, in µs; 0 where the log doesn't say it."""
        price, recorded = self.costs.price, self.recorded
        return price.quick * recorded.records / recorded.lines if price else 0.0

    @cached_property
    def timeline(self) -> Timeline:
        """All that is known of each execution."""
        return Timeline(self.executions, self.causes, self.lines, self.linked, self.costs)

    @cached_property
    def graph_nodes(self) -> pl.DataFrame:
        """Nodes of functions (`graph_nodes`)."""
        return graph_nodes(self.executions, self.instantiations, self.costs)

    @cached_property
    def reasons(self) -> Reasons:
        """Why each of `graph_nodes` stayed as it was."""
        return read_reasons(self.graph_nodes, self.events, self.instantiations)

    @cached_property
    def eager_kernels(self) -> pl.DataFrame:
        """Kernels of eager ops, with `rule` and `proof` of what kept them from oneDNN."""
        kernels = eager_kernels(self.instantiations)
        reasons = read_reasons(kernels, self.events, self.instantiations)
        return kernels.with_columns(rule=reasons.rule, proof=reasons.proof)

    @cached_property
    def statuses(self) -> pl.DataFrame:
        """What did not end with OK (`failures.read_statuses`)."""
        return read_statuses(self.events, self.executions)

    def same_functions(self, names: pl.Series) -> pl.DataFrame:
        """Which of these functions, by full name, are traces of one (`python_functions`)."""
        return python_functions(names, self.graph_nodes, self.events)

    @cached_property
    def python_functions(self) -> pl.DataFrame:
        """The same of all functions that were called, with function, function_uid, flavour."""
        names = self.executions.dispatches.calls["name"].unique(maintain_order=True)
        return self.same_functions(names).with_columns(**function_columns(pl.col("name")))

    @cached_property
    def of_packages(self) -> pl.Series:
        """Whether each execution is a call by an installed package of a function of its own."""
        stacks, executions = self.lines.stacks, self.executions
        if stacks.is_empty():
            return pl.repeat(False, executions.frame.height, dtype=pl.Boolean, eager=True)
        packages = stacks.select(package_of(pl.col("frames"))).to_series()
        package = rows(packages, self.lines.of_dispatches)
        own = is_among(executions.dispatches.eager["name"], defined_by_packages(self.events))
        return holds((own & package.is_not_null())[executions.frame["dispatch"]])

    # ---- what findings and limits look at --------------------------------------------------------

    @cached_property
    def recorded(self) -> Entry:
        """What was read."""
        return recorded_facts(self.events, self.recorded_as)

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """Nodes that ran: the columns of `tables.graph_nodes`, function, function_uid, rule.

        `rule` is the index in `reasons.rules.RULES` of why it was not rewritten, -1: none.
        """
        nodes = self.graph_nodes.with_columns(
            eligible=self.reasons.eligible,
            reason=self.reasons.names,
            rule=pl.Series(self.reasons.rule),
            **function_columns(pl.col("name")),
        )
        return only(nodes, nodes["executions"] > 0)

    @cached_property
    def eager(self) -> pl.DataFrame:
        """Eager executions: columns of the timeline, `at`, `own` and more; texts as strings."""
        return spelled(self.timeline.columns(*_EAGER, rows=self.executions.eager["row"]))

    @cached_property
    def eager_kernel_of(self) -> pl.DataFrame:
        """Which kernel each eager op ran: dispatch, and the columns of `eager_kernels`."""
        kernels = kernels_of_dispatches(
            self.eager_kernels, self.executions.dispatches, self.instantiations
        )
        return kernels.hstack(rows(self.eager_kernels[["dtype", "rule"]], kernels["kernel"]))

    @cached_property
    def placed(self) -> pl.DataFrame:
        """Eager ops, calls left out, with the function that each is near (`eager_executions`)."""
        return eager_executions(self.eager, self.python_functions)

    @cached_property
    def unexpected(self) -> pl.DataFrame:
        """Rows of `placed` that a graph function should have run (`is_unexpected`).

        With updates of metrics that the program itself asks for. Keras' own loops run them in
        their functions (Keras 2 engine/training.py, Keras 3 backend/tensorflow/trainer.py:
        train_step), and so may the program: update_state is made of ops and nothing else. Nor do
        variables have to leave TensorFlow to be copied (`_copies`).
        """
        metric, loop = (
            is_among(self.placed["at"], self.asked_by(f"(?:^|;)<{mark}>(?:;|$)"))
            for mark in ("metric", "loop")
        )
        updates = (pl.col("rule") == METRIC_UPDATE) & metric & ~loop
        by_program = (updates | self._copies()) & ~pl.col("before_calls") & ~pl.col("own")
        return self.placed.filter(is_unexpected() | by_program.fill_null(value=False))

    def _copies(self) -> pl.Series:
        """Of `placed` what reads and assigns variables by the dozen, call after call of a function.

        Each of Keras' get_weights and set_weights does so. A few, as of a learning rate, are usual;
        so are those beside other ops that count (`gaps.with_variables`), those of Keras' loops and
        of packages. Without lines of the program Keras' own are not told from its.
        """
        of_variables = (pl.col("cause") == "read-variable") | (pl.col("rule") == NEW_VALUE)
        of_variables &= pl.col("op") != "DestroyResourceOp"
        of_variables &= ~pl.col("near").is_in(KERAS_STEPS)
        saved = is_among(self.placed["at"], self.asked_by(SAVING))
        if self.lines.stacks.is_empty():
            return pl.repeat(False, self.placed.height, dtype=pl.Boolean, eager=True)
        packages = self.lines.stacks.select(package_of(pl.col("frames"))).to_series()
        stack = rows(self.lines.of_dispatches, self.placed["dispatch"])
        of_variables &= rows(packages, stack).is_null() & ~saved
        placed = self.placed.select("near", copies=of_variables, other=is_unexpected())
        calls = self.calls.group_by(near="function").len()
        copies, others = (pl.col(name).sum().over("near") for name in ("copies", "other"))
        often = (copies > others) & (copies >= _COPIES * pl.col("len"))
        return looked_up(placed, calls, "near").select(pl.col("copies") & often).to_series()

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Calls of functions (`calls.read_calls`), with the Python function that each is of.

        More columns: python_function, traces, made_by (`Run.python_functions`); work_us, that of
        its row in `timeline` (as printed where that is not known); log, what the log cost from the
        call's `Executing op` on, and wall_us, duration_us without it.
        """
        calls, same = read_calls(self.events, self.executions), self.python_functions
        costs = self.timeline.columns("duration_us", "work_us", rows=calls["row"])
        log = (costs["duration_us"] - costs["work_us"]).fill_null(0).alias("log")
        work = costs.select(pl.coalesce("work_us", "duration_us").alias("work_us"))
        wall = (pl.col("duration_us") - pl.col("log")).clip(0)
        calls = calls.hstack([log, *work]).with_columns(wall_us=wall)
        row = row_with(calls[["name"]], same[["name"]])
        return calls.hstack(rows(same[["python_function", "traces", "made_by"]], row))

    @cached_property
    def first_calls(self) -> pl.DataFrame:
        """The first call of each function, in parts (`first_calls`), with its tracing."""
        first = first_calls(
            self.calls, self.events, self.executions, self.instantiations, self.linked
        )
        tracing = tracing_times(first, self.eager, self.events)
        return looked_up(first, tracing, "name")

    @cached_property
    def asked(self) -> pl.DataFrame:
        """What the program's threads asked for (`spans.asked_for`)."""
        return select_outermost(self.placed, self.calls)

    @cached_property
    def spans(self) -> pl.DataFrame:
        """The same as spans, without the log (`spans.read_spans`)."""
        return read_spans(self.asked, self.without_log)

    @cached_property
    def computed(self) -> pl.DataFrame:
        """The spans with how long the thread computed before each (`spans.with_computed`)."""
        return with_computed(self.events, self.spans)

    @cached_property
    def without_log(self) -> WithoutLog:
        """What windows of the program's threads would have taken without the log."""
        threads = self.executions.eager["thread"].unique()
        return WithoutLog(self.events, self.costs, threads)

    def asked_by(self, frames: str) -> pl.Series:
        """The lines of eager ops and calls whose stack is known and has such frames (a pattern)."""
        stacks = self.lines.stacks
        if stacks.is_empty():
            return pl.Series([], dtype=pl.Int64)
        fits = where(stacks["frames"].str.contains(frames))
        stack = rows(self.lines.of_dispatches, self.eager["dispatch"])
        return self.eager["at"].filter(is_among(stack, fits))

    @cached_property
    def loops(self) -> pl.DataFrame:
        """The spans of loops: what the program did again and again.

        Threads that run Python code of tf.data, which call no function and get no element, are
        left out.
        """
        asks = pl.col("is_call") | pl.col("op").str.contains(NEXT)
        again = self.spans.filter("again", ~pl.col("once"))
        return again.filter(asks.any().over("thread") | ~asks.any())

    @cached_property
    def loop_time(self) -> float:
        """What loops would have taken, in µs."""
        return float(self.loops.select((pl.col("gap") + pl.col("work_us")).sum()).item())

    @cached_property
    def ended(self) -> bool:
        """Whether `record` wrote down that the program ended with exit status 0."""
        return all(footer_of(span.tail).get("status") == 0 for span in self.events.spans)

    @cached_property
    def failures(self) -> pl.DataFrame:
        """What failed, each failure once (`failures.read_failures`)."""
        return read_failures(self.statuses)
