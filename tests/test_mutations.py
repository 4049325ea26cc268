"""Damaged logs: every table can be made, or a message refuses the input."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import polars as pl
import pytest

from tests.deep import DEEP
from tests.mutations import KINDS, mutated
from tests.samples import raw_log
from tests.test_model_schema import SCHEMA, check_tables
from tflogscope import Run, open_log
from tflogscope.cli.main import main
from tflogscope.errors import NothingRecognised

pytestmark = pytest.mark.thorough

# Small logs of all dialects, with eager ops, functions, threads, sessions and verbose lines.
LOGS = [
    "eager_basics__tf2.8.4__vlog2",
    "function_mlp__tf2.13.1__vlog2__tid",
    "python_threads__tf2.13.1__vlog2",
    "py_function__tf2.21.0__vlog2",
    "retrace__tf2.20.0__vlog2",
]
SEEDS = 5 if DEEP else 1
CASES = [(kind, LOGS[(place + seed) % len(LOGS)], seed)
         for place, kind in enumerate(KINDS) for seed in range(SEEDS)]  # fmt: skip
BUCKETS = ("recognised", "ignored", "unknown", "continuation", "blank")


def written(tmp_path: Path, name: str, kind: str, seed: int) -> Path:
    path = tmp_path / "damaged.log"
    path.write_bytes(mutated(raw_log(name), kind, seed))
    return path


def check_account(run: Run) -> None:
    row = run.coverage.select(pl.col(pl.UInt64).sum()).to_dicts()[0]
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
    assert row["records"] == row["recognised"] + row["ignored"] + row["unknown"]
    rows = run.timeline
    if rows.height:
        assert rows["line"].is_between(1, row["lines"]).all()
        assert rows.filter(pl.col("end_line") < pl.col("line")).is_empty()
        assert rows.filter(pl.col("duration_us") < 0).is_empty()


@pytest.mark.parametrize(("kind", "name", "seed"), CASES)
def test_damage_is_survived(tmp_path: Path, kind: str, name: str, seed: int) -> None:
    path = written(tmp_path, name, kind, seed)
    run = None
    with contextlib.suppress(NothingRecognised):
        run = open_log(path)
    if run is None:
        return
    assert all(getattr(run, table) is not None for table in SCHEMA)
    check_tables(run)
    check_account(run)
    lines = path.read_bytes().count(b"\n")
    assert run.coverage["lines"][0] in (lines, lines + 1)


@pytest.mark.parametrize(
    "kind", ["flip_bytes", "insert_binary", "insert_controls", "name_controls", "glue_lines", "cut"]
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_analyze_prints_nothing_that_acts_on_a_terminal(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], kind: str, form: str
) -> None:
    path = written(tmp_path, "function_mlp__tf2.13.1__vlog2__tid", kind, 7)
    code = main(["analyze", str(path), *(["--json"] if form == "json" else [])])
    out, err = capfdbinary.readouterr()
    assert code in (0, 3)
    for character in (out + err).decode():
        assert character == "\n" or character.isprintable(), repr(character)
    if form == "json" and code == 0:
        assert json.loads(out)["schema_version"] >= 1


def test_damage_is_the_same_for_the_same_seed() -> None:
    log = raw_log("eager_basics__tf2.8.4__vlog2")
    for kind in KINDS:
        once = mutated(log, kind, 1)
        assert once == mutated(log, kind, 1)
        assert once != log, kind
