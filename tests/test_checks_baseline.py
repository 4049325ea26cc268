"""The baseline: what is known does not fail, what is new does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_run import MadeRun, call, eager, in_memory, program
from tests.stub import HOSTILE
from tests.test_checks_keys import NODES, ONEDNN, RAN
from tflogscope.checks.baseline import Baseline, baseline_text, read_baseline
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import Policy, PolicySection
from tflogscope.checks.values import DEFAULTS
from tflogscope.checks.verdict import Verdict
from tflogscope.errors import InputError, UsageError

STRICT: dict[str, Any] = {
    "max_retraces": 0,
    "min_rewritten": 1.0,
    "forbid_implementations": ("ref*",),
    "require_kernels": ("_MklNone",),
    "max_unlinked": 0,
    "max_unknown": 0.0,
}


def verdict(made: MadeRun, baseline: Baseline | None = None, **keys: Any) -> Verdict:
    policy = Policy("made", (PolicySection(None, {**DEFAULTS, **keys}),))
    return check_run(made.run(), policy, baseline)


def known(directory: Path, made: MadeRun, **keys: Any) -> Baseline:
    path = directory / "baseline.json"
    path.write_text(baseline_text(verdict(made, **keys).checks))
    return read_baseline(path)


def test_what_is_known_passes_and_more_of_it_does_not(tmp_path: Path) -> None:
    before = program(ops=("Mul", "Neg"))
    assert not verdict(before).passed
    assert verdict(before, known(tmp_path, before)).passed
    more = program(ops=("Mul", "Neg", "Mul"))
    result = verdict(more, known(tmp_path, before)).checks[0]
    assert not result.passed
    assert "6 unexpected eager executions, 4 of them in the baseline" in result.text
    (violation,) = result.violations
    assert (violation.subject["op"], violation.amount, violation.known) == ("Mul", 4, 2)


def test_entries_that_did_not_occur_are_named(tmp_path: Path) -> None:
    before, now = program(ops=("Mul", "Neg")), program(ops=("Mul",))
    baseline = known(tmp_path, before)
    assert verdict(before, baseline).notes == ()
    (note,) = verdict(now, baseline).notes
    assert note.startswith("1 violation in the baseline did not occur: unexpected_eager ")
    assert "Neg" in note
    assert "Mul" not in note


def test_only_what_is_new_is_shown(tmp_path: Path) -> None:
    before, now = program(ops=("Mul",)), program(ops=("Mul", "Exp"))
    (violation,) = verdict(now, known(tmp_path, before)).checks[0].violations
    assert violation.subject["op"] == "Exp"


def test_less_than_is_known_passes(tmp_path: Path) -> None:
    assert verdict(program(), known(tmp_path, program(ops=("Mul", "Mul", "Neg")))).passed


def test_lines_uids_and_order_do_not_matter(tmp_path: Path) -> None:
    before = MadeRun([call("f", 0, uid=5), eager("A"), eager("B")])
    now = MadeRun([call("f", 0, uid=99), eager("B", line=700), eager("A", line=900)])
    assert verdict(now, known(tmp_path, before)).passed


def test_another_cause_or_another_function_is_new(tmp_path: Path) -> None:
    before = MadeRun([call("f", 0), eager("A", "py-function", call=0)])
    for now in (
        MadeRun([call("f", 0), eager("A", "unknown")]),
        MadeRun([call("g", 0), eager("A", "py-function", call=0)]),
        MadeRun([call("f", 0), eager("A", "py-function")]),
    ):
        assert not verdict(now, known(tmp_path, before)).passed


def test_all_keys_have_their_violations_in_it(tmp_path: Path) -> None:
    made = MadeRun(
        [*RAN, eager("Mul"), call("f", 1, uid=2), *ONEDNN.timeline],
        nodes=NODES,
        primitives=ONEDNN.primitives,
        coverage=[{"records": 100, "unknown": 3}],
    )
    failed = [each.key for each in verdict(made, **STRICT).checks if not each.passed]
    assert failed == ["unexpected_eager", *STRICT]
    result = verdict(made, known(tmp_path, made, **STRICT), **STRICT)
    assert [each.key for each in result.checks if not each.passed] == []


def test_without_violations_it_is_empty() -> None:
    text = baseline_text(verdict(program(cause="constant")).checks)
    assert json.loads(text) == {"tflogscope_baseline": 1, "violations": []}


def test_it_is_a_line_for_each_violation_in_an_order_of_its_own() -> None:
    rows = [call("f", 0), eager("B"), eager("A"), eager("B")]
    text = baseline_text(verdict(MadeRun(rows)).checks)
    assert text == baseline_text(verdict(MadeRun([rows[0], *rows[:0:-1]])).checks)
    assert [line.strip().rstrip(",") for line in text.splitlines()[3:-2]] == [
        '{"check": "unexpected_eager", "cause": "outside-function", "op": "A", "amount": 1}',
        '{"check": "unexpected_eager", "cause": "outside-function", "op": "B", "amount": 2}',
    ]


@pytest.mark.thorough
@given(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(HOSTILE))
def test_any_name_is_known_again(name: str) -> None:
    made = MadeRun([call("f", 0), eager(name)])
    text = baseline_text(verdict(made).checks)
    assert verdict(made, read_baseline(in_memory(text.encode()))).passed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"tflogscope_baseline": 2, "violations": []}',
        '{"tflogscope_baseline": 1}',
        '{"tflogscope_baseline": 1, "violations": {}}',
        '{"tflogscope_baseline": 1, "violations": [3]}',
        '{"tflogscope_baseline": 1, "violations": [{"check": "a"}]}',
        '{"tflogscope_baseline": 1, "violations": [{"check": "a", "amount": -1}]}',
        '{"tflogscope_baseline": 1, "violations": [{"check": "a", "amount": true}]}',
        '{"tflogscope_baseline": 1, "violations": [{"check": 3, "amount": 1}]}',
        '{"tflogscope_baseline": 1, "violations": [{"check": "a", "amount": Infinity}]}',
        '{"tflogscope_baseline": 1, "violations": [{"check": "a", "amount": NaN}]}',
        f'{{"tflogscope_baseline": 1, "violations": [{{"check": "a", "amount": {"9" * 4000}}}]}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_baseline_is_said_to_be_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_baseline(path)
    assert error.value.hint == "Rewrite it with --write-baseline."


def test_a_baseline_that_is_not_there_is_an_input_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_baseline(tmp_path / "missing.json")
