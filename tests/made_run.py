"""Runs made of rows, for tests of what looks at tables only: no log, and no rules for causes."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import polars as pl

from tests.samples import run_of
from tflogscope import Run
from tflogscope.model.calls.python_functions import OWN_FUNCTIONS
from tflogscope.model.common.facts import Entry

Row = dict[str, Any]
_TABLES = ("timeline", "functions", "nodes", "primitives", "coverage")
SOURCE = "run.log"


@dataclass
class MadeRun:
    """Rows of the tables that are looked at; a row without a line gets the next one.

    A row of the timeline with `own` was asked for by TensorFlow or Keras itself.
    """

    timeline: list[Row] = field(default_factory=list)
    functions: list[Row] = field(default_factory=list)
    nodes: list[Row] = field(default_factory=list)
    primitives: list[Row] = field(default_factory=list)
    coverage: list[Row] = field(default_factory=lambda: [{"records": 1000, "unknown": 0}])

    def run(self) -> Run:
        """The same as frames with all columns; columns that a row does not name are null."""
        real = run_of("py_function__tf2.21.0__vlog2")
        frames = {}
        for name in _TABLES:
            rows = [
                {"source": SOURCE, "line": number * 10, **row}
                for number, row in enumerate(getattr(self, name), start=1)
            ]
            schema = getattr(real, name).schema
            known = [{key: value for key, value in row.items() if key in schema} for row in rows]
            frames[name] = pl.DataFrame(known, schema=schema)
        calls = frames["timeline"].filter(pl.col("kind") == "call")
        traces = calls.select("function", "function_uid", "flavour").unique(maintain_order=True)
        # What has one name is one function here.
        same = traces.with_columns(
            python_function=pl.struct("function", "flavour").rank("dense"),
            made_by=pl.when(pl.col("function").is_in(OWN_FUNCTIONS)).then(pl.lit("TensorFlow")),
        )
        own = pl.Series([bool(row.get("own")) for row in self.timeline], dtype=pl.Boolean)
        place = frames["timeline"].select("line", execution=pl.int_range(pl.len(), dtype=pl.UInt32))
        ran_by = frames["primitives"].select(line="timeline_line")
        links = ran_by.join(
            place.unique("line", keep="first"), on="line", how="left", maintain_order="left"
        )
        beside = {
            "findings": real.findings.clear(),
            "asked": own.to_frame("own"),
            "links": links.select("execution").with_columns(library=pl.lit(None, pl.String)),
        }
        return _Made(frames | beside | {"python_functions": same})


class _Made(Run):
    def __init__(self, frames: dict[str, pl.DataFrame]) -> None:
        self._frames = frames

    def table(self, name: str) -> pl.DataFrame:
        return self._frames[name]

    @property
    def recorded_as(self) -> None:
        """Nothing was written above the log."""

    @property
    def problems(self) -> list[str]:
        return []

    @property
    def unread(self) -> int:
        return 0

    @cached_property
    def rewriters(self) -> Entry:
        names = ["oneDNN"]
        return Entry(kernels=names, primitives=names, knows="the layout pass supports")


def eager(op: str | None, cause: str | None = "outside-function", **columns: Any) -> Row:
    """An op that ran eagerly."""
    made = {"mode": "eager", "kind": "op", "op": op, "kernel": op, "status": "done"}
    return {**made, "cause": cause, **columns}


def call(function: str, number: int, uid: int = 1, **columns: Any) -> Row:
    """A call of a graph function."""
    return {
        "mode": "eager",
        "kind": "call",
        "op": f"__inference_{function}_{uid}",
        "function": function,
        "function_uid": uid,
        "flavour": "inference",
        "call": number,
        **columns,
    }


def node(op: str, function: str | None, number: int | None = 0, **columns: Any) -> Row:
    """A node that ran in a call."""
    made = {"mode": "graph", "kind": "op", "op": op, "kernel": op, "function": function}
    return {**made, "call": number, "status": "done", **columns}


def program(*, ops: tuple[str, ...] = ("Mul",), cause: str | None = "outside-function") -> MadeRun:
    """A program that calls `train` twice, and does something eagerly after each call."""
    rows = [eager("Fill", "variable-init")]
    for number in range(2):
        rows += [call("train", number), node("MatMul", "train", number)]
        rows += [eager(op, cause) for op in ops]
    return MadeRun(rows, functions=[{"function": "train"}])


class _InMemory:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def __fspath__(self) -> str:
        return "/no/such/file"

    def open(self, mode: str) -> io.BytesIO:
        assert mode == "rb"
        return io.BytesIO(self.content)


def in_memory(content: bytes) -> Path:
    """A file whose content is given, for what reads it and nothing else."""
    return cast("Path", _InMemory(content))
