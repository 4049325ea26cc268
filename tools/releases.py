"""What logs of releases of TensorFlow hold: rows for `docs/releases.md`, by running each.

    python tools/releases.py PYTHON...

Each PYTHON has another release installed. It runs a small program, eagerly and in a function, with
VLOG 2, oneDNN's lines and thread ids; the columns are read off the log and its tables.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

import tflogscope

PROGRAM = """
import tensorflow as tf

x, bias, image = tf.ones((64, 64)), tf.ones((64,)), tf.ones((4, 16, 16, 8))
filters = tf.ones((3, 3, 8, 16))
tf.matmul(x, x)

@tf.function
def step(x, image):
    convolved = tf.nn.conv2d(image, filters, 1, "SAME")
    return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, x), bias)), tf.nn.softmax(convolved)

for _ in range(3):
    step(x, image)
import keras
print("versions", tf.__version__, keras.__version__)
"""
_SETTINGS = {
    "TF_CPP_MAX_VLOG_LEVEL": "2",
    "TF_CPP_LOG_THREAD_ID": "1",
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "ONEDNN_VERBOSE": "1",
}
_CLASSIC = re.compile(rb"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] ( *\d+ )?", re.MULTILINE)
_ABSL = re.compile(rb"^[IWEF](?:\d{4} \d\d:\d\d:\d\d|0000 00:00:\d+)\.\d+ +\d+ ", re.MULTILINE)
_HEAD = (
    "TensorFlow | Keras | oneDNN | prefix | thread ids | ends of eager ops, calls, nodes | "
    "kernels of oneDNN"
)


def row_of(python: str) -> str:
    """A row of the table, of one release."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.log"
        with log.open("wb") as file:
            subprocess.run(
                [python, "-c", PROGRAM],
                check=True,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **_SETTINGS},
            )
        text, run = log.read_bytes(), tflogscope.open_log(log)
        timeline, version = run.timeline, run.summary.recorded.onednn_version
    said = re.search(rb"^versions (\S+) (\S+)$", text, re.MULTILINE)
    tensorflow, keras = (each.decode() for each in said.groups()) if said else ("?", "?")
    classic, absl = _CLASSIC.findall(text), len(_ABSL.findall(text))
    prefix, thread_ids = "absl", "always"
    if classic:
        of_all = absl / (len(classic) + absl)
        prefix = f"classic, {of_all:.1%} absl" if absl else "classic"
        thread_ids = "optional" if all(classic) else "not always"
    kernels = timeline.filter(pl.col("rewrite") != "none")["kernel"].unique().sort().to_list()
    cells = (
        tensorflow,
        keras,
        version,
        prefix,
        thread_ids,
        ", ".join(_ends(timeline)),
        ", ".join(f"`{kernel}`" for kernel in kernels),
    )
    return " | ".join(map(str, cells))


def _ends(timeline: pl.DataFrame) -> list[str]:
    """Which eager ops, calls and nodes have an end in the log: a duration."""
    kinds = (
        (pl.col("mode") == "eager") & (pl.col("kind") == "op"),
        pl.col("kind") == "call",
        (pl.col("mode") == "graph") & (pl.col("kind") == "op"),
    )
    shares = [timeline.filter(of)["duration_us"].is_not_null().mean() for of in kinds]
    return ["–" if share is None else f"{share:.0%}" for share in shares]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("python", nargs="+")
    rows = [_HEAD, "|".join(["---"] * (_HEAD.count("|") + 1))]
    for python in parser.parse_args().python:
        rows.append(row_of(python))
        sys.stderr.write(f"{rows[-1]}\n")
    print("\n".join(f"| {row} |" if "---" not in row else f"|{row}|" for row in rows))


if __name__ == "__main__":
    main()
