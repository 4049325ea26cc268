"""`unexpected_eager`: what counts, what does not, and to which function it belongs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_run import MadeRun, Row, call, eager, node, program
from tests.samples import run_of
from tflogscope import open_log
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import Policy, PolicySection
from tflogscope.checks.values import DEFAULTS
from tflogscope.checks.verdict import Check
from tflogscope.exports.junit import junit_text
from tflogscope.model.causes.rules import cause_grammar, causes_that_count
from tflogscope.model.rows.unexpected import is_unexpected
from tflogscope.views.check import verdict_document
from tflogscope.views.terminal import drawn

LINES = Path(__file__).parent / "lines"
EAGER_CAUSES = tuple(cause_grammar().causes)
USUAL_CAUSES, ALWAYS_CAUSES = causes_that_count("never"), causes_that_count("always")


def policy(own: dict[str, Any] | None = None, **functions: dict[str, Any]) -> Policy:
    sections = [PolicySection(pattern, named) for pattern, named in functions.items()]
    return Policy("made", (*sections, PolicySection(None, {**DEFAULTS, **(own or {})})))


def check(made: MadeRun, wanted: Policy | None = None) -> Check:
    checks = check_run(made.run(), wanted).checks
    assert [each.key for each in checks][:1] == ["unexpected_eager"]
    return checks[0]


def found(made: MadeRun, wanted: Policy | None = None) -> list[tuple[str | None, float]]:
    return [(each.subject["op"], each.amount) for each in check(made, wanted).violations]


@pytest.mark.parametrize("cause", [*EAGER_CAUSES, None])
def test_after_the_first_call_only_what_every_program_has_is_expected(cause: str | None) -> None:
    assert bool(found(program(cause=cause))) is (cause not in USUAL_CAUSES)


@pytest.mark.parametrize(
    ("log", "line", "op", "times"),
    [
        ("metric_read__tf2.20.0__record", "metric_read.py:26", "Sqrt", 3),
        ("metric_read__tf2.23.0.dev20261026__record", "metric_read.py:26", "Sqrt", 3),
        ("own_metric__tf2.13.1__record", "own_metric.py:30", "Tanh", 2),
        ("own_metric__tf2.22.0rc0__record", "own_metric.py:30", "Tanh", 2),
        # A counter of steps is added to as well, on line 31.
        (
            "accumulates__tf2.23.0.dev20261026__record",
            "accumulates.py:29",
            "AssignAddVariableOp",
            16,
        ),
    ],
)
def test_what_the_program_asks_for_itself_counts_alone(
    log: str, line: str, op: str, times: int
) -> None:
    verdict = run_of(log).check().checks[0]
    (violation,) = verdict.violations
    assert (violation.subject["op"], violation.amount) == (op, times)
    assert violation.python == line


@pytest.mark.parametrize("cause", [*EAGER_CAUSES, None])
def test_before_it_only_python_in_place_of_a_graph_counts(cause: str | None) -> None:
    made = MadeRun([eager("Mul", cause), call("train", 0)])
    assert bool(found(made)) is (cause in ALWAYS_CAUSES)


@pytest.mark.thorough
@pytest.mark.parametrize("cause", [*EAGER_CAUSES, None])
def test_without_any_call_all_but_the_usual_counts_from_the_start(cause: str | None) -> None:
    made = MadeRun([eager("Mul", cause), node("Mul", None, None, cause="dataset-function")])
    assert bool(found(made)) is (cause not in USUAL_CAUSES)
    assert "No graph function was called, so every eager op counts." in check(made).text


@pytest.mark.thorough
@pytest.mark.parametrize("cause", [*EAGER_CAUSES, None])
def test_what_runs_inside_a_call_is_run_by_py_function(cause: str | None) -> None:
    made = MadeRun([call("f", 0), eager("_EagerConst", cause, call=0)])
    (violation,) = check(made).violations
    assert violation.text == ("_EagerConst ran eagerly once inside f, cause py-function: line 20.")
    assert found(made, policy({"allow_eager_causes": ("py-function",)})) == []


def test_a_function_of_tensorflows_own_is_no_first_call() -> None:
    own = call("initialize_variables", 0, uid=77)
    assert found(MadeRun([own, eager("Mul"), call("train", 1)])) == []
    assert found(MadeRun([own, eager("Mul"), call("train", 1), eager("Neg")])) == [("Neg", 1)]


def test_training_step_by_step_counts_before_the_first_call() -> None:
    """Six steps with five products each, of a program that calls a function later."""
    eager = run_of("eager_then_function__tf2.13.1").eager_executions
    counted = eager.filter(is_unexpected())
    assert counted.filter(op="MatMul").height == 6 * 5
    assert eager.filter("before_calls")["line"].to_list()[-1] < counted["line"].to_list()[0]


def test_counting_may_begin_at_the_start() -> None:
    made = MadeRun([eager("Mul"), call("train", 0), eager("Neg")])
    assert found(made) == [("Neg", 1)]
    assert found(made, policy({"after": "start"})) == [("Mul", 1), ("Neg", 1)]


def test_so_many_may_be() -> None:
    made = program(ops=("Mul", "Neg"))
    for limit, passes in ((0, False), (3, False), (4, True)):
        assert check(made, policy({"unexpected_eager": limit})).passed is passes


def test_causes_and_ops_may_be_allowed() -> None:
    made = program(ops=("Cast", "RandomUniform", "mul"))
    assert found(made, policy({"allow_eager_ops": ("Cast", "Random*")})) == [("mul", 2)]
    assert found(made, policy({"allow_eager_ops": ("CAST", "Mul")})) == found(made)
    assert found(made, policy({"allow_eager_causes": ("outside-function",)})) == []
    usual = program(cause="metrics")
    assert found(usual, policy({"allow_eager_causes": ("constant",)})) == [("Mul", 2)]


@pytest.mark.thorough
def test_lines_of_the_program_may_be_allowed() -> None:
    run = open_log(LINES / "program__tf2.21.0.log.zst")
    broken = [each for each in check_run(run).checks[0].violations if each.python]
    assert broken
    place = broken[0].python or ""
    for allowed, passes in ((place, True), (place.rpartition("/")[2], True), (f"x{place}", False)):
        wanted = policy({"allow_eager_at": (allowed,)})
        left = {each.python for each in check_run(run, wanted).checks[0].violations}
        assert (place not in left) is passes


@pytest.mark.thorough
@pytest.mark.parametrize("comment", ["tflogscope: eager", "not eager"])
def test_a_comment_in_the_program_lets_its_line_pass(
    comment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "keras_saves.py"
    program.write_text("\n" * 24 + f"norm = tf.sqrt(x)  # {comment}\n")
    os.utime(program, (0, 0))  # older than the recording
    monkeypatch.chdir(tmp_path)
    run = run_of("keras_saves__tf2.20.0__record")
    found = check_run(run, policy({"after": "start"})).checks[0].violations
    broken = {each.python: each.code for each in found}
    assert ("keras_saves.py:25" in broken) is (comment == "not eager")
    assert set(broken.values()) <= {None, "norm = tf.sqrt(x)  # not eager"}


@pytest.mark.thorough
def test_waivers_that_are_not_read_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_of("keras_saves__tf2.20.0__record")
    counted = policy({"after": "start"})
    said = "`# tflogscope: eager` comments in keras_saves.py, if any, are ignored: the file is "
    assert f"{said}outside the current directory." in check_run(run, counted).notes
    program = tmp_path / "keras_saves.py"
    program.write_text("x = 1  # tflogscope: eager\n" * 99)
    assert f"{said}newer than the recording." in check_run(run, counted).notes
    os.utime(program, (0, 0))
    assert not [note for note in check_run(run, counted).notes if "don't count" in note]


def test_what_ran_eagerly_is_shown_by_line_of_the_program() -> None:
    shown = drawn(verdict_document(check_run(run_of("norms_after_sgd__tf2.13.1__record")).facts()))
    line = (
        r"- norms_after_sgd.py:17\n +192 unexpected executions, outside-function: Mul 48, Square 48"
    )
    assert re.search(line, shown)
    assert "# tflogscope: eager" in shown


def test_a_crash_fails_the_default_policy() -> None:
    result = check_run(run_of("ends_kill__tf2.20.0__record"))
    (crash,) = [each for each in result.checks if each.key == "max_crashes"]
    assert (crash.passed, crash.measured) == (False, 1)
    assert "SIGKILL" in crash.violations[0].text


def test_a_chosen_exit_status_fails_only_the_policy_that_asks() -> None:
    run = run_of("ends_exit3__tf2.20.0__record")
    assert check_run(run).passed
    result = check_run(run, policy({"max_nonzero_exits": 0}))
    assert [each.key for each in result.checks if not each.passed] == ["max_nonzero_exits"]
    (exit_,) = (each for each in result.checks if each.key == "max_nonzero_exits")
    assert exit_.violations[0].text == "The program exited with status 3."


def test_an_op_that_is_cut_off_matches_no_pattern() -> None:
    made = MadeRun([call("train", 0), eager(None)])
    result = check(made, policy({"allow_eager_ops": ("*",)}))
    assert not result.passed
    assert "An op with a truncated name ran eagerly once" in result.violations[0].text


def test_sections_hold_for_what_belongs_to_their_functions() -> None:
    made = MadeRun(
        [
            eager("Before", "run-eagerly"),
            call("train", 0),
            eager("Inside", "py-function", call=0),
            eager("After"),
            call("test", 1),
            eager("Late"),
        ]
    )
    wanted = policy({"unexpected_eager": 9}, train={"unexpected_eager": 2}, test={})
    checks = [each for each in check_run(made.run(), wanted).checks if "eager" in each.name]
    assert [(each.name, each.measured, each.passed) for each in checks] == [
        ("unexpected_eager[train]", 3, False),
        ("unexpected_eager", 1, True),
    ]
    assert [each.subject["function"] for each in checks[0].violations] == [None, "train", None]


def test_a_pattern_that_matches_no_function_is_not_ok() -> None:
    verdict = check_run(program().run(), policy({}, tarin={"unexpected_eager": 2}))
    (skipped,) = (check for check in verdict.checks if check.skipped)
    assert (skipped.name, skipped.passed) == ("unexpected_eager[tarin]", True)
    shown = drawn(verdict_document(verdict.facts()))
    assert "skip    unexpected_eager[tarin]: no function in the log matches" in shown
    assert "ok      unexpected_eager[tarin]" not in shown
    suite = ET.fromstring(junit_text(verdict.facts()))[0]
    assert suite.get("skipped") == "1"
    cases = [case for case in suite.iter("testcase") if case.find("skipped") is not None]
    assert [case.get("name") for case in cases] == [skipped.name]


def test_a_pattern_that_matches_no_function_excuses_no_missing_kernel() -> None:
    checks = check_run(program().run(), policy({}, tarin={"require_kernels": ("_MklMatMul",)}))
    (check,) = (each for each in checks.checks if each.functions == "tarin")
    assert (check.passed, check.skipped) == (False, False)


def test_the_message_names_op_cause_and_lines() -> None:
    rows = [call("train", 0), *[eager("Mul", line=1000 * number) for number in range(1, 31)]]
    (violation,) = check(MadeRun(rows)).violations
    assert violation.text == (
        "Mul ran eagerly 30 times, cause outside-function: lines 1,000, 2,000, 3,000, … 30,000."
    )
    assert len(violation.lines) == 21
    assert violation.lines[-1] == 30_000
    assert violation.advice


def test_ops_of_one_kind_stand_together_the_most_frequent_first() -> None:
    rows = [call("f", 0), eager("A"), eager("B"), eager("B"), eager("A", "unknown"), eager("B")]
    assert found(MadeRun(rows)) == [("B", 3), ("A", 1), ("A", 1)]


def test_a_log_without_dispatches_can_not_tell() -> None:
    made = MadeRun([node("MatMul", "train", None)])
    result = check(made)
    assert not result.passed
    assert result.measured is None
    assert "TF_CPP_MAX_VLOG_LEVEL=2" in result.text


def test_a_session_has_no_eager_ops() -> None:
    made = MadeRun([node("MatMul", None, None, cause="session")])
    assert check(made).passed


# ---- what TensorFlow and Keras ask for themselves -----------------------------------------------


def test_what_keras_itself_asks_for_is_not_counted() -> None:
    rows = [call("predict_function", 0), eager("ConcatV2", own=True), eager("ConcatV2")]
    assert found(MadeRun(rows)) == [("ConcatV2", 1)]
    assert "Not counted: 1 op that TensorFlow or a library ran itself." in check(MadeRun(rows)).text


def test_python_in_place_of_a_graph_counts_there_too() -> None:
    made = MadeRun([call("predict_function", 0), eager("ConcatV2", "run-eagerly", own=True)])
    assert found(made) == [("ConcatV2", 1)]


# ---- properties ----------------------------------------------------------------------------------

OPS = st.builds(
    eager,
    st.sampled_from(["Mul", "ConcatV2", "Less", "Identity", None]),
    st.sampled_from([*EAGER_CAUSES, None]),
    call=st.sampled_from([None, None, 0, 7]),
)
CALLS = st.builds(
    call,
    st.sampled_from(["train", "predict_function", "one_step_on_iterator", "initialize_variables"]),
    st.integers(0, 9),
)
ROWS = st.lists(OPS | CALLS | st.just(node("MatMul", "train")), max_size=25)


@pytest.mark.thorough
@given(ROWS)
def test_the_run_and_the_check_count_the_same(rows: list[Row]) -> None:
    run = MadeRun(rows).run()
    expected = run.eager_executions.filter(is_unexpected())
    assert expected["line"].is_sorted()
    result, *_ = check_run(run).checks
    assert (result.measured or 0) == expected.height
    assert sum(each.amount for each in result.violations) == expected.height


@given(ROWS)
def test_each_eager_op_is_placed_once_and_in_order(rows: list[Row]) -> None:
    run = MadeRun(rows).run()
    timeline, placed = run.timeline, run.eager_executions
    ops = timeline.with_row_index("row").filter(kind="op", mode="eager")
    assert placed["row"].equals(ops["row"])
    has_calls = (timeline["kind"] == "call") & (timeline["function"] != "initialize_variables")
    assert (placed["near"].null_count() == placed.height) or has_calls.any()


# ---- real logs -----------------------------------------------------------------------------------

CLEAN = (
    "function_mlp__tf2.8.4__vlog2",
    "function_mlp__tf2.13.1__vlog2",
    "function_mlp__tf2.13.1__vlog2__buffered",
    "function_mlp__tf2.13.1__vlog2__tid",
    "function_mlp__tf2.16.2__vlog2",
    "function_mlp__tf2.20.0__vlog2",
    "function_mlp__tf2.21.0__vlog2",
    "keras_fit_mlp__tf2.13.1__vlog2",
    "link_shapes__tf2.13.1__vlog2__inter8",
    "link_shapes__tf2.20.0__vlog2__inter8",
    "tf1_session__tf2.13.1__vlog2",
    "tf_data__tf2.13.1__vlog2",
)
PYTHON = {
    "run_eagerly__tf2.13.1__vlog2": "run-eagerly",
    "run_eagerly_fit__tf2.22.0rc0__record": "run-eagerly",
    "batches_eagerly__tf2.13.1__record": "run-eagerly",
    "py_function__tf2.13.1__vlog2": "py-function",
    "py_function__tf2.21.0__vlog2": "py-function",
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_programs_pass(name: str) -> None:
    run = run_of(name)
    assert check_run(run).passed
    assert run.unexpected_eager.is_empty()


@pytest.mark.thorough
@pytest.mark.parametrize("name", PYTHON)
def test_python_in_place_of_graphs_fails_with_ops_and_lines(name: str) -> None:
    run = run_of(name)
    verdict = check_run(run)
    assert not verdict.passed
    result = verdict.checks[0]
    assert {each.subject["cause"] for each in result.violations} >= {PYTHON[name]}
    for each in result.violations:
        op = each.subject["op"]
        assert f"{op} ran eagerly" in each.text
        dispatched = run.timeline.filter(pl.col("line").is_in(each.lines))
        assert set(dispatched["op"]) == {op}
        assert set(dispatched["mode"]) == {"eager"}
    assert not run.unexpected_eager.is_empty()


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["2.20.0", "2.22.0rc0"])
def test_what_callbacks_of_keras_compare_is_not_the_programs(release: str) -> None:
    """Only the last op is the program's own, though it looks like those of the callbacks."""
    run = run_of(f"keras_callbacks__tf{release}__record")
    (line,) = run.unexpected_eager["line"]
    compared = run.timeline.filter(mode="eager", op="Less", cause="outside-function")
    assert compared.height == 3
    last = compared.tail(1)
    assert last["python"].to_list() == ["keras_callbacks.py:12"]
    assert [line] == last["line"].to_list()


