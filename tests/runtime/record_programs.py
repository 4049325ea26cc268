"""Keeps what ran in TensorFlow's own logs of the programs.

    python -m tests.runtime.record_programs

runs each program of `PROGRAMS` with the TensorFlow of this Python, records its log and adds what
ran to `data/programs.json.gz`.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

import tflogscope

HERE = Path(__file__).parent
RECORDS = HERE / "data" / "programs.json.gz"
PROGRAMS = (
    "linear_regression", "encoder", "convolutions", "nested_functions", "gradients_of_loops",
    "fit_dense", "fit_convolutional", "fit_recurrent", "training_loop",
)  # fmt: skip
BY_NAME = ["mode", "kind", "op", "kernel", "rewrite", "node", "function"]
Bags = tuple[Counter[Any], Counter[Any]]


def what_ran(log: Path) -> Bags:
    """Executions and primitives of a log; dead nodes and constants computed ahead left out."""
    run = tflogscope.open_log(str(log))
    table = run.timeline.filter(pl.col("kind").is_in(["op", "call"]) & (pl.col("status") != "dead"))
    is_call = pl.col("kind") == "call"
    table = table.with_columns(
        op=pl.when(is_call).then("function").otherwise("op"),
        kernel=pl.when(is_call).then(pl.lit("")).otherwise("kernel"),
    )
    primitives = run.primitives.filter(pl.col("event") == "exec")
    return (
        Counter(table.select(BY_NAME).iter_rows()),
        Counter(primitives.select("primitive", "problem").iter_rows()),
    )


def recorded() -> dict[str, Any]:
    """`PROGRAM RELEASE`: what ran there."""
    with gzip.open(RECORDS, "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def keep(name: str, log: Path, found: dict[str, Any]) -> None:
    """Add what ran in this log."""
    found[name] = [[[*row, count] for row, count in bag.items()] for bag in what_ran(log)]
    text = json.dumps(dict(sorted(found.items())), separators=(",", ":"))
    RECORDS.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    """Record them."""
    import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]

    settings = {"TF_CPP_MAX_VLOG_LEVEL": "2", "ONEDNN_VERBOSE": "1", "PYTHONUNBUFFERED": "1"}
    found = recorded() if RECORDS.exists() else {}
    for name in PROGRAMS:
        with tempfile.NamedTemporaryFile(suffix=".log") as log:
            program = [sys.executable, str(HERE / "programs" / f"{name}.py")]
            environment = {**os.environ, **settings}
            subprocess.run(program, check=True, stdout=log, stderr=log, env=environment)
            keep(f"{name} {tf.__version__}", Path(log.name), found)


if __name__ == "__main__":
    main()
