"""Variables that are copied whole to change a part: they are assigned copies of themselves."""

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
# core/kernels/scatter_nd_op.cc, TensorScatterOp: a copy of the tensor, unless nothing else has it.
_SCATTERS = tuple(f"TensorScatter{how}" for how in ("Update", "Add", "Sub", "Min", "Max"))
_COPIED = threshold("growing-tensor.copied")


def buffer_findings(evidence: Evidence) -> Iterator[Finding]:
    """Variables that are assigned most of themselves with what is new, by tf.concat or a scatter.

    Each time the slice, the concatenation or scatter, and the read of a variable that is shared
    copy all.
    """
    nodes, op = nodes_of_program(evidence), pl.col("op")
    assigning = nodes.filter(op == _ASSIGN)["name"].implode()
    if nodes.filter(op.is_in([_CONCAT, *_SCATTERS]), pl.col("name").is_in(assigning)).is_empty():
        return
    edges, node = read_edges(evidence), pl.col("node")
    first, second = (edges.filter(pl.col("place") == place) for place in (0, 1))
    chain = first.filter(op == _ASSIGN).select("name", assign=node, handle="source")
    values = second.filter(op == _ASSIGN).select("name", assign=node, value="source")
    parts = edges.filter(op == _CONCAT).select("name", value=node, part="source")
    slices = first.filter(op.is_in(_PARTS)).select("name", part=node, read="source")
    reads = first.filter(op == _READ).select("name", read=node, handle="source")
    made = parts.join(slices, on=["name", "part"])
    scatters = first.filter(op.is_in(_SCATTERS))
    made = pl.concat([made, scatters.select("name", value=node, part=node, read="source")])
    chain = chain.join(values, on=["name", "assign"]).join(made, on=["name", "value"])
    chain = chain.join(reads, on=["name", "read", "handle"])
    of = chain.unpivot(["assign", "value", "part", "read"], index="name", value_name="node")
    copies = nodes.join(of[["name", "node"]].unique(), on=["name", "node"])
    copies = copies.with_columns(less=_COPIED * pl.col("us"), of="op")
    for mine in copies.sort("us", descending=True).partition_by("name", maintain_order=True):
        if is_much("growing-tensor", mine["less"], nodes["us"]):
            scattered = bool(mine["op"].is_in(_SCATTERS).any())
            facts = {"variable": True, "scattered": scattered, "runs": mine["executions"].max()}
            yield find_nodes("growing-tensor", evidence, mine, facts)
