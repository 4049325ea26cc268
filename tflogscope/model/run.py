"""A run: the tables of the contract, made when first asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import polars as pl

from tflogscope.events.events import Events, read_events
from tflogscope.grammar.load import load_grammar
from tflogscope.model import summary
from tflogscope.model.dispatches import Dispatches, read_dispatches
from tflogscope.model.executions import Executions
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.linked import Linked, onednn_facts, read_links
from tflogscope.model.node_runs import read_node_runs
from tflogscope.model.primitives import onednn_version, primitives_table
from tflogscope.model.steps import read_steps
from tflogscope.model.tables import functions_table, nodes_table, ops_table, rewrites_table
from tflogscope.sources import find_sources


class Run:
    """What a log says of one run of a TensorFlow program. Made by `open_log`.

    Each table is a polars frame in the order (source, line), except `ops`, which is ordered by
    first line; the columns are those of the contract. Durations are in µs.
    """

    to_html: ClassVar[Callable[[Run], str] | None] = None
    """Draws a run for a notebook; set by the package, for the model does not know the views."""

    def __init__(self, events: Events) -> None:
        self._events = events

    @cached_property
    def _instantiations(self) -> Instantiations:
        return Instantiations(self._events)

    @cached_property
    def _dispatches(self) -> Dispatches:
        return read_dispatches(self._events, self._instantiations)

    @cached_property
    def _executions(self) -> Executions:
        runs = read_node_runs(self._events)
        steps = read_steps(runs, self._instantiations, self._dispatches)
        return Executions(self._events, self._dispatches, runs, steps)

    @cached_property
    def _linked(self) -> Linked:
        return read_links(self._events, self._executions)

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """One row per execution of an op: when, where, eager or graph, which kernel."""
        linked = self._linked.by_execution(self._executions.frame.height)
        return self._executions.timeline(linked)

    @cached_property
    def ops(self) -> pl.DataFrame:
        """One row per (mode, kind, op, kernel, rewrite): how often and how long."""
        return ops_table(self._executions, self._linked)

    @cached_property
    def functions(self) -> pl.DataFrame:
        """One row per graph function: traces, calls, nodes, how many of them rewritten."""
        return functions_table(self._executions, self._instantiations, self.nodes)

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """One row per node of a graph function: its kernel, attributes, executions."""
        return nodes_table(self._executions, self._instantiations)

    @cached_property
    def rewrites(self) -> pl.DataFrame:
        """One row per rewrite to a oneDNN kernel, those that never ran included."""
        return rewrites_table(self._executions, self._instantiations)

    @cached_property
    def primitives(self) -> pl.DataFrame:
        """One row per verbose line of oneDNN: which primitive, how it ran, for how long."""
        return primitives_table(self._events, self._executions, self._linked.links)

    @cached_property
    def coverage(self) -> pl.DataFrame:
        """One row per source: what each of its lines is."""
        version = onednn_version(self._events.primitives)
        return self._events.coverage.with_columns(onednn_version=pl.lit(version, pl.String))

    @cached_property
    def summary(self) -> summary.Facts:
        """The facts that `tflogscope analyze` shows, as plain values; durations in µs."""
        recorded = summary.recorded_facts(self.coverage, self._executions)
        modes = summary.mode_facts(self.ops)
        ops = summary.op_facts(self._executions)
        functions = summary.function_facts(self.functions, self._executions)
        return {
            "recorded": recorded,
            **modes,
            "ops": ops,
            "functions": functions,
            "onednn": onednn_facts(self._events, self._executions, self._linked),
            "rewrites": summary.rewrite_facts(self.rewrites),
            "answers": summary.story_facts(ops, functions),
            "limits": summary.limit_facts(recorded, modes, self._executions),
        }

    def _repr_html_(self) -> str | None:
        draw = type(self).to_html
        return None if draw is None else draw(self)

    def __repr__(self) -> str:
        names = ", ".join(span.name for span in self._events.spans)
        return f"<tflogscope.Run of {names}>"


def open_log(
    *inputs: str | os.PathLike[str],
    progress: Callable[[int, int | None], None] | None = None,
) -> Run:
    """Read one log, or several files as parts of one, and return the run.

    `inputs` are files, directories or "-" (standard input); compression is known by content.
    `progress` is called with bytes read and bytes in all (None: unknown).

    Raises InputError if an input can't be read, NothingRecognised if nothing in it is known.
    """
    return Run(read_events(find_sources(inputs), load_grammar(), progress))
