"""Why each node, or eager op, that oneDNN could have run stayed as it was.

The first rule of `rules.RULES` that fits a node gives its reason. Most refusals print no
line: what decides is worked out from what TensorFlow's pass looks at, the node's definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tflogscope.digits import whole
from tflogscope.events.events import Events
from tflogscope.grammar.onednn_ops import OPS, Op
from tflogscope.grammar.rewriters import BY_ID
from tflogscope.model.common.frames import (
    Booleans,
    Integers,
    alike,
    among,
    holds,
    row_with,
    rows,
    where,
)
from tflogscope.model.common.names import ONEDNN_ON, PLUMBING_NODES, PLUMBING_OPS, is_function
from tflogscope.model.executions.instantiations import Instantiations
from tflogscope.model.reasons.conditions import (
    Attributes,
    parse_attributes,
    pools_over_batch_or_channels,
)
from tflogscope.model.reasons.plugins import PluginNodes, by_onednn, choose_plugins, plugins_of
from tflogscope.model.reasons.rules import ANYBODY, RULES, UNKNOWN, ReasonRule

_NONE = -1
_PASTED = 20  # records; a log that begins where the program does has more
_ALL = slice(None)
_TYPES = {op.name: op.types for op in OPS.values() if op.has_kernel}
_RULES = {rule.id: rule for rule in RULES}
# Ops that call, kernels that run what XLA compiled, and the one that compiles for `_XlaRun`.
_CALLED = _RULES["compiled-function"]
_BY_XLA = [*_CALLED.ops, *_RULES["compiled-cluster"].ops, "_XlaCompile"]
_FLOAT, _BFLOAT16, _HALF = "DT_FLOAT", "DT_BFLOAT16", "DT_HALF"
_DEVICE = r'(?:^|, )_device="[^"]*[Dd]evice:(\w+):\d+"'


@dataclass(eq=False, repr=False)
class Reasons:
    """Reasons by row of the nodes they were read for.

    `rule` is an index into RULES, -1 where none fits or is due; `proof` the line (over all sources,
    from 0) that proves it: of the node itself where its definition does.
    """

    rule: Integers
    proof: Integers
    due: Booleans
    rewritten: Booleans
    unexplained: Booleans

    @cached_property
    def names(self) -> pl.Series:
        """The reason of each node: null where it was rewritten, transfers data, or is cut off."""
        ids = pl.Series([*(rule.reason for rule in RULES), None], dtype=pl.String)
        return ids[self.rule % len(ids)].scatter(np.flatnonzero(self.unexplained), UNKNOWN)

    @cached_property
    def eligible(self) -> pl.Series:
        """Whether oneDNN could have run each node; null where the log does not show what it is."""
        ids = pl.Series([*(rule.eligible for rule in RULES), None], dtype=pl.Boolean)
        eligible = ids[self.rule % len(ids)]
        eligible.scatter(np.flatnonzero(self.unexplained | self.rewritten), True)
        return eligible.scatter(np.flatnonzero(~self.due & ~self.rewritten), False)


def read_reasons(nodes: pl.DataFrame, events: Events, instantiations: Instantiations) -> Reasons:
    """Find the rule that fits each node.

    `nodes` is a frame of `node_tables.graph_nodes`.
    """
    facts = _Facts(nodes, events, instantiations)
    rewritten = (nodes["rewrite"] != "none").to_numpy()
    due = ~rewritten & ~facts.is_op(PLUMBING_OPS)
    for name in PLUMBING_NODES:
        due[where(nodes["node"] == name)] = False
    rule = np.full(nodes.height, _NONE, np.int64)
    proof = rule.copy()
    left = due & nodes["op"].is_not_null().to_numpy()
    # Plug-ins that are not in the log have no nodes, and their rules are not tried.
    whose = {ANYBODY, *facts.decider.unique()}
    for number, entry in enumerate(RULES):
        if entry.by not in whose:
            continue
        fits = left & facts.is_op(entry.ops) if entry.ops else left
        if entry.by != ANYBODY:
            fits = fits & facts.is_of(entry.by)
        row = np.flatnonzero(fits)
        shown = facts.at[row]
        for fact in entry.facts:
            fitting = facts.of(fact, entry, row)
            row, shown = row[fitting >= 0], fitting[fitting >= 0]
        if (entry.attributes or entry.other_attributes) and len(row):
            holds_for = facts.attributes_say(entry.fits, row)
            row, shown = row[holds_for], shown[holds_for]
        rule[row], proof[row] = number, shown
        left[row] = False
    return Reasons(rule, proof, due, rewritten, unexplained=left)


class _Facts:
    """What the log says of nodes. A fact is the line that proves it, -1 where it does not hold."""

    def __init__(self, nodes: pl.DataFrame, events: Events, instantiations: Instantiations) -> None:
        self._nodes = nodes
        self._events = events
        self._instantiations = instantiations
        self.at: Integers = nodes["at"].to_numpy().astype(np.int64)
        (self._op,) = alike(nodes[["op"]])
        ops, first = np.unique(self._op, return_index=True)
        self._ops = dict(zip(nodes["op"][first], ops.tolist(), strict=True))

    def of(self, fact: str, rule: ReasonRule, row: Integers) -> Integers:
        """The line that proves a fact of a rule for each of these rows."""
        if not len(row):
            return np.zeros(0, np.int64)
        if rule.by in BY_ID and hasattr(PluginNodes, fact):
            given = PluginNodes(plugins_of(self._events), BY_ID[rule.by], self._nodes)
            return self._own(getattr(given, fact)(), row)
        fitting: Integers = getattr(self, fact)(row)
        return fitting

    def is_op(self, names: Iterable[str], row: Integers | slice = _ALL) -> Booleans:
        """Whether nodes are of one of these ops."""
        return np.isin(self._op[row], [self._ops[name] for name in names if name in self._ops])

    def is_of(self, who: str) -> Booleans:
        """Whether somebody decides over each node."""
        return (self.decider == who).to_numpy()

    @cached_property
    def decider(self) -> pl.Series:
        """Whose rules are for each node: a plug-in's id, or BY_ONEDNN."""
        plugins = plugins_of(self._events)
        return choose_plugins(self._nodes, plugins, onednn=self._on != _NONE)

    def attributes_say(self, condition: Callable[[Attributes], bool], row: Integers) -> Booleans:
        """Whether a condition holds for the attributes of each row; each distinct text once."""
        _, first, which = np.unique(self._attribute[row], return_index=True, return_inverse=True)
        texts = self._nodes["attributes"][row[first]]
        holds_for = [text is not None and condition(parse_attributes(text)) for text in texts]
        return np.array(holds_for, bool)[which]

    @cached_property
    def _attribute(self) -> Integers:
        return alike(self._nodes[["attributes"]])[0]

    def _own(self, condition: pl.Expr, row: Integers) -> Integers:
        """The node's own line where a condition holds."""
        return self._here(
            rows(self._nodes, row).select(holds(condition)).to_series().to_numpy(), row
        )

    def _here(self, condition: Booleans, row: Integers) -> Integers:
        return np.where(condition, self.at[row], _NONE)

    # ---- the log as a whole ----------------------------------------------------------------------

    def _first(self, *ids: str) -> int:
        first_at = self._events.messages(*ids)["at"].min()
        return first_at if isinstance(first_at, int) else _NONE

    @cached_property
    def _by_onednn(self) -> pl.DataFrame:
        """Nodes that oneDNN ran, in TensorFlow's passes."""
        return self._nodes.filter(by_onednn())

    @cached_property
    def _on(self) -> int:
        """The first line that shows oneDNN on, in TensorFlow's passes."""
        for shown in (self._instantiations.rewrites, self._by_onednn):
            first = shown["at"].min()
            if isinstance(first, int):
                return first
        return self._first(*ONEDNN_ON)

    @cached_property
    def _off(self) -> int:
        """The line that shows oneDNN off all the time.

        core/util/port.cc (up to 2.11 core/util/util.cc) says that it is on, as an INFO record,
        before any device is made; a log that has what core/platform/cpu_feature_guard.cc says
        then, and no word of oneDNN before, is of a program without it.
        """
        if self._on != _NONE:
            return _NONE
        line = self._first("mkl_not_enabled")
        if self._events.coverage["records"].sum() < _PASTED:
            return line  # what comes before may have been left out
        return line if line != _NONE else self._first("cpu_features", "cpu_features_onednn")

    @cached_property
    def _version(self) -> tuple[int, ...] | None:
        """Version of oneDNN, from its header."""
        version = self._events.onednn_version
        numbers = map(whole, (version or "").lstrip("v").split("."))
        return tuple(part for part in numbers if part is not None) or None

    # ---- facts -----------------------------------------------------------------------------------

    def pools_over_batch_or_channels(self, row: Integers) -> Integers:
        return self._here(self.attributes_say(pools_over_batch_or_channels, row), row)

    def not_in_table(self, row: Integers) -> Integers:
        return self._here(~self.is_op((op.name for op in OPS.values() if op.layout), row), row)

    def old_release(self, row: Integers) -> Integers:
        """The oneDNN is older than that of the first TensorFlow with a kernel for the op."""
        return self._by_version(row, lambda op, version: version < op.onednn[0])

    def new_release(self, row: Integers) -> Integers:
        """The oneDNN is that of a TensorFlow with a kernel for the op."""
        return self._by_version(row, lambda op, version: version >= op.onednn[1])

    def _by_version(self, row: Integers, fits: Callable[[Op, tuple[int, ...]], bool]) -> Integers:
        versioned, version = [op for op in OPS.values() if op.onednn], self._version
        ops = [op.name for op in versioned if version is not None and fits(op, version)]
        return self._here(self.is_op(ops, row), row)

    def _said(self, id_: str, row: Integers, *more: str, word: str = "") -> Integers:
        """The pass' first word on each node's function (and `more` columns), -1: none."""
        messages = self._events.messages(id_)
        if messages.is_empty():
            return np.full(len(row), _NONE)
        messages = self._instantiations.span_of(messages).drop_nulls("function")
        if word:
            messages = messages.filter(pl.col("reason").str.contains(word, literal=True))
            messages = messages.with_columns(dtype=pl.col("reason").str.extract(r"\b(DT_\w+)"))
        message = row_with(rows(self._nodes[["name", *more]], row), messages[["function", *more]])
        return np.append(messages["at"].to_numpy(), _NONE)[message]

    def off(self, row: Integers) -> Integers:
        """The pass says so when it comes to the function; else the log as a whole does."""
        here = self._said("mkl_not_enabled", row)
        return np.where(here != _NONE, here, self._off)

    def compiled(self, row: Integers) -> Integers:
        """The kernel was made for XLA's compiler alone, and never ran.

        All kernels of a function's own are made before its first step: it was made after a node
        that XLA compiles had begun to run. Or the whole function is compiled, and was never
        instantiated for an executor.
        """
        ran = where((self._nodes["ran_at"] >= 0) & self._nodes["name"].is_not_null())
        ran = ran[self.is_op(_BY_XLA, ran)]
        ran = ran[~self.is_op(_CALLED.ops, ran) | self.attributes_say(_CALLED.fits, ran)]
        ran = ran[np.argsort(self._nodes["ran_at"][ran].to_numpy())]
        began = rows(
            self._nodes["ran_at"][ran],
            row_with(rows(self._nodes[["name"]], row), rows(self._nodes[["name"]], ran)),
        )
        made = self._instantiations.spans["function"].unique()
        whole = is_function(pl.col("name")) & ~among(pl.col("name"), made)
        proof = (
            pl.when(pl.col("ran_at").is_null())
            .then(
                pl.when(whole & pl.lit(~self._placed[row]) & pl.lit(len(made) > 0))
                .then("at")
                .when(pl.col("at") > began)
                .then(began)
            )
            .fill_null(_NONE)
        )
        return rows(self._nodes, row).select(proof).to_series().to_numpy().astype(np.int64)

    def not_placed(self, row: Integers) -> Integers:
        """A node of a graph that went through the passes has a device (placer.cc)."""
        return self._here(~self._placed[row], row)

    @cached_property
    def _placed(self) -> Booleans:
        """Whether each node has a device; true as well where its attributes are cut off."""
        placed = pl.col("attributes").str.contains('device="', literal=True).fill_null(value=True)
        return self._nodes.select(placed).to_series().to_numpy()

    def other_device(self, row: Integers) -> Integers:
        device = pl.col("attributes").str.extract(_DEVICE, 1)
        refused = self._own(device.str.to_uppercase() != "CPU", row)
        return self._skipped(refused, self._said("rewrite_skipped", row, "op", word="device"))

    def other_type(self, row: Integers) -> Integers:
        """The type is none of those that kernels take; half, unless some op ran with it here."""
        types = pl.col("op").replace_strict(_TYPES, default=None, return_dtype=pl.List(pl.String))
        half = (pl.col("dtype") == _HALF) & ~pl.lit(_HALF in self._types_run)
        refused = self._own(~pl.col("dtype").is_in(types) | half, row)
        return self._skipped(refused, self.type_refused(row))

    def type_refused(self, row: Integers) -> Integers:
        """The pass' word on its op with this type in its function."""
        return self._said("rewrite_skipped", row, "op", "dtype", word="DT_")

    @cached_property
    def _types_run(self) -> set[str]:
        return {*self._by_onednn["dtype"].unique()}

    @staticmethod
    def _skipped(word: Integers, line: Integers) -> Integers:
        """The pass' word, else the node's own line."""
        return np.where((word != _NONE) & (line != _NONE), line, word)

    def pool_not_rewritten(self, row: Integers) -> Integers:
        """The line of the pool whose output comes in; the node's own if it is not in the function.

        Inputs are printed as `node` or `node:output`; the pool's output is the second.
        """
        second = pl.col("inputs").str.split(", ").list.get(1, null_on_oob=True)
        source = rows(self._nodes, row).select("name", node=second.str.replace(r":\d+$", ""))
        pool = row_with(source, self._nodes[["name", "node"]])
        at = np.where(pool >= 0, self.at[pool], self.at[row])
        kept = (rows(self._nodes["rewrite"], pool).fill_null("none") == "none").to_numpy()
        return np.where(kept & source["node"].is_not_null().to_numpy(), at, _NONE)

    def on(self, row: Integers) -> Integers:
        """It is on: then only the rule of the op itself is left to have said no."""
        return self._here(np.full(len(row), self._on != _NONE), row)

    def ran(self, row: Integers) -> Integers:
        return self._own(pl.col("ran_at").is_not_null(), row)

    def plain_type(self, row: Integers) -> Integers:
        """A type that no CPU refuses, or that some op ran with here."""
        types = [_FLOAT, *({_BFLOAT16, _HALF} & self._types_run)]
        return self._own(pl.col("dtype").is_in(types), row)

    def bfloat16_never_rewritten(self, row: Integers) -> Integers:
        never = pl.lit(_BFLOAT16 not in self._types_run)
        return self._own((pl.col("dtype") == _BFLOAT16) & never, row)

    def op_never_rewritten(self, row: Integers) -> Integers:
        return self._own(~among(pl.col("op"), self._by_onednn["op"].unique()), row)
