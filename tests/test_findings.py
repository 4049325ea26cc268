"""Findings: each kind on a log that shows it, none on a log that does not."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, SOURCE, Log, Node
from tests.samples import run_of, unpacked
from tests.sentences_tables import PAGE, page_with_tables
from tflogscope import Run, open_log
from tflogscope.grammar.tables import schema
from tflogscope.model.common.sentences import rows
from tflogscope.views.analyze import analyze_document
from tflogscope.views.terminal import drawn

LOGS = Path(__file__).parent / "sentences" / "logs"
F = "__inference_f_6"
G = "__inference_f_19"
STEP = -7748365561995536539


def found(run: Run, id_: str) -> list[dict[str, Any]]:
    return run.findings.filter(pl.col("id") == id_).to_dicts()


def test_a_program_without_anything_to_find_has_the_columns(opened: Open) -> None:
    log = Log()
    log.eager_op("VarHandleOp", 1)
    log.eager_op("AssignVariableOp", 2)
    run = opened(log)
    assert run.findings.is_empty()
    assert run.findings.schema == schema("findings")


@pytest.mark.parametrize(
    ("sample", "id_", "subject", "count"),
    [
        ("run_eagerly__tf2.13.1__vlog2", "run-eagerly", "run_eagerly", 326),
        ("py_function__tf2.13.1__vlog2", "py-function", "f", 9),
        ("py_function__tf2.21.0__vlog2", "py-function", "f", 9),
        ("retrace__tf2.20.0__vlog2", "retraced", "g", 1),
        ("eager_basics__tf2.13.1__vlog2", "no-function", "the program", 81),
        ("error__tf2.13.1__vlog2", "failed-ops", "CheckNumerics", 1),
        ("eager_basics__tf2.8.4__vlog2", "no-durations", None, 155),
    ],
)
def test_a_program_that_was_written_to_show_it(
    sample: str, id_: str, subject: str | None, count: int
) -> None:
    run = run_of(sample)
    rows = found(run, id_)
    named = [row for row in rows if subject is None or row["subject"] == subject]
    assert [row["count"] for row in named] == [count]
    assert named[0]["line"] == int(named[0]["lines"].split(";")[0])


def test_a_program_in_graphs_has_no_eager_finding() -> None:
    ids = set(run_of("keras_fit_mlp__tf2.13.1__vlog2").findings["id"])
    assert not ids & {"run-eagerly", "eager-training-step", "eager-steady-state", "no-function"}
    assert not ids & {"py-function", "retraced", "failed-ops", "lines-lost", "unfinished"}


def test_what_differs_between_traces_is_said() -> None:
    by_subject = {
        row["subject"]: row["text"] for row in found(run_of("retrace__tf2.20.0__vlog2"), "retraced")
    }
    assert "the shape of x ([1,8], [?,8])" in by_subject["g"]
    assert "a Python value or an object differs" in by_subject["f"]
    assert "TensorFlow logged 2 warnings about retracing" in by_subject["f"]


def test_what_failed_is_said_before_the_message_is_cut(opened: Open) -> None:
    log = Log()
    log.executing("__inference_f_7")
    key = f"_XlaMustCompile=true,config_proto={'3' * 90},executor_type={'1' * 90}"
    said = f"Can't compile __inference_f_7[{key}] on XLA_CPU_JIT: AsString (no kernel {'x' * 200})"
    log.exiting("__inference_f_7", f"INVALID_ARGUMENT: {said}")
    text = opened(log).findings.row(0, named=True)["text"]
    start = "f failed: INVALID_ARGUMENT: Can't compile __inference_f_7 on XLA_CPU_JIT: AsString"
    assert text.startswith(start)
    assert text.endswith("x…")


def test_errors_come_first_then_the_most_time() -> None:
    rows = run_of("error__tf2.13.1__vlog2").findings
    assert rows["severity"][0] == "error"
    times = rows.filter(pl.col("severity") != "error")["time_us"].fill_null(-1).to_list()
    assert times == sorted(times, reverse=True)


def test_what_has_less_than_a_share_of_the_time_is_a_note(opened: Open) -> None:
    log = Log()
    log.first_call(F, 6, STEP, SOURCE, MATMUL)
    log.executing("Softmax")
    busy = opened(log)
    assert [row["severity"] for row in found(busy, "eager-steady-state")] == ["note"]


def test_pauses_between_epochs_are_not_between_steps(opened: Open) -> None:
    log = Log()
    log.first_call(F, 6, STEP, SOURCE, MATMUL)
    for number in range(6):
        log.wait(3_000_000 if number == 3 else 1500)
        log.call(F, 6, STEP + 1 + number, SOURCE, MATMUL)
    [row] = found(opened(log), "between-steps")
    assert row["count"] == 5
    assert row["time_us"] < 10_000
    assert "Not counted: 1 longer gap" in row["text"]


def test_calls_that_follow_at_once_leave_nothing_to_find(opened: Open) -> None:
    log = Log()
    log.first_call(F, 6, STEP, SOURCE, MATMUL)
    for number in range(6):
        log.call(F, 6, STEP + 1 + number, SOURCE, *([MATMUL, ADD] * 20))
    assert not found(opened(log), "between-steps")


def test_each_sentence_is_in_the_docs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with_tables(page), "python -m tests.sentences_tables writes it anew"
    kinds = ("finding", "limit", "answer", "verdict")
    assert re.findall(r"^\| (\w+) \| reported when", page, re.MULTILINE) == list(kinds)
    sections = re.findall(r"^## ([a-z0-9-]+)$", page, re.MULTILINE)
    assert sections == [id_ for id_ in rows("finding") if id_ in sections]


def test_text_of_the_log_has_no_effect(opened: Open) -> None:
    log = Log()
    log.first_call("__inference_f\x1b[31m_6", 6, STEP, SOURCE)
    log.executing("Soft\x1b[2J[bold]max")
    screen = drawn(analyze_document(opened(log)))
    assert "Findings" in screen
    assert "\x1b" not in screen
    assert "[bold]max" in screen


def test_a_compilation_that_failed_is_not_in_the_time_of_what_xla_compiled(opened: Open) -> None:
    log = Log()
    log.call(F, 9, -5, MATMUL)
    for function, milliseconds, status in ((G, 3, "OK"), ("__inference_h_4", 2, "INTERNAL: no")):
        log.entering(function)
        log.executing(function)
        log.wait(4000)
        said = f"Compilation of XLA executable time: {milliseconds} ms (cumulative: 9 ms, max: 9 ms"
        log.record("compiler/jit/device_compiler.h", 465, f"{said}, #called: 1)")
        log.exiting(function, status)
    (limit,) = (each for each in opened(log).summary.limits if each.id == "xla")
    assert "Compiling took 3 ms of that." in limit.text


def compiling(calls: int, clusters: int) -> Log:
    """Calls of one function, in each of which XLA compiles so often."""
    log = Log()
    for _ in range(calls):
        log.entering(G)
        log.executing(G)
        for _ in range(clusters):
            log.wait(4000)
            said = "Compilation of XLA executable time: 3.5 ms (cumulative: 9 ms, max: 9 ms"
            log.record("compiler/jit/device_compiler.h", 465, f"{said}, #called: 1)")
        log.exiting(G)
    return log


def test_what_xla_compiles_in_one_call_are_clusters_and_not_shapes(opened: Open) -> None:
    (row,) = found(opened(compiling(5, 1)), "new-shapes")
    assert row["count"] == 4
    assert row["time_us"] == 4 * 3500
    assert not found(opened(compiling(2, 8)), "new-shapes")


@pytest.mark.thorough
@pytest.mark.parametrize(("cpus", "said"), [(8, False), (4, False), (3, True), (None, False)])
def test_threads_are_more_than_processors_only_where_record_counted_them(
    opened: Open, cpus: int | None, said: bool
) -> None:
    log = Log()
    if cpus:
        log.raw(f'# tflogscope record {{"cpus":{cpus},"environment":{{"OMP_NUM_THREADS":"64"}}}}')
    log.raw("onednn_verbose,v1,info,cpu,runtime:threadpool,nthr:4")
    log.first_call(F, 6, STEP, SOURCE, MATMUL)
    assert bool(found(opened(log), "threads")) == said


def test_what_no_rule_explains_is_nobodys_to_change(tmp_path: Path) -> None:
    """Without the line that every process begins with, nothing says whether oneDNN is off."""
    text = unpacked(LOGS / "served__tf2.9.3__record.log.zst")
    path = tmp_path / "run.log"
    path.write_bytes(b"\n".join(line for line in text.split(b"\n") if b"cpu_feature" not in line))
    run = open_log(path)
    assert run.nodes.filter(pl.col("executions") > 0, op="MatMul")["reason"].to_list() == [
        "unknown"
    ]
    assert not found(run, "not-rewritten")
    assert not found(run, "onednn-off")


@pytest.mark.parametrize("cut", ["/job:localhost/replica:0/task:0/device:", "/device:GPU:", "/jo"])
def test_a_line_that_is_cut_names_no_device(cut: str, opened: Open) -> None:
    start = "Executing op MatMul in device "
    lines = [f"{start}/device:CPU:0", f"{start}{cut}"]
    assert found(opened("\n".join([*lines, ""])), "on-cpu") == []
    (whole,) = found(opened("\n".join([*lines, f"{start}/device:GPU:0", ""])), "on-cpu")
    assert whole["text"] == "1 of 2 eager dispatches ran on the CPU (MatMul), the others on GPU:0."


@pytest.mark.parametrize(
    ("setting", "is_named"),
    [
        ("set_floatx('float64')", True),
        ('set_floatx("float64")', True),
        ("set_floatx('float32')", False),
    ],
)
def test_float64_that_keras_is_set_to_is_said_with_its_line(
    setting: str, is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, log = tmp_path / "doubles.py", str(LOGS / "doubles_two__tf2.20.0__record.log.zst")
    (row,) = found(open_log(log), "not-rewritten")
    assert "set_floatx" not in row["advice"]  # the program isn't there
    program.write_text(f"from keras import backend\nbackend.{setting}\n")
    os.utime(program, (0, 0))  # before the recording began
    (row,) = found(open_log(log), "not-rewritten")
    assert row["advice"].startswith("Remove set_floatx at doubles.py:2") is is_named


def test_a_mask_that_fits_no_integer_is_no_axis(opened: Open) -> None:
    mask = "9" * 40
    sliced = f"T=DT_FLOAT, ellipsis_mask=0, shrink_axis_mask={mask}"
    log = Log()
    log.call(
        "__inference_f_1", 1, 1, MATMUL, Node(5, "one", "StridedSlice", "x", attributes=sliced)
    )
    assert "sliced-product" not in opened(log).findings["id"]
