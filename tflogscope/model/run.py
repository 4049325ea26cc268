"""A run: its tables, and what is made of them when first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.errors import UsageError
from tflogscope.model.common.origin import Input
from tflogscope.model.common.recorded import many_unknown
from tflogscope.model.common.tables import Tables
from tflogscope.model.rows.unexpected import (
    count_training,
    eager_executions,
    is_unexpected,
    leave_to_libraries,
)
from tflogscope.sources.source import Source

# What few commands need is imported where it is made.
if TYPE_CHECKING:
    from tflogscope.model.common.facts import Entry, Summary
    from tflogscope.model.overview.headline import Headline
    from tflogscope.model.slices.slices import Slices


class Run(Tables):
    """What is known of one run of a TensorFlow program. `open_log` makes one.

    Each table is a polars frame in the order (source, line), except `ops`, which is ordered by
    first line; the columns are those of the contract. Durations are in µs.
    """

    sources: Sequence[Source]
    """The logs themselves, to read them once more; none for a run of a store."""

    @property
    def recorded_as(self) -> Mapping[str, Any] | None:
        """What `tflogscope record` wrote above the log (`recording/header.py`), if it did."""
        raise NotImplementedError

    @property
    def start(self) -> datetime | int | None:
        """The first time in the log; an integer is in µs since the epoch; None: it has no times."""
        raise NotImplementedError

    @cached_property
    def summary(self) -> Summary:
        """The facts that `tflogscope analyze` shows."""
        raise NotImplementedError

    @property
    def rewriters(self) -> Entry:
        """Whose kernels and primitives a text speaks of."""
        return self.summary.rewriters

    @property
    def problems(self) -> list[str]:
        """Why not all of it could be read: `archive.zst: zstd archive is truncated`."""
        problems: list[str] = self.summary.recorded.problems
        ends = "no-end", "no-process-end"
        cut = [limit.text for limit in self.summary.limits if limit.id in ends]
        return [*problems, *(text.removesuffix(".") for text in cut)]

    @property
    def unread(self) -> int:
        """Records that may say what ran and can't be read; 0 unless they are many."""
        return many_unknown(self.summary.recorded)

    @cached_property
    def inputs(self) -> list[Input]:
        """What was read, with checksums."""
        raise NotImplementedError

    def line_text(self, _number: int, /) -> str | None:
        """A line (from 1) of the first source, as its file has it; None: there is no log."""
        return None

    @cached_property
    def slices(self) -> Slices:
        """What a picture of the run shows: executions and primitives on tracks, in ns."""
        from tflogscope.model.slices.slices import read_slices

        return read_slices(self.executions, self.linked_primitives)

    @cached_property
    def drawn(self) -> Slices:
        """The same with tracing, instantiations and XLA's compilations beside it."""
        from tflogscope.model.slices.preparations import with_preparations

        return with_preparations(self.slices, self.preparations)

    @cached_property
    def headline(self) -> Headline:
        """The verdict in one sentence, and the figures that it starts with."""
        from tflogscope.model.overview.headline import read_headline

        return read_headline(self.summary, self, self.recorded_as or {})

    @cached_property
    def eager_executions(self) -> pl.DataFrame:
        """The eager ops of the timeline, each with the calls around it (`eager_executions`)."""
        eager = leave_to_libraries(eager_executions(self.executions, self.python_functions))
        taped = eager.filter("before_calls")["cause"] == "gradient-tape"
        return count_training(eager, self.findings) if taped.any() else eager

    @cached_property
    def unexpected_eager(self) -> pl.DataFrame:
        """Rows of the timeline: ops that ran eagerly where a graph function should run them.

        That is after the first call of a graph function or the first eager step of training, or
        anywhere if there is no call; causes that every program has are left out, Python in place of
        a graph counts anywhere (`counts` in `grammars/causes.toml`).
        """
        return self.eager_executions.filter(is_unexpected()).select(self.timeline.columns)

    @property
    def endings(self) -> pl.DataFrame:
        """The findings that say how programs ended: `crashed`, `exit-status`."""
        return self.findings.filter(pl.col("id").is_in(["crashed", "exit-status"]))

    @cached_property
    def in_notebook(self) -> bool:
        """Whether Python printed its dispatches, as it does in a notebook."""
        return False

    @cached_property
    def is_server(self) -> bool:
        """Whether other processes ask for its work, and no Python of the program runs in it."""
        return False

    def explain(
        self,
        *,
        op: str | None = None,
        node: str | None = None,
        line: int | None = None,
        at: str | None = None,
        primitive: str | None = None,
    ) -> dict[str, Any]:
        """Why an op, a node or the execution on a line ran where it ran, and as this kernel.

        Exactly one of the five is given. `op` is an op type or a kernel, `node` a node's name or
        the end of it after a `/`, `line` a line (from 1) of the first source, `at` a line of the
        program, `train.py:31`, in logs that have these, `primitive` a primitive of oneDNN.
        Durations are in µs.

        Raises UsageError if the log has no such execution.
        """
        if primitive is not None:
            from tflogscope.model.overview.onednn_ops import explain_primitive

            return explain_primitive(self.primitives, primitive)
        from tflogscope.model.overview.explain import Explainer

        explainer = Explainer(self)
        if op is not None:
            return explainer.op(op)
        if node is not None:
            return explainer.node(node)
        if line is not None:
            return explainer.line(line) | {"text": self.line_text(line)}
        if at is not None:
            return explainer.at(at)
        raise UsageError("no subject given", "explain", "Pass op, node, line, at or primitive.")

    def diff(self, after: Run) -> dict[str, Any]:
        """What changed from this run to a later one, as `tflogscope diff --json` prints it."""
        from tflogscope.model.overview.difference import difference

        return difference(self, after)
