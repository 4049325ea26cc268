"""Lines as people show them in public: what ran is read, or it is said what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tflogscope
from tests.command import run_command
from tflogscope.errors import InputError
from tflogscope.grammar.load import load_grammar, packaged_toml
from tflogscope.sources.repairs import repairs_of, rows_of

GRAMMAR = load_grammar()
ROWS = packaged_toml("repairs.toml")["repair"]
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
DISPATCH = "tensorflow/core/common_runtime/eager/execute.cc:1678] Executing op"


def _log(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "paste.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_repairs_its_sample_and_not_its_near_miss(row: dict[str, Any]) -> None:
    [repair] = [each for each in rows_of(GRAMMAR) if each.id == row["id"]]
    before, after = row["sample"]
    assert repair.apply(before.encode() + b"\n") == after.encode() + b"\n"
    near = row["near_miss"].encode() + b"\n"
    assert repair.apply(near) == near


@pytest.mark.parametrize(
    "form",
    [
        "2025-03-11 09:14:22.10412{0}: I " + DISPATCH + " {1} in device " + CPU + " → eager",
        "2025-03-11 09:14:22.10412{0}: I " + DISPATCH + " {1} in device " + CPU + " \n",
        "| 2025-03-11 09:14:22.10412{0}: I " + DISPATCH + " {1} in device " + CPU + " |",
        "2018-06-25 14:57:30.10412{0}: I c/eager/c_api.cc:856] Executing op {1} in device " + CPU,
        "I " + DISPATCH + " {1} in device " + CPU,
        "Executing op {1} in device " + CPU,
        '{{"msg":"2023-07-29 14:25:52.10012{0}: I '
        + DISPATCH
        + " {1} in device "
        + CPU
        + '","v":0}}',
        '"Jul 29, 2023",WARNING,"2023-07-29 14:25:52.10012{0}: I '
        + DISPATCH
        + " {1} in device "
        + CPU
        + '",1',
    ],
    ids=["behind", "blank", "table", "c_api", "no date", "bare", "JSON", "CSV"],
)
def test_dispatches_are_read(tmp_path: Path, form: str) -> None:
    ops = ["MatMul", "Add", "MatMul"]
    log = _log(tmp_path, "What I see:", "", *(form.format(*each) for each in enumerate(ops)))
    run = tflogscope.open_log(log)
    assert run.timeline["op"].to_list() == ops
    assert run.coverage["unknown"].sum() == 0
    assert run.coverage["lines"].item() == log.read_text().count("\n")


def test_times_with_decimal_commas(tmp_path: Path) -> None:
    line = "onednn_verbose,exec,cpu,{},undef,src_f32::blocked:ab:f0,,{},{},{}"
    lines = [
        line.format("matmul,jit", "", "128x32:32x10", "0,25"),
        line.format("eltwise,jit", "alg:eltwise_relu alpha:0 beta:0", "64", "1,5"),
        line.format("reorder,jit", "", "4x5", "2"),
        line.format("matmul,jit", "", "4x5:5x6", "9,5e-02"),
    ]
    times = tflogscope.open_log(_log(tmp_path, *lines)).primitives["duration_us"]
    assert times.to_list() == [250.0, 1500.0, 2000.0, 95.0]


def test_nodes_of_tensorflow_1(tmp_path: Path) -> None:
    begin = "2018-09-28 10:26:25.07012{}: I tensorflow/core/common_runtime/executor.cc:1688] "
    node = (
        f'Process node: {{0}} step 4 {{1}} = Relu[_device="{CPU}"](x) is dead: {{2}} device: {CPU}'
    )
    text = [begin.format(at) + node.format(at, f"a/b{at}", at) for at in range(2)]
    rows = tflogscope.open_log(_log(tmp_path, *text)).timeline
    assert rows.select("node", "op", "status").rows() == [
        ("a/b0", "Relu", "unknown"),
        ("a/b1", "Relu", "dead"),
    ]


def test_records_without_a_date_have_no_time(tmp_path: Path) -> None:
    log = _log(tmp_path, *(f"I {DISPATCH} {op} in device {CPU}" for op in ("Add", "Mul")))
    assert tflogscope.open_log(log).timeline["start"].null_count() == 2


def test_a_log_as_it_was_written_is_left_as_it_is() -> None:
    lines = [
        f"2025-03-11 09:14:22.10412{at}: I {DISPATCH} Add in device {CPU}\n" for at in range(9)
    ]
    lines.append(f"I say: Executing op FAKE in device {CPU}\n")
    assert repairs_of("".join(lines).encode(), GRAMMAR) == ()


def test_few_records_with_the_newest_first_are_refused(tmp_path: Path) -> None:
    lines = [f"2025-03-11 09:14:22.10412{at}: I {DISPATCH} Add in device {CPU}" for at in range(4)]
    with pytest.raises(InputError, match="in reverse order"):
        tflogscope.open_log(_log(tmp_path, *reversed(lines)))


def test_a_gate_that_can_not_read_fails(tmp_path: Path) -> None:
    begin = "2025-03-11 09:14:22.10412{}: I tensorflow/core/common_runtime/eager/execute.cc:1] "
    log = _log(
        tmp_path,
        begin.format(0) + f"Executing op Add in device {CPU}",
        begin.format(1) + f"Ran op Mul in device {CPU}",
    )
    ended = run_command("check", str(log))
    assert ended.returncode == 3
    assert b"1 of 2 records can't be parsed" in ended.stdout
    [lost] = tflogscope.open_log(log).findings.filter(id="lines-lost")["count"]
    assert lost == 1


def test_the_number_of_a_test_is_no_rank(tmp_path: Path) -> None:
    line = "dnnl_verbose,exec,cpu,eltwise,ref:any,forward_training,data_f32::blocked:ab:f0 "
    line += "diff_undef::undef::f0,,alg:eltwise_tanh alpha:0.1 beta:0,2x4,0.0029"
    text = [each for n in (36, 37) for each in (f"test {n}", f"      Start {n}: a", f"{n}: {line}")]
    run = tflogscope.open_log(_log(tmp_path, *text))
    assert run.primitives.height == 2
    assert run.summary.recorded.envelope == "ctest -V"
