"""Logs of `tflogscope simulate`: their times are a model's, so nothing is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import run_command
from tests.samples import path_of, run_of
from tflogscope.views.analyze import first_screen
from tflogscope.views.difference import difference_document
from tflogscope.views.terminal import drawn

SIMULATED, REAL = "simulated", "retrace__tf2.20.0__vlog2"


def test_the_first_line_says_so_and_no_finding_has_a_time() -> None:
    run = run_of(SIMULATED)
    assert drawn(first_screen(run)).startswith("Simulated, ")
    assert run.findings.height
    assert not run.findings["time_us"].count()
    assert not run.ledger["owner"].count()
    assert run_of(REAL).findings["time_us"].count()
    assert run_of(REAL).summary.recorded.simulated is None


@pytest.mark.parametrize(
    ("before", "sides", "said"),
    [
        (REAL, ["after"], "Times not compared: the second run is simulated"),
        (SIMULATED, ["before", "after"], "Times not compared: both runs are simulated"),
    ],
)
def test_diff_compares_no_times(before: str, sides: list[str], said: str) -> None:
    facts = run_of(before).diff(run_of(SIMULATED))
    assert facts["simulated"] == sides
    assert facts["step"] is None
    assert said in drawn(difference_document(facts))


def test_check_looks_at_no_times(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("max_reorder_share = 0.0\nmax_retraces = 3\n")
    done = run_command("check", path_of(SIMULATED), "--policy", policy)
    assert done.returncode == 1
    assert b"max_reorder_share: not checked: times are simulated" in done.stdout
    assert b"FAILED  max_retraces: The most retraces of one function: 5" in done.stdout


def test_a_redacted_log_is_still_simulated(tmp_path: Path) -> None:
    redacted = tmp_path / "redacted.log"
    assert run_command("redact", path_of(SIMULATED), "-o", redacted).returncode == 0
    assert redacted.read_text().startswith('# tflogscope record {"simulated":"2.20"}\n')
