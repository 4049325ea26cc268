"""Runs of graph nodes: which record ends which, and what became of each."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, CPU, MATMUL, RETVAL, SOURCE, TICK, J, Log, Node, X
from tflogscope import Run

STEP = -7748365561995536539
GPU = f"{J}/device:GPU:0"
BODY = Node(7, "while/body/_1/mul", "Mul", "x", "y")


def rows_of(run: Run, node: str | None = None) -> pl.DataFrame:
    rows = run.timeline.filter(pl.col("mode") == "graph")
    return rows if node is None else rows.filter(pl.col("node") == node)


def ends_of(run: Run, node: str | None = None) -> list[tuple[int, int | None]]:
    return rows_of(run, node).select("line", "end_line").rows()


def test_a_node_has_its_kernel_time_and_place(opened: Open) -> None:
    log = Log()
    line = log.start(MATMUL, STEP)
    log.wait(90)
    end = log.done(MATMUL, STEP)
    row = opened(log).timeline.to_dicts()[0]
    assert row["source"].endswith("part0.log")
    assert (row["line"], row["end_line"], row["duration_us"]) == (line, end, 90 + TICK)
    assert row["start"] == datetime(2026, 11, 21, 3, 56, 34)  # noqa: DTZ001  logs print no zone
    assert (row["end"] - row["start"]).total_seconds() == 100e-6
    assert (row["mode"], row["kind"], row["status"]) == ("graph", "op", "done")
    assert (row["op"], row["kernel"], row["rewrite"]) == ("MatMul", "_MklMatMul", "layout")
    assert (row["node"], row["step"], row["device"]) == ("MatMul", STEP, CPU)
    assert row["thread"] is None
    assert row["duration_us"] == 100


@pytest.mark.parametrize("dialect", ["tid", "absl"])
def test_a_thread_id_is_kept_where_it_is_printed(opened: Open, dialect: str) -> None:
    log = Log(dialect)  # type: ignore[arg-type]
    log.run(MATMUL, STEP, thread=26187)
    log.run(ADD, STEP, thread=139665401234567)
    assert rows_of(opened(log))["thread"].to_list() == [26187, 139665401234567]


def test_a_node_of_a_loop_runs_many_times_in_one_step(opened: Open) -> None:
    log = Log()
    lines = [log.run(BODY, STEP) for _ in range(50)]
    run = opened(log)
    assert ends_of(run) == [(line, line + 1) for line in lines]
    assert set(rows_of(run)["duration_us"].to_list()) == {TICK}


def test_overlapping_iterations_end_in_the_order_of_their_starts(opened: Open) -> None:
    log = Log()
    first = log.start(BODY, STEP)
    second = log.start(BODY, STEP)
    first_end = log.done(BODY, STEP)
    second_end = log.done(BODY, STEP)
    assert ends_of(opened(log)) == [(first, first_end), (second, second_end)]


def test_ends_do_not_cross_steps_nodes_or_ids(opened: Open) -> None:
    log = Log()
    other = STEP + 1
    twin = Node(8, BODY.name, "Mul", "x", "y")
    starts = [log.start(BODY, STEP), log.start(BODY, other), log.start(twin, STEP)]
    ends = [log.done(twin, STEP), log.done(BODY, STEP), log.done(BODY, other)]
    assert ends_of(opened(log)) == [
        (starts[0], ends[1]),
        (starts[1], ends[2]),
        (starts[2], ends[0]),
    ]


def test_partitions_share_a_step_id_and_their_node_ids_collide(opened: Open) -> None:
    log = Log()
    here, there = BODY, Node(BODY.id, "while/body/_1/add", "AddV2", "x", device=GPU)
    both = [SOURCE, SOURCE.on(GPU)]
    sources = [log.start(node, STEP) for node in both]
    source_ends = [log.done(node, STEP) for node in reversed(both)][::-1]
    starts = [log.start(here, STEP), log.start(there, STEP)]
    ends = [log.done(there, STEP), log.done(here, STEP)][::-1]
    run = opened(log)
    assert ends_of(run) == list(zip(sources + starts, source_ends + ends, strict=True))
    assert rows_of(run)["device"].to_list() == [CPU, GPU, CPU, GPU]


def test_the_same_node_on_two_devices_is_two_executions(opened: Open) -> None:
    log = Log()
    here, there = log.start(BODY, STEP), log.start(BODY.on(GPU), STEP)
    there_end, here_end = log.done(BODY.on(GPU), STEP), log.done(BODY, STEP)
    assert ends_of(opened(log)) == [(here, here_end), (there, there_end)]


def test_dead_nodes_are_rows_that_count_for_nothing(opened: Open) -> None:
    log = Log()
    log.run(BODY, STEP)
    dead = log.run(BODY.killed(), STEP)
    run = opened(log)
    assert rows_of(run)["status"].to_list() == ["done", "dead"]
    assert ends_of(run)[1] == (dead, dead + 1)
    ops = run.ops.to_dicts()
    assert [(op["op"], op["executions"], op["dead"], op["total_us"]) for op in ops] == [
        ("Mul", 1, 1, TICK)
    ]
    assert run.nodes["executions"].to_list() == [1]


def test_only_dead_runs_leave_times_null(opened: Open) -> None:
    log = Log()
    log.run(BODY.killed(), STEP)
    op = opened(log).ops.to_dicts()[0]
    assert (op["executions"], op["dead"]) == (0, 1)
    assert [op[name] for name in ("total_us", "mean_us", "min_us", "p95_us", "max_us")] == [
        None
    ] * 5


def test_the_node_that_a_bad_status_names_failed_though_it_ended(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    log.run(ADD, STEP)
    log.start(MATMUL, STEP)
    log.compute_status("MatMul")
    log.done(MATMUL, STEP)
    log.start(ADD, STEP)
    rows = rows_of(opened(log))
    assert rows["status"].to_list() == ["done", "done", "failed", "unfinished"]
    assert rows["duration_us"].to_list()[2] == 3 * TICK - TICK


def test_the_node_that_failed_is_found_in_an_inlined_body(opened: Open) -> None:
    """The status names the node of the function's body, the executor its inlined copy."""
    log = Log()
    node = Node(45, "while/body/_1/while/assert_less/Assert/Assert", "Assert", "x")
    log.run(MATMUL, STEP)
    log.start(node, STEP)
    log.record(
        "tensorflow/core/common_runtime/executor.cc",
        1059,
        "0x5623d00a7d80 Compute status: INVALID_ARGUMENT: assertion failed: [3] [3]\n"
        "\t [[{{function_node while_body_78}}{{node while/assert_less/Assert/Assert}}]]",
        "W",
    )
    log.done(node, STEP)
    assert rows_of(opened(log))["status"].to_list() == ["done", "failed"]


