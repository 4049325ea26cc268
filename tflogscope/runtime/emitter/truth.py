"""What really happened, as JSON lines beside the log: of each line what it is, of each execution and
primitive when and where it ran, and by which line it is found.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from tflogscope.runtime.emitter.records import Execution, Primitive

BEGIN = 1_795_219_200_000_000
"""The virtual clock's start, in microseconds."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> object:
        """Write these."""

    def flush(self) -> None:
        """Let others see them."""


class Truth:
    """Writes it: lines as they come, what ran at the end, when it is known which lines are there."""

    def __init__(self, file: Sink) -> None:
        self._file = file
        self._count = 0
        self.ran: list[Execution | Primitive] = []

    def line(self, number: int, piece: Any, *, glued: bool) -> None:
        """Line `number` begins with this record; `glued`: after what the program printed."""
        record = piece.record
        self._write(
            truth="line",
            line=number,
            **{"is": record.kind},
            process=piece.process or None,
            execution=self._number(record.about),
            thread=record.thread,
            time=BEGIN + record.time,
            torn=piece.torn or None,
            glued=glued or None,
        )

    def _execution(self, execution: Execution) -> None:
        names = ("mode", "kind", "op", "kernel", "rewrite", "node", "function")
        self._write(
            truth="execution",
            id=self._number(execution),
            process=execution.process or None,
            **{name: getattr(execution, name) for name in names},
            call=self._number(execution.call),
            step=execution.step,
            status=execution.status,
            start=BEGIN + execution.start,
            end=BEGIN + execution.end,
            thread=execution.thread,
            line=execution.line,
        )

    def _primitive(self, primitive: Primitive) -> None:
        self._write(
            truth="primitive",
            execution=self._number(primitive.execution),
            kind=primitive.kind,
            implementation=primitive.implementation,
            problem=primitive.problem,
            ms=primitive.milliseconds,
            line=primitive.line,
        )

    def end(self) -> None:
        """Write what ran."""
        for each in self.ran:
            if isinstance(each, Primitive):
                self._primitive(each)
            else:
                self._execution(each)

    def _number(self, about: Execution | Primitive | None) -> int | None:
        if about is None:
            return None
        execution = about.execution if isinstance(about, Primitive) else about
        if execution.number < 0:
            execution.number = self._count
            self._count += 1
        return execution.number

    def _write(self, **values: Any) -> None:
        known = {key: value for key, value in values.items() if value is not None}
        self._file.write(json.dumps(known, separators=(",", ":")).encode() + b"\n")
