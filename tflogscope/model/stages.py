"""What is worked out of a log, stage by stage: each is made when first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.causes.causes import Causes, read_causes
from tflogscope.model.costs import Costs
from tflogscope.model.dispatches import read_dispatches
from tflogscope.model.executions import Executions
from tflogscope.model.failures import read_statuses
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.links.linked import Linked, read_links
from tflogscope.model.names import function_columns
from tflogscope.model.node_runs import read_failed_nodes, read_node_runs
from tflogscope.model.node_tables import graph_nodes
from tflogscope.model.origin import calibrated_of
from tflogscope.model.python_functions import python_functions
from tflogscope.model.python_lines import PythonLines
from tflogscope.model.reasons.eager import eager_kernels
from tflogscope.model.reasons.reasons import Reasons, read_reasons
from tflogscope.model.steps import read_steps
from tflogscope.model.timeline import Timeline


class Stages:
    """The stages of one log, in the order in which they need each other.

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
        return Costs(self.executions, self.linked, lambda: self.events.record_times, calibrated)

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
