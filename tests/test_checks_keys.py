"""The other keys of a policy: retraces, rewrites, implementations, kernels, links, the log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.made_run import MadeRun, Row, call, eager, node
from tests.samples import run_of
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import Policy, PolicySection
from tflogscope.checks.values import DEFAULTS
from tflogscope.checks.verdict import Check
from tflogscope.model.causes.rules import causes_that_count


def checked(made: MadeRun, key: str, own: Any = None, **functions: Any) -> list[Check]:
    """The checks of one key, with the policy's own value and those of its sections."""
    sections = [PolicySection(pattern, {key: value}) for pattern, value in functions.items()]
    policy = Policy("made", (*sections, PolicySection(None, {**DEFAULTS, key: own})))
    return [each for each in check_run(made.run(), policy).checks if each.key == key]


def only(made: MadeRun, key: str, own: Any) -> Check:
    (found,) = checked(made, key, own)
    return found


def test_what_is_not_named_is_not_checked() -> None:
    made = MadeRun([call("f", 0), node("MatMul", "f")])
    keys = [each.key for each in check_run(made.run()).checks]
    assert keys == ["unexpected_eager", "max_retraces", "max_crashes"]


# ---- max_retraces --------------------------------------------------------------------------------


def traced(*uids: int, flavour: str = "inference", function: str = "f") -> list[Row]:
    return [call(function, n, uid, flavour=flavour) for n, uid in enumerate(uids)]


@pytest.mark.parametrize(
    ("uids", "retraces"), [((1,), 0), ((1, 1, 1), 0), ((1, 2), 1), ((1, 2, 1, 3, 2), 2)]
)
def test_each_further_uid_that_is_called_is_a_retrace(uids: tuple[int, ...], retraces: int) -> None:
    made = MadeRun(traced(*uids))
    assert only(made, "max_retraces", 0).measured == retraces
    assert only(made, "max_retraces", 0).passed is (retraces == 0)
    assert only(made, "max_retraces", retraces).passed


def test_a_function_called_with_and_without_a_tape_was_traced_once_for_each() -> None:
    made = MadeRun(traced(1) + traced(2, flavour="forward") + traced(3, flavour="backward"))
    assert only(made, "max_retraces", 0).passed


def test_a_retrace_names_the_function_and_its_lines() -> None:
    (violation,) = only(MadeRun(traced(1, 2, 3)), "max_retraces", 1).violations
    assert violation.text == "f was retraced 2 times: lines 20, 30."
    assert violation.advice == "", "no finding says what to do"


def test_functions_of_a_section_have_a_limit_of_their_own() -> None:
    made = MadeRun(traced(1, 2) + traced(3, 4, 5, function="g"))
    section, own = checked(made, "max_retraces", 2, f=0)
    assert (section.name, section.passed, section.measured) == ("max_retraces[f]", False, 1)
    assert (own.name, own.passed, own.measured) == ("max_retraces", True, 2)


def test_a_function_that_a_package_defines_and_calls_may_be_retraced() -> None:
    result = real("package_retraces__tf2.15.1__record", "max_retraces", 0)
    assert (result.passed, result.measured) == (True, 0)
    assert "Not counted: 4 retraces of functions that installed packages define" in result.text


def test_a_function_of_the_program_that_a_package_calls_may_not() -> None:
    result = real("package_calls__tf2.15.1__record", "max_retraces", 3)
    assert [each.subject["function"] for each in result.violations] == ["loss"]


def test_a_log_without_calls_can_not_tell_retraces() -> None:
    made = MadeRun([node("MatMul", "f", None)])
    assert only(made, "max_retraces", 5).measured is None
    assert not only(made, "max_retraces", 5).passed


# ---- min_rewritten -------------------------------------------------------------------------------


def graph_node(op: str, executions: int, rewrite: str, **columns: Any) -> Row:
    made = {"function": "f", "node": op, "op": op, "kernel": op, "rewrite": rewrite}
    return {**made, "eligible": True, "executions": executions, **columns}


