"""Rows of a table that a program looks up with a product of one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import holds, row_with, where
from tflogscope.model.common.names import PRODUCTS
from tflogscope.model.findings.finding import Finding, claim_nodes, most, total
from tflogscope.model.pipeline import Evidence

_THROUGH = ("Reshape", "Cast", "Identity", "ExpandDims", "Squeeze")
_LEAST_ROWS = threshold("one-hot-product.least_rows")
_GATHER_ROWS = threshold("one-hot-product.gather_rows")
_VALUE, _LAST = r"values: (\d{1,9})>", r"\baxis=-1\b"
# The gradient of a lookup multiplies the turned vectors. So does a sum of the rows of each class.
_TURNED = r"\b(?:transpose_a|adj_x)=true"
# In `bsv,vd->bsd` numbers along the last axis of the vectors are those of rows, which are summed.
_INLINED = r"^(?:(?:Stateful)?PartitionedCall/)+"
_EQUATION = r'equation="[^",]*(\w),[^">]*->([^"]*)"'


def lookup_findings(evidence: Evidence) -> Iterator[Finding]:
    """Products of which one-hot vectors are the first factor, with their gradients."""
    found = _products(evidence)
    attributes = pl.col("attributes")
    letter, left = (attributes.str.extract(_EQUATION, number) for number in (1, 2))
    turned = attributes.str.contains(_TURNED) | holds(left.str.contains(letter, literal=True))
    lookups = found.filter(pl.col("op") != "OneHot", ~turned, place=0).sort("ran_at")
    if lookups.is_empty():
        return
    found = found.join(lookups, on=["name", "made"], how="semi", nulls_equal=True)
    found = found.unique(["name", "node"])
    less = float((found["us"] * (1 - _GATHER_ROWS / found["size"])).sum())
    definitions, same = evidence.executions.runs.definitions, ["node", "inputs", "attributes"]
    mine = where(pl.Series(row_with(definitions[same], found[same]) >= 0))
    time, claims = claim_nodes(evidence, mine, less)
    names = most(lookups["node"].str.replace(_INLINED, ""))
    facts = {"took": total(found["us"]), "names": names, "rows": lookups["size"].max()}
    count, at = lookups.height, lookups["ran_at"].to_list()
    yield Finding("one-hot-product", names[0], count, time, at, facts, claims=claims)


def _products(evidence: Evidence) -> pl.DataFrame:
    """One-hot vectors, and products of them: `made` is what makes these, `size` their classes.

    Other columns: those of `Evidence.nodes`, us, place (which factor they are).
    """
    op, attributes = pl.col("op"), pl.col("attributes")
    nodes = evidence.nodes.rename({ranked_by(evidence.nodes): "us"})
    of = nodes.filter(op.eq("OneHot").any().over("name"))
    sources = of["inputs"].str.split(", ").alias("source")
    fed = of.hstack([sources]).with_columns(place=pl.int_ranges(pl.col("source").list.len()))
    fed = fed.explode("source", "place").with_columns(pl.col("source").str.replace(r":\d+$", ""))
    size = attributes.str.extract(_VALUE, 1).cast(pl.Int64)
    large = of.select("name", source="node", size=size).filter(pl.col("size") >= _LEAST_ROWS)
    reached = fed.filter(op.eq("OneHot"), attributes.str.contains(_LAST), place=1)
    reached = reached.join(large, on=large.columns[:2], nulls_equal=True).with_columns(made="node")
    found = [reached]
    while reached.height:
        before = reached.select("name", "made", "size", source="node").unique()
        reached = fed.join(before, on=["name", "source"], nulls_equal=True)
        found.append(reached.filter(op.str.contains(PRODUCTS)).select(found[0].columns))
        reached = reached.filter(op.is_in(_THROUGH), place=0)
    return pl.concat(found)