def test_a_schedule_that_a_callback_reads_is_keras_own() -> None:
    """Keras works the rate out op by op; the callback's own op is beside it."""
    run = run_of("schedule_read__tf2.22.0rc0__record")
    unexpected = run.unexpected_eager
    read = run.timeline.filter(mode="eager", python="schedule_read.py:12")
    assert {"LessEqual", "Cast"} <= set(read["op"])
    (own,) = run.timeline.filter(mode="eager", op="Rsqrt")["line"]
    assert unexpected["line"].to_list() == [own]


def test_what_saving_asks_for_is_not_the_programs() -> None:
    """TensorBoard, checkpoints, a SavedModel, TFLite's converter; two ops are the program's."""
    run = run_of("keras_saves__tf2.20.0__record")
    assert sorted(run.unexpected_eager["op"].cast(pl.String)) == ["Fill", "Sqrt"]


def test_ops_of_metrics_are_left_out_only_where_the_policy_lets_them() -> None:
    run = run_of("metric_update_beside__tf2.20.0__record")
    assert "Not counted: 588 metric ops" in check_run(run).checks[0].text
    strict = check_run(run, policy({"allow_eager_causes": ()})).checks[0]
    assert "metric ops" not in strict.text
    assert sum(each.amount for each in strict.violations) >= 588


