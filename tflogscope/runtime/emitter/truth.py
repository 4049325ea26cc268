"""What really happened, as JSON lines beside the log: of each line what it is, of each execution and
primitive when and where it ran, and by which line it is found.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Protocol

from tflogscope.runtime.emitter.records import Execution, Primitive

BEGIN = 1_795_219_200_000_000
"""The virtual clock's start, in microseconds."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> None: ...


class Truth:
    """Writes it: lines as they come, what ran at the end, when it is known which lines are there."""

    def __init__(self, file: Sink) -> None:
        self._file = file
        self.ran: list[Execution | Primitive] = []

    def line(self, number: int, piece: Any, *, glued: bool) -> None:
        """Line `number` begins with this record; `glued`: after what the program printed."""
        record = piece.record
        self._write(
            truth="line",
            line=number,
            **{"is": record.kind},
            process=piece.process or None,
            execution=record.execution and record.execution.id,
            thread=record.thread,
            time=BEGIN + record.time,
            torn=piece.torn or None,
            glued=glued or None,
        )

    def end(self) -> None:
        for each in self.ran:
            values = {field.name: getattr(each, field.name) for field in fields(each)}
            if isinstance(each, Primitive):
                self._write(truth="primitive", **values | {"execution": each.execution.id})
                continue
            values |= {"process": each.process or None, "call": each.call and each.call.id}
            values |= {"start": BEGIN + each.start, "end": BEGIN + each.end}
            self._write(truth="execution", **values)

    def _write(self, **values: Any) -> None:
        known = {key: value for key, value in values.items() if value is not None}
        self._file.write(json.dumps(known, separators=(",", ":")).encode() + b"\n")
