"""What is on its way into the log: lines, and what they are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

WORKER = -1
"""The thread of a node that has not been dealt to one."""
NUMBERS = count()


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
    line: int | None = None
    process: int = 0
    id: int = field(default_factory=NUMBERS.__next__)


@dataclass(slots=True, eq=False)
class Primitive:
    """A primitive of oneDNN that ran."""

    kind: str
    implementation: str
    problem: str
    ms: float
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

    @property
    def stands(self) -> bool:
        """Is it the line by which what it is about is found?"""
        return self.about is not None and self.kind in {"process", "executing", "onednn"}

    @property
    def execution(self) -> Execution | None:
        return self.about.execution if isinstance(self.about, Primitive) else self.about


@dataclass(slots=True, eq=False)
class Strand:
    """What happens one after the other on a thread, by a clock of its own."""

    thread: int
    now: int = 0
    records: list[Record] = field(default_factory=list)
    ran: list[Execution | Primitive] = field(default_factory=list)

    def take(self, other: Strand, at: int, thread: int) -> None:
        """Take over what happened on another strand, which began then."""
        for record in other.records:
            record.time += at
            record.thread = thread if record.thread == WORKER else record.thread
        for each in other.ran:
            if isinstance(each, Execution):
                each.start += at
                each.end += at
                each.thread = thread if each.thread == WORKER else each.thread
        self.records += other.records
        self.ran += other.ran