def test_a_log_that_ends_in_a_run_leaves_it_unfinished(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    log.start(ADD, STEP)
    row = rows_of(opened(log)).to_dicts()[-1]
    assert (row["status"], row["end"], row["end_line"], row["duration_us"]) == (
        "unfinished", None, None, None,
    )  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("keep", [10, 60, 95, 150, 200])
def test_a_log_cut_in_mid_record_keeps_the_rest(opened: Open, keep: int) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    start = log.start(ADD, STEP)
    whole = "".join(line + "\n" for line in log.lines[: start - 1])
    rows = rows_of(opened(whole + log.lines[-1][:keep]))
    assert rows["node"].to_list()[:1] == ["MatMul"]
    assert rows["status"].to_list()[0] == "done"
    assert set(rows["status"].to_list()[1:]) <= {"unfinished"}


def test_without_any_end_nothing_is_said_about_ends(opened: Open) -> None:
    """TF_CPP_MAX_VLOG_LEVEL=1 prints starts alone."""
    log = Log()
    log.start(SOURCE, STEP)
    log.start(MATMUL, STEP)
    log.start(BODY.killed(), STEP)
    run = opened(log)
    assert rows_of(run)["status"].to_list() == ["unknown", "unknown", "dead"]
    assert rows_of(run)["duration_us"].to_list() == [None, None, None]
    assert run.coverage["vlog_level"].to_list() == [1]
    assert run.ops["total_us"].to_list() == [None, None, None]
    assert run.nodes["total_us"].null_count() == run.nodes.height > 0


def test_an_async_kernel_ends_by_its_own_line(opened: Open) -> None:
    log = Log()
    node = Node(18, "IteratorGetNext", "IteratorGetNext", "iterator")
    start = log.start(node, STEP)
    log.run(ADD, STEP)
    end = log.done(node, STEP, sync=False)
    assert ends_of(opened(log), "IteratorGetNext") == [(start, end)]


def test_an_end_without_its_start_is_no_row(opened: Open) -> None:
    log = Log()
    log.done(MATMUL, STEP)
    start = log.run(MATMUL, STEP)
    assert ends_of(opened(log)) == [(start, start + 1)]


def test_a_lost_end_leaves_one_run_open_and_the_others_right(opened: Open) -> None:
    log = Log()
    lines = [log.run(BODY, STEP) for _ in range(4)]
    del log.lines[lines[1]]  # the end of the second
    starts = [lines[0], lines[1], lines[2] - 1, lines[3] - 1]
    ends = [starts[0] + 1, None, starts[2] + 1, starts[3] + 1]
    assert ends_of(opened(log)) == list(zip(starts, ends, strict=True))


def test_a_clock_that_goes_back_gives_no_duration(opened: Open) -> None:
    log = Log()
    log.start(MATMUL, STEP)
    log.wait(-5_000_000)
    end = log.done(MATMUL, STEP)
    log.run(ADD, STEP)
    rows = rows_of(opened(log)).to_dicts()
    assert (rows[0]["duration_us"], rows[0]["status"], rows[0]["end_line"]) == (None, "done", end)
    assert rows[0]["end"] < rows[0]["start"]
    assert rows[1]["duration_us"] == TICK


def test_a_record_without_a_possible_time_has_none(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    log.lines[0] = log.lines[0].replace("2026-11-21", "2026-13-21")
    row = rows_of(opened(log)).to_dicts()[0]
    assert (row["start"], row["duration_us"], row["status"]) == (None, None, "done")


@pytest.mark.parametrize("day", ["2026-02-30", "2025-02-29", "2026-04-31", "2026-11-00"])
def test_a_day_that_no_month_has_is_no_time(opened: Open, day: str) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    log.lines[0] = log.lines[0].replace("2026-11-21", day)
    assert rows_of(opened(log))["start"].to_list() == [None]


# ---- kinds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "op",
    ["_Arg", "_DeviceArg", "_Retval", "_DeviceRetval", "_Send", "_Recv", "_HostSend", "_HostRecv"],
)
def test_plumbing_is_known_by_its_op(opened: Open, op: str) -> None:
    log = Log()
    log.run(Node(4, "anything", op), STEP)
    assert rows_of(opened(log))["kind"].to_list() == ["plumbing"]


def test_source_and_sink_are_plumbing_and_other_noops_are_not(opened: Open) -> None:
    log = Log()
    for name in ("_SOURCE", "_SINK", "group_deps"):
        log.run(Node(1, name, "NoOp"), STEP)
    assert rows_of(opened(log))["kind"].to_list() == ["plumbing", "plumbing", "op"]


def test_step_minus_one_is_folding(opened: Open) -> None:
    log = Log()
    node = Node(4, "Rank", "Const", device="/device:CPU:0", attributes="dtype=DT_INT32")
    log.step(-1, node)
    log.step(STEP, MATMUL)
    run = opened(log)
    rows = rows_of(run)
    assert rows["kind"].to_list() == ["folding", "folding", "plumbing", "op"]
    assert rows["cause"].to_list()[:2] == ["constant-folding"] * 2
    assert rows["call"].to_list()[:2] == [None, None]
    assert rows["device"].to_list()[1] == "/device:CPU:0"
    assert {op["kind"] for op in run.ops.to_dicts() if op["op"] == "Const"} == {"folding"}


# ---- names --------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "op", "rewrite"),
    [
        ("MatMul", "MatMul", "none"),
        ("_FusedMatMul", "_FusedMatMul", "none"),
        ("_MklMatMul", "MatMul", "layout"),
        ("_MklNativeConv2D", "Conv2D", "layout"),
        ("_MklNativeFusedMatMul", "_FusedMatMul", "layout"),
        ("_MklNativeFusedConv2D", "_FusedConv2D", "layout"),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNormV3", "layout"),
        ("_MklFusedBatchNormV3", "FusedBatchNormV3", "layout"),
        ("_MklNativeMaxPoolGrad", "MaxPoolGrad", "layout"),
        ("_MklSwish", "_MklSwish", "remapper"),
        ("_MklFusedBatchMatMulV2", "_MklFusedBatchMatMulV2", "remapper"),
    ],
)
def test_the_op_before_a_rewrite(opened: Open, kernel: str, op: str, rewrite: str) -> None:
    log = Log()
    log.run(Node(4, "node", kernel, "x"), STEP)
    row = rows_of(opened(log)).to_dicts()[0]
    assert (row["kernel"], row["op"], row["rewrite"]) == (kernel, op, rewrite)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "attributes",
    [
        'message="a}} = B[c](d) device: e"',
        r'template="{}\n device: /job:x is dead"',
        'end="\\n", s="](x) "',
        "value=Tensor<type: string shape: [] values: ](>",
        'sep="] "',
    ],
)
def test_attributes_that_look_like_the_end_of_a_definition(opened: Open, attributes: str) -> None:
    log = Log()
    log.run(Node(4, "PrintV2", "PrintV2", "x", attributes=attributes), STEP)
    row = rows_of(opened(log)).to_dicts()[0]
    assert (row["node"], row["kernel"], row["device"]) == ("PrintV2", "PrintV2", CPU)
    assert row["status"] == "done"
    assert opened(log).nodes["inputs"].to_list() == ["x"]


def test_inputs_and_attributes_are_kept(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    node = opened(log).nodes.to_dicts()[0]
    assert node["inputs"] == "x, y"
    assert node["attributes"] == f'T=DT_FLOAT, _device="{CPU}"'
    assert node["dtype"] == "DT_FLOAT"


def test_order_is_by_line_in_each_source_and_sources_as_named(opened: Open) -> None:
    log = Log()
    for node in (X, MATMUL, ADD, RETVAL):
        log.run(node, STEP)
    rows = opened(log, log).timeline
    assert rows["line"].to_list() == [1, 3, 5, 7, 1, 3, 5, 7]
    assert [name[-9:] for name in rows["source"].to_list()] == ["part0.log"] * 4 + ["part1.log"] * 4
