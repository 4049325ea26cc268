"""A record of the log, and a strand: the records that one thread writes, with a clock of its own.

Nothing here is real time. A strand's clock moves when something on it takes time; strands lie
inside each other (what a kernel calls), and a strand's records are moved to the place where it ran
when that is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["WORKER", "Execution", "Primitive", "Record", "Strand"]

WORKER = -1
"""The thread of a record that a thread of a pool will write: which one is not yet known."""


@dataclass(slots=True, eq=False)
class Execution:
    """What really happened: an op, a node or a call of a function, run once."""

    mode: str
    """`eager` or `graph`."""
    kind: str
    """`op`, `call`, `plumbing` (it only hands values on) or `folding` (step −1)."""
    op: str
    kernel: str
    rewrite: str = "none"
    """`none`, `layout`, `eager`, `wrapped` (by the layout pass, in the function around an eager op)
    or `remapper`."""
    node: str | None = None
    function: str | None = None
    call: Execution | None = None
    step: int | None = None
    thread: int = WORKER
    start: int = 0
    end: int = 0
    status: str = "done"
    """`done`, `dead` (in a branch not taken) or `failed`."""
    number: int = -1
    line: int | None = None
    """Of the record that says it; None if it is not written."""
    process: int = 0
    """Which process ran it; 0 is the program's own."""


@dataclass(slots=True, eq=False)
class Primitive:
    """One run of a oneDNN primitive; `execution` ran it."""

    kind: str
    implementation: str
    problem: str
    milliseconds: float
    execution: Execution
    line: int | None = None


@dataclass(slots=True, eq=False)
class Record:
    """One write of the process: mostly a line, perhaps several."""

    time: int
    thread: int
    kind: str
    """The name of the log statement (`sites.py`), `onednn` or `print`."""
    text: str
    """What is said, without prefix and without the end of the line."""
    about: Execution | Primitive | None = None
    stands: bool = False
    """Whether this is the line that stands for the execution in tables."""


@dataclass(slots=True, eq=False)
class Strand:
    """What one thread does, one thing after another."""

    thread: int
    now: int = 0
    records: list[Record] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    """Those whose times are times of this strand's clock."""
    primitives: list[Primitive] = field(default_factory=list)

    def take(self, other: Strand, at: int, thread: int | None = None) -> None:
        """Put another strand's records here: it began at that time, on that thread."""
        for record in other.records:
            record.time += at
            if thread is not None and record.thread == WORKER:
                record.thread = thread
        for execution in other.executions:
            execution.start += at
            execution.end += at
            if thread is not None and execution.thread == WORKER:
                execution.thread = thread
        self.records += other.records
        self.executions += other.executions
        self.primitives += other.primitives
