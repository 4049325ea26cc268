"""The command line over made-up runs, so that its tests need no logs and no parser.

`python -m tests.stub ARGUMENTS` is `tflogscope ARGUMENTS` with inputs that are known by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from types import ModuleType
from typing import Any

import polars as pl

import tflogscope.cli.inputs
from tflogscope.cli.main import main
from tflogscope.errors import InputError, NothingRecognised
from tflogscope.model.calls.parts import Part
from tflogscope.views.document import Document, Paragraph

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "[/bold]",
    "=1+1",
    "</script>",
    "::error::x",
    "##[warning]x",
    "a\nb\r\tc,d\"e'",
    "\u202egnp.exe",
    "\x9b2J\x7f\x00",
    "\u2028\ufeff",
]


def ops_frame(names: list[str]) -> pl.DataFrame:
    """A table with the columns that matter to exports: text, numbers, µs, null, a datetime."""
    count = len(names)
    return pl.DataFrame(
        {
            "mode": ["graph"] * count,
            "kind": ["op"] * count,
            "op": names,
            "kernel": names,
            "rewrite": ["layout"] * count,
            "executions": [1234567] * count,
            "dead": [0] * count,
            "steady_us": [1.25] * count,
            "work_us": [1.5] * count,
            "total_us": [1500] * count,
            "mean_us": [1.5] * (count - 1) + [None],
            "step": [-1] * count,
            "start": [datetime(2023, 7, 1, 12, 0, 0, 5)] * count,  # noqa: DTZ001  logs print none
            "first_line": pl.Series(range(1, count + 1), dtype=pl.UInt64),
        }
    )


@dataclass
class StubRun:
    """What the commands need of a run."""

    ops: pl.DataFrame = field(default_factory=lambda: ops_frame(HOSTILE))

    parts = (Part((), ""),)

    def __getattr__(self, table: str) -> pl.DataFrame:
        return self.ops


def open_with(
    _threads: int,
    *inputs: str | os.PathLike[str],
    progress: Callable[[int, int | None], None] | None = None,
    **_: Any,
) -> StubRun:
    """Fail in the way that the first input's name says, or give a made-up run."""
    name = os.path.basename(inputs[0])  # noqa: PTH119  a name may hold what a Path would drop
    if name.startswith("missing"):
        raise InputError("no such file", name, "Check the path.")
    if name.startswith("nothing"):
        raise NothingRecognised("no record of TensorFlow or oneDNN", name)
    if name == "no memory":
        raise MemoryError
    if name == "no thread":
        raise RuntimeError("can't start new thread")
    if name == "crash":
        raise KeyError("\x1b[31m")
    if name == "interrupt":
        raise KeyboardInterrupt
    if name == "big":
        return StubRun(ops_frame(["MatMul"] * 200_000))
    if progress is not None:
        progress(1, 2)
    return StubRun()


def find_runs(inputs: list[str], _: object, **_asked: bool) -> list[str]:
    """The inputs as they are named."""
    return inputs


def owned(*_: object) -> list[str]:
    """No process of an input but its own."""
    return []


def _document(run: StubRun, *_: Any) -> Document:
    return [Paragraph(run.ops["op"][0], "error")]


def _summary_json(run: StubRun) -> dict[str, Any]:
    return {"schema_version": 1, "op": run.ops["op"].to_list()}


def analyze_module() -> ModuleType:
    """Takes the place of `tflogscope.views.analyze`."""
    module = ModuleType("tflogscope.views.analyze")
    vars(module).update(
        FIRST_SCREEN=40,
        first_screen=_document,
        analyze_document=_document,
        summary_json=_summary_json,
        parts_json=lambda *_: {},
        part_heading=lambda *_: (),
    )
    return module


if __name__ == "__main__":
    vars(tflogscope.cli.inputs).update(open_with=open_with, find_runs=find_runs, owned=owned)
    sys.modules["tflogscope.views.analyze"] = analyze_module()
    sys.exit(main())