@pytest.mark.parametrize(("uid", "fails"), [(1, True), (2, False)])
def test_what_ran_once_between_calls_counts_in_a_loop_of_one_trace(uid: int, fails: bool) -> None:
    rows = [call("train", 0), eager("Mul", python="t.py:9"), call("train", 1, uid)]
    assert bool(found(MadeRun(rows))) is fails


@pytest.mark.parametrize("name", ["keras_saves__tf2.20.0", "traced_for__tf2.22.0rc0"])
def test_what_ran_once_outside_loops_does_not_fail_it(name: str) -> None:
    run = run_of(f"{name}__record")
    result = check_run(run).checks[0]
    assert result.passed
    assert f"{run.unexpected_eager.height} ops on lines that ran once" in result.text


def test_what_runs_once_an_epoch_does_not_fail_it_alone() -> None:
    """A root after each epoch of twelve steps; one of each row runs again and again there."""
    run = run_of("norms_each_epoch__tf2.20.0__record")
    verdict = check_run(run)
    assert verdict.passed
    assert "3 ops on lines that ran after at most one in 10 calls." in verdict.checks[0].text
    strict = check_run(run, policy({"after": "start"})).checks[0].violations
    assert ("Sqrt", 3) in [(each.subject["op"], each.amount) for each in strict]
    rows = check_run(run_of("norms_each_epoch_rows__tf2.20.0__record")).checks[0].violations
    assert [(each.subject["op"], each.amount) for each in rows] == [("Sqrt", 12)]
    # Here an epoch has two steps.
    short = check_run(run_of("metric_read__tf2.20.0__record")).checks[0].violations
    assert [(each.subject["op"], each.amount) for each in short] == [("Sqrt", 3)]


