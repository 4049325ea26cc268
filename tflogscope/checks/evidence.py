"""What the checks look at: the tables of a run, and the function that each thing belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import polars as pl

from tflogscope.model.common.frames import only, rows
from tflogscope.model.common.source_text import source_text
from tflogscope.model.executions.executions import spelled
from tflogscope.model.rows.unexpected import function_calls
from tflogscope.model.run import Run

LINES = 20  # evidence for one violation
_ON_PURPOSE = re.compile(r"#\s*tflogscope:\s*eager\b")
_SOURCE_BITS = 40  # of a place: lines of one source


@dataclass(frozen=True)
class CheckedRun:
    """A run as the checks see it."""

    run: Run

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Calls of graph functions, in order; `row` in the timeline."""
        executions = self.run.executions.with_row_index("row")
        calls = spelled(only(executions, executions["kind"] == "call"))
        return function_calls(calls, self.run.python_functions)

    @cached_property
    def shows_eager(self) -> bool:
        """Whether an eager op would be in this log.

        A v1 session prints steps and has no eager ops, and a server runs what others ask for; any
        other graph was called from Python.
        """
        executions = self.run.executions
        of_sessions = executions["cause"].is_in(["session", "constant-folding"]).fill_null(False)
        is_eager = bool((executions["mode"] == "eager").any())
        of_others = bool(executions.height) and bool(of_sessions.all())
        return is_eager or of_others or self.run.is_server

    @cached_property
    def primitives(self) -> pl.DataFrame:
        """Primitives that ran: source, line, implementation, link, op, and the function, `near`.

        That is the function of the execution that ran it; else the one called last before it, or
        the first one that is called.
        """
        ran = self.run.linked_primitives.filter(pl.col("event") == "exec").select(
            *("source", "line", "implementation", "link", "timeline_line", "python", "execution")
        )
        asked_by = spelled(rows(self.run.executions["op", "function"], ran["execution"]))
        eager = self.run.eager_executions.select(execution="row", eager_function="near")
        joined = ran.hstack(asked_by).join(eager, on="execution", how="left", maintain_order="left")
        joined = joined.with_columns(owner=pl.coalesce("function", "eager_function"))
        joined = joined.with_columns(place=self._place()).sort("place", maintain_order=True)
        called = self.calls.select(place=self._place(), called="function")
        first = called["called"].item(0) if called.height else None
        placed = joined.join_asof(called, on="place")
        return placed.with_columns(
            near=pl.coalesce("owner", "called", pl.lit(first, pl.String))
        ).drop("owner", "called", "place", "execution", "function", "eager_function")

    def _place(self) -> pl.Expr:
        """Number source and line so that they can be compared across sources."""
        sources = self.sources
        rank = pl.col("source").replace_strict(
            sources, range(len(sources)), default=0, return_dtype=pl.Int64
        )
        return rank * (1 << _SOURCE_BITS) + pl.col("line").cast(pl.Int64)

    @cached_property
    def sources(self) -> list[str]:
        """Names of the inputs."""
        return self.run.coverage["source"].unique(maintain_order=True).to_list()

    @property
    def only_source(self) -> str | None:
        """The input where there is only one: some tables have lines and no sources."""
        return self.sources[0] if len(self.sources) == 1 else None

    def lets_pass(self, python: str) -> bool:
        """Whether a line of the program says that it runs eagerly on purpose, in a comment."""
        text = source_text(python, self.run.recorded_as, longest=None)
        return text is not None and _ON_PURPOSE.search(text) is not None

    @cached_property
    def functions(self) -> list[str]:
        """Names of all functions that the log shows."""
        called = self.calls["function"].cast(pl.String)
        named = self.run.functions["function"].cast(pl.String)
        return pl.concat([named, called]).drop_nulls().unique().sort().to_list()


def evidence_columns(*but: str) -> list[pl.Expr]:
    """Aggregations for groups of rows in the order of the log, but for columns that they are by.

    Amount, source, lines, last_line, python. Lines are the first ones of the first source.
    """
    here = pl.col("line").filter(pl.col("source") == pl.col("source").first())
    every = {
        "amount": pl.len(),
        "source": pl.col("source").first(),
        "lines": here.head(LINES),
        "last_line": here.last(),
        "python": most_frequent_line(),
    }
    return [column.alias(name) for name, column in every.items() if name not in but]


def most_frequent_line() -> pl.Expr:
    """`python`: the line of the program that asked for most rows; null: none is known."""
    return pl.col("python").drop_nulls().mode().sort().first()


def lines_of(row: dict[str, Any]) -> tuple[int, ...]:
    """Return the lines of a group that was made with `evidence_columns`."""
    lines, last = tuple(row["lines"]), row["last_line"]
    return lines if last in lines else (*lines, last)


def matching(names: Iterable[str | None], patterns: tuple[str, ...]) -> list[str]:
    """Return those names that match one of the patterns, upper and lower case being different."""
    return [
        name
        for name in names
        if name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
