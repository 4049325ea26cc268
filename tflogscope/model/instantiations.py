"""Functions being made ready to run: spans, components and their handles, kernels, rewrites.

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
from tflogscope.model.names import WRAPPED, function_of_component, is_function, op_of_kernel
from tflogscope.model.pairing import match_in_order

_NO_DECISION = pl.DataFrame(
    schema={
        "at": pl.Int64,
        "thread": pl.Int64,
        "node": pl.String,
        "to_op": pl.String,
        "by": pl.String,
    }
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
        start = self._events.messages("instantiating_function")
        end = self._events.messages("instantiated_function")
        found = match_in_order(start, end, ["function", "thread"])
        ends = end.select(end_at="at", end_time="time").with_columns(span=pl.Series(found))
        ends = ends.filter(pl.col("span") >= 0).unique("span", keep="first", maintain_order=True)
        return (
            start.select("function", "thread", "at", "time")
            .with_columns(span=pl.int_range(pl.len(), dtype=pl.Int64))
            .join(ends, on="span", how="left", maintain_order="left")
        )

    def span_of(self, records: pl.DataFrame) -> pl.DataFrame:
        """Return `records` (at, thread) with span and function of the instantiation around each."""
        spans = self.spans.select("span", "function", "thread", "end_at", start="at")
        found = records.sort("at").join_asof(
            spans, left_on="at", right_on="start", by="thread", check_sortedness=False
        )
        inside = pl.col("at") <= pl.col("end_at").fill_null(np.iinfo(np.int64).max)
        return found.with_columns(
            pl.when(inside).then("span").alias("span"),
            pl.when(inside).then("function").alias("function"),
        ).drop("end_at", "start")

    @cached_property
    def components(self) -> pl.DataFrame:
        """One row per partition of a function: component (its name), function, handle, at, span."""
        made = self._events.messages("finished_component").select(
            "at", "thread", "component", "handle"
        )
        made = made.with_columns(function=function_of_component(pl.col("component")))
        spans = self.spans.select("span", "function", start="at").sort("start")
        return made.join_asof(
            spans, left_on="at", right_on="start", by="function", check_sortedness=False
        ).drop("start", "thread")

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
        done = self._events.messages("rewritten").select("at", "thread", "node", from_op="op")
        new = self._events.messages("rewrite_new_node").select(
            "at", "thread", "node", to_op="op", new_at="at"
        )
        both = done.sort("at").join_asof(
            new.sort("at"), on="at", by=["thread", "node"], check_sortedness=False
        )
        return self.span_of(both.drop("new_at"))

    @cached_property
    def plugin_rewrites(self) -> pl.DataFrame:
        """One row per decision that a plug-in printed, in the order of the log.

        Columns: at, node, from_op, to_op (null: it fused several nodes into this one), function,
        span, by (the plug-in's id). A line without a prefix has no thread: it is of the thread of
        the record before it.
        """
        no_op = pl.lit(None, pl.String)
        asked = [
            (rewriter, id_, field, "kernel" if id_ in rewriter.rewritten else no_op)
            for rewriter in REWRITERS
            if rewriter.id not in self._events.late_plugins
            for id_, field in {
                **dict.fromkeys(rewriter.rewritten, "node"),
                **rewriter.fused,
            }.items()
        ]
        said = [
            self._events.messages(id_).select(
                "at", "thread", node=field, to_op=to_op, by=pl.lit(rewriter.id)
            )
            for rewriter, id_, field, to_op in asked
        ]
        lines = pl.concat([_NO_DECISION, *said]).sort("at")
        if self._events.has_threads and lines.height:
            before = self._events.record_times.filter(pl.col("thread") >= 0)
            near = lines.join_asof(before.select("at", near="thread"), on="at")["near"]
            own = pl.when(pl.col("thread") >= 0).then("thread").otherwise(near.fill_null(-1))
            lines = lines.with_columns(thread=own)
        return self.span_of(lines).with_columns(from_op=op_of_kernel(pl.col("to_op")))

    @cached_property
    def wrapped_kernels(self) -> pl.DataFrame:
        """The kernel inside each wrapped op that the layout pass rewrote: span, kernel, at.

        The function around an eager op has that one op in it, so its rewrite is the op's.
        """
        inside = self.rewrites.filter(pl.col("function").str.contains(WRAPPED))
        return inside.group_by("span").agg(kernel=pl.col("to_op").last(), at=pl.col("at").last())

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
        made = self._events.messages("instantiating_kernel")
        pruning = self._events.messages("pruning_function", "pruning_function_nodes").select(
            "at",
            "thread",
            name=function_of_component(pl.col("function")),
            component="function",
        )
        called = self._events.messages("executing_op").select(
            "at",
            "thread",
            name=pl.when(is_function(pl.col("op"))).then("op"),
            component=pl.lit(None, pl.String),
        )
        # Something else on that thread says that the executor is complete.
        stops = [
            self._events.messages(id_).select(
                "at",
                "thread",
                name=pl.lit(None, pl.String),
                component=pl.lit(None, pl.String),
            )
            for id_ in (
                "placed_op",
                "exiting_call",
                "running_component",
                "instantiating_function",
                "component_succeeded_sync",
                "component_succeeded",
            )
        ]
        marks = pl.concat([pruning, called, *stops]).sort("at").rename({"at": "mark_at"})
        found = made.sort("at").join_asof(
            marks, left_on="at", right_on="mark_at", by="thread", check_sortedness=False
        )
        return found.select(
            "at", "node", "op", "attributes", "inputs", "component", function="name"
        ).with_columns(or_function=self._or_function(found, pruning))

    def _or_function(self, made: pl.DataFrame, pruning: pl.DataFrame) -> pl.Series:
        """Return the second function that each kernel of `made` may be of, null: none.

        An executor makes a kernel of each of its nodes once, and what is folded before is made
        once more; but arguments and results are never folded. If one of those comes again with no
        mark in between, another executor is being made at the same time, on a thread that the log
        does not name: that of the function that was pruned before.
        """
        once = made.filter(pl.col("op").is_in(_NEVER_FOLDED) & ~pl.lit(self._events.has_threads))
        key = ["mark_at", "node", "op", "attributes", "inputs"]
        mixed = once.filter(pl.struct(key).is_duplicated()).select("mark_at").unique()
        pruned = pruning.sort("at").with_columns(place=pl.col("name").rle_id())
        before = pruned.select(pl.col("place") + 1, before="name").unique("place")
        other = (
            pruned.select("place", mark_at="at")
            .join(mixed, on="mark_at", how="semi")
            .join(before, on="place")
        )
        return made.join(other, on="mark_at", how="left", maintain_order="left")["before"]
