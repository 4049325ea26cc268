"""Dates that are damaged: what is drawn ends, and stays in the order of the log."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.command import run_command
from tests.samples import raw_log
from tflogscope import open_log
from tflogscope.model.slices.lanes import assign_lanes

DATES = ("9999-12-31", "0001-01-01", "2262-04-12", "1677-09-20")
NS = 2**63


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize(
    "name", ["control_flow__tf2.20.0__vlog2", "link_shapes__tf2.20.0__vlog2__inter8"]
)
def test_a_log_with_damaged_dates_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, date: str
) -> None:
    lines = raw_log(name).splitlines(keepends=True)
    damaged = re.compile(rb"^\d{4}-\d\d-\d\d")
    path = tmp_path / "run.log"
    for step in (3, 7):
        some = [
            damaged.sub(date.encode(), line) if number % step == 0 else line
            for number, line in enumerate(lines[:2000])
        ]
        path.write_bytes(b"".join(some))
        run = open_log(path)
        # The commands share it.
        monkeypatch.setattr("tflogscope.cli.inputs.open_with", lambda *_, run=run, **__: run)
        frame = run.slices.frame
        assert (frame["end_ns"] >= frame["begin_ns"]).all()
        assert frame["begin_ns"].is_between(0, NS // 2).all()
        for command, output in ("trace", "a.json"), ("report", "a.html"):
            done = run_command(command, path, "-o", tmp_path / output, "--force")
            assert done.returncode == 0, done.stderr
        assert run_command("analyze", path).returncode == 0
        assert run_command("timeline", path).returncode == 0


def test_lanes_of_slices_that_end_before_they_begin_are_numbered() -> None:
    random = np.random.default_rng(7)
    for _ in range(50):
        rank = random.permutation(40)
        lane = assign_lanes(random.integers(0, 3, 20), rank[:20], rank[20:])
        assert lane.shape == (20,)
