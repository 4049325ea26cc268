"""Rows of a table: looked up by products of one-hot vectors, or updated with all the others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.op_kinds import ops_of
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import holds, is_among, only
from tflogscope.model.common.names import PRODUCTS, UPDATES
from tflogscope.model.common.once import once
from tflogscope.model.findings.finding import Finding, claim_nodes, definitions_of, most, total
from tflogscope.model.pipeline import Evidence

_THROUGH = ("Reshape", "Cast", "Identity", "ExpandDims", "Squeeze")
_SUMS = ("Sum", "Mean")  # of several rows
_SCATTERED, _EACH = "UnsortedSegmentSum", "IdentityN"
_ELEMENTWISE, _GATHERS, _COMPUTES = map(ops_of, ("elementwise", "gather", "computes-table"))
_LEAST_ROWS = threshold("one-hot-product.least_rows")
_GATHER_ROWS = threshold("one-hot-product.gather_rows")
_WORTH = threshold("node.worth")
_UPDATED_ROWS = threshold("dense-update.least_rows")
_VALUE, _LAST = r"values: (-?\d{1,9})>", r"\baxis=-1\b"
_NUMBER = r":(\d{1,9})$"
# The gradient of a lookup multiplies the turned vectors. So does a sum of the rows of each class.
TURNED = r"\b(?:transpose_a|adj_x)=true"
# In `bsv,vd->bsd` numbers along the last axis of the vectors are those of rows, which are summed.
INLINED = r"^(?:(?:Stateful)?PartitionedCall/)+"
# core/common_runtime/constant_folding.cc, ReplaceTensorWithConstant: the constant for a node, which
# those that take it still name.
FOLDED = r"/_\d+__cf__\d+$"
_EQUATION = r'equation="[^",]*(\w),[^">]*->([^"]*)"'


def lookup_findings(evidence: Evidence) -> Iterator[Finding]:
    """One-hot products, and dense updates of tables."""
    ran = evidence.nodes["op"].unique()
    if "OneHot" in ran:
        yield from _one_hot_products(evidence)
    if _SCATTERED in ran:
        yield from _dense_updates(evidence)


def _one_hot_products(evidence: Evidence) -> Iterator[Finding]:
    """Products of which one-hot vectors are the first factor, with their gradients."""
    found = _products(evidence)
    attributes = pl.col("attributes")
    letter, left = (attributes.str.extract(_EQUATION, number) for number in (1, 2))
    turned = attributes.str.contains(TURNED) | holds(left.str.contains(letter, literal=True))
    lookups = found.filter(pl.col("op").str.contains(PRODUCTS), ~turned, place=0).sort("ran_at")
    if lookups.is_empty():
        return
    found = found.join(lookups, on=["name", "made"], how="semi", nulls_equal=True)
    less = pl.col("us") * (1 - _GATHER_ROWS / pl.col("size"))
    yield _finding("one-hot-product", evidence, found.with_columns(less=less), lookups)


def _products(evidence: Evidence) -> pl.DataFrame:
    """One-hot vectors, their sums, and products: `made` is what makes these, `size` their classes.

    Other columns: those of `read_edges`.
    """
    op, is_last = pl.col("op"), pl.col("attributes").str.contains(_LAST)
    fed = read_edges(evidence, "OneHot")
    large = pl.col("size") >= _LEAST_ROWS
    reached = fed.filter(op.eq("OneHot"), is_last, large, place=1).with_columns(made="node")
    fed, found = fed.drop("size"), [reached]
    while reached.height:
        before = reached.select("name", "made", "size", source="node").unique()
        reached = fed.join(before, on=["name", "source"], nulls_equal=True)
        taken = op.str.contains(PRODUCTS) | (op.is_in(_SUMS) & (pl.col("place") == 0))
        found.append(reached.filter(taken).select(found[0].columns))
        reached = reached.filter(op.is_in([*_THROUGH, *_SUMS]), place=0)
    return pl.concat(found)


def _dense_updates(evidence: Evidence) -> Iterator[Finding]:
    """Gradients of rows made tensors of the table's shape, and the ops that take these.

    With the rows of its batch alone, an elementwise op takes as long as their gather at most. Where
    no variable is updated with it, the table is no variable.
    """
    op, node, same = pl.col("op"), pl.col("node"), ["name", "node"]
    fed = read_edges(evidence, _SCATTERED)
    summed = fed.filter(op.eq(_SCATTERED), pl.col("size") >= _UPDATED_ROWS, place=2)
    reached = found = summed.with_columns(of=node)
    while reached.height:
        # A variable is read after its update.
        source = pl.concat_str(pl.when(op.str.contains(UPDATES)).then(pl.lit("^")), node)
        given = pl.when(op == _EACH).then("place")  # its n-th output is its n-th input
        before = reached.select("name", "of", source=pl.coalesce(source, node), given=given)
        reached = fed.filter(op.eq(_EACH) | op.str.contains(_ELEMENTWISE))
        reached = reached.join(before.unique(), on=["name", "source"], nulls_equal=True)
        reached = reached.filter((pl.col("given") == pl.col("output")).fill_null(value=True))
        reached = reached.drop("given")
        reached = reached.join(found, on=[*same, "of"], how="anti", nulls_equal=True)
        found = pl.concat([found, reached])
    updated = found.filter(op.str.contains(UPDATES)).group_by("name", "of")
    updates = updated.agg(updates=node.n_unique())
    found = found.join(updates, on=["name", "of"], nulls_equal=True)
    summed = summed.join(updates, left_on=same, right_on=["name", "of"], nulls_equal=True)
    each = (pl.col("us") / pl.col("executions")).max()
    gathers = fed.filter(op.str.contains(_GATHERS)).group_by("name").agg(gather=each)
    looked_up, others = _computed(fed, summed), _added(fed, summed)
    penalties = _of_lines(evidence, fed, others.select("name", node="source"))
    if penalties["op"].str.contains(_GATHERS).any():  # a line of Keras', which runs all
        penalties = penalties.clear()
    by_hand = pl.concat([_of_lines(evidence, fed, looked_up), penalties]).join(
        found.select("name", "of", "updates").unique("name"), on="name", nulls_equal=True
    )
    found = pl.concat([found, by_hand.select(found.columns)]).unique([*same, "of"])
    found = found.join(gathers, on="name", nulls_equal=True)
    less = pl.col("us") - pl.col("gather") * pl.col("executions")
    found = found.with_columns(less=less.clip(0))
    worth = _WORTH * float(evidence.nodes[ranked_by(evidence.nodes)].sum())
    if float(found["less"].sum()) > worth:
        finding = _finding("dense-update", evidence, found, summed.sort("ran_at"))
        lines = most(
            evidence.lines.named(evidence.lines.of_nodes(others["name"], others["source"]))
        )
        taken = fed.join(summed.select("name", source="node"), on=["name", "source"], how="semi")
        tables = summed["size"].n_unique()
        by = next(iter(most(taken["op"])), None)
        # An optimizer that keeps nothing but the table takes rows: something else did not.
        plain = summed["updates"].max() == 1 and looked_up.is_empty()
        whole = {name: finding.facts[name] for name in ("rows", "names")}
        facts = {
            "whole": {**whole, "tables": tables if tables > 1 else None},
            "looked_up": looked_up.height,
            "added": others.height,
            "edit": next(iter(lines), None),
            "by": by if plain else None,
            "assigned": plain and by is not None and re.match(UPDATES, by) is not None,
            "optimizer": others.is_empty() and looked_up.is_empty() and not plain,
        }
        yield finding._replace(facts={**finding.facts, **facts})


def _added(fed: pl.DataFrame, summed: pl.DataFrame) -> pl.DataFrame:
    """Other gradients of the same tables, to which these are added: name, source.

    python/eager/backprop.py, _aggregate_grads: where one of them is dense, so is the sum.
    """
    sums = fed.filter(op="AddN")
    mine = summed.select("name", source="node").unique()
    sums = sums.join(
        sums.join(mine, on=["name", "source"], nulls_equal=True), on=["name", "node"], how="semi"
    )
    return sums.join(mine, on=["name", "source"], how="anti", nulls_equal=True)


def _computed(fed: pl.DataFrame, summed: pl.DataFrame) -> pl.DataFrame:
    """The nodes that compute the tables of which these gradients' rows were looked up."""
    same, op = ["name", "node"], pl.col("op")
    indices = fed.filter(place=1)
    mine = indices.join(summed, on=same, how="semi", nulls_equal=True)
    gathers = indices.filter(op.str.contains(_GATHERS))
    gathers = gathers.join(mine, on=["name", "source"], how="semi", nulls_equal=True)
    tables = fed.filter(place=0).join(gathers, on=same, how="semi", nulls_equal=True)
    tables = tables.select("name", node="source")
    return fed.filter(op.str.contains(_COMPUTES)).join(
        tables, on=same, how="semi", nulls_equal=True
    )


