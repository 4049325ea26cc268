"""Whole programs run on the runtime what they run on TensorFlow: the same ops, functions and oneDNN
primitives as TensorFlow's own logs of them show.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.deep import first_quick
from tests.runtime.record_programs import PROGRAMS, recorded, what_ran

HERE = Path(__file__).parent
RECORDED = recorded()
WANTED = {"2.13.1": (0.95, 0.90, 0.92), "2.20.0": (0.88, 0.80, 0.82)}
"""The means of executions, of executions with names, and of primitives, by release."""
_FOR_LATER = ("fit_dense", "fit_convolutional", "convolutions", "linear_regression")
RUNS = [*((name, "2.13.1") for name in PROGRAMS), *((name, "2.20.0") for name in _FOR_LATER)]


@functools.cache
def likeness(name: str, release: str) -> tuple[float, float, float]:
    """F1 of executions, of those with names, of primitives."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.log"
        series = release.rpartition(".")[0]
        command = [sys.executable, "-m", "tflogscope", "simulate", f"{HERE}/programs/{name}.py"]
        command += ["-o", str(log), "--dialect", series]
        # Functions are numbered through, so it takes a process of its own.
        subprocess.run(command, check=True, capture_output=True)
        ours, primitives = what_ran(log)
    theirs, others = (
        Counter({tuple(row[:-1]): row[-1] for row in rows})
        for rows in RECORDED[f"{name} {release}"]
    )
    return f1(by_op(ours), by_op(theirs)), f1(ours, theirs), f1(primitives, others)


def by_op(bag: Counter[Any]) -> Counter[Any]:
    """The same without names."""
    found: Counter[Any] = Counter()
    for row, count in bag.items():
        found[row[:5]] += count
    return found


def f1(one: Counter[Any], other: Counter[Any]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


@pytest.mark.parametrize(("name", "release"), first_quick(RUNS))
def test_it_runs_the_same_ops(name: str, release: str) -> None:
    executions, _, primitives = likeness(name, release)
    assert executions > 0.9
    assert primitives > 0.6  # NB: separable convolutions are not here


@pytest.mark.thorough
@pytest.mark.parametrize("release", WANTED)
def test_the_means_are_as_wanted(release: str) -> None:
    rows = [likeness(name, each) for name, each in RUNS if each == release]
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert all(mean >= wanted for mean, wanted in zip(means, WANTED[release], strict=True)), means
