"""Whole programs on the runtime: they print what TensorFlow 2.13 prints, with the same ops in the
same order.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.comparing import ENVIRONMENT, difference
from tests.runtime.record_programs import normal

HERE = Path(__file__).parent
RECORDED = sorted(path.stem for path in (HERE / "data" / "programs").glob("*.json"))


def recorded(name: str) -> Any:
    found = json.loads((HERE / "data" / "programs" / f"{name}.json").read_text())
    found["eager"] = [normal(op) for op in found["eager"]]
    found["graphs"] = [(normal(function), nodes) for function, nodes in found["graphs"]]
    return found


@functools.cache
def watched(name: str) -> Any:
    command = [
        sys.executable,
        "-m",
        "tests.runtime.run_watched",
        str(HERE / "programs" / f"{name}.py"),
    ]
    done = subprocess.run(
        command,
        cwd=HERE.parent.parent,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["status"] == 0, done.stderr
    return seen


def first_difference(ours: list[str], theirs: list[str]) -> str | None:
    for index, (a, b) in enumerate(zip_longest(ours, theirs, fillvalue="nothing")):
        if a != b:
            around = theirs[max(0, index - 3) : index]
            return f"number {index}, after {around}: {a} instead of {b}"
    return None


@pytest.mark.parametrize("name", RECORDED)
def test_it_prints_what_tensorflow_prints(name: str) -> None:
    assert difference(watched(name)["stdout"], recorded(name)["stdout"]) is None


@pytest.mark.parametrize("name", RECORDED)
def test_the_eager_ops_are_those_of_tensorflow_in_order(name: str) -> None:
    assert first_difference(watched(name)["eager"], recorded(name)["eager"]) is None


def traced(graphs: list[Any]) -> list[Any]:
    """The functions that come from the program's Python.

    NB: the runtime does not tell of backward functions.
    """
    return [each for each in graphs if "__backward_" not in each[0]]


@pytest.mark.parametrize("name", RECORDED)
def test_the_functions_have_the_nodes_of_tensorflow(name: str) -> None:
    ours, theirs = watched(name)["graphs"], traced(recorded(name)["graphs"])
    for (our_name, our_nodes), (their_name, their_nodes) in zip(ours, theirs, strict=False):
        assert our_name == their_name
        assert first_difference(our_nodes, their_nodes) is None, our_name
    assert len(ours) == len(theirs)
