"""Whose rules are for a node where plug-ins rewrite graphs, and the facts that their rules ask for.

A plug-in that is at work decides over the ops of its table, and over all others if oneDNN is off in
TensorFlow's own passes. One that is loaded and off decides nothing where oneDNN is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.rewriters import BY_ID, ONEDNN_REWRITES, REWRITERS, Rewriter
from tflogscope.model.common.frames import holds
from tflogscope.model.common.names import WRAPPED, rewrite_of_kernel
from tflogscope.model.common.once import once
from tflogscope.model.executions.executing import read_executing

BY_ONEDNN = "onednn"
"""Who decides where no plug-in does."""

# itex/core/graph/utils/utils.cc, HaveComputeIntensiveNode
_PRODUCTS = "Conv|GRU|LSTM|MatMul|RNN"
_HALF = "DT_HALF"


class Plugins(NamedTuple):
    """Plug-ins that a log shows: those that are `present`, and of these the `working` ones.

    `missing`: those of which it shows no more than that they are switched on.
    """

    present: tuple[Rewriter, ...]
    working: tuple[Rewriter, ...]
    missing: tuple[Rewriter, ...] = ()


@once
def plugins_of(events: Events) -> Plugins:
    """Plug-ins whose lines or kernels are in the log."""
    seen = events.seen
    kernels = pl.concat([events.definitions["op"], read_executing(events)["name"]])
    ran = kernels.unique().to_frame("op").select(rewrite_of_kernel(pl.col("op"))).to_series()
    working = {
        rewriter.id for rewriter in REWRITERS if seen & {*rewriter.works, *rewriter.rewritten}
    } | set(ran) & set(BY_ID)
    loaded = {rewriter.id for rewriter in REWRITERS if seen & set(rewriter.loaded)}
    return Plugins(
        present=tuple(rewriter for rewriter in REWRITERS if rewriter.id in loaded | working),
        working=tuple(rewriter for rewriter in REWRITERS if rewriter.id in working),
        missing=tuple(
            rewriter
            for rewriter in REWRITERS
            if rewriter.id in working - loaded - {*ran}
            and not seen & ({*rewriter.works, *rewriter.rewritten} - {*rewriter.switch})
        ),
    )


def choose_plugins(nodes: pl.DataFrame, plugins: Plugins, *, onednn: bool) -> pl.Series:
    """Return for each node the id of the plug-in whose rules are for it, else BY_ONEDNN.

    `onednn`: whether oneDNN is on in TensorFlow's passes.
    """
    who = pl.lit(BY_ONEDNN)
    op = pl.col("op")
    for plugin in reversed(plugins.present):
        in_table = op.is_in(list(plugin.ops))
        if plugin not in plugins.working:
            mine = in_table & ~pl.lit(onednn)
        elif onednn:
            mine = in_table & (
                ~_is_eager() | op.is_in([one.name for one in plugin.ops.values() if one.eager])
            )
        else:
            mine = pl.lit(value=True)
        who = pl.when(mine).then(pl.lit(plugin.id)).otherwise(who)
    if not plugins.present:
        return pl.Series([BY_ONEDNN]).new_from_index(0, nodes.height)
    return nodes.select(who=who).to_series()


class PluginNodes(NamedTuple):
    """A rule of a plug-in is tried on nodes, out of all `nodes`."""

    plugins: Plugins
    rewriter: Rewriter
    nodes: pl.DataFrame

    @property
    def eager_ops(self) -> pl.Expr:
        """Whether a node is of an op that is dispatched as the plug-in's kernel."""
        return pl.col("op").is_in([op.name for op in self.rewriter.ops.values() if op.eager])


def _is_eager() -> pl.Expr:
    """Whether a node is an eager op."""
    return holds(pl.col("name").str.contains(WRAPPED))


def _in_table(given: PluginNodes) -> pl.Expr:
    passed = [op.name for op in given.rewriter.ops.values() if op.is_known_to_pass]
    return pl.col("op").is_in(passed)


def _not_in_table(given: PluginNodes) -> pl.Expr:
    return ~(_in_table(given) | (_is_eager() & given.eager_ops))


def _not_eager(given: PluginNodes) -> pl.Expr:
    """An eager op that is not dispatched as the plug-in's kernel, whatever its type."""
    return _is_eager() & ~given.eager_ops


def _rewriter_off(given: PluginNodes) -> pl.Expr:
    return pl.lit(given.rewriter not in given.plugins.working)


def _not_there(given: PluginNodes) -> pl.Expr:
    return pl.lit(given.rewriter in given.plugins.missing)


def _other_type(given: PluginNodes) -> pl.Expr:
    """The type is none of those that kernels take; half, unless some op ran with it here."""
    ops = given.rewriter.ops
    types = {name: op.types for name, op in ops.items() if op.types}
    eager = {name: op.eager for name, op in ops.items() if op.eager}
    ran = (pl.col("rewrite") == given.rewriter.id) & (pl.col("dtype") == _HALF)
    half = (pl.col("dtype") == _HALF) & ~pl.lit(given.nodes.select(ran.any()).item())
    taken = pl.when(_is_eager()).then(_types_of(eager)).otherwise(_types_of(types))
    return ~pl.col("dtype").is_in(taken) | (half & taken.is_not_null())


def _types_of(table: dict[str, tuple[str, ...]]) -> pl.Expr:
    if not table:
        return pl.lit(None, pl.List(pl.String))
    return pl.col("op").replace_strict(table, default=None, return_dtype=pl.List(pl.String))


def _other_fusion(given: PluginNodes) -> pl.Expr:
    """What is fused into the op is nothing that the kernel takes."""
    allowed = {name: op.fused for name, op in given.rewriter.ops.items() if op.fused}
    fused = pl.col("attributes").str.extract(r"(?:^|, )fused_ops=\[(.*?)\]", 1)
    return ~fused.str.replace_all(r'[" ]', "").is_in(_types_of(allowed))


def _no_product(given: PluginNodes) -> pl.Expr:
    """The function has no op that would make the plug-in look at it."""
    has = given.nodes.filter(pl.col("op").str.contains(_PRODUCTS))["name"].unique()
    return ~pl.col("name").is_in(pl.lit(has).implode(), nulls_equal=True)


FACTS: dict[str, Callable[[PluginNodes], pl.Expr]] = {
    "in_table": _in_table,
    "not_in_table": _not_in_table,
    "not_eager": _not_eager,
    "rewriter_off": _rewriter_off,
    "not_there": _not_there,
    "other_type": _other_type,
    "other_fusion": _other_fusion,
    "no_product": _no_product,
}
"""Facts of plug-ins: whether each holds for a node. Others are those of `reasons`."""


def by_onednn() -> pl.Expr:
    """Whether oneDNN in TensorFlow's own passes rewrote a node."""
    return pl.col("rewrite").is_in(ONEDNN_REWRITES)
