"""Causes on real logs, against the Python frames that asked for each op.

Truth (`tests/causes/truth`): the program of the log was run again with an op callback that noted
the stack of each eager op of the main thread. `tests/causes/stacks.toml` says which causes are
right for a stack. `_EagerConst`s are not in it, nor ops of other threads.
"""

from __future__ import annotations

import difflib
import json
import re
import runpy
import tomllib
from functools import cache
from typing import Any

import polars as pl
import pytest

from tests.samples import NAMES, ROOT, run_of, unpacked
from tflogscope.model.causes.rules import cause_grammar

FOLDER = ROOT / "tests" / "causes"
HOOK = ROOT / "tflogscope" / "recording" / "hook"
FRAMES = FOLDER / "truth"
OWN = sorted(path.name.removesuffix(".log.zst") for path in (FOLDER / "logs").iterdir())


with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(HOOK)
    MARK = runpy.run_path(str(HOOK / "tflogscope_stacks.py"))["_mark"]
STACKS: list[dict[str, Any]] = tomllib.loads((FOLDER / "stacks.toml").read_text())["stack"]


def key(name: str) -> str:
    """Program and release."""
    return "__".join(name.split("__")[:2])


def frames_of(name: str) -> list[tuple[str, list[str]]]:
    """The ops that Python asked for, each with the causes that are right."""
    lines = unpacked(FRAMES / f"{key(name)}.jsonl.zst").splitlines()
    asked = map(json.loads, lines)
    return [(each["op"], right_causes(each["op"], "\n".join(each["frames"]))) for each in asked]


@cache
def right_causes(op: str, frames: str) -> list[str]:
    """The causes that are right for an op with these frames."""
    found: list[str] = []
    for row in STACKS:
        is_op = re.fullmatch(row.get("ops", ".*"), op)
        if (
            is_op
            and not (row.get("alone") and found)
            and re.search(row["frames"], frames, re.MULTILINE)
        ):
            found += row["causes"]
            if row.get("last"):
                break
    return found or ["outside-function"]


WITH_FRAMES = [name for name in (*NAMES, *OWN) if (FRAMES / f"{key(name)}.jsonl.zst").exists()]


def judged(name: str) -> tuple[int, list[tuple[str, str, list[str]]]]:
    """How many ops could be compared, and those with a wrong cause: op, cause, right ones."""
    wanted = frames_of(name)
    rows = (
        run_of(name)
        .timeline.filter((pl.col("mode") == "eager") & (pl.col("op") != "_EagerConst"))
        .select("op", "cause", "kind")
        .rows()
    )
    matcher = difflib.SequenceMatcher(
        None, [op for op, _ in wanted], [op for op, _, _ in rows], autojunk=False
    )
    compared, wrong = 0, []
    for one, other, size in matcher.get_matching_blocks():
        for (op, accept), (_, cause, kind) in zip(
            wanted[one : one + size], rows[other : other + size], strict=True
        ):
            if kind == "op":
                compared += 1
                if cause not in accept:
                    wrong.append((op, cause, accept))
    return compared, wrong


# Where more than 3 % are wrong, and why no rule can fix it.
HARD = {
    # What rarer metrics compute before they add (MeanIoU, cosine similarity, Poisson) is of no
    # other form than a program's own arithmetic; each would be a row of its own.
    "metrics_zoo__tf2.13.1": 0.12,
    "metrics_zoo__tf2.20.0": 0.14,
    # Initializers that the program calls itself look like those of layers.
    "variables__tf2.20.0": 0.19,
    # Stateful initializers, before a layer whose bias comes first.
    "functional__tf2.8.4": 0.05,
}


@pytest.mark.thorough
def test_of_a_hundred_causes_ninety_nine_are_those_of_the_frames() -> None:
    """In each log ninety-seven."""
    judgements = {name: judged(name) for name in WITH_FRAMES}
    for name, (compared, wrong) in judgements.items():
        assert compared >= 10
        assert len(wrong) <= HARD.get(name, 0.03) * compared, (name, wrong)
    usual = [each for name, each in judgements.items() if name not in HARD]
    compared, wrong = (
        sum(number for number, _ in usual),
        [each for _, errors in usual for each in errors],
    )
    assert compared > 8000
    assert len(wrong) <= 0.01 * compared, wrong


@pytest.mark.parametrize("name", NAMES)
def test_what_has_a_cause(name: str) -> None:
    """Eager ops have one; calls, and graph rows that belong to a call, have none."""
    eager = pl.col("mode") == "eager"
    due = (eager & (pl.col("kind") == "op")) | (~eager & pl.col("call").is_null())
    given = run_of(name).timeline.select("cause", due=due, given=pl.col("cause").is_not_null())
    assert not given.filter("due")["given"].not_().any()
    assert not given.filter(~pl.col("due"))["given"].any()
    assert "unknown" not in given["cause"]


@pytest.mark.parametrize("name", NAMES)
def test_each_cause_has_its_evidence(name: str) -> None:
    """The op's own line, and lines of the same log for all that its rule asks for."""
    run = run_of(name)
    ops = run.executions.filter(pl.col("mode") == "eager", pl.col("kind") == "op")
    assert ops["rule"].null_count() == 0
    assert ops["proof_line"].is_between(1, run.coverage["lines"].sum()).all()


def test_stacks_name_causes_and_each_row_fits_one() -> None:
    causes = set(cause_grammar().causes)
    assert {cause for row in STACKS for cause in row["causes"]} <= causes
    files = sorted(FRAMES.iterdir())
    stacks = {
        "\n".join(json.loads(line)["frames"]) for f in files for line in unpacked(f).splitlines()
    }
    for row in STACKS:
        found = any(re.search(row["frames"], each, re.MULTILINE) for each in stacks)
        assert found, f"no recorded stack has the frames {row['frames']}"


# Rules that name a part of TensorFlow or Keras ask for its frames (`frames` in causes.toml), where
# `record` wrote down the stack. Keras 2 wraps results in an Identity: utils/metrics_utils.py.
FRAMES_OF = {"metrics": {"metric-result", "metric-reset", "metric-update", "metric-variable"},
             "optimizer-slots": {"optimizer-variable"}}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("cause", FRAMES_OF)
def test_what_a_cause_is_right_for_has_a_frame_that_its_rules_ask_for(cause: str) -> None:
    rules = [rule for rule in cause_grammar().rules if rule.id in FRAMES_OF[cause]]
    wanted = {frame for rule in rules for frame in rule.frames}
    stacks = {
        (each["op"], tuple(each["frames"]))
        for path in sorted(FRAMES.iterdir())
        for each in map(json.loads, unpacked(path).splitlines())
        if cause in right_causes(each["op"], "\n".join(each["frames"]))[:1]
    }
    assert len(stacks) > 50
    for op, frames in stacks:
        parts = (frame.rpartition(":") for frame in frames)
        marks = {MARK(f"/{path}", function) for path, _, function in parts}
        assert marks & wanted, (op, frames)
