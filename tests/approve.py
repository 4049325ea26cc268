"""Golden files: what `analyze` and `timeline` print for a few sample logs, and where the lines of
oneDNN are linked in each.

`python -m tests.approve` rewrites them after an intended change; look at the difference before you
commit it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.samples import LOGS, NAMES, ROOT, path_of, run_of

GOLDEN = ROOT / "tests" / "golden"
LINKS = GOLDEN / "links.csv"
SHOWN = (
    ("analyze", "keras_fit_mlp__tf2.13.1__vlog2"),
    ("analyze", "eager_basics__tf2.8.4__vlog2"),
    ("analyze", "python_threads__tf2.21.0__vlog2"),
    ("timeline", "keras_fit_mlp__tf2.13.1__vlog2"),
    ("timeline", "retrace__tf2.20.0__vlog2"),
    ("timeline", "eager_basics__tf2.8.4__vlog2"),
)


def golden_of(command: str, name: str) -> Path:
    return GOLDEN / f"{name if command == 'analyze' else f'{command}__{name}'}.txt"


def printed(command: str, name: str) -> str:
    """What the command prints into a pipe, with the log named as from its folder."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")
    }
    found = subprocess.run(
        [sys.executable, "-m", "tflogscope", command, path_of(name).name],
        cwd=LOGS,
        env={**environment, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    return found.stdout


def linked(name: str) -> pl.DataFrame:
    """How many lines of a primitive have a link to runs of a kernel, and how far away they are.

    `apart`: the squares of the physical lines between the start of a run and a line, added up: the
    sum of these numbers would be the same if two runs changed places.
    """
    run = run_of(name)
    kernels = run.timeline.select("kernel", timeline_line="line")
    lines = run.primitives.filter(event="exec").join(kernels, on="timeline_line", how="left")
    keys = ["primitive", "kernel", "link"]
    apart = pl.col("line").cast(pl.Int64) - pl.col("timeline_line").cast(pl.Int64)
    sums = lines.group_by(keys).agg(lines=pl.len().cast(pl.Int64), apart=(apart * apart).sum())
    return sums.sort(keys).select(pl.lit(name).alias("log"), *sums.columns)


def approve() -> None:
    GOLDEN.mkdir(exist_ok=True)
    pl.concat(linked(name) for name in NAMES).write_csv(LINKS)
    for shown in SHOWN:
        golden_of(*shown).write_text(printed(*shown), encoding="utf-8")
        sys.stdout.write(f"{golden_of(*shown).relative_to(ROOT)}\n")


if __name__ == "__main__":
    approve()
