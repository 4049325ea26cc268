"""The program's lines on the screens, in traces and annotations; as text, whatever is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Open
from tests.deep import first_quick
from tests.makelog import Log
from tests.samples import path_of, run_of
from tests.stub import HOSTILE
from tests.test_check_formats import assert_harmless, screen
from tests.test_lines import ASKS, LOGS
from tflogscope import Run, open_log
from tflogscope.checks.evaluation import check_run
from tflogscope.cli.main import main
from tflogscope.errors import UsageError
from tflogscope.exports.github import github_text
from tflogscope.exports.junit import junit_text
from tflogscope.exports.sarif import sarif_text
from tflogscope.model.log_run import LogRun
from tflogscope.views.analyze import analyze_document, ops_without_line
from tflogscope.views.report.page import report_page
from tflogscope.views.terminal import drawn

WITHOUT = "eager_basics__tf2.13.1__vlog2"
DEEP, SHALLOW = ASKS["Asinh"], "program.py:15"  # the second line calls the first


@pytest.fixture(
    scope="module",
    params=first_quick((path,) for path in LOGS),
    ids=lambda path: path.name.split("__")[1][:-8],
)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(scope="module")
def run(path: Path) -> Run:
    return open_log(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    return capsys.readouterr().out


def shown_lines(text: str) -> list[list[str]]:
    """The words of each row of analyze's table of lines."""
    _, _, table = text.partition("\nLines of the program")
    return [row.split() for row in table.split("\n\n")[0].splitlines()[3:]]


# ---- analyze and explain -------------------------------------------------------------------------


@pytest.mark.thorough
def test_analyze_names_the_lines_with_the_most_time(
    path: Path, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")  # the title takes one line
    assert isinstance(run, LogRun)
    cost = run.stages.costs.known("steady_us")
    ops = run.timeline.with_columns(cost).filter(kind="op").drop_nulls("python")
    eager = (pl.col("mode") == "eager").sum()
    time = ops.group_by("python").agg(pl.col("steady_us").sum(), runs=eager)
    counted = {line: (us, runs) for line, us, runs in time.rows()}
    shown = shown_lines(printed(capsys, "analyze", "--full", path))
    assert len(shown) == 5
    assert [int(row[3]) for row in shown] == [counted[row[0]][1] for row in shown]
    times = sorted((us for us, _ in counted.values()), reverse=True)
    assert [counted[row[0]][0] for row in shown] == times[:5]


def test_a_log_without_lines_has_no_such_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "analyze", path_of(WITHOUT))
    assert "Ops, by" in text
    assert shown_lines(text) == []


@pytest.mark.thorough
def test_explain_at_a_line_shows_all_that_it_asked_for(run: Run) -> None:
    for line in set(ASKS.values()):
        facts = run.explain(at=line)
        mine = run.timeline.filter(pl.col("python") == line)
        assert mine.height
        # What constant folding ran, and transfers, are no runs of the program's.
        ran = pl.col("kind").is_in(["op", "call"]) & (pl.col("status") != "dead")
        mine = mine.filter(ran)
        assert facts["itself"] == mine.height
        expected = mine.group_by("mode", "kind", "op").len().rows()
        asked = {(each["mode"], each["kind"], each["op"]): each["runs"] for each in facts["ops"]}
        for mode, kind, op, runs in expected:
            assert asked[mode, kind, op] >= runs


def test_a_line_that_calls_another_one_asks_for_what_that_asks_for(run: Run) -> None:
    deep, shallow = run.explain(at=DEEP), run.explain(at=SHALLOW)
    assert [each["op"] for each in deep["ops"]] == ["Asinh"]
    assert deep["itself"] == 1
    assert {each["op"] for each in shallow["ops"]} == {"Asinh"}
    assert shallow["itself"] == 0


def test_the_screen_of_explain_at(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "explain", path, "--at", SHALLOW)
    assert text.startswith(f"{SHALLOW}\n")
    assert "0 directly, 1 through code it calls" in text
    assert "Asinh" in text


def test_a_line_that_asked_for_nothing_has_no_explanation(run: Run) -> None:
    for wrong in ("program.py:2", "rogram.py:11", "program.py:1", "other.py:11", "program.py:11 "):
        with pytest.raises(UsageError):
            run.explain(at=wrong)


