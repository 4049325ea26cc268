"""What `run.summary` holds: frames counted from the tables, and figures beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import polars as pl

Mode = Literal["eager", "graph"]


class Entry(dict[str, Any]):
    """Figures by name; `entry.lines` is `entry["lines"]`.

    Names that end in `_us` are durations in µs; null: the log does not say it. `_line` is a line of
    the source, from 1.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Summary:
    """The facts of a run, each made when first asked for.

    `ops`, `functions` and `lines` have a row for each op type, graph function and line of the
    program (`summary.op_facts`, `function_facts`, `PythonLines.facts`), `rewrites` one for each
    kernel that ops were rewritten to; `findings` is the table, and `lead` is of its first row that
    is an error or a warning. `onednn` is None where the log has no verbose line of oneDNN.
    """

    recorded: Entry
    eager: Entry
    graph: Entry
    nested: Entry
    ops: pl.DataFrame
    functions: pl.DataFrame
    rewriters: Entry
    lines: pl.DataFrame
    onednn: Entry | None
    libraries: list[Entry]
    rewrites: pl.DataFrame
    eligible: Entry
    findings: pl.DataFrame
    lead: Entry | None
    answers: list[Entry]
    limits: list[Entry]
    slowed: Entry | None

    def __init__(self, **made: Callable[[], Any]) -> None:
        """`made`: what makes each of the facts."""
        self._made = made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._made:
            raise AttributeError(name)
        fact = vars(self)[name] = self._made[name]()
        return fact

    def facts(self) -> dict[str, Any]:
        """All of them, by name."""
        return {name: getattr(self, name) for name in self._made}

    def mode(self, name: Mode) -> Entry:
        """What ran in one mode."""
        return self.eager if name == "eager" else self.graph
