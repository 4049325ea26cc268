"""Instantiations of functions: spans, components and their handles, kernels, rewrites.

core/common_runtime/process_function_library_runtime.cc brackets the graph passes of a function
between `Instantiating MultiDevice function` and `Instantiated MultiDevice function`; what the
layout pass prints in between, on that thread, belongs to the function.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.common.frames import (
    Integers,
    alike,
    begins,
    first_with,
    last_before,
    rows,
    where,
)
from tflogscope.model.common.names import WRAPPED, function_of_component, is_function, op_of_kernel
from tflogscope.model.common.pairing import match_in_order
from tflogscope.model.executions.executing import read_executing

_NO_DECISION = pl.DataFrame(
    schema={
        "at": pl.Int64,
        "thread": pl.Int64,
        **dict.fromkeys(("node", "to_op", "by", "from_op"), pl.String),
    }
)
_STOPS = (
    "placed_op",
    "exiting_call",
    "running_component",
    "instantiating_function",
    "component_succeeded_sync",
    "component_succeeded",
)
_NEVER_FOLDED = ("_Arg", "_Retval", "_DeviceArg", "_DeviceRetval")

AS_NODES = (
    *(pl.col(name) for name in ("at", "node", "attributes", "inputs")),
    pl.col("function").alias("name"),
    pl.col("op").alias("kernel"),
)
"""Columns of `Instantiations.kernels`, named as those of nodes."""


class Instantiations:
    """Everything the log says about functions before they run."""

    def __init__(self, events: Events) -> None:
        self._events = events

    @cached_property
    def spans(self) -> pl.DataFrame:
        """One row per instantiation: span, function, thread, at, end_at, time, end_time."""
        keys = ["at", "function", "thread"]
        start = self._events.messages("instantiating_function")[[*keys, "time"]]
        end = self._events.messages("instantiated_function")
        end_row = first_with(match_in_order(start[keys], end[keys]), start.height)
        ends = rows(end[["at", "time"]], end_row).rename({"at": "end_at", "time": "end_time"})
        return start.hstack([pl.Series("span", np.arange(start.height)), *ends])

    def span_of(self, records: pl.DataFrame) -> pl.DataFrame:
        """Return `records` (at, thread) with span and function of the instantiation around each."""
        row = last_before(records[["at", "thread"]], self.spans[["at", "thread"]])
        outside = where(records["at"] > rows(self.spans["end_at"], row))
        row[outside] = -1
        return records.hstack(rows(self.spans[["span", "function"]], row))

    @cached_property
    def components(self) -> pl.DataFrame:
        """One row per partition of a function: component (its name), function, handle, at, span."""
        made = self._events.messages("finished_component").select(
            "at", "component", "handle", function=function_of_component(pl.col("component"))
        )
        row = last_before(made[["at", "function"]], self.spans[["at", "function"]])
        return made.hstack([rows(self.spans["span"], row)])

    @cached_property
    def functions(self) -> pl.Series:
        """Names of all graph functions that were instantiated, wrapped ops left out."""
        names = self.spans["function"].unique()
        return names.filter(~names.str.contains(WRAPPED))

    @cached_property
    def rewrites(self) -> pl.DataFrame:
        """One row per node that the layout pass rewrote, in the order of the log.

        Columns: at, node, from_op, to_op, function (in which; a wrapped op's `__wrapped__…` too),
        span. core/common_runtime/mkl_layout_pass.cc, MklLayoutRewritePass::RewriteNode.
        """
        keys = ["at", "thread", "node"]
        done, new = (self._events.messages(id_) for id_ in ("rewritten", "rewrite_new_node"))
        to = rows(new["op"], last_before(done[keys], new[keys])).alias("to_op")
        return self.span_of(done[keys].hstack([done["op"].alias("from_op"), to]))

    @cached_property
    def plugin_rewrites(self) -> pl.DataFrame:
        """One row per decision that a plug-in printed, in the order of the log.

        Columns: at, node, from_op, to_op (null: it fused several nodes into this one), function,
        span, by (the plug-in's id). A line without a prefix has no thread: it is of the thread of
        the record before it.
        """
        decisions = [
            self._events.messages(id_).select(
                "at",
                "thread",
                node=field,
                to_op="kernel" if id_ in rewriter.rewritten else pl.lit(None, pl.String),
                by=pl.lit(rewriter.id),
            )
            for rewriter in REWRITERS
            if rewriter.id not in self._events.late_plugins
            for id_, field in {
                **dict.fromkeys(rewriter.rewritten, "node"),
                **rewriter.fused,
            }.items()
            if id_ in self._events.seen
        ]
        if not decisions:
            return self.span_of(_NO_DECISION)
        lines = pl.concat(decisions).sort("at")
        lines = lines.with_columns(from_op=op_of_kernel(pl.col("to_op")))
        if self._events.has_threads and (lines["thread"] < 0).any():
            before = self._events.record_times.filter(pl.col("thread") >= 0)
            near = rows(before["thread"], last_before(lines[["at"]], before[["at"]]))
            thread = pl.when(pl.col("thread") >= 0).then("thread").otherwise(near.fill_null(-1))
            lines = lines.with_columns(thread=thread)
        return self.span_of(lines)

    @cached_property
    def kernels(self) -> pl.DataFrame:
        """Kernels made for the executors of functions.

        Columns: at, node, op, attributes, inputs, function, or_function (see below), component
        (the partition of the function whose executor they are made for).
        An executor is made on a function's first run: `Pruning function body` names the
        component, the kernels follow on that thread (core/common_runtime/function.cc, CreateItem).
        A function that XLA compiles as a whole has no executor: the kernels that the compiler
        asks follow the call itself (compiler/jit/kernels/xla_ops.cc).
        """
        messages = self._events.messages
        made = messages("instantiating_kernel")
        pruning = messages("pruning_function", "pruning_function_nodes").select(
            "at",
            "thread",
            component="function",
            function=function_of_component(pl.col("function")),
        )
        called = read_executing(self._events).select(
            "at", "thread", function=pl.when(is_function(pl.col("name"))).then("name")
        )
        # Something else on that thread says that the executor is complete.
        stops = [messages(id_)[["at", "thread"]] for id_ in _STOPS]
        marks = pl.concat([pruning, called, *stops], how="diagonal")
        mark = last_before(made[["at", "thread"]], marks[["at", "thread"]])
        return made[["at", "node", "op", "attributes", "inputs"]].hstack(
            [
                *rows(marks[["component", "function"]], mark),
                self._or_function(made, mark, pruning["function"]),
            ]
        )

    def _or_function(self, made: pl.DataFrame, mark: Integers, pruned: pl.Series) -> pl.Series:
        """Return the second function that each kernel of `made` may be of, null: none.

        An executor makes a kernel of each of its nodes once, and what is folded before is made
        once more; but arguments and results are never folded. If one of those comes again with no
        mark in between, another executor is being made at the same time, on a thread that the log
        does not name: that of the function that was `pruned` before.
        """
        before = np.full(made.height, -1)
        if not self._events.has_threads:
            once = where(made["op"].is_in(_NEVER_FOLDED))
            key = rows(made[["node", "op", "attributes", "inputs"]], once)
            again = where(key.hstack([pl.Series("mark", mark[once])]).is_duplicated())
            mixed = np.isin(mark, mark[once[again]]) & (mark >= 0) & (mark < len(pruned))
            (name,) = alike(pruned.to_frame())
            # The last one that was pruned before, if it is another one.
            begin = np.maximum.accumulate(np.where(begins(name), np.arange(len(name)), 0))
            before[mixed] = begin[mark[mixed]] - 1
        return rows(pruned, before).alias("or_function")