def _of_lines(evidence: Evidence, fed: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """The rows of the same lines of the program as these nodes, gradients included."""
    of_nodes = evidence.lines.of_nodes
    mine = of_nodes(nodes["name"], nodes["node"]).drop_nulls()
    return only(fed, is_among(of_nodes(fed["name"], fed["node"]), mine))


def _finding(name: str, evidence: Evidence, found: pl.DataFrame, shown: pl.DataFrame) -> Finding:
    """A finding of nodes that would take so many µs (`less`) less; `shown` are those to name."""
    found = found.unique(["name", "node"])
    mine = definitions_of(evidence, found)
    time, claims = claim_nodes(evidence, mine, float(found["less"].sum()))
    names = most(shown["node"].str.replace(INLINED, ""))
    facts = {"took": total(found["us"]), "names": names, "rows": shown["size"].max()}
    at = shown["ran_at"].to_list()
    return Finding(name, names[0], shown.height, time, at, facts, claims=claims)


def read_edges(evidence: Evidence, op: str | None = None) -> pl.DataFrame:
    """The inputs of nodes, of functions in which such an op ran: `source`, at which `place`.

    `output` is which of the source's it is; `size` is the number in a constant source. Other
    columns: those of `Evidence.nodes`, us.
    """
    edges = _every_edge(evidence)
    return edges.filter(pl.col("op").eq(op).any().over("name")) if op else edges


@once
def _every_edge(evidence: Evidence) -> pl.DataFrame:
    of = evidence.nodes.rename({ranked_by(evidence.nodes): "us"})
    sources = of["inputs"].str.split(", ").alias("source")
    fed = of.hstack([sources]).with_columns(place=pl.int_ranges(pl.col("source").list.len()))
    number = pl.col("source").str.extract(_NUMBER, 1).cast(pl.Int64).fill_null(0)
    fed = fed.explode("source", "place").with_columns(
        pl.col("source").str.replace(_NUMBER, ""), output=number
    )
    size = pl.col("attributes").str.extract(_VALUE, 1).cast(pl.Int64)
    folded = pl.col("node").str.replace(FOLDED, "")
    sizes = of.select("name", source=folded, size=size).drop_nulls("size")
    return fed.join(sizes, on=["name", "source"], how="left", nulls_equal=True)
