"""Clocks that are wrong: whole logs of other centuries, and single times far from the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tflogscope
from tests.conftest import Open
from tests.makelog import MATMUL, Log
from tests.samples import raw_log
from tflogscope import Run
from tflogscope.cli.main import main
from tflogscope.model.common.intervals import parts

YEARS = ["0001", "1969", "2262", "9999"]
NAME = "function_mlp__tf2.13.1__vlog2"
COMMANDS = {
    "timeline": ["timeline", "LOG"],
    "from": ["timeline", "LOG", "--from", "03:56:40"],
    "from a day": ["timeline", "LOG", "--from", "YEAR-11-21 03:56:40"],
    "from another year": ["timeline", "LOG", "--from", "0001-01-01", "--to", "+1h"],
    "report": ["report", "LOG", "-o", "OUT.html"],
    "trace": ["trace", "LOG", "-o", "OUT.json"],
    "folded": ["trace", "LOG", "-o", "OUT.folded"],
    "analyze": ["analyze", "LOG"],
}


def in_year(year: str) -> bytes:
    return re.sub(rb"(?m)^2026-", f"{year}-".encode(), raw_log(NAME))


@pytest.fixture(scope="module", params=YEARS)
def log_and_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Run]:
    """A log of a year, opened."""
    year: str = request.param
    log = tmp_path_factory.mktemp(year) / "LOG"
    log.write_bytes(in_year(year))
    return year, log, tflogscope.open_log(log)


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_of_any_year_can_be_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log_and_run: tuple[str, Path, Run],
    command: str,
) -> None:
    year, log, run = log_and_run
    monkeypatch.setattr("tflogscope.cli.inputs.open_with", lambda *_, **__: run)
    arguments = [
        word.replace("LOG", str(log)).replace("OUT", str(tmp_path / "out")).replace("YEAR", year)
        for word in COMMANDS[command]
    ]
    assert main(arguments) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("year", YEARS)
def test_a_picture_begins_when_the_log_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], year: str
) -> None:
    log = tmp_path / "run.log"
    begins = []
    for text in (raw_log(NAME), in_year(year)):
        log.write_bytes(text)
        assert main(["timeline", str(log), "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        begins.append(facts.pop("begins_at"))
        begins.append(facts)
    assert begins[0].replace("2026-", f"{year}-") == begins[2]
    assert begins[1] == begins[3]


def test_a_primitive_of_another_century_is_drawn_where_its_line_is(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, -9)
    begun = 1_795_233_394_000  # 2026-11-21 03:56:34, as the log has it
    for milliseconds in (begun, begun, begun, begun + 9 * 10**11, 9_999_999_999_999):
        log.raw(
            f"onednn_verbose,v1,{milliseconds}.000000,primitive,exec,cpu,matmul,x,undef,"
            "src_f32::blocked:ab:f0,,,4x8:8x6,0.5"
        )
    log.raw(
        "onednn_verbose,v1,primitive,exec,cpu,matmul,x,undef,src_f32::blocked:ab:f0,,,4x8:8x6,9e17"
    )
    frame = opened(log).slices.frame
    assert frame.drop_nulls("primitive").height == 6
    assert int(frame["end_ns"].to_numpy().max()) < 10**9


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["9999-12-31", "0001-01-01", "+999999999999h"])
def test_a_moment_far_from_the_log_is_one_where_nothing_ran(tmp_path: Path, when: str) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(raw_log(NAME))
    expected = 0 if when.startswith("0001") else 2
    assert main(["timeline", str(log), "--from", when]) == expected


def test_parts_of_a_time_that_fills_an_integer() -> None:
    edges = parts(-(2**61), 2**61, 1000)
    assert (edges[0], edges[-1], len(edges)) == (-(2**61), 2**61, 1001)
    assert (np.diff(edges) > 0).all()
