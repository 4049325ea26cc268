"""A run: the tables of the contract, made when first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope import model
from tflogscope.errors import UsageError
from tflogscope.events.events import Events
from tflogscope.events.store import Store
from tflogscope.model import summary
from tflogscope.model.causes.causes import Causes, read_causes
from tflogscope.model.difference import difference
from tflogscope.model.dispatches import Dispatches, read_dispatches
from tflogscope.model.executions import Executions
from tflogscope.model.explain import Explainer
from tflogscope.model.facts import FindingRow, Recorded, Rewriters, Summary
from tflogscope.model.failed_nodes import read_failed_nodes
from tflogscope.model.failures import read_statuses
from tflogscope.model.findings.evidence import Evidence
from tflogscope.model.findings.table import findings_table
from tflogscope.model.headline import Headline, read_headline
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.limits import limit_facts
from tflogscope.model.links.linked import Linked, library_facts, onednn_facts, read_links
from tflogscope.model.memory import Memory, read_memory, scan_buffers
from tflogscope.model.names import function_columns
from tflogscope.model.node_runs import read_node_runs
from tflogscope.model.origin import Input, read_inputs
from tflogscope.model.parts import Part, read_parts
from tflogscope.model.primitives import onednn_version, primitives_table
from tflogscope.model.python_functions import python_functions
from tflogscope.model.python_lines import PythonLines
from tflogscope.model.reasons.eager import eager_kernels
from tflogscope.model.reasons.reasons import Reasons, read_reasons
from tflogscope.model.slices.alike import alike
from tflogscope.model.slices.preparations import with_preparations
from tflogscope.model.slices.slices import Slices, read_slices
from tflogscope.model.steps import read_steps
from tflogscope.model.tables import (
    functions_table,
    graph_nodes,
    nodes_table,
    ops_table,
    rewrites_table,
)
from tflogscope.model.unexpected import eager_executions, is_unexpected
from tflogscope.model.worker import Make, here, made
from tflogscope.sources import Source

if TYPE_CHECKING:
    from tflogscope.checks.baseline import Baseline
    from tflogscope.checks.policy import Policy
    from tflogscope.checks.verdict import Verdict

File = str | PathLike[str]


class Run:
    """What a log says of one run of a TensorFlow program. Made by `open_log`.

    Each table is a polars frame in the order (source, line), except `ops`, which is ordered by
    first line; the columns are those of the contract. Durations are in µs.
    """

    events: Events
    """What was read, before anything is linked."""
    recorded_as: dict[str, Any] | None
    """What `tflogscope record` wrote above the log (`recording/header.py`), if it did."""
    sources: Sequence[Source]
    """The logs themselves, to read them once more."""
    make: Make
    """On which thread tables are made."""

    def __init__(
        self,
        events: Events,
        sources: Sequence[Source] = (),
        recorded_as: dict[str, Any] | None = None,
        make: Make = here,
    ) -> None:
        self.make = make
        self.events = events
        self.sources = sources
        self.recorded_as = recorded_as

    @cached_property
    def _instantiations(self) -> Instantiations:
        return Instantiations(self.events)

    @cached_property
    def _dispatches(self) -> Dispatches:
        return read_dispatches(self.events, self._instantiations)

    @cached_property
    def _executions(self) -> Executions:
        runs = read_node_runs(self.events)
        steps = read_steps(runs, self._instantiations, self._dispatches)
        dispatches = self._dispatches.with_ends_of(steps)
        failed = read_failed_nodes(self.events, runs)
        return Executions(self.events.spans, dispatches, runs, steps, failed)

    @cached_property
    def _causes(self) -> Causes:
        return read_causes(self.events, self._executions, self._instantiations, self._lines)

    @cached_property
    def _cause(self) -> pl.Series:
        """The cause of each row of `Executions.frame`; null where none is due."""
        return self._causes.by_execution(self._executions)

    @cached_property
    def _lines(self) -> PythonLines:
        return PythonLines(self.events, self._executions)

    @cached_property
    def _graph_nodes(self) -> pl.DataFrame:
        return graph_nodes(self._executions, self._instantiations)

    @cached_property
    def _reasons(self) -> Reasons:
        return read_reasons(self._graph_nodes, self.events, self._instantiations)

    @cached_property
    def _eager_kernels(self) -> pl.DataFrame:
        """Kernels of eager ops, with `rule` and `proof` of what kept them from oneDNN."""
        kernels = eager_kernels(self._instantiations)
        reasons = read_reasons(kernels, self.events, self._instantiations)
        return kernels.with_columns(rule=reasons.rule, proof=reasons.proof)

    @cached_property
    def _statuses(self) -> pl.DataFrame:
        return read_statuses(self.events, self._executions)

    @cached_property
    def _linked(self) -> Linked:
        return read_links(self.events, self._executions)

    @made
    def timeline(self) -> pl.DataFrame:
        """One row per execution of an op: when, where, eager or graph, which kernel."""
        linked = self._linked.by_execution(self._executions.frame.height)
        return self._executions.timeline(
            linked, self._cause, self._lines.named(self._lines.of_executions)
        )

    @made
    def ops(self) -> pl.DataFrame:
        """One row per (mode, kind, op, kernel, rewrite): how often and how long."""
        return ops_table(self._executions, self._linked, self._causes, self._lines)

    @made
    def functions(self) -> pl.DataFrame:
        """One row per graph function: traces, calls, nodes, how many of them rewritten."""
        executions, instantiations = self._executions, self._instantiations
        return functions_table(
            executions, instantiations, self.nodes, self._same_functions, self._lines
        )

    def _same_functions(self, names: pl.Series) -> pl.DataFrame:
        return python_functions(names, self._graph_nodes, self.events)

    @made
    def python_functions(self) -> pl.DataFrame:
        """Which functions that were called are traces of one Python function, by full name.

        Columns: name, python_function (a number), traces, made_by (the file that makes it, if it
        is TensorFlow's own), function, function_uid, flavour.
        """
        names = self._executions.dispatches.calls["name"].unique(maintain_order=True)
        return self._same_functions(names).with_columns(**function_columns(pl.col("name")))

    @made
    def nodes(self) -> pl.DataFrame:
        """One row per node of a graph function: its kernel, why it is not oneDNN's, executions."""
        return nodes_table(self._executions, self._graph_nodes, self._reasons, self._lines)

    @made
    def rewrites(self) -> pl.DataFrame:
        """One row per rewrite to a kernel of oneDNN or a plug-in, those that never ran included."""
        return rewrites_table(self._executions, self._instantiations, self._graph_nodes)

    @made
    def rewriters(self) -> Rewriters:
        """Whose kernels and primitives a text speaks of."""
        return summary.rewriter_facts(self.events, self._linked, self.rewrites)

    @made
    def primitives(self) -> pl.DataFrame:
        """One row per line of oneDNN or a plug-in's library: which primitive ran, for how long."""
        return primitives_table(self.events, self._executions, self._linked.links, self._lines)

    @made
    def coverage(self) -> pl.DataFrame:
        """One row per source: what each of its lines is."""
        version = onednn_version(self.events.primitives)
        return self.events.coverage.with_columns(onednn_version=pl.lit(version, pl.String))

    @made
    def slices(self) -> Slices:
        """What a picture of the run shows: executions and primitives on tracks, in ns."""
        return read_slices(
            self._executions,
            alike(self._executions, self._cause, self._lines),
            self.primitives,
            self._linked.links,
            self.events.record_times,
        )

    @made
    def drawn(self) -> Slices:
        """The same with tracing, functions made ready and XLA's compilations beside it."""
        calls, first = self._evidence.calls, self._evidence.first_calls
        return with_preparations(self.slices, self._instantiations, calls, first, self.events)

    @made
    def stacks(self) -> pl.DataFrame:
        """One row per stack of the program's own frames, from logs made by `record --lines`."""
        return self._lines.table()

    @cached_property
    def _recorded(self) -> Recorded:
        return summary.recorded_facts(self.coverage, self.events, self.recorded_as)

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(
            events=self.events,
            executions=self._executions,
            statuses=self._statuses,
            instantiations=self._instantiations,
            linked=self._linked,
            python_functions=self.python_functions,
            causes=self._causes,
            graph_nodes=self._graph_nodes,
            reasons=self._reasons,
            eager_kernels=self._eager_kernels,
            lines=self._lines,
            recorded=self._recorded,
        )

    @made
    def findings(self) -> pl.DataFrame:
        """One row per finding: what costs time or went wrong, with evidence and advice."""
        return findings_table(self._evidence)

    @made
    def parts(self) -> list[Part]:
        """The runs that its sources are: one, unless logs of several processes were opened."""
        return read_parts(self.events, self.sources)

    @cached_property
    def inputs(self) -> list[Input]:
        """What was read, with checksums; read once more for them."""
        return read_inputs(self.sources)

    @cached_property
    def buffers(self) -> list[Store]:
        """Records of the buffers of tensors, by source, from a scan of their own."""
        return scan_buffers(self.sources, self.events.grammar)

    @made
    def memory(self) -> Memory:
        """What the buffers of tensors took over time."""
        return read_memory(self.buffers, self.events)

    def explain(
        self,
        *,
        op: str | None = None,
        node: str | None = None,
        line: int | None = None,
        at: str | None = None,
    ) -> dict[str, Any]:
        """Why an op, a node or the execution on a line ran where it ran, and as this kernel.

        Exactly one of the four is given. `op` is an op type or a kernel, `node` a node's name or
        the end of it after a `/`, `line` a line (from 1) of the first source, `at` a line of the
        program, `train.py:31`, in logs that have these. Durations are in µs.

        Raises UsageError if the log has no such execution.
        """
        explainer = self.make(self._explainer)
        if op is not None:
            return self.make(lambda: explainer.op(op))
        if node is not None:
            return self.make(lambda: explainer.node(node))
        if line is not None:
            return self.make(lambda: explainer.line(line))
        if at is not None:
            return self.make(lambda: explainer.at(at))
        raise UsageError("nothing is asked for", "explain", "Give op, node, line or at.")

    def _explainer(self) -> Explainer:
        return Explainer(
            self._executions,
            self._instantiations,
            self._linked,
            self._causes,
            self._graph_nodes,
            self._reasons,
            self._eager_kernels,
            self._lines,
            self._statuses,
        )

    @made
    def unexpected_eager(self) -> pl.DataFrame:
        """Rows of the timeline: ops that ran eagerly where a graph function should run them.

        That is after the first call of a graph function, or anywhere if there is none; causes that
        every program has are left out (`unexpected.USUAL_CAUSES`), Python in place of a graph
        counts anywhere (`unexpected.ALWAYS_CAUSES`).
        """
        return self.eager_executions.filter(is_unexpected()).select(self.timeline.columns)

    @made
    def eager_executions(self) -> pl.DataFrame:
        """The eager ops of the timeline, each with the calls around it (`eager_executions`)."""
        own = self._causes.own_by_execution(self._executions)
        return eager_executions(self.timeline, own)

    @made
    def summary(self) -> Summary:
        """The facts that `tflogscope analyze` shows."""
        eager, graph = (summary.mode_facts(self.ops, mode) for mode in ("eager", "graph"))
        ops = summary.op_facts(self._executions, self._statuses)
        calls = self._evidence.calls
        functions = summary.function_facts(
            self.functions, calls, self.python_functions, self._executions
        )
        return Summary(
            recorded=self._recorded,
            eager=eager,
            graph=graph,
            nested=summary.nested_facts(self._executions, calls),
            ops=ops,
            functions=functions,
            rewriters=self.rewriters,
            lines=self._lines.facts(),
            onednn=onednn_facts(self.events, self._executions, self._linked),
            libraries=library_facts(self._linked),
            rewrites=summary.rewrite_facts(self.rewrites),
            eligible=summary.reason_facts(self.nodes),
            findings=[FindingRow(**row) for row in self.findings.to_dicts()],
            answers=summary.story_facts(ops, self.ops, functions),
            limits=limit_facts(self._evidence, eager, graph),
        )

    @made
    def headline(self) -> Headline:
        """The verdict in one sentence, and the figures that it starts with."""
        return read_headline(self)

    def diff(self, after: Run) -> dict[str, Any]:
        """What changed from this run to a later one, as `tflogscope diff --json` prints it."""
        return difference(self, after)

    def check(
        self, policy: Policy | File | None = None, *, baseline: Baseline | File | None = None
    ) -> Verdict:
        """Whether the run keeps to a policy; `passed` and `checks` of the result say what failed.

        Args:
            policy: a policy or its file; if not given, that of the nearest pyproject.toml, or else
                the default policy, as `tflogscope check` takes it.
            baseline: what is known and does not fail, or its file.

        Raises:
            UsageError: the policy has a key or a value that does not exist.
            InputError: a file can't be read.
        """
        verdict: Verdict = model.uses().check(self, policy, baseline)
        return verdict

    def query(self, statement: str) -> pl.DataFrame:
        """The answer to a SELECT over the tables, as of `tflogscope query`.

        Raises QueryError if it is not a SELECT, or asks for what is not a table of the run.
        """
        answer: pl.DataFrame = model.uses().query(self, statement)
        return answer

    def report(
        self, path: File, *, full: bool = False, redacted: bool = False, force: bool = False
    ) -> None:
        """Write the run as one HTML page, as `tflogscope report` does.

        Args:
            path: the file; it is written whole or not at all.
            full: leave nothing out, however large the page becomes.
            redacted: replace the program's own names by pseudonyms, to share the page.
            force: replace the file if it exists.

        Raises:
            OutputError: it can't be written, or exists.
        """
        model.uses().report(self, path, full=full, redacted=redacted, force=force)

    def trace(self, path: File, format_name: str | None = None, *, force: bool = False) -> None:
        """Write the run for a trace viewer, as `tflogscope trace` does.

        Args:
            path: the file; `.gz` at its end compresses it.
            format_name: `chrome`, `perfetto`, `speedscope` or `folded`; if not given, the suffix
                says it.
            force: replace the file if it exists.

        Raises:
            UsageError: no format has the suffix.
            OutputError: it can't be written, or exists.
        """
        model.uses().trace(self, path, format_name, force=force)

    def timeline_chart(self) -> Any:
        """The run over time, eager against graph, as a picture that a notebook shows (SVG)."""
        return model.uses().timeline_chart(self)

    def _repr_html_(self) -> str:
        return str(model.uses().notebook_html(self))

    def __repr__(self) -> str:
        names = ", ".join(span.name for span in self.events.spans)
        return f"<tflogscope.Run of {names}>"