def test_what_ran_once_after_the_last_call_does_not_fail_it_alone() -> None:
    """A square of what a converted model gives; in the other log turns of two loops count, too."""
    run = run_of("converted__tf2.9.3__record")
    (line,) = run.unexpected_eager["line"]
    verdict = check_run(run)
    assert verdict.passed
    said = "1 op on lines that ran once or twice, outside loops that call graph functions"
    assert said in verdict.checks[0].text
    strict = check_run(run, policy({"after": "start"})).checks[0].violations
    assert line in [line for each in strict for line in each.lines]
    repeated = check_run(run_of("bars__tf2.21.0")).checks[0].violations
    amounts = sorted((each.subject["op"], each.amount) for each in repeated)
    assert amounts == [*[("MatMul", 3)] * 2, *[("RealDiv", 3)] * 2, ("Softmax", 1)]


@pytest.mark.parametrize(("made", "ops"), [("plain", {}), ("sorted", {"SparseReorder": 8})])
def test_a_data_set_that_serializes_what_a_generator_gives_is_not_the_programs(
    made: str, ops: dict[str, int]
) -> None:
    result, *_ = check_run(run_of(f"generator_of_sparse_{made}__tf2.20.0__record")).checks
    assert {each.subject["op"]: each.amount for each in result.violations} == ops
    assert "Not counted: 6 ops that TensorFlow or a library ran itself." in result.text


