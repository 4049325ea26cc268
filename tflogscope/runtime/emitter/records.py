"""What is on its way into the log: lines, and what they are about."""

from __future__ import annotations

from dataclasses import dataclass, field

WORKER = -1
"""The thread of a node that has not been dealt to one."""


@dataclass(slots=True, eq=False)
class Execution:
    """An op or a function that ran."""

    mode: str
    kind: str
    op: str
    kernel: str
    rewrite: str = "none"
    node: str | None = None
    function: str | None = None
    call: Execution | None = None
    step: int | None = None
    thread: int = WORKER
    start: int = 0
    end: int = 0
    status: str = "done"
    number: int = -1
    line: int | None = None
    process: int = 0


@dataclass(slots=True, eq=False)
class Primitive:
    """A primitive of oneDNN that ran."""

    kind: str
    implementation: str
    problem: str
    milliseconds: float
    execution: Execution
    line: int | None = None


@dataclass(slots=True, eq=False)
class Record:
    """A line, or what the program prints."""

    time: int
    thread: int
    kind: str
    text: str
    about: Execution | Primitive | None = None
    stands: bool = False
    """Is it the line by which the execution is found?"""


@dataclass(slots=True, eq=False)
class Strand:
    """What happens one after the other on a thread, by a clock of its own."""

    thread: int
    now: int = 0
    records: list[Record] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    primitives: list[Primitive] = field(default_factory=list)

    def take(self, other: Strand, at: int, thread: int | None = None) -> None:
        """Take over what happened on another strand, which began then."""
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
