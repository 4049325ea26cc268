"""What graphs compute again, or for nobody: gradients, frozen layers, the rest of a sort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import is_among, row_with, where
from tflogscope.model.common.names import MAKE_ITERATOR, PRODUCTS, UPDATES, runs_for_data
from tflogscope.model.findings.finding import Finding, claim_nodes, most, total
from tflogscope.model.findings.lookups import TURNED, read_edges
from tflogscope.model.pipeline import Evidence

_WORTH = threshold("unneeded.worth")
# python/eager/backprop.py, _gradient_function: in front of the name of the op that it is of.
_OF_OP, _GRADIENT = r"gradient_tape/(.+)/[^/]+$", "gradient_tape/"
_INLINED = r"^(?:(?:Stateful)?PartitionedCall/)+"
_OF_LAYER = r"^([^/]+/[^/]+)/"
_WEIGHTS = "BackpropFilter"
_SORT, _SORTED = "TopKV2", r"(?:^|/)(?:arg)?sort/TopKV2(?:_\d+)?$"
_PARTS = ("StridedSlice", "Slice")


def unneeded_findings(evidence: Evidence) -> Iterator[Finding]:
    """Gradients of one op taken several times, frozen layers in each epoch, sorts cut short."""
    nodes = evidence.nodes.rename({ranked_by(evidence.nodes): "us"})
    nodes = nodes.drop_nulls("name").filter(~runs_for_data())
    nodes = nodes.with_columns(path=pl.col("node").str.replace(_INLINED, ""))
    nodes = nodes.with_columns(of=pl.col("path").str.extract(_OF_OP, 1))
    if nodes["of"].count():
        yield from _gradients(evidence, nodes)
        yield from _frozen(evidence, nodes)
    if _SORT in nodes["op"]:
        yield from _sorts(evidence)


def _gradients(evidence: Evidence, nodes: pl.DataFrame) -> Iterator[Finding]:
    """Several gradients of one op by its weights, as of each loss by itself.

    Two models of which one is trained through the other pass that one twice, but take the gradient
    by its weights once. A gradient of a gradient takes another one by the weights as well.
    """
    same, op = ["name", "of"], pl.col("op")
    second = nodes.filter(pl.col("of").str.contains(_GRADIENT))["name"]
    products = nodes.filter(op.str.contains(PRODUCTS), ~pl.col("name").is_in(second.implode()))
    by_weights = op.str.contains(_WEIGHTS) | pl.col("attributes").str.contains(TURNED)
    passes = products.filter(by_weights).group_by(same).agg(passes=pl.len())
    again = products.join(passes.filter(pl.col("passes") > 1), on=same)
    again = again.with_columns(less=pl.col("us") * (1 - 1 / pl.col("passes")))
    for mine in again.partition_by("name"):
        if _is_much(mine["less"], nodes.filter(name=mine["name"][0])["us"]):
            facts = {"passes": mine["passes"].max(), "ops": mine["of"].n_unique()}
            yield _finding("repeated-gradients", evidence, mine, facts)


def _frozen(evidence: Evidence, nodes: pl.DataFrame) -> Iterator[Finding]:
    """Layers without a gradient, in the step of a function that has some, epoch after epoch.

    What they read is not updated, and no random op changes what they get, but for its order.
    """
    random = pl.col("op").str.contains("Random") & ~pl.col("op").str.contains("Shuffle")
    if evidence.nodes.filter(random & runs_for_data()).height:
        return
    made = evidence.eager.filter(op=MAKE_ITERATOR)["at"].sort()
    for step in nodes.partition_by("name"):
        if step["of"].count() == 0 or step.filter(pl.col("op").str.contains(UPDATES)).is_empty():
            continue
        if step.filter(random & ~pl.col("path").str.contains("(?i)dropout")).height:
            continue
        layer = pl.coalesce("of", "path").str.extract(_OF_LAYER, 1).alias("layer")
        layers = step.with_columns(layer).drop_nulls("layer")
        product = pl.col("op").str.contains(PRODUCTS)
        frozen = (product.any() & pl.col("of").is_null().all()).over("layer")
        mine = layers.filter(frozen & pl.col("path").str.starts_with(pl.col("layer")))
        resource = pl.col("inputs").str.extract(r"^([^,]+)")
        updated = step.filter(pl.col("op").str.contains(UPDATES)).select(resource).to_series()
        calls = evidence.calls.filter(name=step["name"][0])["at"]
        epochs = pl.Series(made.search_sorted(calls)).n_unique()
        if epochs < 2 or is_among(mine.select(resource).to_series(), updated).any():
            continue
        if _is_much(mine["us"], step["us"]):
            mine = mine.with_columns(less=pl.col("us") * (1 - 1 / epochs), of=pl.col("layer"))
            yield _finding("frozen-layers", evidence, mine, {"epochs": epochs})


def _sorts(evidence: Evidence) -> Iterator[Finding]:
    """Sorts of all, of which only slices are taken.

    python/ops/sort_ops.py: tf.sort and tf.argsort are tf.math.top_k of as many as there are.
    """
    edges = read_edges(evidence, _SORT)
    sorts = edges.filter(pl.col("op") == _SORT, pl.col("node").str.contains(_SORTED), place=0)
    sorts = sorts.with_columns(of="node", less="us")
    taken = edges.select("name", node="source", by="op").unique()
    others = taken.filter(~pl.col("by").is_in(_PARTS))
    sorts = sorts.join(taken, on=["name", "node"], how="semi")
    sorts = sorts.join(others, on=["name", "node"], how="anti")
    if _is_much(sorts["us"], edges.unique(["name", "node"])["us"]):
        yield _finding("sorted-slice", evidence, sorts, {})


def _is_much(part: pl.Series, whole: pl.Series) -> bool:
    return float(part.sum()) > _WORTH * float(whole.sum())


def _finding(
    name: str, evidence: Evidence, mine: pl.DataFrame, facts: Mapping[str, Any]
) -> Finding:
    """A finding of nodes that would take so many µs (`less`) less; `of` is what they are of."""
    definitions, same = evidence.executions.runs.definitions, ["node", "inputs", "attributes"]
    own = where(pl.Series(row_with(definitions[same], mine[same]) >= 0))
    time, claims = claim_nodes(evidence, own, float(mine["less"].sum()))
    function = str(mine["function"][0])
    facts = {**facts, "took": total(mine["us"]), "names": most(mine["of"])}
    at = mine.sort("ran_at")["ran_at"].to_list()
    return Finding(name, function, mine.height, time, at, facts, claims=claims)
