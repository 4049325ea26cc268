"""Time by layer: the name scope of each node, as Keras and tf.Module name their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.names import CONTROL_OPS, MERGED
from tflogscope.model.overview.computing import computing_nodes

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables

# What is around a layer's scopes: gradients (python/eager/backprop.py, _gradient_function), loops,
# conditions (core/common_runtime/lower_while_op.cc, lower_if_op.cc), and functions that grappler
# or the lowering pass inlined.
_GRADIENT = r"(?:^|/)(?:(?:gradient_tape|gradients?)/)+"
_BODY, _LOOP = r"^.*/(?:body|cond|then|else)/_\d+/", r"\b(?:while|cond)(?:_\d+)?/"
_INLINED = r"^(?:(?:(?:Stateful)?PartitionedCall(?:_\d+)?|ConstantFolding)/)+"
_OF_GRAPPLER = "ArithmeticOptimizer"


def layer_times(run: Tables) -> pl.DataFrame:
    """The time of nodes by their first two scopes, the most first.

    Columns: layer, nodes, executions, forward and gradient (µs), us (both), share, op (that takes
    most).
    Empty where no model has layers, or no node a time.
    """
    nodes = computing_nodes(run)
    time = pl.col(ranked_by(nodes))
    outside = pl.col("node").str.replace(_BODY, "").str.replace_all(_LOOP, "")
    inlined = outside.str.replace(_INLINED, "")
    is_gradient = pl.col("node").str.contains(_GRADIENT)
    nodes = nodes.with_columns(gradient=is_gradient, name=inlined.str.replace(_GRADIENT, ""))
    scoped = nodes.select(
        "executions",
        "gradient",
        *_scopes(nodes["name"], nodes["op"]),
        us=time,
        op=pl.col("op").str.strip_prefix(MERGED),
    ).drop_nulls("model")
    # A scope without forward computation is no layer, but that of an op's gradient or input.
    computes = ~pl.col("gradient") & ~pl.col("op").is_in(["Const", "ReadVariableOp", *CONTROL_OPS])
    is_layer = computes.any().over("layer")
    scoped = scoped.with_columns(layer=pl.when(is_layer).then("layer").otherwise("model"))
    scoped = scoped.filter(computes.any().over("layer"))
    by_op = scoped.group_by("layer", "op").agg(pl.col("us").sum())
    most = by_op.sort("us", "op", descending=[True, False]).group_by("layer").agg(pl.first("op"))
    table = scoped.group_by("layer").agg(
        pl.len().alias("nodes"),
        pl.col("executions").sum(),
        forward=pl.col("us").filter(~pl.col("gradient")).sum(),
        gradient=pl.col("us").filter("gradient").sum(),
        us=pl.col("us").sum(),
    )
    table = table.filter(pl.col("us") > 0).join(most, on="layer")
    if not table["layer"].str.contains("/", literal=True).any():
        table = table.clear()
    table = table.sort("us", "layer", descending=[True, False])  # a sum depends on the order
    return table.with_columns(share=pl.col("us") / pl.col("us").sum())


def _scopes(names: pl.Series, ops: pl.Series) -> tuple[pl.Expr, pl.Expr]:
    """`model`, the first scope of each node, and `layer`, the first two; null: it has none.

    Ops have scopes, too: `add_1` of an AddV2.
    """
    kinds = ops.str.strip_prefix(MERGED).str.replace(r"V\d$", "").str.to_lowercase().unique()
    scopes = pl.lit(names).str.split("/").list
    model, layer = (scopes.get(depth, null_on_oob=True) for depth in (0, 1))

    def of_op(scope: pl.Expr) -> pl.Expr:
        kind = scope.str.replace(r"_\d+$", "").str.replace_all("_", "").str.to_lowercase()
        return kind.is_in(kinds.implode())

    has_model = (scopes.len() > 1) & ~of_op(model) & (model != _OF_GRAPPLER)
    both = pl.concat_str(model, layer, separator="/")
    # Keras names the layer Conv2D `conv2d`, TensorFlow the scope of an op `Conv2D`.
    has_layer = (scopes.len() > 2) & ~(of_op(layer) & layer.str.contains("[A-Z]"))
    of_model = pl.when(has_model).then(model)
    return of_model.alias("model"), pl.when(has_layer).then(both).otherwise(of_model).alias("layer")
