"""Logs that the runtime writes, held against the truth that it writes beside them."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tflogscope
from tflogscope.runtime.emitter.output import Levels
from tflogscope.runtime.emitter.process import Settings, writing
from tflogscope.runtime.names import bind

Row = dict[str, Any]
COMPARED = ("mode", "kind", "op", "kernel", "rewrite", "node", "function", "step", "status")


def program() -> None:
    """Some of everything: eager ops, functions, loops, datasets, Python functions, prints."""
    tf = bind()

    weights = tf.Variable(tf.random.normal((8, 16)))
    bias = tf.Variable(tf.zeros(16))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(x, weights) + bias)
            loss = tf.reduce_mean(tf.nn.softmax(hidden) ** 2)
        for variable, grad in zip(
            (weights, bias), tape.gradient(loss, (weights, bias)), strict=True
        ):
            variable.assign_sub(0.1 * grad)
        return loss

    def wide(x: Any) -> Any:
        products = [tf.matmul(x, tf.ones((8, 3 + size))) for size in range(12)]
        return tf.add_n([tf.reduce_sum(tf.tanh(each)) for each in products])

    def loop(x: Any) -> Any:
        for _ in tf.range(4):
            x = tf.tanh(tf.matmul(x, x)) if tf.reduce_sum(x) > 0.0 else x * 2.0
        return x

    def python(x: Any) -> Any:
        return tf.py_function(lambda y: tf.nn.softmax(tf.matmul(y, y)), [x], tf.float32)

    train, branches, looped, pythonic = map(tf.function, (step, wide, loop, python))
    data = tf.data.Dataset.range(6).map(lambda i: tf.cast(i, tf.float32) * 2.0).batch(2)
    for number, batch in enumerate(data):
        x = tf.constant(np.full((4, 8), 0.5, "f")) * tf.reduce_sum(batch)
        sys.stdout.write(f"loss {number} {float(train(x))}\n")
        branches(x)
        looped(tf.constant(np.full((3, 3), 0.1, "f")))
        pythonic(tf.constant(np.eye(5, dtype="f")))
    image = tf.constant(np.ones((2, 8, 8, 3), "f"))
    tf.nn.max_pool2d(tf.nn.conv2d(image, tf.ones((3, 3, 3, 4)), 1, "SAME"), 2, 2, "VALID")
    try:
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
    except tf.errors.InvalidArgumentError:
        sys.stdout.write("refused\n")


def write(
    folder: Path, release: str = "2.13", threads: int = 2, faults: Sequence[str] = (), seed: int = 0
) -> tuple[Path, Path]:
    """The log of the program, and its truth."""
    log, truth = folder / "run.log", folder / "truth.jsonl"
    settings = Settings(release, Levels(2), seed, threads, faults=faults)
    with (
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
        writing(log, settings, truth),
    ):
        program()
    return log, truth


@dataclass
class Verdict:
    """How the analyzer's tables agree with the truth."""

    executions: int = 0
    missed: list[Row] = field(default_factory=list)
    """Executions whose record stands whole in the log, and that have no row."""
    wrong: list[tuple[str, Any, Any, Row]] = field(default_factory=list)
    """What of a row is not as it was: column, row's value, truth's value, truth."""
    added: int = 0
    """Rows on lines where nothing ran."""
    primitives: int = 0
    linked: int = 0
    falsely_certain: list[Row] = field(default_factory=list)
    coverage: Counter[str] = field(default_factory=Counter)


def compare(log: Path, truth: Path) -> Verdict:
    """Hold the tables against the truth, line by line."""
    told = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    run = tflogscope.open_log(str(log))
    verdict = Verdict()
    executions = {each["id"]: each for each in told if each["truth"] == "execution"}
    torn = {each["line"] for each in told if each["truth"] == "line" and each.get("torn")}
    rows = {row["line"]: row for row in run.timeline.iter_rows(named=True)}
    _executions(verdict, executions, rows, torn)
    by_line = {
        each["line"]: executions.get(each["execution"])
        for each in told
        if each["truth"] == "primitive" and each.get("line")
    }
    for row in run.primitives.filter(pl.col("event") == "exec").iter_rows(named=True):
        ran = by_line.get(row["line"])
        if ran is None:
            continue
        verdict.primitives += 1
        right = row["timeline_line"] == ran.get("line")
        verdict.linked += right
        if row["link"] == "certain" and not right:
            verdict.falsely_certain.append(row)
    for row in run.coverage.iter_rows(named=True):
        for name in ("recognised", "ignored", "unknown"):
            verdict.coverage[name] += int(row[name])
    return verdict


def _executions(
    verdict: Verdict, executions: dict[int, Row], rows: dict[int, Row], torn: set[int]
) -> None:
    called = {row["call"]: line for line, row in rows.items() if row["kind"] == "call"}
    lines = set()
    for each in executions.values():
        line = each.get("line")
        if line is None:
            continue
        verdict.executions += 1
        lines.add(line)
        row = rows.get(line)
        if row is None:
            if line not in torn:
                verdict.missed.append(each)
            continue
        for name in COMPARED:
            if row[name] != each.get(name):
                verdict.wrong.append((name, row[name], each.get(name), each))
        if "call" in each:
            call = executions[each["call"]].get("line")
            if called.get(row["call"]) != call:
                verdict.wrong.append(("call", called.get(row["call"]), call, each))
    verdict.added = len(set(rows) - lines)
