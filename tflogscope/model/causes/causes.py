"""The cause of each eager op: why Python asked for it outside a function.

A cause is inferred: no record says who asked. It follows from the ops around, for each rule reads
what TensorFlow's and Keras's Python code does in which order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.model.causes.eager_ops import CONSTANT, EagerOps, read_eager_ops
from tflogscope.model.causes.frames import frame_rules
from tflogscope.model.causes.patterns import Codes
from tflogscope.model.causes.rules import CauseGrammar, Rule, cause_grammar
from tflogscope.model.executions import Executions
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.python_lines import PythonLines

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Causes:
    """Causes of eager ops, by row of `Dispatches.eager`.

    `rule` is an index into `rules`: -1 for calls, which have no cause. `proof` has for each rule
    the line of the record that proves it, -1 where the rule doesn't hold.
    """

    at: Integers
    rules: tuple[Rule, ...]
    rule: Integers
    proof: dict[str, Integers]

    @cached_property
    def names(self) -> pl.Series:
        """The cause of each dispatch; null for calls."""
        ids = pl.Series([*(rule.cause for rule in self.rules), None], dtype=pl.String)
        return ids.gather(self.rule % len(ids))

    @cached_property
    def own(self) -> pl.Series:
        """Whether TensorFlow or Keras asked for each dispatch itself (`Rule.own`)."""
        own = pl.Series([*(rule.own for rule in self.rules), False])
        return own.gather(self.rule % len(own))

    @cached_property
    def proven_at(self) -> Integers:
        """The line of the record that proves the cause of each dispatch: its own, or another's."""
        found = self.at.copy()
        for number, rule in enumerate(self.rules):
            rows = np.flatnonzero(self.rule == number)
            found[rows] = self.proof.get(rule.id, self.at)[rows]
        return found


def read_causes(
    events: Events, executions: Executions, instantiations: Instantiations, lines: PythonLines
) -> Causes:
    """Find the first rule that fits each eager op; the last one fits all.

    Where a frame of the program proves another cause, that counts.
    """
    grammar = cause_grammar()
    eager = executions.dispatches.eager
    ops = read_eager_ops(events, executions, instantiations.kernels, grammar.variables)
    rule = np.full(eager.height, len(grammar.rules) - 1, np.int64)
    proof = _proofs(grammar, ops, eager.height)
    for number in reversed(range(len(grammar.rules))):
        if (at := proof.get(grammar.rules[number].id)) is not None:
            rule[at >= 0] = number
    rule[(eager["op"] == CONSTANT).fill_null(value=False).to_numpy()] = 0
    rule[eager["is_call"].to_numpy()] = -1
    causes = Causes(eager["at"].to_numpy(), grammar.rules, rule, proof)
    if lines.stacks.is_empty():
        return causes
    proven = frame_rules(lines, eager["op"], causes.names)
    for number, each in enumerate(grammar.rules):
        rows = np.flatnonzero((proven == each.id).fill_null(value=False).to_numpy())
        rows = rows[(causes.names.gather(rows) != each.cause).to_numpy()]
        rule[rows] = number
        if each.id in proof:
            proof[each.id][rows] = causes.at[rows]
    return Causes(causes.at, grammar.rules, rule, proof)


def _proofs(grammar: CauseGrammar, ops: EagerOps, height: int) -> dict[str, Integers]:
    """For each rule with patterns, the line that proves it for each dispatch; -1: none."""
    distinct = ops.word.drop_nulls().unique(maintain_order=True)
    code = ops.word.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    codes = Codes(grammar.words, distinct, code)
    is_op = ops.row >= 0
    found = {}
    for rule in grammar.rules:
        if rule.shown:
            proofs = [codes.find(each.ops, each.within).spread(len(codes)) for each in rule.shown]
            by = np.maximum.reduce(proofs)
            found[rule.id] = np.full(height, -1, np.int64)
            found[rule.id][ops.row[is_op]] = np.where(by < 0, -1, ops.at[by])[is_op]
    return found