NODES = [
    graph_node("MatMul", 6, "layout", line=5),
    graph_node("Conv2D", 3, "none", line=7, reason="dtype"),
    graph_node("Relu", 1, "none", line=9),
    graph_node("Never", 0, "none", line=11),
    graph_node("AddV2", 50, "none", line=12, reason="no-kernel"),
    graph_node("Cast", 90, "none", line=13, eligible=False),
]


@pytest.mark.parametrize(("share", "passes"), [(0.6, True), (0.61, False), (0.0, True)])
def test_the_share_is_of_executions_that_onednn_could_run(share: float, passes: bool) -> None:
    made = MadeRun([call("f", 0), node("MatMul", "f")], nodes=NODES)
    result = only(made, "min_rewritten", share)
    assert result.passed is passes
    assert result.measured == pytest.approx(0.6)
    assert "60.0% of 10 eligible executions" in result.text


def test_what_was_left_out_is_named_with_reason_and_lines() -> None:
    made = MadeRun([call("f", 0), node("MatMul", "f")], nodes=NODES)
    (violation,) = only(made, "min_rewritten", 0.9).violations
    assert violation.lines == (7, 9)
    assert violation.text == (
        "Not on oneDNN kernels: Conv2D 3 times, reason dtype, line 7; "
        "Relu once, reason unknown, line 9."
    )


def test_nothing_that_onednn_could_run_is_no_failure() -> None:
    made = MadeRun([call("f", 0), node("Cast", "f")])
    assert only(made, "min_rewritten", 1.0).passed


def test_a_log_with_calls_and_no_nodes_can_not_tell_rewrites() -> None:
    result = only(MadeRun([call("f", 0)]), "min_rewritten", 0.1)
    assert not result.passed
    assert result.measured is None


# ---- require_kernels -----------------------------------------------------------------------------

RAN = [
    call("f", 0),
    node("MatMul", "f", kernel="_MklMatMul"),
    node("Relu", "f", status="dead"),
    eager("Add", "constant", kernel="_MklAdd"),
]


@pytest.mark.parametrize(
    ("kernels", "missing"),
    [
        (("_MklMatMul", "_MklAdd"), 0),
        (("_Mkl*MatMul",), 0),
        (("_MklConv2D", "_MklMatMul"), 1),
        (("Relu",), 1),
        (("_mklmatmul",), 1),
    ],
)
def test_kernels_that_must_run_are_looked_for(kernels: tuple[str, ...], missing: int) -> None:
    result = only(MadeRun(RAN), "require_kernels", kernels)
    assert result.measured == missing
    assert result.passed is (missing == 0)


def test_a_missing_kernel_is_told_with_what_ran_instead() -> None:
    made = MadeRun([call("f", 0), node("Conv2D", "f")])
    (violation,) = only(made, "require_kernels", ("_MklNativeConv2D",)).violations
    assert violation.text == "No kernel _MklNativeConv2D ran. Conv2D ran as Conv2D: line 20."
    assert violation.lines == (20,)


def test_a_kernel_may_have_to_run_in_one_function() -> None:
    rows = [*RAN, call("g", 1), node("MatMul", "g", 1)]
    section, *_ = checked(MadeRun(rows), "require_kernels", (), g=("_MklMatMul",))
    assert not section.passed


# ---- forbid_implementations and max_unlinked -----------------------------------------------------


def primitive(implementation: str, line: int, ran_by: int | None, **columns: Any) -> Row:
    made = {"event": "exec", "implementation": implementation, "line": line}
    return {**made, "timeline_line": ran_by, "link": "certain" if ran_by else "none", **columns}


ONEDNN = MadeRun(
    [call("f", 0), node("MatMul", "f"), call("g", 1), node("Conv2D", "g", 1)],
    primitives=[
        primitive("brg:avx512", 21, 20),
        primitive("ref:any", 22, 20),
        primitive("ref:any", 41, 40),
        primitive("gemm:jit", 45, None),
        primitive("ref:any", 50, None, event="create:cache_miss"),
    ],
)


