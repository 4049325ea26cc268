"""Matrix products computed elementwise: two tensors are broadcast, multiplied, and summed."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.findings.finding import Finding
from tflogscope.model.findings.lookups import INLINED, read_edges
from tflogscope.model.findings.unneeded import find_nodes, is_much, nodes_of_program
from tflogscope.model.pipeline import Evidence

_SLICE, _EXPAND, _TILE = "StridedSlice", "ExpandDims", "Tile"
# core/util/strided_slice_op.cc: each bit of the mask inserts an axis at its place.
_INSERTS = r"\bellipsis_mask=0\b.*\bnew_axis_mask=([1-9]\d{0,8})\b"
_MUL, _SUB, _DIFFERENCE, _SQUARE = "Mul", "Sub", "SquaredDifference", "Square"
_SUMS = ("Sum", "Mean")
# What these consist of, and their gradients (python/ops/math_grad.py).
_PARTS = (_MUL, _SUB, _DIFFERENCE, _SQUARE, *_SUMS, _TILE, "Neg", "RealDiv", "BroadcastTo")
_GRADIENT, _SCOPE = "gradient_tape/", r"^(.*/)"
_LESS = threshold("broadcast-product.less")
_SAME = ["name", "node"]


def broadcast_findings(evidence: Evidence) -> Iterator[Finding]:
    """Products, and squares of differences, that are summed over an axis behind an inserted one.

    Where the inserted axis is the last one, as that of weights for a mean of rows, no tf.matmul is
    faster.
    """
    nodes, op = nodes_of_program(evidence), pl.col("op")
    inserts = op.eq(_EXPAND) | pl.col("attributes").str.contains(_INSERTS)
    if nodes.filter(inserts).is_empty() or nodes.filter(op.is_in(_SUMS)).is_empty():
        return
    edges = read_edges(evidence).filter(~pl.col("node").str.contains(_GRADIENT, literal=True))
    axes = edges.filter(op.is_in(_SUMS), place=1).select(*_SAME, last="size")
    sums = edges.filter(op.is_in(_SUMS), place=0).join(axes, on=_SAME)
    pairs = _pairs(edges)
    last, axis = pl.col("last"), pl.col("axis")
    for kind, made in (("product", pairs.filter(op == _MUL)), ("square", _squares(edges, pairs))):
        of = made.select("name", "axis", "pair", "tile", source="node")
        summed = sums.join(of, on=["name", "source"]).filter(last.eq(-1) | (last > axis))
        shown = pl.concat([summed.select("name", node=at) for at in ("pair", "source")]).unique()
        around = [summed.select(_SAME), summed.select("name", node="tile")]
        mine = _with_gradients(evidence, nodes, pl.concat([shown, *around]))
        mine = mine.with_columns(less=_LESS * pl.col("us"), of="node")
        if is_much("broadcast-product", mine["less"], nodes["us"]):
            named = mine.join(shown, on=_SAME, how="semi").sort("ran_at")["node"]
            names = named.str.replace(INLINED, "").unique(maintain_order=True).to_list()
            gradients = mine["node"].str.contains(_GRADIENT, literal=True).any()
            facts = {kind: True, "names": names, "gradients": gradients}
            yield find_nodes("broadcast-product", evidence, mine, facts)


def _pairs(edges: pl.DataFrame) -> pl.DataFrame:
    """Products and differences of a tensor with an inserted `axis`, or of one tiled along it.

    `pair` is such a node, `tile` the one that tiles.
    """
    op, place = pl.col("op"), pl.col("place")
    mask = pl.col("attributes").str.extract(_INSERTS).cast(pl.Int64)
    slices = edges.filter(op == _SLICE, place == 0, mask > 0)
    expanded = edges.filter(op == _EXPAND, place == 1, pl.col("size") != -1)
    inserted = pl.concat(
        [
            slices.select("name", source="node", axis=mask.bitwise_trailing_zeros().cast(pl.Int64)),
            expanded.select("name", source="node", axis="size"),
        ]
    )
    tiled = edges.filter(op == _TILE, place == 0).join(inserted, on=["name", "source"])
    tiled = tiled.select("name", "axis", source="node", tile="node")
    inserted = pl.concat([inserted, tiled], how="diagonal")
    pairs = edges.filter(op.is_in((_MUL, _SUB, _DIFFERENCE))).join(inserted, on=["name", "source"])
    pairs = pairs.group_by(*_SAME, "op").agg(pl.min("axis"), pl.max("tile"))
    return pairs.with_columns(pair="node")


def _squares(edges: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Of `pairs` the differences that are used squared alone; `node` is what squares them."""
    op = pl.col("op")
    of = pairs.filter(op == _SUB).select("name", "axis", "tile", source="node")
    users = edges.join(of, on=["name", "source"])
    alone = pl.col("node").n_unique().over("name", "source") == 1
    itself = op.eq(_SQUARE) | (op.eq(_MUL) & (pl.len().over(_SAME) == 2))
    squares = users.filter(alone, itself).unique(_SAME)
    squares = squares.select(*_SAME, "op", "axis", "tile", pair="source")
    return pl.concat([squares, pairs.filter(op == _DIFFERENCE)])


def _with_gradients(evidence: Evidence, nodes: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """These nodes, and those for their gradients: of the same lines of the program, and scopes."""
    stacks = evidence.lines.of_nodes(nodes["name"], nodes["node"]).alias("stack")
    path = pl.col("node").str.replace(INLINED, "").str.replace(_GRADIENT, "", literal=True)
    placed = nodes.hstack([stacks]).with_columns(scope=path.str.extract(_SCOPE).fill_null(""))
    mine = placed.join(found, on=_SAME, how="semi")
    scopes = mine.select("stack", of="scope").drop_nulls().unique()
    others = placed.filter(pl.col("op").is_in(_PARTS)).join(scopes, on="stack")
    others = others.filter(pl.col("scope").str.starts_with(pl.col("of"))).select(mine.columns)
    return pl.concat([mine, others]).unique(_SAME, maintain_order=True)
