"""Why each eager op ran eagerly, by the first of `rules.RULES` that fits.

The log has no record that says who asked for an op. What is always there: its neighbours on the
thread, the records around it, and what TensorFlow's and Keras' Python code does in which order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.model.causes.eager_sequence import coded
from tflogscope.model.causes.facts import Facts, read_facts
from tflogscope.model.causes.rules import RULES, UNKNOWN
from tflogscope.model.executions import Executions
from tflogscope.model.instantiations import Instantiations


@dataclass(frozen=True)
class Causes:
    """Causes of eager ops, by row of `Dispatches.eager`.

    `rule` is an index into RULES: -1 where none fits, -2 for calls, which have no cause.
    """

    at: NDArray[np.int64]
    rule: NDArray[np.int64]
    facts: Facts

    @cached_property
    def names(self) -> pl.Series:
        """The cause of each dispatch; null for calls."""
        ids = pl.Series([*(rule.cause for rule in RULES), None, UNKNOWN], dtype=pl.String)
        return ids.gather(self.rule % len(ids))

    def by_execution(self, executions: Executions) -> pl.Series:
        """The cause of each row of `Executions.frame`, graph rows included; null: none is due."""
        graph = pl.lit(executions.steps["cause"]).gather(pl.col("step_row"))
        eager = pl.lit(self.names).gather(pl.col("dispatch"))
        return executions.frame.select(cause=pl.coalesce(graph, eager)).to_series()

    @cached_property
    def evidence(self) -> pl.DataFrame:
        """The records that prove each cause: dispatch, rule (its id), at; sorted.

        The dispatch itself is always one of them.
        """
        parts = []
        for number, rule in enumerate(RULES):
            row = np.flatnonzero(self.rule == number)
            named = pl.lit(rule.id).alias("rule")
            parts += [
                pl.DataFrame({"dispatch": row, "at": at[row]}).with_columns(named)
                for at in (self.at, *(self.facts[fact] for fact in rule.facts))
            ]
        found = pl.concat(parts).unique().sort("dispatch", "at")
        return found.select("dispatch", "rule", "at")


def read_causes(executions: Executions, instantiations: Instantiations) -> Causes:
    """Find the rule that fits each eager op."""
    eager = executions.dispatches.eager
    facts = read_facts(executions, instantiations.kernels)
    is_call = eager["is_call"].to_numpy()
    types, code = coded(eager["op"].fill_null(""))
    rule = np.where(is_call, -2, -1)
    left = ~is_call
    for number, entry in enumerate(RULES):
        fits = left & types.str.contains(f"^(?:{entry.ops})$").to_numpy()[code]
        for fact in entry.facts:
            fits &= facts[fact] >= 0
        rule[fits] = number
        left &= ~fits
    return Causes(eager["at"].to_numpy(), rule, facts)
