"""What one thread of the program says: the strands it is in, and what it waits to hear more about.

A dispatch, a function that is made ready, a step: of each the log shows lines before and lines
after what the runtime tells at one moment, so it is kept here until the moment has come.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.emitter.costs import Costs
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.prefixes import Prefixes
from tflogscope.runtime.emitter.records import Execution, Primitive, Record, Strand
from tflogscope.runtime.emitter.steps import Item, Step

__all__ = ["Dispatch", "Events", "Voice"]


@dataclass(slots=True)
class Events:
    """What the passes told since the last function was made ready."""

    optimizers: list[tuple[str, int, int]] = field(default_factory=list)
    folded: list[tuple[str, str, Any]] = field(default_factory=list)
    fused: list[tuple[str, str, str, Any]] = field(default_factory=list)
    rewritten: list[tuple[str, str, str, Any]] = field(default_factory=list)
    merged: list[tuple[str, str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    runs: list[Any] = field(default_factory=list)
    replaced: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Dispatch:
    """An eager op, or the call of a function, that has begun and not ended."""

    op: str
    execution: Execution
    inputs: Any
    attributes: Any
    cached: bool
    is_function: bool
    handle: int = -1
    kernel_op: str = ""
    said: bool = False
    """Whether the log has said that it is executed."""


class Voice:
    """One thread of the program."""

    def __init__(
        self, thread: int, now: int, dialect: Dialect, prefixes: Prefixes, costs: Costs
    ) -> None:
        self.thread = thread
        self.dialect = dialect
        self.costs = costs
        self._prefixes = prefixes
        self.owner = weakref.ref(threading.current_thread())
        self.strands = [Strand(thread, now)]
        self.dispatches: list[Dispatch] = []
        self.steps: list[Step] = []
        self.items: list[Item] = []
        self.events = Events()
        self.wrappers: list[tuple[Any, Events]] = []
        self.kernels: list[Any] = []

    @property
    def strand(self) -> Strand:
        """The innermost."""
        return self.strands[-1]

    def steps_inside(self, dispatch: Dispatch) -> bool:
        """Is a step going on that this dispatch began?"""
        return any(step.call is dispatch.execution for step in self.steps)

    @property
    def busy(self) -> bool:
        """Is something going on that has not ended?"""
        return len(self.strands) > 1 or bool(self.dispatches)

    def shows(self, kind: str) -> bool:
        """Is that log statement written?"""
        return self._prefixes.shows(kind)

    def say(
        self,
        kind: str,
        text: str,
        cost: int = 4,
        about: Execution | Primitive | None = None,
        *,
        stands: bool = False,
    ) -> None:
        """One record, `cost` µs after the one before, in 2.13."""
        strand = self.strands[-1]
        strand.now += max(1, round(cost * self.dialect.pace))
        if stands and isinstance(about, Execution):
            about.start = strand.now
        if self._prefixes.shows(kind):
            strand.records.append(Record(strand.now, strand.thread, kind, text, about, stands))

    def bare(self, kind: str, text: str, about: Execution | Primitive | None = None) -> None:
        """A record without prefix."""
        strand = self.strands[-1]
        strand.now += 1
        strand.records.append(Record(strand.now, strand.thread, kind, text, about))

    def began(self, execution: Execution) -> Execution:
        """An execution begins here, now."""
        strand = self.strands[-1]
        execution.start = execution.end = strand.now
        execution.thread = strand.thread
        strand.executions.append(execution)
        return execution

    def ended(self, execution: Execution) -> None:
        """It has ended; on the strand on which it began."""
        execution.end = self.strands[-1].now
