"""Why each node, or eager op, that oneDNN could have run stayed as it was.

The first rule of `rules.RULES` that fits a node gives its reason. Most refusals print no
line: what decides is worked out from what TensorFlow's pass looks at, the node's definition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.grammar.nodedef import NodeDefinitionError, parse_attributes
from tflogscope.grammar.onednn_ops import OPS, Op
from tflogscope.grammar.rewriters import BY_ID
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.names import PLUMBING_NODES, PLUMBING_OPS, is_function
from tflogscope.model.primitives import onednn_version
from tflogscope.model.reasons.plugins import (
    BY_ONEDNN,
    FACTS,
    Asked,
    by_onednn,
    deciders,
    passes_know,
    plugins_of,
)
from tflogscope.model.reasons.rules import (
    ANYBODY,
    CALLS,
    RULES,
    UNKNOWN,
    XLA_COMPILERS,
    XLA_OPS,
    Attributes,
    Rule,
    must_compile,
)

Integers = NDArray[np.int64]
_NONE = -1
_WITH_KERNEL = [op.name for op in OPS.values() if op.has_kernel]
_TYPES = {name: OPS[name].types for name in _WITH_KERNEL}
_FLOAT, _BFLOAT16, _HALF = "DT_FLOAT", "DT_BFLOAT16", "DT_HALF"
_DEVICE = r'(?:^|, )_device="[^"]*[Dd]evice:(\w+):\d+"'


@dataclass(frozen=True)
class Reasons:
    """Reasons by row of the nodes they were read for.

    `rule` is an index into RULES, -1 where none fits or is due; `proof` the line (over all sources,
    from 0) that proves it: of the node itself where its definition does.
    """

    rule: Integers
    proof: Integers
    due: NDArray[np.bool_]
    rewritten: NDArray[np.bool_]
    has_kernel: NDArray[np.bool_]

    @cached_property
    def names(self) -> pl.Series:
        """The reason of each node: null where it was rewritten, hands values on, or is cut off."""
        ids = pl.Series([*(rule.reason for rule in RULES), None], dtype=pl.String)
        found = ids.gather(self.rule % len(ids))
        unexplained = self.due & self.has_kernel & (self.rule == _NONE)
        return found.set(pl.Series(unexplained), UNKNOWN)

    @cached_property
    def eligible(self) -> pl.Series:
        """Whether oneDNN could have run each node; null where the log does not show what it is."""
        ids = pl.Series([*(rule.eligible for rule in RULES), None], dtype=pl.Boolean)
        by_rule = ids.gather(self.rule % len(ids))
        unexplained = self.due & self.has_kernel & (self.rule == _NONE)
        values = by_rule.set(pl.Series(unexplained | self.rewritten), True)
        return values.set(pl.Series(~self.due & ~self.rewritten), False)


def read_reasons(nodes: pl.DataFrame, events: Events, instantiations: Instantiations) -> Reasons:
    """Find the rule that fits each node.

    `nodes` is a frame of `tables.graph_nodes`.
    """
    rewritten = (nodes["rewrite"] != "none").to_numpy()
    plumbing = nodes["op"].is_in(PLUMBING_OPS) | nodes["node"].is_in(PLUMBING_NODES)
    due = ~rewritten & ~plumbing.fill_null(False).to_numpy()
    facts = _Facts(nodes, events, instantiations)
    rule = np.full(nodes.height, _NONE, np.int64)
    proof = rule.copy()
    left = due & nodes["op"].is_not_null().to_numpy()
    op = nodes["op"].fill_null("")
    # Plug-ins that are not in the log have no nodes, and their rules are not tried.
    whose = {ANYBODY, *facts.decider.unique()}
    ops = {*op.unique()}
    for number, entry in enumerate(RULES):
        if entry.by not in whose or (entry.ops and ops.isdisjoint(entry.ops)):
            continue
        fits = left & op.is_in(entry.ops).to_numpy() if entry.ops else left
        if entry.by != ANYBODY:
            fits = fits & (facts.decider == entry.by).to_numpy()
        rows = np.flatnonzero(fits)
        shown = facts.at[rows]
        for fact in entry.facts:
            found = facts.of(fact, entry, rows)
            rows, shown = rows[found >= 0], found[found >= 0]
        if entry.attributes is not None:
            holds = facts.attributes_say(entry.attributes, rows)
            rows, shown = rows[holds], shown[holds]
        rule[rows], proof[rows] = number, shown
        left[rows] = False
    has_kernel = facts.has_kernel.fill_null(False).to_numpy()
    return Reasons(rule, proof, due, rewritten, has_kernel)


class _Facts:
    """What the log says of nodes. A fact is the line that proves it, -1 where it does not hold."""

    def __init__(self, nodes: pl.DataFrame, events: Events, instantiations: Instantiations) -> None:
        self._nodes = nodes
        self._events = events
        self._instantiations = instantiations
        self.at: Integers = nodes["at"].to_numpy().astype(np.int64)

    def of(self, fact: str, rule: Rule, rows: Integers) -> Integers:
        """The line that proves a fact of a rule for each of these rows."""
        if not len(rows):
            return np.zeros(0, np.int64)
        if rule.by in BY_ID and fact in FACTS:
            few = self._nodes.select(pl.all().gather(rows))
            asked = Asked(plugins_of(self._events), BY_ID[rule.by], self._nodes, few)
            return self._own(FACTS[fact](asked), rows)
        found: Integers = _FACTS[fact](self, rows)
        return found

    @cached_property
    def decider(self) -> pl.Series:
        """Whose rules are for each node: a plug-in's id, or BY_ONEDNN."""
        plugins = plugins_of(self._events)
        return deciders(self._nodes, plugins, onednn=self._on != _NONE)

    @cached_property
    def has_kernel(self) -> pl.Series:
        """Whether who decides over a node has a kernel for its op."""
        known = {BY_ONEDNN: _WITH_KERNEL, **passes_know(plugins_of(self._events))}
        here = [(self.decider == who) & self._nodes["op"].is_in(ops) for who, ops in known.items()]
        return reduce(or_, here)

    def attributes_say(
        self, condition: Callable[[Attributes], bool], rows: Integers
    ) -> NDArray[np.bool_]:
        """Whether a condition holds for the attributes of each row; each distinct text once."""
        texts = self._nodes["attributes"].gather(rows)
        distinct = texts.unique().drop_nulls()
        holds = [condition(self._parsed(text)) for text in distinct]
        found = texts.replace_strict(distinct, holds, default=False, return_dtype=pl.Boolean)
        return found.to_numpy()

    def _parsed(self, text: str) -> Attributes:
        known: dict[str, Attributes] = self._attributes
        if text not in known:
            try:
                known[text] = parse_attributes(text)
            except NodeDefinitionError:  # cut off, or no attributes at all: nothing is known
                known[text] = {}
        return known[text]

    @cached_property
    def _attributes(self) -> dict[str, Attributes]:
        return {}

    def _own(self, holds: pl.Series, rows: Integers) -> Integers:
        """The node's own line where something holds."""
        return np.where(holds.fill_null(False).to_numpy(), self.at[rows], _NONE)

    # ---- the log as a whole ----------------------------------------------------------------------

    @cached_property
    def _said(self) -> pl.DataFrame:
        """Lines on oneDNN as a whole: at, thread, id, op, reason."""
        columns = ("at", "thread", "id", "op", "reason")
        said = self._events.messages(
            "rewrite_skipped",
            "mkl_not_enabled",
            "onednn_on",
            "cpu_features",
        )
        return self._instantiations.span_of(said.select(columns))

    def _first(self, *ids: str) -> int:
        found = self._said.filter(pl.col("id").is_in(ids))["at"].min()
        return found if isinstance(found, int) else _NONE

    @cached_property
    def _on(self) -> int:
        """The first line that shows oneDNN on, in TensorFlow's passes."""
        rewritten = self._instantiations.rewrites["at"].min()
        if isinstance(rewritten, int):
            return rewritten
        ran = self._nodes.filter(by_onednn())["at"].min()
        return ran if isinstance(ran, int) else self._first("onednn_on")

    @cached_property
    def _off(self) -> int:
        """The line that shows oneDNN off all the time.

        From 2.12 on core/util/port.cc says that it is on, as an INFO record, before any device is
        made; a log that has what core/platform/cpu_feature_guard.cc says then (in the words of
        these releases), and no word of oneDNN before, is of a program without it.
        """
        if self._on != _NONE:
            return _NONE
        said = self._first("mkl_not_enabled")
        return said if said != _NONE else self._first("cpu_features")

    @cached_property
    def _version(self) -> tuple[int, ...] | None:
        """Version of oneDNN, from its header."""
        said = onednn_version(self._events.primitives)
        numbers = [part for part in (said or "").lstrip("v").split(".") if part.isdigit()]
        return tuple(int(part) for part in numbers) or None

    # ---- facts -----------------------------------------------------------------------------------

    def not_in_table(self, rows: Integers) -> Integers:
        known = [op.name for op in OPS.values() if op.layout]
        return self._own(~self._nodes["op"].gather(rows).is_in(known), rows)

    def old_release(self, rows: Integers) -> Integers:
        """The oneDNN is older than that of the first TensorFlow with a kernel for the op."""
        return self._by_version(rows, lambda op, version: version < op.onednn[0])

    def new_release(self, rows: Integers) -> Integers:
        """The oneDNN is that of a TensorFlow with a kernel for the op."""
        return self._by_version(rows, lambda op, version: version >= op.onednn[1])

    def _by_version(self, rows: Integers, holds: Callable[[Op, tuple[int, ...]], bool]) -> Integers:
        version = self._version
        if version is None:
            return np.full(len(rows), _NONE, np.int64)
        ops = [op.name for op in OPS.values() if op.onednn and holds(op, version)]
        return self._own(self._nodes["op"].gather(rows).is_in(ops), rows)

    def off(self, rows: Integers) -> Integers:
        """The pass says so when it comes to the function; else the log as a whole does."""
        said = self._said.filter(pl.col("id") == "mkl_not_enabled").drop_nulls("function")
        here = said.group_by("function").agg(pl.col("at").min())
        names = self._nodes.select(pl.col("name").gather(rows))
        found = names.join(
            here, left_on="name", right_on="function", how="left", maintain_order="left"
        )["at"]
        return found.fill_null(self._off).to_numpy().astype(np.int64)

    def compiled(self, rows: Integers) -> Integers:
        """The kernel was made for XLA's compiler alone, and never ran.

        All kernels of a function's own are made before its first step: it was made after a node
        that XLA compiles had begun to run. Or the whole function is compiled, and was never
        instantiated for an executor.
        """
        nodes = self._nodes.with_row_index("row").drop_nulls(["name", "ran_at"])
        nodes = nodes.filter(pl.col("op").is_in((*CALLS, *XLA_OPS, *XLA_COMPILERS)))
        row = nodes["row"].to_numpy().astype(np.int64)
        calls = nodes["op"].is_in(CALLS).to_numpy()
        by_xla = nodes.filter(pl.Series(~calls | self.attributes_say(must_compile, row)))
        first = by_xla.group_by("name").agg(began=pl.col("ran_at").min())
        made = self._instantiations.spans["function"].unique()
        whole = is_function(pl.col("name")) & ~pl.col("name").is_in(made.implode())
        found = (
            self._nodes.select(pl.col("name", "at", "ran_at").gather(rows))
            .with_columns(whole=whole & pl.Series(~self._placed(rows)) & pl.lit(len(made) > 0))
            .join(first, on="name", how="left", maintain_order="left")
            .select(
                pl.when(pl.col("ran_at").is_not_null())
                .then(_NONE)
                .when("whole")
                .then("at")
                .when(pl.col("at") > pl.col("began"))
                .then("began")
                .otherwise(_NONE)
            )
        )
        return found.to_series().to_numpy().astype(np.int64)

    def not_placed(self, rows: Integers) -> Integers:
        """A node of a graph that went through the passes has a device (placer.cc)."""
        return np.where(self._placed(rows), _NONE, self.at[rows])

    def _placed(self, rows: Integers) -> NDArray[np.bool_]:
        """Whether the node has a device; true as well where its attributes are cut off."""
        attributes = self._nodes["attributes"].gather(rows)
        return attributes.str.contains('_device="', literal=True).fill_null(True).to_numpy()

    def other_device(self, rows: Integers) -> Integers:
        device = self._nodes["attributes"].gather(rows).str.extract(_DEVICE, 1)
        own = self._own(device.str.to_uppercase() != "CPU", rows)
        return self._skipped(rows, own, "device")

    def other_type(self, rows: Integers) -> Integers:
        """The type is none of those that kernels take; half, unless some op ran with it here."""
        nodes = self._nodes.select(pl.col("op", "dtype").gather(rows))
        types = pl.col("op").replace_strict(_TYPES, default=None, return_dtype=pl.List(pl.String))
        half = (pl.col("dtype") == _HALF) & ~pl.lit(self._ran_with(_HALF))
        other = nodes.select(~pl.col("dtype").is_in(types) | half).to_series()
        return self._skipped(rows, self._own(other, rows), _HALF)

    def _ran_with(self, dtype: str) -> bool:
        ran = by_onednn() & (pl.col("dtype") == dtype)
        return bool(self._nodes.select(ran.any()).item())

    def _skipped(self, rows: Integers, proof: Integers, word: str) -> Integers:
        """Put in place of a node's own line the pass' word on its op in its function, if any."""
        said = self._said.filter(
            (pl.col("id") == "rewrite_skipped") & pl.col("reason").str.contains(word, literal=True)
        ).drop_nulls("function")
        first = said.group_by("function", "op").agg(pl.col("at").min())
        nodes = self._nodes.select(pl.col("name", "op").gather(rows))
        found = nodes.join(
            first,
            left_on=["name", "op"],
            right_on=["function", "op"],
            how="left",
            maintain_order="left",
        )["at"]
        line = found.fill_null(_NONE).to_numpy().astype(np.int64)
        return np.where((proof != _NONE) & (line != _NONE), line, proof)

    def pool_not_rewritten(self, rows: Integers) -> Integers:
        """The line of the pool whose output comes in; the node's own if it is not in the function.

        Inputs are printed as `node` or `node:output`; the pool's output is the second.
        """
        second = pl.col("inputs").str.split(", ").list.get(1, null_on_oob=True)
        nodes = self._nodes.select(
            pl.col("at", "name").gather(rows),
            node=second.gather(rows).str.replace(r":\d+$", ""),
        )
        pools = self._nodes.select("name", "node", "rewrite", pool_at="at").unique(["name", "node"])
        joined = nodes.join(
            pools, on=["name", "node"], how="left", nulls_equal=True, maintain_order="left"
        )
        proof = pl.when(pl.col("node").is_null() | (pl.col("rewrite") != "none")).then(_NONE)
        found = joined.select(proof.otherwise(pl.coalesce("pool_at", "at"))).to_series()
        return found.to_numpy().astype(np.int64)

    def on(self, rows: Integers) -> Integers:
        """It is on: then only the rule of the op itself is left to have said no."""
        return self.at[rows] if self._on != _NONE else np.full(len(rows), _NONE, np.int64)

    def ran(self, rows: Integers) -> Integers:
        return self._own(self._nodes["ran_at"].gather(rows).is_not_null(), rows)

    def plain_type(self, rows: Integers) -> Integers:
        """A type that no CPU refuses, or that some op ran with here."""
        types = [_FLOAT, *(each for each in (_BFLOAT16, _HALF) if self._ran_with(each))]
        return self._own(self._nodes["dtype"].gather(rows).is_in(types), rows)

    def bfloat16_never_rewritten(self, rows: Integers) -> Integers:
        if self._ran_with(_BFLOAT16):
            return np.full(len(rows), _NONE, np.int64)
        return self._own(self._nodes["dtype"].gather(rows) == _BFLOAT16, rows)

    def op_never_rewritten(self, rows: Integers) -> Integers:
        ran = self._nodes.filter(by_onednn())["op"].unique()
        return self._own(~self._nodes["op"].gather(rows).is_in(ran.implode()), rows)


_FACTS: dict[str, Callable[[_Facts, Integers], Integers]] = {
    fact: getattr(_Facts, fact)
    for rule in RULES
    for fact in rule.facts
    if rule.by not in BY_ID or fact not in FACTS
}
