"""What the rest of the program knows of a run: its tables.

Screens, checks, exports, queries, pictures and explanations are made of these alone, so all of them
work on a log, on a log that still grows, and on a run of a store.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, overload

import polars as pl


class Table:
    """A table of a run: made, or read, when first asked for, and kept."""

    def __init__(self, about: str) -> None:
        self.__doc__ = about

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: Any = None) -> Table: ...
    @overload
    def __get__(self, run: Tables, owner: Any = None) -> pl.DataFrame: ...
    def __get__(self, run: Tables | None, owner: Any = None) -> Table | pl.DataFrame:
        if run is None:
            return self
        table = vars(run)[self._name] = run.table(self._name)
        return table


class Tables:
    """The tables of one run, those of the contract first."""

    timeline = Table("One row per execution of an op: when, where, eager or graph, which kernel.")
    ops = Table("One row per (mode, kind, op, kernel, rewrite): how often and how long.")
    functions = Table("One row per graph function: traces, calls, nodes, rewritten nodes.")
    nodes = Table("One row per node of a graph function: kernel, why it is not oneDNN's, runs.")
    rewrites = Table("One row per rewrite to a kernel of oneDNN or a plug-in, and whether it ran.")
    primitives = Table("One row per line of oneDNN or a plug-in's library: which primitive ran.")
    coverage = Table("One row per source: what each of its lines is.")
    findings = Table("One row per finding: what costs time or went wrong, evidence, advice.")
    time = Table("One row per phase: where the wall time of the run went.")
    ledger = Table("One row per stretch of a thread's time: phase, and the finding that owns it.")
    stacks = Table("One row per stack of the program's own frames, as `record` wrote them.")

    # ---- beside the contract: a row for each row of a table --------------------------------------

    asked = Table(
        "Of each execution: own (TensorFlow or Keras asked for it itself, or a package calls a "
        "function that it defines), stack (id in `stacks`), "
        "compiled (it ran code of XLA's), rule (id of the rule that gave an eager op its cause), "
        "proof_line (what proves that)."
    )
    links = Table("Of each primitive: execution (row of the timeline; null: unknown), library.")
    reasons = Table("Of each node: rule (id of the rule that gave the reason), proof_line.")

    # ---- beside the contract: more tables --------------------------------------------------------

    python_functions = Table(
        "Which functions that were called are traces of one Python function, by full name: name, "
        "python_function (a number), traces, made_by (the file that makes it, if it is "
        "TensorFlow's own), function, function_uid, flavour."
    )
    eager_kernels = Table(
        "Kernels of eager ops: op, kernel, dtype, rule (what kept it from oneDNN), proof_line."
    )
    statuses = Table(
        "What did not end with OK: row (of the timeline; null: unknown), status, source, line."
    )
    avoidable = Table("Of each finding: repeats_us, what of its time is in loops.")
    repeated = Table("How much of each phase of `time` is in loops: phase, repeats_us.")
    preparations = Table("Tracing, instantiations and XLA's compilations (`slices.preparations`).")

    def table(self, name: str) -> pl.DataFrame:
        """Make a table, or read it."""
        raise NotImplementedError(name)

    @cached_property
    def executions(self) -> pl.DataFrame:
        """The timeline and `asked`, with texts as categories."""
        return self.timeline.cast({pl.String: pl.Categorical}).hstack(self.asked)

    @cached_property
    def asking_ledger(self) -> pl.DataFrame:
        """Rows of the ledger, at least those of threads that call functions or dispatch ops."""
        return self.ledger

    @cached_property
    def ends(self) -> pl.Series:
        """When threads ended what is not Python: at least the last end of each."""
        return self.ledger.filter(pl.col("phase") != "python")["end"]

    @cached_property
    def linked_primitives(self) -> pl.DataFrame:
        """The primitives and `links`."""
        return self.primitives.hstack(self.links)


BESIDE = (
    *("asked", "links", "reasons", "python_functions", "eager_kernels", "statuses"),
    *("avoidable", "repeated", "preparations"),
)
"""What a store keeps beside the tables of the contract."""