def test_a_librarys_deprecated_method_is_the_librarys() -> None:
    """TensorFlow's decorator is between it and the program; below it may be the program, too."""
    result, *_ = check_run(run_of("library_deprecated__tf2.15.1__record")).checks
    assert {each.subject["op"]: each.amount for each in result.violations} == {"Sqrt": 3}
    assert "Not counted: 96 ops that TensorFlow or a library ran itself." in result.text


def test_unpacking_ragged_and_sparse_elements_is_of_tf_data() -> None:
    run = run_of("ragged_rows__tf2.20.0__record")
    assert run.unexpected_eager.is_empty()
    unpacked = run.timeline.filter(mode="eager", python="ragged_rows.py:18")["op"].to_list()
    ops = ("RaggedTensorFromVariant", "DeserializeSparse", "Unpack", "Pack")
    assert [unpacked.count(op) for op in ops] == [6, 6, 6, 6]


def test_what_a_layer_asks_for_to_learn_from_data_is_keras_own() -> None:
    """Its table of words is read and filled between the calls of `adapt_step`."""
    run = run_of("adapted__tf2.13.1__record")
    assert run.unexpected_eager.is_empty()
    adapted = run.timeline.filter(mode="eager", python="adapted.py:7", cause="outside-function")
    assert "LookupTableExportV2" in adapted["op"].to_list()


