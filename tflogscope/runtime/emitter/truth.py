"""The truth: what really happened, one JSON object a line, beside the log.

    {"truth": "line", "line": 12, "is": "process", "execution": 3, "thread": 4711}
    {"truth": "execution", "id": 3, "mode": "graph", "kind": "op", "op": "MatMul", …}
    {"truth": "primitive", "execution": 3, "kind": "gemm_api", "problem": "32x64:64x8", …}

Times are those of the log's clock, in µs since 1970. Lines are counted from 1, as they stand in the
file after all faults; `line` of an execution is the one that stands for it in tables.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.emitter.prefixes import BEGIN
from tflogscope.runtime.emitter.records import Execution, Primitive

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Piece, Sink

__all__ = ["Truth"]


class Truth:
    """Writes the truth as it becomes known."""

    def __init__(self, file: Sink) -> None:
        self._file = file
        self._count = 0

    def line(self, number: int, piece: Piece, *, glued: bool) -> None:
        """A record begins on this line; `glued`: not at its start."""
        record = piece.record
        assert record is not None
        about = record.about
        self._write(
            truth="line",
            line=number,
            **{"is": record.kind},
            process=piece.process or None,
            execution=self._number(about),
            thread=record.thread,
            time=BEGIN + record.time,
            torn=piece.torn or None,
            glued=glued or None,
        )

    def execution(self, execution: Execution) -> None:
        """One execution."""
        self._write(
            truth="execution",
            id=self._number(execution),
            process=execution.process or None,
            mode=execution.mode,
            kind=execution.kind,
            op=execution.op,
            kernel=execution.kernel,
            rewrite=execution.rewrite,
            node=execution.node,
            function=execution.function,
            call=self._number(execution.call),
            step=execution.step,
            status=execution.status,
            start=BEGIN + execution.start,
            end=BEGIN + execution.end,
            thread=execution.thread,
            line=execution.line,
        )

    def primitive(self, primitive: Primitive) -> None:
        """One primitive, and who ran it."""
        self._write(
            truth="primitive",
            execution=self._number(primitive.execution),
            kind=primitive.kind,
            implementation=primitive.implementation,
            problem=primitive.problem,
            ms=primitive.milliseconds,
            line=primitive.line,
        )

    def flush(self) -> None:
        """Let it be in the file: the process may be killed."""
        self._file.flush()

    def _number(self, about: Execution | Primitive | None) -> int | None:
        if about is None:
            return None
        execution = about.execution if isinstance(about, Primitive) else about
        if execution.number < 0:
            execution.number = self._count
            self._count += 1
        return execution.number

    def _write(self, **values: Any) -> None:
        told = {key: value for key, value in values.items() if value is not None}
        self._file.write(json.dumps(told, separators=(",", ":")).encode() + b"\n")
