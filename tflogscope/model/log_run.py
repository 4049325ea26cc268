"""The run that a log shows: its tables, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.calls.parts import Part, read_parts
from tflogscope.model.common.origin import Input, read_inputs
from tflogscope.model.executions.executing import printed_by_python
from tflogscope.model.executions.executions import with_places
from tflogscope.model.executions.servers import serves
from tflogscope.model.links.candidates import families
from tflogscope.model.links.kernels import COMPILED
from tflogscope.model.links.linked import library_facts, onednn_facts
from tflogscope.model.op_tables import (
    functions_table,
    nodes_table,
    ops_table,
    primitives_table,
    rewrites_table,
)
from tflogscope.model.pipeline import Evidence
from tflogscope.model.reasons.rules import RULES
from tflogscope.model.run import Run
from tflogscope.sources.source import Source

# What few commands need is imported where it is made.
if TYPE_CHECKING:
    from tflogscope.model.common.facts import Summary


class LogRun(Run):
    """The run that a log shows.

    `events` is what was read, before anything is linked.
    """

    def __init__(
        self,
        events: Events,
        sources: Sequence[Source] = (),
        recorded_as: Mapping[str, Any] | None = None,
    ) -> None:
        self.events, self.sources = events, sources
        self.stages = Evidence(events, recorded_as)

    def __repr__(self) -> str:
        names = ", ".join(span.name for span in self.events.spans)
        return f"<tflogscope.Run of {names}>"

    def table(self, name: str) -> pl.DataFrame:
        """Make a table."""
        if name in _TABLES:
            return _TABLES[name](self.stages)
        from tflogscope.model.findings.table import TABLES

        return TABLES[name](self.stages)

    @cached_property
    def executions(self) -> pl.DataFrame:
        """See `Tables.executions`."""
        return self.stages.timeline.encoded.hstack(self.asked)

    @cached_property
    def asking_ledger(self) -> pl.DataFrame:
        """See `Tables.asking_ledger`; without the other threads, whose nodes are most of a log."""
        from tflogscope.model.findings.table import asking_ledger_of

        return asking_ledger_of(self.stages)

    @cached_property
    def ends(self) -> pl.Series:
        """See `Tables.ends`."""
        asking = self.asking_ledger.filter(pl.col("phase") != "python")["end"]
        last = self.stages.executions.frame.select(pl.from_epoch(pl.col("end_time").max(), "us"))
        return pl.concat([asking, last.to_series()])

    @property
    def recorded_as(self) -> Mapping[str, Any] | None:
        """See `Run.recorded_as`."""
        return self.stages.recorded_as

    @property
    def start(self) -> int | None:
        """See `Run.start`."""
        return self.events.time_span()[0]

    @cached_property
    def parts(self) -> list[Part]:
        """The runs that its sources are: one, unless logs of several processes were opened."""
        return read_parts(self.events, self.sources)

    @cached_property
    def inputs(self) -> list[Input]:
        """See `Run.inputs`; read once more for them."""
        return read_inputs(self.sources)

    def line_text(self, number: int, /) -> str | None:
        """See `Run.line_text`; read once more for it."""
        if not self.sources or type(self.sources[0]) is not Source:  # one process of a file
            return None
        for block in self.sources[0].wrapped_blocks():
            count = block.text.count(b"\n")
            if number <= count:
                return block.text.split(b"\n")[number - 1].decode(errors="replace")
            number -= count
        return None

    @property
    def endings(self) -> pl.DataFrame:
        """See `Run.endings`; without the other findings."""
        from tflogscope.model.findings.table import endings_table

        return endings_table(self.stages)

    @cached_property
    def in_notebook(self) -> bool:
        """See `Run.in_notebook`."""
        eager = self.stages.executions.dispatches.eager
        return not eager["remote"].all() and printed_by_python(self.events)

    @cached_property
    def is_server(self) -> bool:
        """See `Run.is_server`."""
        return bool(serves(self.events))

    @cached_property
    def summary(self) -> Summary:
        """See `Run.summary`."""
        from tflogscope.model.common.facts import Summary
        from tflogscope.model.findings.table import lead_of
        from tflogscope.model.overview import summary
        from tflogscope.model.overview.limits import limit_facts

        of = self.stages
        facts = Summary(
            recorded=lambda: of.recorded,
            eager=lambda: summary.mode_facts(self.ops, "eager"),
            graph=lambda: summary.mode_facts(self.ops, "graph"),
            nested=lambda: summary.nested_facts(of.executions, of.calls, of.costs),
            ops=lambda: summary.op_facts(of.executions, of.statuses, of.costs),
            functions=lambda: summary.function_facts(self.functions, self.python_functions, of),
            rewriters=lambda: summary.rewriter_facts(self.events, of.linked, self.rewrites),
            lines=lambda: of.lines.facts(of.costs),
            onednn=lambda: onednn_facts(
                self.events, of.executions, of.linked, of.costs.known("work_us")
            ),
            libraries=lambda: library_facts(of.linked),
            rewrites=lambda: summary.rewrite_facts(self.rewrites),
            eligible=lambda: summary.reason_facts(self.nodes),
            findings=lambda: self.findings,
            lead=lambda: lead_of(of),
            answers=lambda: summary.story_facts(facts.ops),
            limits=lambda: limit_facts(of, facts.eager, facts.graph),
            slowed=lambda: summary.slowed_facts(of, self),
        )
        return facts


# ---- the tables ----------------------------------------------------------------------------------


def _asked(of: Evidence) -> pl.DataFrame:
    compiled = pl.Series("compiled", families(of.executions) == COMPILED)
    columns = of.timeline.columns("own", "stack", "rule", "proof_line")
    columns = columns.with_columns(pl.col("own") | of.of_packages)
    return columns.insert_column(2, compiled)


def _links(of: Evidence) -> pl.DataFrame:
    links = of.linked.links
    return pl.DataFrame([links["execution"].cast(pl.UInt32), links["library"]])


def _reasons(of: Evidence) -> pl.DataFrame:
    proofs = pl.DataFrame({"rule": of.reasons.rule, "proof": of.reasons.proof})
    return _proven(of, proofs)


def _eager_kernels(of: Evidence) -> pl.DataFrame:
    kernels = of.eager_kernels
    return kernels.select("op", "kernel", "dtype").hstack(_proven(of, kernels))


def _proven(of: Evidence, proofs: pl.DataFrame) -> pl.DataFrame:
    """Rules by their ids, and the lines that prove them, of rules by number and places."""
    ids = pl.Series([rule.id for rule in RULES], dtype=pl.String)
    place = pl.when(pl.col("proof") >= 0).then("proof")
    rule = pl.when(pl.col("rule") >= 0).then(pl.col("rule").cast(pl.UInt32, strict=False))
    proofs = proofs.select(rule=rule, at=place)
    placed = with_places(of.events.spans, proofs.select(pl.col("at").fill_null(0)))
    line = placed["line"].set(proofs["at"].is_null(), None)
    return pl.DataFrame({"rule": ids[proofs["rule"]], "proof_line": line})


def _statuses(of: Evidence) -> pl.DataFrame:
    statuses = of.statuses.select("at", pl.col("row").cast(pl.UInt32), "status")
    return with_places(of.events.spans, statuses)


def _preparations(of: Evidence) -> pl.DataFrame:
    from tflogscope.model.slices.preparations import read_preparations

    return read_preparations(of)


_TABLES: dict[str, Callable[[Evidence], pl.DataFrame]] = {
    "timeline": lambda of: of.timeline.table(),
    "ops": ops_table,
    "functions": functions_table,
    "nodes": nodes_table,
    "rewrites": rewrites_table,
    "primitives": primitives_table,
    "coverage": lambda of: of.events.coverage,
    "stacks": lambda of: of.lines.table(),
    "asked": _asked,
    "links": _links,
    "reasons": _reasons,
    "python_functions": lambda of: of.python_functions,
    "eager_kernels": _eager_kernels,
    "statuses": _statuses,
    "preparations": _preparations,
}
