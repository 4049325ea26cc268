"""Whose rules are for a node where plug-ins rewrite graphs, and the facts that their rules ask for.

A plug-in that is at work decides over the ops of its table, and over all others if oneDNN is off in
TensorFlow's own passes. One that is loaded and off decides nothing where oneDNN is on.
"""

from __future__ import annotations

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
            mine = in_table & (~_is_eager() | _is_dispatched(plugin))
        else:
            mine = pl.lit(value=True)
        who = pl.when(mine).then(pl.lit(plugin.id)).otherwise(who)
    if not plugins.present:
        return pl.Series([BY_ONEDNN]).new_from_index(0, nodes.height)
    return nodes.select(who=who).to_series()


class PluginNodes(NamedTuple):
    """Rules of a plug-in are tried on nodes, out of all `nodes`: a method for each fact.

    It says whether the fact holds for a node. Others are those of `reasons`.
    """

    plugins: Plugins
    rewriter: Rewriter
    nodes: pl.DataFrame

    def in_table(self) -> pl.Expr:
        """The layout pass of the plug-in has an entry for the op."""
        passed = [op.name for op in self.rewriter.ops.values() if op.is_known_to_pass]
        return pl.col("op").is_in(passed)

    def not_in_table(self) -> pl.Expr:
        """It has none, and the op is not dispatched as a kernel of the plug-in."""
        return ~(self.in_table() | (_is_eager() & _is_dispatched(self.rewriter)))

    def not_eager(self) -> pl.Expr:
        """An eager op that is not dispatched as the plug-in's kernel, whatever its type."""
        return _is_eager() & ~_is_dispatched(self.rewriter)

    def rewriter_off(self) -> pl.Expr:
        """The plug-in is loaded and off."""
        return pl.lit(self.rewriter not in self.plugins.working)

    def not_there(self) -> pl.Expr:
        """The log shows no more of the plug-in than that it is switched on."""
        return pl.lit(self.rewriter in self.plugins.missing)

    def other_type(self) -> pl.Expr:
        """The type is none of those that kernels take; half, unless some op ran with it here."""
        ops = self.rewriter.ops
        types = {name: op.types for name, op in ops.items() if op.types}
        eager = {name: op.eager for name, op in ops.items() if op.eager}
        ran = (pl.col("rewrite") == self.rewriter.id) & (pl.col("dtype") == _HALF)
        half = (pl.col("dtype") == _HALF) & ~pl.lit(self.nodes.select(ran.any()).item())
        taken = pl.when(_is_eager()).then(_types_of(eager)).otherwise(_types_of(types))
        return ~pl.col("dtype").is_in(taken) | (half & taken.is_not_null())

    def other_fusion(self) -> pl.Expr:
        """What is fused into the op is nothing that the kernel takes."""
        allowed = {name: op.fused for name, op in self.rewriter.ops.items() if op.fused}
        fused = pl.col("attributes").str.extract(r"(?:^|, )fused_ops=\[(.*?)\]", 1)
        return ~fused.str.replace_all(r'[" ]', "").is_in(_types_of(allowed))

    def no_product(self) -> pl.Expr:
        """The function has no op that would make the plug-in look at it."""
        has = self.nodes.filter(pl.col("op").str.contains(_PRODUCTS))["name"].unique()
        return ~pl.col("name").is_in(pl.lit(has).implode(), nulls_equal=True)


def _is_eager() -> pl.Expr:
    """Whether a node is an eager op."""
    return holds(pl.col("name").str.contains(WRAPPED))


def _is_dispatched(plugin: Rewriter) -> pl.Expr:
    """Whether a node is of an op that is dispatched as the plug-in's kernel."""
    return pl.col("op").is_in([op.name for op in plugin.ops.values() if op.eager])


def _types_of(table: dict[str, tuple[str, ...]]) -> pl.Expr:
    if not table:
        return pl.lit(None, pl.List(pl.String))
    return pl.col("op").replace_strict(table, default=None, return_dtype=pl.List(pl.String))


def by_onednn() -> pl.Expr:
    """Whether oneDNN in TensorFlow's own passes rewrote a node."""
    return pl.col("rewrite").is_in(ONEDNN_REWRITES)
