"""Loops of Python that are unrolled into graphs: the same nodes again for each iteration."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import is_among, only, rows
from tflogscope.model.findings.finding import Finding, most
from tflogscope.model.ledger.phases import MAKING
from tflogscope.model.ledger.stretches import read_stretches
from tflogscope.model.pipeline import Evidence

_LEAST_TURNS = threshold("unrolled.least_turns")
_TURNS_A_VARIABLE = threshold("unrolled.least_turns_a_variable")
_LEAST_US = threshold("unrolled.least")
_TRACED_ONCE_US = threshold("unrolled.traced_once")
_NUMBER = r"_\d+(/|$)"  # framework/ops.py, Graph.unique_name
_DISTRIBUTED = r"(?:^|/)time_distributed(?:_\d+)*/"  # what Keras calls such layers
_FRAME = r"^([^<;][^;]*:\d+) (.*)$"
_LEAVES = ("_Arg", "VarHandleOp", "VariableV2")


def unrolled_findings(evidence: Evidence) -> Iterator[Finding]:
    """Lines that traced the same nodes again and again from the same variables.

    Where layer after layer is built, some of the lines read other variables for each.
    """
    turns = pl.col("turns")
    lines, stretches = evidence.lines, read_stretches(evidence)
    once = stretches.filter(pl.col("phase").is_in(MAKING), ~pl.col("repeats"))
    repeated = float(stretches.filter("repeats")["work_us"].sum())
    took, least = float(once["work_us"].sum()), max(repeated, _LEAST_US)
    if took < least or lines.nodes.is_empty():
        return
    traced = lines.nodes.with_columns(kind=pl.col("node").str.replace_all(_NUMBER, "$1"))
    traced = traced.hstack(rows(lines.stacks[["python", "frames"]], traced["row"]))
    traced = traced.with_columns(turns=pl.len().over("process", "graph", "python", "kind"))
    again = traced.filter(~pl.col("frames").str.contains("<optimizer>"), turns >= _LEAST_TURNS)
    loops = again.filter(turns >= _TURNS_A_VARIABLE * _variables(evidence, again["row"]))
    less = loops.height / traced.height * took - _TRACED_ONCE_US
    if less < least:
        return
    us = less / took * pl.col("work_us")
    claim = once.select("thread", begin="start", end="end", us=us)
    facts = {
        "share": loops.height / traced.height,
        "took": took,
        # keras/src/layers/rnn/time_distributed.py: a loop over time steps whose number is known
        "distributed": 2 * loops["node"].str.contains(_DISTRIBUTED).sum() > loops.height,
    }
    python, at = _line_of_loop(loops), loops["at"].to_list()
    yield Finding("unrolled", python, loops.height, None, at, facts, python, [claim])


def _line_of_loop(loops: pl.DataFrame) -> str:
    """The line that asked for most of these nodes in the innermost function that all are from.

    A loop may call others, whose lines are the nearest ones. AutoGraph calls its body from its own.
    """
    frame = pl.col("frame")
    frames = loops.select(frame=pl.col("frames").str.split(";")).with_row_index("number")
    frames = frames.with_columns(depth=pl.int_ranges(frame.list.len())).explode("frame", "depth")
    named = {"place": frame.str.extract(_FRAME, 1), "function": frame.str.extract(_FRAME, 2)}
    frames = frames.select("number", "depth", **named).drop_nulls()
    of_all = pl.col("number").n_unique() == loops.height
    shared = frames.group_by("function").agg(pl.col("depth").mean(), of_all=of_all)
    innermost = shared.filter("of_all").sort("depth", "function")["function"].head(1)
    mine = frames.filter(is_among(frames["function"], innermost)).unique("number", keep="last")
    return most(mine["place"] if mine.height else loops["python"])[0]


def _variables(evidence: Evidence, stacks: pl.Series) -> int:
    """How many arguments and variables nodes of these stacks read."""
    nodes = evidence.nodes
    of_nodes = evidence.lines.of_nodes(nodes["name"], nodes["node"])
    mine = only(nodes, is_among(of_nodes, stacks.unique()))
    read = mine.select("name", source=pl.col("inputs").str.split(", ")).explode("source")
    leaves = nodes.filter(pl.col("op").is_in(_LEAVES)).select("name", source="node")
    return read.join(leaves, on=leaves.columns, nulls_equal=True)["source"].n_unique()