def test_forbidden_implementations_are_named_by_op_and_function() -> None:
    result = only(ONEDNN, "forbid_implementations", ("ref*",))
    assert (result.passed, result.measured) == (False, 2)
    assert sorted(each.text for each in result.violations) == [
        "ref:any ran once for Conv2D in g: line 41.",
        "ref:any ran once for MatMul in f: line 22.",
    ]
    assert only(ONEDNN, "forbid_implementations", ("*avx2*",)).passed


def test_an_implementation_may_be_forbidden_in_one_function() -> None:
    section, *_ = checked(ONEDNN, "forbid_implementations", (), g=("ref*",))
    assert section.measured == 1


def test_without_lines_of_onednn_nobody_can_tell() -> None:
    result = only(MadeRun([call("f", 0)]), "forbid_implementations", ("ref*",))
    assert not result.passed
    assert "ONEDNN_VERBOSE=1" in result.text


@pytest.mark.parametrize(
    ("limit", "measured", "passes"),
    [(0, 1, False), (1, 1, True), (0.0, 0.25, False), (0.25, 0.25, True), (0.2, 0.25, False)],
)
def test_unlinked_runs_are_counted_or_a_share(limit: float, measured: float, passes: bool) -> None:
    result = only(ONEDNN, "max_unlinked", limit)
    assert result.passed is passes
    assert result.measured == measured
    if not passes:
        (violation,) = result.violations
        assert violation.lines == (45,)


def test_what_nobody_ran_belongs_to_the_function_called_last() -> None:
    section, own = checked(ONEDNN, "max_unlinked", 0, g=1)
    assert (section.measured, own.measured) == (1, 0)


# ---- max_unknown ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "passes"), [(7, True), (6, False), (0.01, True), (0.006, False), (1, False)]
)
def test_unknown_records_are_counted_or_a_share(limit: float, passes: bool) -> None:
    made = MadeRun([call("f", 0)], coverage=[{"records": 1000, "unknown": 7}])
    assert only(made, "max_unknown", limit).passed is passes


# ---- real logs -----------------------------------------------------------------------------------


def real(name: str, key: str, value: Any) -> Check:
    policy = Policy("made", (PolicySection(None, {**DEFAULTS, key: value}),))
    (found,) = [each for each in check_run(run_of(name), policy).checks if each.key == key]
    return found


@pytest.mark.thorough
def test_real_logs() -> None:
    keras = "keras_fit_mlp__tf2.13.1__vlog2"
    assert real(keras, "require_kernels", ("_MklNativeFusedMatMul", "_MklMatMul")).passed
    assert not real(keras, "require_kernels", ("_MklConv2D",)).passed
    assert real(keras, "max_unknown", 0).passed
    assert real(keras, "max_unlinked", 0).passed
    cnn = "cnn_fit__tf2.13.1__vlog0__vmodule"
    assert not real(cnn, "forbid_implementations", ("*avx512*",)).passed
    assert real(cnn, "forbid_implementations", ("ref*",)).passed
    retraces = real("retrace__tf2.20.0__vlog2", "max_retraces", 0)
    assert not retraces.passed
    assert any("tflogscope record" in each.advice for each in retraces.violations)
    assert {row["function"] for row in run_of("retrace__tf2.20.0__vlog2").functions.to_dicts()} >= {
        each.subject["function"] for each in retraces.violations
    }


def test_the_default_of_the_contract_is_used_by_the_run() -> None:
    assert DEFAULTS["allow_eager_causes"] == causes_that_count("never")


# ---- shares of oneDNN's time ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "log", "share"),
    [
        ("max_creation_share", "onednn_shapes", 0.806),
        ("max_reorder_share", "onednn_reorders", 0.197),
        ("max_reference_share", "onednn_refused", 0.0),
    ],
)
def test_shares_of_the_time_of_onednn(key: str, log: str, share: float) -> None:
    policy = Policy("p", (PolicySection(None, {**DEFAULTS, key: 0.1}),))
    verdict = check_run(run_of(log), policy)
    [check] = [each for each in verdict.checks if each.key == key]
    assert check.measured == pytest.approx(share, abs=0.001)
    assert check.passed == (share <= 0.1)
    assert "unexpected_eager" not in [each.key for each in verdict.checks]
    assert "were not checked" in verdict.notes[0]
