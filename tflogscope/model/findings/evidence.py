"""What the rules of findings look at: the parts of a run that are small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from tflogscope.model.executions import STATUSES, Executions
from tflogscope.model.links.linked import Linked
from tflogscope.model.names import function_columns
from tflogscope.model.reasons.table import Reasons
from tflogscope.model.unexpected import eager_executions

_NAMED = 4  # of what a sentence lists


@dataclass(frozen=True)
class Finding:
    """One finding: its kind, what it is about, how often, and the time at stake in µs.

    `time_us` is None where the log does not say. `at` are lines over all sources, from 0.
    """

    id: str
    subject: str
    count: int
    time_us: float | None
    text: str
    at: Sequence[int]
    advice: str = ""  # more than what its kind says


@dataclass(frozen=True)
class Evidence:
    """A run, as far as findings look at it.

    `causes` has one value per row of `Executions.frame`.
    """

    executions: Executions
    linked: Linked
    causes: pl.Series
    graph_nodes: pl.DataFrame
    reasons: Reasons
    recorded: dict[str, Any]

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """Nodes that ran: the columns of `tables.graph_nodes`, function, function_uid, rule.

        `rule` is the index in `reasons.rules.RULES` of why it was not rewritten, -1: none.
        """
        told = self.graph_nodes.with_columns(
            eligible=self.reasons.eligible,
            reason=self.reasons.names,
            rule=pl.Series(self.reasons.rule),
            **function_columns(pl.col("name")),
        )
        return told.filter(pl.col("executions") > 0)

    @cached_property
    def eager(self) -> pl.DataFrame:
        """Eager executions: the columns of the timeline that tell them apart, and `at`."""
        frame = self.executions.frame.with_columns(cause=self.causes)
        frame = frame.filter(pl.col("dispatch").is_not_null())
        signatures = self.executions.signatures.select("mode", "kind", "op", "kernel", "rewrite")
        named = frame.select(
            "at",
            "end_at",
            "time",
            "end_time",
            "duration_us",
            "call",
            "cause",
            status=pl.lit(pl.Series(STATUSES)).gather(pl.col("status")),
        ).hstack(signatures.select(pl.all().gather(frame["signature"])))
        is_call = pl.col("kind") == "call"
        return named.with_columns(**function_columns(pl.when(is_call).then("op")))

    @cached_property
    def placed(self) -> pl.DataFrame:
        """Eager ops, calls left out, with the function that each is near (`eager_executions`)."""
        return eager_executions(self.eager)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Calls of functions, in the order of the log."""
        return self.eager.filter(pl.col("kind") == "call")

    @cached_property
    def span_us(self) -> int | None:
        """The time that the log covers."""
        span = self.recorded["span_us"]
        return None if span is None else int(span)


def total(microseconds: pl.Series) -> float | None:
    """A sum; None if nothing is known."""
    known = microseconds.drop_nulls()
    return float(known.sum()) if len(known) else None


def most(values: pl.Series) -> str:
    """The values that occur most, the first of them named: `MatMul, AddV2 and 3 more`."""
    counted = (
        values.drop_nulls().value_counts().sort(["count", values.name], descending=[True, False])
    )
    return listed(counted[values.name].to_list())


def listed(names: Sequence[object]) -> str:
    """Names as a sentence has them, the first of many."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(str(name) for name in names[:_NAMED]) + more


def spoken(microseconds: float | None) -> str:
    """A duration in a sentence; nothing where it is not known."""
    if microseconds is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.0f} µs"