def test_explain_at_says_that_a_log_has_no_lines() -> None:
    with pytest.raises(UsageError, match="has no lines of the program"):
        run_of(WITHOUT).explain(at="program.py:11")


# ---- tables --------------------------------------------------------------------------------------


def test_primitives_have_the_line_of_their_execution(run: Run) -> None:
    asked = dict(run.timeline.select("line", "python").rows())
    linked = run.primitives.drop_nulls("timeline_line")
    assert linked.height or run.primitives.is_empty()  # 2.8.4 has oneDNN off
    assert linked["python"].to_list() == [asked[line] for line in linked["timeline_line"]]
    others = run.primitives.filter(pl.col("timeline_line").is_null())
    assert others["python"].null_count() == others.height


@pytest.mark.thorough
def test_findings_have_the_line_that_asked_for_most_of_them(run: Run) -> None:
    findings = dict(run.findings.select("id", "python").rows())
    assert findings["py-function"] == ASKS["Expm1"]
    for table in (run.findings, run_of(WITHOUT).findings):
        assert "python" in table.columns
    assert run_of(WITHOUT).findings["python"].null_count() == run_of(WITHOUT).findings.height


# ---- traces --------------------------------------------------------------------------------------


def test_traces_have_the_line_as_an_argument(run: Run, tmp_path: Path) -> None:
    run.trace(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    named = {each["name"]: each["args"].get("python") for each in events if each["ph"] in "Xi"}
    assert named["Asinh"] == DEEP


def folded(run: Run, path: Path) -> dict[str, int]:
    run.trace(path)
    lines = [line.rpartition(" ") for line in path.read_text().splitlines()]
    return {stack: int(us) for stack, _, us in lines}


def test_folded_stacks_hold_the_time_of_each_op_once(run: Run, tmp_path: Path) -> None:
    stacks = folded(run, tmp_path / "run.folded")
    (took,) = run.timeline.filter(op="Asinh")["duration_us"]
    if took is None:  # 2.8 prints no end of an eager op
        assert not any(stack.endswith(";Asinh") for stack in stacks)
        return
    (asinh,) = [stack for stack in stacks if stack.endswith(";Asinh")]
    assert asinh == f"program.py:20 <module>;{SHALLOW} shallow;{DEEP} deep;Asinh"
    assert stacks[asinh] == took
    assert sum(stacks.values()) <= run.timeline.select(pl.col("duration_us").sum()).item()


def test_time_of_its_own_is_what_the_nodes_leave(opened: Open, tmp_path: Path) -> None:
    log = Log("tid")
    log.raw('tflogscope stack 7.1 [["a;b.py",3,"f"]]')
    log.raw("tflogscope op 9000 7.1 AddV2")
    log.eager_op("AddV2", 3)
    (row,) = opened(log).timeline.to_dicts()
    stacks = folded(opened(log), tmp_path / "run.folded")
    assert stacks == {"a,b.py:3 f;AddV2": row["duration_us"]}


def test_folded_stacks_of_a_log_without_lines(tmp_path: Path) -> None:
    without = run_of(WITHOUT)
    stacks = folded(without, tmp_path / "run.folded")
    eager = without.timeline.filter(mode="eager", kind="op", op="MatMul")
    assert sum(us for stack, us in stacks.items() if stack in set(eager["kernel"])) == (
        eager["duration_us"].sum()
    )


# ---- the report ----------------------------------------------------------------------------------


def test_the_report_has_a_table_of_lines(run: Run, tmp_path: Path) -> None:
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    _, _, table = page.partition('id="lines-table"')
    assert f"<code>{DEEP}</code>" in table.partition("</table>")[0]
    assert 'href="#lines"' in page


@pytest.mark.thorough
def test_the_report_of_a_log_without_lines_says_how_to_have_them(tmp_path: Path) -> None:
    run_of(WITHOUT).report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "The log has none; tflogscope record logs them." in page
    assert 'id="lines-table"' not in page


# ---- annotations ---------------------------------------------------------------------------------


def asked_by(file: str, line: int = 31, function: str = "f") -> Log:
    """A log in which a line asks for an op that runs eagerly though it should not."""
    log = Log()
    frames = json.dumps([[file, line, function]], separators=(",", ":"))
    log.raw(f"tflogscope stack 7.1 {frames}".replace("_verbose,", "\\u005fverbose,"))
    for _ in range(2):
        log.raw("tflogscope op 7 7.1 AddV2")
        log.executing("AddV2")
    return log


def verdict(run: Run) -> dict[str, Any]:
    return {"tflogscope": "0.1.0", **check_run(run).facts()}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with `sub/train.py`; the tests are in `sub`."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").touch()
    monkeypatch.chdir(tmp_path / "sub")
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["sub/train.py", "train.py", "{}/sub/train.py"])
def test_annotations_point_at_the_line_of_the_program(
    opened: Open, repository: Path, file: str
) -> None:
    facts = verdict(opened(asked_by(file.format(repository))))
    (violation,) = facts["checks"][0]["violations"]
    source, line = violation["source"], violation["lines"][0]
    assert "file=sub/train.py,line=31::" in github_text(facts)
    assert f"(log: {source}, line {line})" in github_text(facts)
    assert "sub/train.py:31: AddV2" in junit_text(facts)
    (result,) = json.loads(sarif_text(facts))["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "sub/train.py"},
        "region": {"startLine": 31},
    }
    (note,) = result["relatedLocations"]
    assert note["physicalLocation"]["region"] == {"startLine": line}


