"""The methods of a run that do what the commands do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.samples import path_of, run_of
from tflogscope.checks.baseline import read_baseline
from tflogscope.cli.main import main
from tflogscope.errors import OutputError, QueryError, UsageError

KERAS, EAGER = "keras_fit_mlp__tf2.13.1__vlog2", "run_eagerly__tf2.13.1__vlog2"


@pytest.mark.thorough
def test_check_says_what_the_command_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, passed in ((KERAS, True), (EAGER, False)):
        verdict = run_of(name).check()
        assert main(["check", str(path_of(name)), "--json"]) == int(not passed)
        facts = json.loads(capsys.readouterr().out)
        assert facts["passed"] is verdict.passed is passed


@pytest.mark.thorough
def test_check_takes_a_policy_and_a_baseline(tmp_path: Path) -> None:
    run = run_of(EAGER)
    policy = tmp_path / "policy.toml"
    policy.write_text("unexpected_eager = 100000\n")
    assert run.check(policy).passed
    known = tmp_path / "known.json"
    assert main(["check", str(path_of(EAGER)), "--write-baseline", str(known)]) == 0
    baseline = read_baseline(known)
    assert run.check(baseline=known).passed
    assert run.check(baseline=baseline).passed
    assert run.check(baseline=baseline).passed, "a baseline is used up"


def test_query_answers_over_the_tables() -> None:
    run = run_of(KERAS)
    assert run.query("SELECT COUNT(*) AS n FROM timeline").item() == run.timeline.height
    with pytest.raises(QueryError):
        run.query("DROP TABLE timeline")


@pytest.mark.thorough
def test_diff_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(path_of(KERAS)), str(path_of(EAGER)), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(json.dumps(run_of(KERAS).diff(run_of(EAGER)))) == printed


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("use", "name"), [("report", "run.html"), ("trace", "run.folded"), ("trace", "run.json.gz")]
)
def test_a_file_is_that_of_the_command(tmp_path: Path, use: str, name: str) -> None:
    run, path, other = run_of(KERAS), tmp_path / name, tmp_path / f"other.{name}"
    getattr(run, use)(path)
    assert main([use, str(path_of(KERAS)), "-o", str(other)]) == 0
    assert path.read_bytes() == other.read_bytes()
    with pytest.raises(OutputError):
        getattr(run, use)(path)
    getattr(run, use)(path, force=True)


def test_a_trace_of_no_known_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        run_of(KERAS).trace(tmp_path / "run.txt")
