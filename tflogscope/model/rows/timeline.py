"""The timeline: all that is known of each execution, in columns that are made when asked for.

Whatever shows, counts or judges executions takes its columns from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from tflogscope.grammar.tables import as_table, schema
from tflogscope.model.causes.causes import Causes
from tflogscope.model.common.frames import holds
from tflogscope.model.costs.costs import Costs
from tflogscope.model.costs.python_lines import PythonLines
from tflogscope.model.executions.executions import Coded, Executions, taken, with_places
from tflogscope.model.links.linked import Linked


@dataclass(eq=False, repr=False)
class Timeline:
    """The executions of a run, with what the rules of causes, links and lines found out."""

    executions: Executions
    causes: Causes
    lines: PythonLines
    linked: Linked
    costs: Costs

    def columns(self, *names: str, rows: pl.Series | None = None) -> pl.DataFrame:
        """Columns of executions, by their rows; of all of them if none are given.

        Besides those of `Executions.columns` and of the contract's `timeline`: own (whether
        TensorFlow or Keras asked for an eager op itself), stack (row of `stacks`), and cost (µs:
        steady_us, or where no price is known duration_us). Texts are categories.
        """
        return taken(self.column, names, rows)

    def column(self, name: str) -> Coded:
        """See `Executions.column`."""
        if name in ("work_us", "steady_us"):
            return None, self.costs.of_executions[name]
        if name == "cost":
            return None, self.costs.known("steady_us")
        if name in ("source", "line", "end_line"):
            return None, self._places[name]
        if name in ("primitives", "primitive_us"):
            return None, self.linked.by_execution[name]
        return self._made[name] if name in self._made else self.executions.column(name)

    @cached_property
    def _places(self) -> pl.DataFrame:
        return with_places(self.executions.spans, self.executions.frame[["at", "end_at"]])

    @cached_property
    def _made(self) -> dict[str, Coded]:
        executions, causes, lines = self.executions, self.causes, self.lines
        codes, steps, frame = executions.asked, executions.steps["cause"], executions.frame
        stack = lines.of_executions
        own = holds(causes.named["own"])
        proof = with_places(executions.spans, pl.DataFrame({"at": causes.proven_at}))["line"]
        return {
            "cause": (codes, pl.concat([steps, causes.named["cause"]]).cast(pl.Categorical)),
            "own": (codes, pl.concat([pl.repeat(False, len(steps), eager=True), own])),
            "rule": (frame["dispatch"], causes.named["id"].cast(pl.Categorical)),
            "proof_line": (frame["dispatch"], proof),
            "stack": (None, stack),
            "python": (stack, lines.python.cast(pl.Categorical)),
            "start": (None, frame["time"].cast(pl.Datetime("us"))),
            "end": (None, frame["end_time"].cast(pl.Datetime("us"))),
        }

    @cached_property
    def encoded(self) -> pl.DataFrame:
        """The `timeline` table with texts as categories."""
        frame = self.columns(*schema("timeline")).cast({pl.String: pl.Categorical})
        thread = pl.col("thread")
        return frame.with_columns(thread=pl.when(thread >= 0).then(thread))

    def table(self) -> pl.DataFrame:
        """The `timeline` table of the contract."""
        return as_table("timeline", self.encoded)
