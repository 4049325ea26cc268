"""JUnit, SARIF, GitHub annotations and JSON of a verdict: valid, and nothing in them is obeyed."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.made_run import MadeRun, call, eager, node, program
from tests.makelog import MATMUL, Log
from tests.samples import run_of, unpacked
from tests.stub import HOSTILE
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import Policy, PolicySection
from tflogscope.checks.values import DEFAULTS
from tflogscope.exports.github import github_text
from tflogscope.exports.junit import junit_text
from tflogscope.exports.places import places
from tflogscope.exports.sarif import sarif_text
from tflogscope.views.check import verdict_document
from tflogscope.views.terminal import drawn

SCHEMAS = Path(__file__).parent / "schemas"
NASTY = [
    *HOSTILE,
    "]]>",
    "<![CDATA[x]]><b>&amp;",
    "<script>alert(1)</script>",
    "a\n::error file=x,line=1::pwned",
    "::set-output name=x::y",
    "%0A::error::x",
    "##vso[task.setvariable]x",
    "\x00\x07\x08\x1b]0;title\x07",
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    "\ufffe\uffff\U0001fffe",
    "{0} [text](https://example.com) {{",
    "`code` | table | **bold**",
    '"><img src=x>',
    "../../etc/passwd",
    "a" * 5000,
    "",
    " ",
    "é日本語😀",
]
STRICT = Policy(
    "made",
    (
        PolicySection("f*", {"max_retraces": 0, "unexpected_eager": 0}),
        PolicySection(None, {**DEFAULTS, "require_kernels": ("_MklNone",), "max_unknown": 0}),
    ),
)


@cache
def sarif_schema() -> jsonschema.Draft7Validator:
    content = unpacked(SCHEMAS / "sarif-2.1.0.json.zst")
    readme = (SCHEMAS / "README.md").read_text()
    assert hashlib.sha256(content).hexdigest() in readme
    return jsonschema.Draft7Validator(
        json.loads(content), format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
    )


@cache
def junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")


def facts(made: MadeRun, policy: Policy | None = STRICT) -> dict[str, Any]:
    return {"tflogscope": "0.1.0", **check_run(made.run(), policy).facts()}


def hostile(name: str) -> dict[str, Any]:
    """A verdict with this name wherever a log or a file can put one."""
    rows = [call(name, 0), eager(name, call=0), call(name, 1, uid=2), eager(name), call("f", 2)]
    rows += [eager(name, name), node(name, name, kernel=name)]
    made = MadeRun(rows, functions=[{"function": name}], coverage=[{"records": 9, "unknown": 3}])
    for table in (made.timeline, made.coverage):
        for row in table:
            row["source"] = f"logs/{name}"
    for row in made.timeline:
        row["python"] = f"{name}:31"
    said = facts(made)
    said["policy"] = said["baseline"] = name
    said["notes"] = [name]
    return said


def screen(verdict: dict[str, Any]) -> str:
    return drawn(verdict_document(verdict), to_file=True)


def assert_harmless(text: str) -> None:
    """Only line ends have an effect."""
    bad = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert {each for each in text if unicodedata.category(each) in bad} <= {"\n"}
    assert not re.search(r"##\w*\[", text)


NAMES = st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(params=["passed", "failed", "strict", "cannot tell", "run_eagerly", "py_function"])
def verdict(request: pytest.FixtureRequest) -> dict[str, Any]:
    made = {
        "passed": facts(program(cause="constant"), None),
        "failed": facts(program(), None),
        "strict": facts(MadeRun([call("f", 0), call("f", 1, uid=2), eager("Mul")])),
        "cannot tell": facts(MadeRun([node("MatMul", "f", None)])),
    }
    if request.param in made:
        return made[request.param]
    run = run_of(f"{request.param}__tf2.13.1__vlog2")
    return {"tflogscope": "0.1.0", **check_run(run).facts()}


@pytest.mark.thorough
def test_a_hostile_log_breaks_none_of_the_formats(opened: Open) -> None:
    log = Log()
    log.first_call("__inference_f_5", 3, 77, MATMUL)
    for name in NASTY:
        log.executing(name.replace("\n", " "))
        log.executing(name.split(" ", maxsplit=1)[0].replace("\n", ""))
    said = {"tflogscope": "0.1.0", **check_run(opened(log.text())).facts()}
    assert not said["passed"]
    [check] = [each for each in said["checks"] if each["key"] == "unexpected_eager"]
    assert len(check["violations"]) > 10
    sarif_schema().validate(json.loads(sarif_text(said)))
    junit_schema().validate(junit_text(said))
    assert len(commands(github_text(said))) == 10
    assert commands(screen(said)) == []
    for text in (sarif_text(said), junit_text(said), github_text(said), screen(said)):
        assert_harmless(text)


# ---- SARIF ---------------------------------------------------------------------------------------


def test_sarif_is_valid(verdict: dict[str, Any]) -> None:
    document = json.loads(sarif_text(verdict))
    sarif_schema().validate(document)
    (run,) = document["runs"]
    failed = [check for check in verdict["checks"] if not check["passed"]]
    assert {result["ruleId"] for result in run["results"]} == {check["key"] for check in failed}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_names_op_line_and_log() -> None:
    document = json.loads(sarif_text(facts(program(), None)))
    (result,) = document["runs"][0]["results"]
    assert result["message"]["text"].startswith("Mul ran eagerly 2 times, cause outside-function")
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": 40}
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "run.log"}
    assert document["runs"][0]["tool"]["driver"]["version"] == "0.1.0"


def test_a_result_keeps_its_fingerprint_when_lines_move() -> None:
    now = program()
    for row in now.timeline:
        row["line"] = 5 + 7 * now.timeline.index(row)
    prints = [
        json.loads(sarif_text(facts(made, None)))["runs"][0]["results"][0]["partialFingerprints"]
        for made in (program(), now, program(ops=("Neg",)))
    ]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.thorough
@given(NAMES)
def test_no_name_breaks_sarif(name: str) -> None:
    text = sarif_text(hostile(name))
    document = json.loads(text)
    sarif_schema().validate(document)
    assert_harmless(text)
    for result in document["runs"][0]["results"]:
        message = result["message"]["text"]
        assert not re.search(r"(?<!\\)\[[^\]]*\]\(", message), "that would be a link"
        assert not re.search(r"(?<!\{)\{\d+\}(?!\})", message), "that would be a placeholder"


# ---- JUnit ---------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_junit_is_valid(verdict: dict[str, Any]) -> None:
    text = junit_text(verdict)
    junit_schema().validate(text)
    (suite,) = ET.fromstring(text)
    failed = [check["name"] for check in verdict["checks"] if not check["passed"]]
    assert suite.get("tests") == str(len(verdict["checks"]))
    assert suite.get("failures") == str(len(failed))
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [check["name"] for check in verdict["checks"]]
    assert [case.get("name") for case in cases if case.find("failure") is not None] == failed


def test_junit_names_ops_lines_and_what_to_do() -> None:
    failure = ET.fromstring(junit_text(facts(program(), None))).find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert "run.log:40: Mul ran eagerly 2 times" in failure.text
    assert "tf.function" in failure.text


@pytest.mark.thorough
@given(NAMES)
def test_no_name_breaks_junit(name: str) -> None:
    verdict = hostile(name)
    text = junit_text(verdict)
    junit_schema().validate(text)
    assert text.isascii()
    root = ET.fromstring(text)
    assert_harmless("".join(root.itertext()))
    tags = {element.tag for element in root.iter()}
    assert tags <= {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "skipped",
        "properties",
        "property",
        "system-out",
        "system-err",
    }


# ---- GitHub --------------------------------------------------------------------------------------

# As the runner reads a line (actions/runner, ActionCommand.TryParseV2 and V1).
COMMAND = re.compile(r"\s*::(?P<command>[^ :]+)(?: (?P<properties>.*?))?::(?P<data>.*)$")


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    found = []
    for line in text.splitlines():
        match = COMMAND.match(line)
        if match:
            pairs = dict(pair.split("=", 1) for pair in (match["properties"] or "").split(","))
            found.append((match["command"], pairs, match["data"]))
        else:
            assert not line.lstrip().startswith("::")
            assert "##[" not in line
    return found


@pytest.mark.thorough
def test_annotations_name_log_line_and_op(verdict: dict[str, Any]) -> None:
    found = commands(github_text(verdict))
    failed = [check for check in verdict["checks"] if not check["passed"]]
    assert bool(found) is bool(failed)
    assert len(found) <= 10
    assert {name for name, _, _ in found} <= {"error"}
    for violation in [each for check in failed for each in check["violations"]]:
        assert any(violation["text"] in data for _, _, data in found)


@pytest.mark.thorough
@given(NAMES)
def test_no_name_becomes_a_command(name: str) -> None:
    verdict = hostile(name)
    found = commands(github_text(verdict))
    failed = [check for check in verdict["checks"] if not check["passed"]]
    wanted = sum(max(1, len({places(each)[0] for each in check["violations"]})) for check in failed)
    assert len(found) == min(10, wanted)
    for command, properties, _ in found:
        assert command == "error"
        assert set(properties) <= {"title", "file", "line"}
    assert_harmless(github_text(verdict))
    assert commands(screen(verdict)) == []


# ---- the screen ----------------------------------------------------------------------------------


@pytest.mark.thorough
@given(NAMES)
def test_no_name_has_an_effect_on_the_screen(name: str) -> None:
    assert_harmless(screen(hostile(name)))


def test_the_screen_says_what_failed_where_and_what_to_do() -> None:
    shown = screen(facts(program(), None))
    assert "FAILED  unexpected_eager: 2 unexpected eager executions; allowed: 0." in shown
    assert re.search(r"^    Mul +outside-function +2 +40, 70$", shown, re.MULTILINE)
    assert "tf.function" in shown
    assert "Check failed: unexpected_eager (default policy)" in shown
    assert "--write-baseline" in shown
