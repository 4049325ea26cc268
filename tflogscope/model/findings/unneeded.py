"""What graphs compute again, or for nobody: gradients, frozen layers, the rest of a sort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import KERAS_STEPS
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import holds, is_among
from tflogscope.model.common.names import (
    LOOP_BODY,
    MAKE_ITERATOR,
    PRODUCTS,
    PYTHON_OPS,
    UPDATES,
    runs_for_data,
)
from tflogscope.model.findings.finding import Finding, claim_nodes, definitions_of, most, total
from tflogscope.model.findings.lookups import INLINED, TURNED, read_edges
from tflogscope.model.findings.pipelines import rebuilt
from tflogscope.model.pipeline import NEW_VALUE, Evidence

_KEPT = threshold("sorted-slice.kept_share")
# python/eager/backprop.py, _gradient_function: in front of the name of the op that it is of.
_OF_OP, _GRADIENT = r"gradient_tape/(.+)/[^/]+$", "gradient_tape/"
# core/common_runtime/lower_while_op.cc: where the nodes of a loop's body are. Its gradients
# have the path of another loop.
IN_BODY = r"/body/_\d+/"
_OF_LAYER = r"^([^/]+/[^/]+)/"
_WEIGHTS = "BackpropFilter"
# python/ops/math_grad.py, _MatMulGrad: of a product of two turned factors both gradients are such.
_BOTH_TURNED = r"\b(?:transpose_b|adj_y)=true"
_SORT, _SORTED = "TopKV2", r"(?:^|/)(?:arg)?sort/TopKV2(?:_\d+)?$"
_SLICE, _DIAGONAL, _ROWS = "StridedSlice", "MatrixDiagPartV3", "GatherNd"
# python/ops/parallel_for/pfor.py: what a Jacobian vectorizes are gradients.
_PFOR, _JACOBIAN = "/pfor", "gradient_tape/.*/pfor"
_PARTS = (_SLICE, "Slice")  # their third input is where each dimension ends, or how long
_SHRINKS, _KEEPS = (
    r"\bellipsis_mask=0\b.*\bshrink_axis_mask=(\d{1,9})\b",
    ("Reshape", "BiasAdd", "Identity"),
)
_VALUES = r"values: ([\d ]+)>"
_ASSIGNS = "AssignVariableOp"


def unneeded_findings(evidence: Evidence) -> Iterator[Finding]:
    """Gradients of one op taken several times, frozen layers in each epoch, sorts cut short, parts
    of products.
    """
    nodes = nodes_of_program(evidence)
    nodes = nodes.with_columns(path=pl.col("node").str.replace(INLINED, ""))
    nodes = nodes.with_columns(of=pl.col("path").str.extract(_OF_OP, 1))
    if nodes["of"].count():
        yield from _gradients(evidence, nodes)
        yield from _frozen(evidence, nodes)
    if _SORT in nodes["op"]:
        yield from _sorts(evidence)
    if _SLICE in nodes["op"]:
        yield from _sliced(evidence)
    if _DIAGONAL in nodes["op"]:
        yield from _diagonals(evidence, nodes)
    if nodes["node"].str.contains(_JACOBIAN).any():
        yield from _jacobians(evidence, nodes)


def _gradients(evidence: Evidence, nodes: pl.DataFrame) -> Iterator[Finding]:
    """Several gradients of one op by its weights, as of each loss by itself.

    Two models of which one is trained through the other pass that one twice, but take the gradient
    by its weights once. A gradient of a gradient takes another one by the weights as well.
    """
    same, op = ["name", "of"], pl.col("op")
    second = nodes.filter(pl.col("of").str.contains(_GRADIENT))["name"]
    products = nodes.filter(op.str.contains(PRODUCTS), ~pl.col("name").is_in(second.implode()))
    attributes = pl.col("attributes")
    by_weights = attributes.str.contains(TURNED) & ~attributes.str.contains(_BOTH_TURNED)
    by_weights |= op.str.contains(_WEIGHTS)
    passes = products.filter(by_weights).group_by(same).agg(passes=pl.len())
    again = products.join(passes.filter(pl.col("passes") > 1), on=same)
    again = again.with_columns(less=pl.col("us") * (1 - 1 / pl.col("passes")))
    for mine in again.partition_by("name"):
        if is_much("repeated-gradients", mine["less"], nodes.filter(name=mine["name"][0])["us"]):
            facts = {"passes": mine["passes"].max(), "ops": mine["of"].n_unique()}
            yield find_nodes("repeated-gradients", evidence, mine, facts)


def _frozen(evidence: Evidence, nodes: pl.DataFrame) -> Iterator[Finding]:
    """Layers without a gradient, in the step of a function that has some, epoch after epoch.

    What they read is not updated, in the step or (as target networks are) elsewhere, and all epochs
    have the same data, as far as the log shows: no random op changes them, but for their order, no
    Python code makes them, and the pipeline is built once.
    """
    op, assigns = pl.col("op"), pl.col("op") == _ASSIGNS
    random = op.str.contains("Random") & ~op.str.contains("Shuffle")
    varies = (random | op.str.contains(PYTHON_OPS)) & runs_for_data()
    by_program = (pl.col("rule") == NEW_VALUE) & ~pl.col("before_calls")
    if evidence.nodes.filter(varies).height or evidence.placed.filter(by_program).height:
        return
    if rebuilt(evidence):
        return
    # Those of Keras assign metrics.
    elsewhere = nodes.filter(
        assigns, pl.col("executions") > 1, ~pl.col("function").is_in(KERAS_STEPS)
    )
    made, name = evidence.eager.filter(op=MAKE_ITERATOR)["at"].sort(), pl.col("name")
    for step in nodes.partition_by("name"):
        updates = step.filter(op.str.contains(UPDATES))
        others = elsewhere.filter(name != step["name"][0])
        if step["of"].count() == 0 or updates.is_empty() or others.height:
            continue
        if step.filter(random & ~pl.col("path").str.contains("(?i)dropout")).height:
            continue
        layer = pl.coalesce("of", "path").str.extract(_OF_LAYER, 1).alias("layer")
        layers = step.with_columns(layer).drop_nulls("layer")
        layers = layers.filter(~pl.col("path").str.contains(IN_BODY))
        product = op.str.contains(PRODUCTS)
        frozen = (product.any() & pl.col("of").is_null().all()).over("layer")
        mine = layers.filter(frozen & pl.col("path").str.starts_with(pl.col("layer")))
        resource = pl.col("inputs").str.extract(r"^([^,]+)")
        updated = updates.select(resource).to_series()
        calls = evidence.calls.filter(name == step["name"][0])["at"]
        epochs = pl.Series(made.search_sorted(calls)).n_unique()
        if epochs < 2 or is_among(mine.select(resource).to_series(), updated).any():
            continue
        if is_much("frozen-layers", mine["us"], step["us"]):
            mine = mine.with_columns(less=pl.col("us") * (1 - 1 / epochs), of=pl.col("layer"))
            yield find_nodes("frozen-layers", evidence, mine, {"epochs": epochs})


def _sorts(evidence: Evidence) -> Iterator[Finding]:
    """Sorts of all, of which only slices of a few are taken.

    python/ops/sort_ops.py: tf.sort and tf.argsort are tf.math.top_k of as many as there are.
    """
    edges, op, same = read_edges(evidence, _SORT), pl.col("op"), ["name", "node"]
    sorts = edges.filter(op == _SORT, pl.col("node").str.contains(_SORTED), place=1)
    numbers = pl.col("attributes").str.extract(_VALUES, 1).str.split(" ")
    stop = numbers.cast(pl.List(pl.Int64), strict=False).list.max()
    ends = edges.select("name", source="node", stop=stop)
    parts = edges.filter(op.is_in(_PARTS), place=2).drop_nulls("source")
    parts = parts.join(ends.drop_nulls("stop").unique(), on=["name", "source"])
    taken = edges.select("name", by="node", node="source").unique()
    taken = taken.join(sorts.select(*same, "size"), on=same)
    taken = taken.join(parts.select("name", "stop", by="node"), on=["name", "by"], how="left")
    few = holds(taken["stop"] <= _KEPT * taken["size"]) & (taken["stop"] > 0)
    kept = taken.with_columns(few=few).group_by(same).agg(pl.col("few").all(), pl.max("stop"))
    mine = sorts.join(kept.filter("few"), on=same).with_columns(of="node", less="us")
    if is_much("sorted-slice", mine["us"], edges.unique(same)["us"]):
        facts = {"all": mine["size"].max(), "kept": mine["stop"].max()}
        yield find_nodes("sorted-slice", evidence, mine, facts)


def nodes_of_program(evidence: Evidence) -> pl.DataFrame:
    """`Evidence.nodes` of functions that are none of tf.data; their time by which they rank: us."""
    nodes = evidence.nodes.rename({ranked_by(evidence.nodes): "us"})
    return nodes.drop_nulls("name").filter(~runs_for_data())


def _sliced(evidence: Evidence) -> Iterator[Finding]:
    """Products of which only one place along an axis is used, as the logits of one position.

    How long the axis is, the shape of the Reshape after the product says.
    """
    edges, op, same = read_edges(evidence, _SLICE), pl.col("op"), ["name", "node"]
    mask = pl.col("attributes").str.extract(_SHRINKS).cast(pl.Int64)
    sliced = edges.filter(op.eq(_SLICE), mask > 0, place=0)
    sliced = sliced.select("name", "source", by="node", axis=mask.bitwise_trailing_zeros())
    if sliced.is_empty():
        return
    users = edges.group_by("name", "source").agg(users=pl.col("node").n_unique())
    inputs, shapes = edges.filter(place=0), _lengths(evidence, edges)
    found, reached = list[pl.DataFrame](), sliced
    while reached.height:  # one user each: what leads to a cycle has two
        alone = reached.join(users.filter(users=1), on=["name", "source"])
        values = alone.select("name", "by", "axis", node="source")
        reached = inputs.join(values, on=same).filter(op.is_in(_KEEPS) | op.str.contains(PRODUCTS))
        shaped = edges.filter(op.eq("Reshape"), place=1).select(*same, shape="source")
        reached = reached.join(shaped, on=same, how="left")
        reached = reached.join(shapes, on=["name", "shape", "axis"], how="left")
        found.append(reached)
        reached = reached.filter(op.is_in(_KEEPS)).select("name", "by", "axis", "source")
    mine = pl.concat(found).unique([*same, "by"])
    length, products = pl.col("length").max().over("name", "by"), op.str.contains(PRODUCTS)
    mine = mine.with_columns(length=length).filter(products.any().over("name", "by"))
    mine = mine.with_columns(less=pl.col("us") * (1 - 1 / pl.col("length")), of="node")
    mine = mine.filter(pl.col("length") * _KEPT >= 1)
    if is_much("sliced-product", mine["less"], edges.unique(same)["us"]):
        names = most(mine.filter(op.str.contains(PRODUCTS))["node"].str.replace(INLINED, ""))
        facts = {"all": mine["length"].max(), "names": names}
        yield find_nodes("sliced-product", evidence, mine, facts)


def _diagonals(evidence: Evidence, nodes: pl.DataFrame) -> Iterator[Finding]:
    """Products of which only the diagonal is used, with their gradients."""
    edges, product = read_edges(evidence, _DIAGONAL), pl.col("source").str.replace(INLINED, "")
    forward = edges.filter(~pl.col("node").str.contains(_GRADIENT, literal=True))
    alone = forward.filter(pl.col("node").n_unique().over("name", "source") == 1, op=_DIAGONAL)
    taken = alone.filter(place=0).select("name", product=product)
    products = nodes.filter(pl.col("op").str.contains(PRODUCTS))
    products = products.with_columns(product=pl.coalesce("of", "path"), less="us")
    mine = products.join(taken, on=["name", "product"], how="semi")
    if is_much("sliced-product", mine["less"], nodes["us"]):
        mine = mine.with_columns(of="product")
        yield find_nodes("sliced-product", evidence, mine, {"diagonal": True})


def _jacobians(evidence: Evidence, nodes: pl.DataFrame) -> Iterator[Finding]:
    """Jacobians of which only the diagonal, or what GatherNd takes, is used."""
    edges, op = read_edges(evidence), pl.col("op")
    forward = edges.filter(~pl.col("node").str.contains(_GRADIENT, literal=True))
    users = forward.group_by("name", "source").agg(users=pl.col("node").n_unique())
    alone = users.filter(users=1).select("name", "source")
    parts = forward.filter(op.is_in((_DIAGONAL, _ROWS)), place=0)
    passes = edges.filter(op.is_in((_SLICE, "Transpose", *_KEEPS)), place=0)
    passes = passes.select("name", source="node", before="source").unique()
    reached, names = parts.select("name", "source"), list[pl.Series]()
    of_jacobian = pl.col("source").str.contains(_JACOBIAN)
    while reached.height:
        names.append(reached.filter(of_jacobian)["name"])
        # Its own nodes use what a Jacobian is reshaped from, but nothing else uses the rest.
        before = reached.filter(~of_jacobian).join(alone, on=["name", "source"])
        reached = passes.join(before, on=["name", "source"]).select("name", source="before")
    mine = nodes.filter(pl.col("node").str.contains(_PFOR))
    mine = mine.filter(is_among(mine["name"], pl.concat(names))) if names else mine.clear()
    if is_much("sliced-product", mine["us"], nodes["us"]):
        mine = mine.with_columns(less="us", of="op")
        yield find_nodes("sliced-product", evidence, mine, {"jacobian": True})


def _lengths(evidence: Evidence, edges: pl.DataFrame) -> pl.DataFrame:
    """How long the axes of shapes are, as constants say: name, shape (node), axis, length."""
    numbers = pl.col("attributes").str.extract(_VALUES).str.split(" ")
    length = numbers.cast(pl.List(pl.Int64), strict=False)
    constants = evidence.nodes.filter(op="Const").select("name", shape="node", length=length)
    constants = constants.drop_nulls().with_columns(axis=pl.int_ranges(pl.col("length").list.len()))
    packed = edges.filter(op="Pack").select("name", "place", shape="node", length="size")
    exploded = constants.explode("axis", "length").select("name", "shape", "axis", "length")
    return pl.concat([exploded, packed.rename({"place": "axis"}).select(exploded.columns)])


def is_much(name: str, part: pl.Series, whole: pl.Series) -> bool:
    """Whether a part of node time is worth the finding of that name."""
    worth = threshold(f"{name}.worth", "node.worth")
    return float(part.sum()) > worth * float(whole.sum())


def find_nodes(
    name: str, evidence: Evidence, mine: pl.DataFrame, facts: Mapping[str, Any]
) -> Finding:
    """A finding of nodes that would take so many µs (`less`) less; `of` is what they are of."""
    own = definitions_of(evidence, mine)
    time, claims = claim_nodes(evidence, own, float(mine["less"].sum()))
    function = str(mine["function"][0])
    if function == LOOP_BODY:  # a name that the program doesn't have
        stack = evidence.lines.of_nodes(*mine.head(1)[["name", "node"]])
        function = evidence.lines.stacks["function"][stack][0] or function
    facts = {"took": total(mine["us"]), "names": most(mine["of"]), **facts}
    at = mine.sort("ran_at")["ran_at"].to_list()
    return Finding(name, function, mine.height, time, at, facts, claims=claims)
