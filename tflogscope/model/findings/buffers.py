"""Buffers that are copied whole to add to them: variables that are assigned parts of themselves."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.findings.finding import Finding
from tflogscope.model.findings.lookups import read_edges
from tflogscope.model.findings.unneeded import find_nodes, is_much, nodes_of_program
from tflogscope.model.pipeline import Evidence

_ASSIGN, _CONCAT, _READ = "AssignVariableOp", "ConcatV2", "ReadVariableOp"
_PARTS = ("StridedSlice", "Slice")
_COPIED = threshold("growing-tensor.copied")


def buffer_findings(evidence: Evidence) -> Iterator[Finding]:
    """Variables that are assigned a concatenation of most of themselves and what is new.

    Each time the slice, the concatenation, and the read of a variable that is shared copy all.
    """
    nodes, op = nodes_of_program(evidence), pl.col("op")
    assigning = nodes.filter(op == _ASSIGN)["name"].implode()
    if nodes.filter(op == _CONCAT, pl.col("name").is_in(assigning)).is_empty():
        return
    edges, node = read_edges(evidence), pl.col("node")
    first, second = (edges.filter(pl.col("place") == place) for place in (0, 1))
    chain = first.filter(op == _ASSIGN).select("name", assign=node, handle="source")
    values = second.filter(op == _ASSIGN).select("name", assign=node, value="source")
    parts = edges.filter(op == _CONCAT).select("name", value=node, part="source")
    slices = first.filter(op.is_in(_PARTS)).select("name", part=node, read="source")
    reads = first.filter(op == _READ).select("name", read=node, handle="source")
    for links, by in ((values, "assign"), (parts, "value"), (slices, "part")):
        chain = chain.join(links, on=["name", by])
    chain = chain.join(reads, on=["name", "read", "handle"])
    of = chain.unpivot(["assign", "value", "part", "read"], index="name", value_name="node")
    copies = nodes.join(of[["name", "node"]].unique(), on=["name", "node"])
    copies = copies.with_columns(less=_COPIED * pl.col("us"), of="op")
    for mine in copies.sort("us", descending=True).partition_by("name", maintain_order=True):
        if is_much(mine["less"], nodes["us"]):
            facts = {"variable": True, "runs": mine["executions"].max()}
            yield find_nodes("growing-tensor", evidence, mine, facts)
