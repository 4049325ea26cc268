"""`tflogscope check`: options, files, exit codes, and how it behaves in GitHub Actions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import tflogscope
from tests.command import run_command
from tests.makelog import ADD, MATMUL, Log
from tests.samples import path_of
from tflogscope.cli.main import main

Check = Callable[..., tuple[int, str, str]]
CLEAN = str(path_of("function_mlp__tf2.21.0__vlog2"))
PYTHON = str(path_of("py_function__tf2.13.1__vlog2"))
SAID = "unexpected_eager: 37 unexpected eager executions; allowed: 0."


@pytest.fixture
def check(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Check:
    """`tflogscope check ARGUMENTS` in an empty directory: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = main(["check", *arguments])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_a_clean_run_passes(check: Check) -> None:
    code, out, err = check(CLEAN)
    assert (code, err) == (0, "")
    assert out.startswith("ok      unexpected_eager: 0 unexpected eager executions; allowed: 0.")
    assert out.endswith("Check passed (default policy)\n")


def test_a_log_that_is_cut_off_is_said_to_be(check: Check, tmp_path: Path) -> None:
    whole = Path(CLEAN).read_bytes()
    cut = tmp_path / "cut.log.zst"
    cut.write_bytes(whole[: len(whole) * 9 // 10])
    notes = [json.loads(check("--format", "json", each)[1])["notes"] for each in (CLEAN, str(cut))]
    said = f"Only the readable part was checked. {cut}: zstd archive is truncated."
    assert notes == [[], [said]]


def test_python_in_place_of_a_graph_fails_and_ops_and_lines_are_named(check: Check) -> None:
    code, out, err = check(PYTHON)
    assert (code, err) == (1, "")
    assert SAID in out
    assert "MatMul" in out
    assert "3,407" in out


def test_what_is_wrong_before_a_log_is_read(check: Check, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("max_retrace = 1")
    (tmp_path / "baseline.json").write_text("{}")
    for arguments, code, message in (
        (["no.log"], 3, "tflogscope: no.log: can't be read: No such file"),
        ([CLEAN, "--policy", "policy.toml"], 2, "Did you mean max_retraces?"),
        ([CLEAN, "--policy", "none.toml"], 3, "tflogscope: none.toml: No such file"),
        ([CLEAN, "--baseline", "baseline.json"], 2, "not a baseline of this version"),
        ([CLEAN, "--baseline", "none.json"], 3, "tflogscope: none.json: No such file"),
        ([CLEAN, "--baseline", "a", "--write-baseline", "b"], 2, "can't be combined"),
        ([CLEAN, "--json", "--format", "junit"], 2, "can't be combined"),
        ([CLEAN, "--format", "xml"], 2, "'xml' is not one of 'text'"),
        ([CLEAN, "-o", "check.doc"], 2, "unknown suffix '.doc'"),
        ([CLEAN, "-o", "policy.toml"], 2, "unknown suffix '.toml'"),
        ([CLEAN, "-o", "baseline.json"], 2, "already exists"),
        ([CLEAN, "--write-baseline", "baseline.json"], 2, "already exists"),
        ([CLEAN, "--write-baseline", "no/baseline.json"], 2, "no such directory"),
    ):
        ended, out, err = check(*arguments)
        assert (ended, out) == (code, ""), arguments
        assert message in err
        assert 1 <= err.partition("\nA policy that works:")[0].count("\n") <= 2


@pytest.mark.thorough
def test_a_job_has_the_verdict_in_its_summary(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert check(CLEAN)[0] == 0
    assert check(PYTHON)[0] == 1
    text = summary.read_text()
    assert text.startswith("before\n## tflogscope check passed\n")
    assert "\n## tflogscope check failed\n" in text
    assert "| `MatMul` | `py-function` |" in text
    _, shown, _ = check(PYTHON, "--format", "markdown")
    assert text.endswith(shown)
    check(PYTHON, "-o", "check.md")
    assert (tmp_path / "check.md").read_text() == shown


def test_a_summary_that_is_too_long_is_cut_after_a_line(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setattr("tflogscope.cli.check._SUMMARY_BYTES", 600)
    assert check(PYTHON)[0] == 1
    lines = summary.read_text().splitlines()
    assert lines[-1] == "Truncated: GitHub accepts no more."
    assert lines[-3].startswith("  | ")
    assert lines[-3].endswith(" |")
    assert summary.stat().st_size < 700


def test_a_summary_that_can_not_be_written_fails_no_check(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    code, out, err = check(CLEAN)
    assert code == 0
    assert out.endswith("Check passed (default policy)\n")
    assert "can't write the job summary: No such file" in err


def test_an_empty_log_is_no_passed_check(check: Check, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("")
    assert check("run.log")[0] == 3
    (tmp_path / "run.log").write_text("Epoch 1/2\nloss: 0.5\n")
    assert check("run.log")[0] == 3


@pytest.mark.thorough
def test_the_policy_of_the_project_is_found_and_one_that_is_named_comes_before_it(
    check: Check, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tflogscope.check]\nunexpected_eager = 37")
    (tmp_path / "strict.toml").write_text("unexpected_eager = 36")
    code, out, _ = check(PYTHON)
    assert (code, out.splitlines()[-1]) == (0, "Check passed (policy: pyproject.toml)")
    code, out, _ = check(PYTHON, "--policy", "strict.toml")
    assert code == 1
    assert "(policy: strict.toml)" in out


@pytest.mark.thorough
def test_a_baseline_is_written_and_held_against(check: Check, tmp_path: Path) -> None:
    code, out, _ = check(PYTHON, "--write-baseline", "baseline.json")
    assert code == 0
    assert "37 of them in the baseline" in out.replace("\n        ", " ")
    assert check(PYTHON, "--baseline", "baseline.json")[0] == 0
    rows = json.loads((tmp_path / "baseline.json").read_text())["violations"]
    assert sum(row["amount"] for row in rows) == 37
    rows = [row for row in rows if row["op"] != "Fill"]
    (tmp_path / "less.json").write_text(json.dumps({"tflogscope_baseline": 1, "violations": rows}))
    code, out, _ = check(PYTHON, "--baseline", "less.json", "--json")
    assert code == 1
    found, *_ = json.loads(out)["checks"]
    assert [each["subject"]["op"] for each in found["violations"]] == ["Fill"]


@pytest.mark.thorough
def test_a_new_program_that_fails_in_another_way_is_new(check: Check, tmp_path: Path) -> None:
    check(PYTHON, "--write-baseline", "baseline.json")
    log = Log()
    log.first_call("__inference_f_5", 3, 77, MATMUL, ADD)
    log.eager_op("Mul", 9)
    (tmp_path / "run.log").write_text(log.text())
    code, out, _ = check("run.log", "--baseline", "baseline.json")
    assert code == 1
    assert "Mul" in out


@pytest.mark.thorough
@pytest.mark.parametrize("log", [CLEAN, PYTHON])
def test_each_format_goes_to_standard_output_and_to_a_file(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    run = tflogscope.open_log(log)
    monkeypatch.setattr(
        "tflogscope.cli.inputs.open_with", lambda *_, **__: run
    )  # the commands share it
    for form, name in (
        ("junit", "check.xml"),
        ("sarif", "check.sarif"),
        ("json", "check.json"),
        ("text", "check.txt"),
    ):
        code, out, _ = check(log, "--format", form)
        shown = check(log, "-o", name)
        assert shown == (code, check(log)[1], ""), "what goes to a file is shown as well"
        assert (tmp_path / name).read_text() == out, form
        assert code == (log == PYTHON)
    assert json.loads((tmp_path / "check.json").read_text())["passed"] is (log == CLEAN)
    assert json.loads((tmp_path / "check.sarif").read_text())["version"] == "2.1.0"
    assert ET.fromstring((tmp_path / "check.xml").read_text()).tag == "testsuites"


@pytest.mark.thorough
def test_json_is_short_for_its_format(check: Check) -> None:
    assert check(PYTHON, "--json") == check(PYTHON, "--format", "json")
    facts = json.loads(check(PYTHON, "--json")[1])
    assert (facts["schema_version"], facts["passed"], facts["sources"]) == (1, False, [PYTHON])


def test_a_format_that_is_named_goes_into_a_file_of_any_name(check: Check, tmp_path: Path) -> None:
    assert check(PYTHON, "-o", "check", "--format", "junit")[0] == 1
    assert (tmp_path / "check").read_text().startswith("<?xml")


@pytest.mark.thorough
def test_a_dash_is_standard_output(check: Check) -> None:
    assert check(CLEAN, "-o", "-", "--format", "sarif") == check(CLEAN, "--format", "sarif")


def test_force_replaces_a_file_and_a_failed_check_still_writes_it(
    check: Check, tmp_path: Path
) -> None:
    (tmp_path / "check.xml").write_text("old")
    assert check(PYTHON, "-o", "check.xml")[0] == 2
    assert (tmp_path / "check.xml").read_text() == "old"
    assert check(PYTHON, "-o", "check.xml", "--force")[0] == 1
    assert (tmp_path / "check.xml").read_text().startswith("<?xml")


def test_the_log_is_never_replaced(check: Check, tmp_path: Path) -> None:
    shutil.copy(PYTHON, tmp_path / "run.json")
    for option in ("-o", "--write-baseline"):
        code, _, err = check("run.json", option, "run.json", "--force")
        assert (code, "the log itself" in err) == (2, True)
    assert (tmp_path / "run.json").read_bytes() == Path(PYTHON).read_bytes()


@pytest.mark.thorough
def test_in_github_actions_annotations_are_added(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = check(PYTHON)[1]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, out, _ = check(PYTHON)
    assert code == 1
    assert out.startswith(plain)
    added = out.removeprefix(plain).splitlines()
    assert len(added) == 10
    assert all(line.startswith("::error title=tflogscope check%3A unexpect") for line in added)
    assert check(PYTHON, "--format", "text")[1] == plain
    assert check(PYTHON, "-o", "check.sarif")[1] == out
    assert "::error" not in check(CLEAN)[1]
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert check(PYTHON)[1] == plain


def test_a_pipe_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_command("check", "--json", stdin=Path(PYTHON).read_bytes())
    assert done.returncode == 1
    assert json.loads(done.stdout)["checks"][0]["measured"] == 37


@pytest.mark.thorough
def test_an_ascii_terminal_gets_the_verdict_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tflogscope", "check", PYTHON],
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.isascii()