@pytest.mark.parametrize("file", ["<string>", "In[3]"])
def test_what_is_no_file_leaves_the_annotation_at_the_log(opened: Open, file: str) -> None:
    facts = verdict(opened(asked_by(file)))
    (violation,) = facts["checks"][0]["violations"]
    assert violation["python"] == f"{file}:31"
    assert f"line={violation['lines'][0]}::" in github_text(facts)
    assert "(log: " not in github_text(facts)
    (result,) = json.loads(sarif_text(facts))["runs"][0]["results"]
    assert "relatedLocations" not in result


def test_without_lines_annotations_point_at_the_log() -> None:
    facts = verdict(run_of("run_eagerly__tf2.13.1__vlog2"))
    assert all(each["python"] is None for each in facts["checks"][0]["violations"])
    assert "(log: " not in github_text(facts) + junit_text(facts)
    assert "relatedLocations" not in sarif_text(facts)
    assert "mostly at" not in screen(facts)


# ---- names that mean harm ------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*HOSTILE, "../../x", "a:b:c", "2026-11-21 04:09:48.123456: I"])
def test_hostile_names_are_text_everywhere(
    opened: Open,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    made = opened(asked_by(name, function=name))
    monkeypatch.setattr(
        "tflogscope.cli.inputs.open_with", lambda *_, **__: made
    )  # the commands share it
    assert made.timeline["python"].to_list() == [f"{name}:31"] * 2
    log = tmp_path / "part0.log"
    for command in (
        ["analyze", log],
        ["explain", log],
        ["explain", log, "--at", f"{name}:31"],
        ["timeline", log],
        ["ops", log, "--format", "csv"],
        ["export", log, "--table", "stacks", "--format", "csv"],
        ["export", log, "--table", "stacks", "--format", "table"],
        ["trace", log, "--format", "folded"],
    ):
        text = printed(capsys, *command)
        assert_harmless(text.replace("\t", "") if "csv" in command else text)
    facts = verdict(made)
    for text in (github_text(facts), junit_text(facts), sarif_text(facts), screen(facts)):
        assert_harmless(text)
    made.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text().partition('id="lines-table"')[2]
    assert "</script>" not in page.partition("</table>")[0]


def test_ops_that_no_line_asked_for_are_counted(opened: Open) -> None:
    log = Log()
    log.raw('tflogscope stack 7.1 [["a.py",3,"f"]]')
    log.raw("tflogscope op 7 7.1 AddV2")
    log.executing("AddV2")
    log.executing("Mul")
    run = opened(log)
    assert ops_without_line(run.summary) == "1 eager op"
    assert "Not attributed to a line: 1 eager op." in drawn(analyze_document(run))
    assert "Not attributed to a line: 1 eager op." in report_page(run, "tflogscope")


def test_a_log_without_lines_does_not_count_them(opened: Open) -> None:
    log = Log()
    log.executing("AddV2")
    assert ops_without_line(opened(log).summary) == ""