def test_what_keras_runs_to_quantize_weights_is_its_own() -> None:
    """Each of three layers scales its weights; a model that is then called eagerly is no such."""
    assert run_of("quantized__tf2.22.0rc0__record").unexpected_eager.is_empty()
    called = run_of("quantized_called__tf2.22.0rc0__record").unexpected_eager
    assert called.filter(pl.col("python") != "quantized.py:18").is_empty()
    assert called.height == 432


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "function", "amount"),
    [
        ("traced_again__tf2.13.1", "growing", 5),  # of its inputs there is one more each time
        ("traced_again__tf2.13.1", "scale", 5),
        ("traced_again__tf2.20.0__record", "growing", 5),
        ("traced_again__tf2.20.0__record", "looped", 1),
    ],
)
def test_a_function_that_tensorflow_warned_of_was_retraced(
    name: str, function: str, amount: int
) -> None:
    checks = check_run(run_of(name), policy({"max_retraces": 0})).checks
    (result,) = [each for each in checks if each.name == "max_retraces"]
    found = {each.subject["function"]: each.amount for each in result.violations}
    assert found[function] == amount


def test_what_ran_inside_py_function_is_said_to_run_inside_its_function() -> None:
    result, *_ = check_run(run_of("py_function__tf2.21.0__vlog2")).checks
    assert any("inside f, cause py-function" in each.text for each in result.violations)


def test_dispatches_without_a_date_are_no_notebooks(tmp_path: Path) -> None:
    site = "I tensorflow/core/common_runtime/eager/execute.cc:1445]"
    dispatch = f"{site} Executing op {{}} in device /job:localhost/replica:0/task:0/device:XPU:0"
    log = tmp_path / "run.log"
    log.write_text("".join(f"{dispatch.format(op)}\n" for op in ("Gelu", "MatMul")))
    eager = open_log(log).check().checks[0]
    assert (eager.measured, "notebook" in eager.text) == (2, False)
