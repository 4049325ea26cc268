"""What is on its way into the log: lines, and what they are about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import count
from typing import Any, Protocol

import numpy as np

from tflogscope.runtime.core.dtypes import DType
from tflogscope.runtime.core.errors import OpError
from tflogscope.runtime.core.graph import FunctionDef, NodeDef
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.ops.lists import TensorList

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


# What really happened, as JSON lines beside the log: of each line what it is, of each execution and
# primitive when and where it ran, and by which line it is found.

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


# Nodes as text: `{{node add}} = AddV2[T=DT_FLOAT](x, y)`. See `SummarizeNodeDef` and
# `SummarizeAttrValue` of `core/framework/node_def_util.cc`, `attr_value_util.cc`.

_CPP = {"float16": "half", "float32": "float", "float64": "double"}
_SHOWN = 3


def type_name(dtype: DType) -> str:
    """`DT_FLOAT`."""
    return "DT_" + _CPP.get(dtype.name, dtype.name).upper()


def attribute_text(value: Any) -> str:
    """One attribute's value. NB: of a constant only the beginning."""
    if isinstance(value, DType):
        return type_name(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (bytes, str)):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, TensorShape):
        dims = ",".join("?" if dim is None else str(dim) for dim in value.dims or ())
        return "<unknown>" if value.dims is None else f"[{dims}]"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(attribute_text, value)) + "]"
    if isinstance(value, np.ndarray):
        return _array_text(value)
    if isinstance(value, TensorList):
        return "Tensor<type: variant shape: [] values: <TensorList>>"
    return f"{value.name}[]" if isinstance(value, FunctionDef) else str(value)


def _array_text(value: Any) -> str:
    is_text = value.dtype.kind in "OSU"
    kind = "string" if is_text else _CPP.get(value.dtype.name, value.dtype.name)
    first = value.ravel()[:_SHOWN]
    shown = " ".join(attribute_text(e)[1:-1] if is_text else f"{e:.6g}" for e in first)
    shown += "..." if value.size > _SHOWN else ""
    depth, sizes = max(0, value.ndim - 1), ",".join(map(str, value.shape))
    return f"Tensor<type: {kind} shape: [{sizes}] values: {'[' * depth}{shown}{']' * depth}>"


def summary(
    name: str, op: str, attributes: Mapping[str, Any], inputs: Sequence[str], device: str = CPU
) -> str:
    """A node."""
    parts = [
        f"{key}={attribute_text(value)}"
        for key, value in sorted(attributes.items())
        if not key.startswith(("__", "_graph", "_has_manual"))
    ]
    if device and op not in {"_Arg", "_Retval"}:
        parts.append(f'_device="{device}"')
    return f"{{{{node {name}}}}} = {op}[{', '.join(parts)}]({', '.join(inputs)})"


def node_text(node: NodeDef, dialect: Dialect, *, running: bool = False) -> str:
    """A node of a function; a constant that runs no longer has its value."""
    if node.name == "_SOURCE":
        return "{{node _SOURCE}} = NoOp[]()"
    inputs = [f"{name}:{output}" if output else name for name, output in node.inputs]
    inputs += [f"^{name}" for name in node.controls]
    attributes = attributes_of(node.type, node.attributes, dialect)
    if running and node.type == "Const":
        inputs, attributes = [], {"dtype": node.attributes["dtype"]}
    return summary(node.name, node.type, attributes, inputs, node.device or CPU)


def attributes_of(op: str, attributes: Mapping[str, Any], dialect: Dialect) -> Mapping[str, Any]:
    """The attributes, with those that a later release has besides."""
    if dialect.matmul_gradients and op in {"MatMul", "_MklMatMul"}:
        return {"grad_a": False, "grad_b": False, **attributes}
    return attributes


def status(error: BaseException) -> str:
    """`INVALID_ARGUMENT: …`."""
    if not isinstance(error, OpError):
        return f"UNKNOWN: {type(error).__name__}: {error}"
    name = type(error).__name__.removesuffix("Error")
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return f"{code}: {error.message.partition(chr(10) + chr(9) + ' [[')[0]}"
