"""Records that another writer's text cut or was glued to: the classes A to F of real logs.

A verbose line's time runs into the date of the next record, B a verbose line stands between prefix
and message, C a verbose line is glued to a record, D a verbose line is cut at a block edge, E a
program's text without a line end is glued to a record, F a program's text only looks like a record.
"""

from __future__ import annotations

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import CPU, TICK, Dialect, Log, Node
from tflogscope.native.library import PLACES

STEP = -5742615329812362931
NODE = Node(876, "StatefulPartitionedCall/gradient_tape/MatMul", "_MklMatMul", "x", "y")
# The literal lines of TensorFlow 2.13 (oneDNN 2.7.3) and 2.20 (oneDNN 3.7.3).
GEMM_2 = (
    "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
    "dst_f32::blocked:ab:f0,,64x64:64x64,0.0161133"
)
GEMM_3 = (
    "onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ba:f0 "
    "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,16x8:8x96,0.00292969"
)
MEMORY = '__LOG_MEMORY__ MemoryLogTensorDeallocation { allocation_id: 46 allocator_name: "mklcpu" }'
PRINTED = "no newline...err no newline..."
BUCKETS = ("recognised", "ignored", "unknown", "continuation", "blank")
DIALECTS: list[Dialect] = ["classic", "tid", "absl"]


class Torn(Log):
    """A log that knows what a record looks like before it is written."""

    def as_line(self, number: int) -> str:
        """Take back the record on this line, to write it torn."""
        line = self.lines[number - 1]
        del self.lines[number - 1 :]
        return line

    def memory(self) -> int:
        return self.record("tensorflow/core/framework/log_memory.cc", 34, MEMORY)

    def prints(self, text: str) -> None:
        """Text of the program that looks like no record."""
        self.raw(text)


def account(opened: Open, log: Log) -> dict[str, int]:
    row = opened(log).coverage.to_dicts()[0]
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"] == len(log.lines)
    return row


def verbose(opened: Open, log: Log) -> list[tuple[int, str]]:
    """Line and text of each verbose line."""
    frame = opened(log).events.verbose.frame()
    return [(at // PLACES + 1, text) for at, text in frame.select("at", "text").iter_rows()]


def graph(opened: Open, log: Log) -> pl.DataFrame:
    return opened(log).timeline.filter(pl.col("mode") == "graph")


# ---- A ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("gemm", [GEMM_2, GEMM_3])
def test_a_a_start_glued_to_a_time(opened: Open, dialect: Dialect, gemm: str) -> None:
    log = Torn(dialect)
    log.raw(gemm + log.as_line(log.start(NODE, STEP)))
    log.raw("")
    end = log.done(NODE, STEP)
    rows = graph(opened, log)
    assert rows.select("line", "end_line", "node", "step", "duration_us").rows() == [
        (1, end, NODE.name, STEP, TICK)
    ]
    assert rows["start"][0] is not None
    assert verbose(opened, log) == [(1, gemm)]
    row = account(opened, log)
    assert (row["recognised"], row["blank"], row["torn"], row["unknown"]) == (2, 1, 1, 0)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_an_end_glued_to_a_time(opened: Open, dialect: Dialect) -> None:
    log = Torn(dialect)
    log.start(NODE, STEP)
    log.wait(40)
    log.raw(GEMM_2 + log.as_line(log.done(NODE, STEP)))
    log.raw("")
    log.run(NODE, STEP)
    assert graph(opened, log).select("line", "end_line", "duration_us").rows() == [
        (1, 2, 40 + TICK),
        (4, 5, TICK),
    ]
    assert verbose(opened, log) == [(2, GEMM_2)]


def test_a_with_a_record_of_no_use(opened: Open) -> None:
    """The line of the survey: a deallocation after the time."""
    log = Torn()
    log.raw(GEMM_2 + log.as_line(log.memory()))
    log.raw("")
    row = account(opened, log)
    assert verbose(opened, log) == [(1, GEMM_2)]
    assert (row["recognised"], row["blank"], row["torn"]) == (1, 1, 1)


def test_a_with_an_eager_op(opened: Open) -> None:
    log = Torn()
    log.eager_input("MatMul")
    log.raw(GEMM_2 + log.as_line(log.executing("_MklMatMul")))
    rows = opened(log).timeline
    assert rows.select("line", "op", "kernel").rows() == [(2, "MatMul", "_MklMatMul")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "value", ["51.1692", "0.0161133", "3.1e-05", "12", "0.000976562", "1234.5"]
)
def test_a_any_time_is_cut_before_the_date(opened: Open, value: str) -> None:
    log = Torn()
    gemm = GEMM_2.replace("0.0161133", value)
    log.raw(gemm + log.as_line(log.start(NODE, STEP)))
    assert verbose(opened, log) == [(1, gemm)]
    assert graph(opened, log).height == 1


# ---- B ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("between", [[], [""], ["program says hello"], ["", GEMM_3]])
def test_b_a_verbose_line_between_prefix_and_message(
    opened: Open, dialect: Dialect, between: list[str]
) -> None:
    log = Torn(dialect)
    log.start(NODE, STEP)
    whole = log.as_line(log.done(NODE, STEP))
    prefix, message = whole.split("] ", 1)
    log.raw(prefix + "] " + GEMM_3)
    for line in between:
        log.raw(line)
    log.raw(message)
    log.run(NODE, STEP)
    rows = graph(opened, log)
    assert rows.select("line", "end_line", "status").rows() == [
        (1, 2, "done"),
        (len(log.lines) - 1, len(log.lines), "done"),
    ]
    assert rows["duration_us"].to_list() == [TICK, TICK]
    assert verbose(opened, log)[0] == (2, GEMM_3)
    row = account(opened, log)
    assert row["torn"] == 1
    assert row["recognised"] == 4 + between.count(GEMM_3)


def test_b_a_start_with_a_verbose_line_in_it(opened: Open) -> None:
    log = Torn()
    prefix, message = log.as_line(log.start(NODE, STEP)).split("] ", 1)
    log.raw(prefix + "] " + GEMM_3)
    log.raw(message)
    end = log.done(NODE, STEP)
    rows = graph(opened, log)
    assert rows.select("line", "end_line", "node").rows() == [(1, end, NODE.name)]


def test_b_another_record_s_message_is_not_taken(opened: Open) -> None:
    """A message that comes with a prefix of its own belongs to that prefix."""
    log = Torn()
    prefix, _ = log.as_line(log.start(NODE, STEP)).split("] ", 1)
    log.raw(prefix + "] " + GEMM_3)
    other = Node(5, "other", "Mul", "x")
    line = log.run(other, STEP)
    rows = graph(opened, log)
    assert rows.select("line", "node").rows() == [(line, "other")]


# ---- C ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", DIALECTS)
def test_c_a_verbose_line_glued_to_a_record(opened: Open, dialect: Dialect) -> None:
    log = Torn(dialect)
    log.raw(log.as_line(log.start(NODE, STEP)) + GEMM_3)
    log.raw("")
    log.raw(log.as_line(log.done(NODE, STEP)) + GEMM_3)
    log.raw("")
    rows = graph(opened, log)
    assert rows.select("line", "end_line", "device", "status").rows() == [(1, 3, CPU, "done")]
    assert verbose(opened, log) == [(1, GEMM_3), (3, GEMM_3)]
    row = account(opened, log)
    assert (row["recognised"], row["blank"], row["torn"]) == (2, 2, 2)


def test_c_behind_a_dead_node_and_behind_an_eager_op(opened: Open) -> None:
    log = Torn()
    log.raw(log.as_line(log.start(NODE.killed(), STEP)) + GEMM_3)
    log.raw(log.as_line(log.executing("Softmax")) + GEMM_3)
    rows = opened(log).timeline
    assert rows.select("line", "op", "status").rows() == [
        (1, "MatMul", "dead"),
        (2, "Softmax", "unknown"),
    ]
    assert len(verbose(opened, log)) == 2


# ---- D ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    "keep", ["onednn_verbose,e", "onednn_verbose,exec,cpu,gemm_a", GEMM_2[:-9]]
)
def test_d_a_verbose_line_cut_at_a_block_edge(opened: Open, keep: str) -> None:
    log = Torn()
    log.raw(keep + log.as_line(log.start(NODE, STEP)))
    end = log.done(NODE, STEP)
    log.raw(GEMM_2[len(keep) :])
    assert graph(opened, log).select("line", "end_line").rows() == [(1, end)]
    row = account(opened, log)
    assert (row["torn"], row["lines"]) == (1, 3)
    assert row["recognised"] + row["unknown"] == 2


@pytest.mark.parametrize("keep", ["o", "onednn_ver", "onednn_verbose"])
def test_d_cut_so_early_that_it_is_text_like_any_other(opened: Open, keep: str) -> None:
    log = Torn()
    log.raw(keep + log.as_line(log.start(NODE, STEP)))
    log.done(NODE, STEP)
    log.raw(GEMM_2[len(keep) :])
    assert graph(opened, log).select("line", "end_line").rows() == [(1, 2)]
    assert account(opened, log)["torn"] == 1


# ---- E ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_e_text_without_a_line_end_before_a_record(opened: Open, dialect: Dialect) -> None:
    log = Torn(dialect)
    log.raw(PRINTED + log.as_line(log.start(NODE, STEP)))
    log.raw(PRINTED + log.as_line(log.done(NODE, STEP)))
    assert graph(opened, log).select("line", "end_line", "duration_us").rows() == [(1, 2, TICK)]
    row = account(opened, log)
    assert (row["recognised"], row["torn"]) == (2, 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("before", "after"), [("2026-11-21T17:36:33.123Z ", ""), ("\x1b[1;32m", "\x1b[0m"), ("| ", "")]
)
def test_e_the_same_text_or_colour_around_every_line(opened: Open, before: str, after: str) -> None:
    log = Torn()
    log.eager_op("Mul", 5)
    log.run(NODE, STEP)
    log.raw(GEMM_2)
    plain = opened(log)
    wrapped = opened("".join(f"{before}{line}{after}\n" for line in log.lines))
    columns = ["line", "mode", "op", "kernel", "duration_us", "status"]
    assert wrapped.timeline.select(columns).equals(plain.timeline.select(columns))
    assert wrapped.primitives.drop("source").equals(plain.primitives.drop("source"))
    assert wrapped.coverage.row(0, named=True)["unknown"] == 0


def test_e_text_without_a_line_end_before_a_verbose_line(opened: Open) -> None:
    log = Torn()
    log.run(NODE, STEP)
    log.raw(PRINTED + GEMM_2)
    assert verbose(opened, log) == [(3, GEMM_2)]
    row = account(opened, log)
    assert (row["recognised"], row["torn"]) == (3, 1)


def test_e_text_a_verbose_line_and_a_record_on_one_line(opened: Open) -> None:
    log = Torn()
    log.raw(PRINTED + GEMM_2 + log.as_line(log.start(NODE, STEP)))
    log.done(NODE, STEP)
    assert graph(opened, log).select("line", "end_line").rows() == [(1, 2)]
    assert verbose(opened, log) == [(1, GEMM_2)]
    row = account(opened, log)
    assert row["recognised"] == 2
    assert row["torn"] >= 1


# ---- F ------------------------------------------------------------------------------------------

FAKES = [
    "user stdout: Process node: 5 step 1 {{node fake}} = MatMul[]() device: x 0",
    f"Process node: 5 step 1 {{{{node fake}}}} = MatMul[]() device: {CPU}",
    f"user: ] Process node: 5 step 1 {{{{node fake}}}} = MatMul[]() device: {CPU}",
    "2026-11-21 04:15:50,136 INFO app:12] step 2 Executing op FAKE in device /device:CPU:0",
    "2026-11-21 04:15:50.136: I app.cc:12] Executing op FAKE in device /device:CPU:0",
    "Executing a FAKE op is slow",
    "I saw onednn_verbose in the log, 5 times",
    f"2026-11-21 04:15:50.136543: I app.cc:12] Executing op FAKE in device {CPU}",
    "I0000 00:00:17952341.578178 5496 execute.cc:1] Executing op FAKE in device /device:CPU:0",
    "Synchronous kernel done: 876 step 5",
    "step 10 loss 0.693147 accuracy 0.5",
    "time per step (usec) 965368: I think so] yes",
]


@pytest.mark.thorough
@pytest.mark.parametrize("fake", FAKES)
def test_f_prints_that_look_like_records(opened: Open, fake: str) -> None:
    log = Torn()
    line = log.run(NODE, STEP)
    log.prints(fake)
    log.run(NODE, STEP)
    run = opened(log)
    assert run.timeline["line"].to_list() == [line, line + 3]
    assert "FAKE" not in run.timeline["op"].to_list()
    assert run.primitives.is_empty()
    row = account(opened, log)
    assert (row["recognised"], row["torn"]) == (4, 0)
    assert row["continuation"] + row["ignored"] == 1


def test_f_a_severity_that_does_not_exist(opened: Open) -> None:
    log = Torn()
    log.run(NODE, STEP)
    log.raw(f"2026-11-21 04:15:50.136543: X a/execute.cc:12] Executing op FAKE in device {CPU}")
    assert opened(log).timeline["op"].to_list() == ["MatMul"]
    assert account(opened, log)["recognised"] == 2


def test_f_a_print_that_has_a_record_s_prefix_within(opened: Open) -> None:
    """A quoted record in mid-line looks like class E, but it must be whole to count."""
    log = Torn()
    log.run(NODE, STEP)
    log.raw("seen 2026-11-21 03:56:34.000000: I tensorflow/core/x.cc:1] and no more")
    row = account(opened, log)
    assert opened(log).timeline.height == 1
    assert row["recognised"] == 2


def test_a_message_of_tensorflow_that_quotes_a_verbose_line_is_left_alone(opened: Open) -> None:
    log = Torn()
    log.run(NODE, STEP)
    log.raw("Set onednn_verbose=1 to see primitives")
    assert verbose(opened, log) == []
    assert account(opened, log)["torn"] == 0


# ---- any ----------------------------------------------------------------------------------------


def test_many_torn_records_keep_their_order(opened: Open) -> None:
    log = Torn()
    for _ in range(20):
        log.raw(GEMM_2 + log.as_line(log.start(NODE, STEP)))
        log.raw("")
        log.raw(log.as_line(log.done(NODE, STEP)) + GEMM_3)
        log.raw("")
    rows = graph(opened, log)
    assert rows.select("line", "end_line").rows() == [(4 * i + 1, 4 * i + 3) for i in range(20)]
    assert rows["duration_us"].unique().to_list() == [TICK]
    assert len(verbose(opened, log)) == 40
    assert account(opened, log)["torn"] == 40


def test_both_records_of_one_line_may_be_of_one_pair(opened: Open) -> None:
    """Start and end of a node glued into one line: the end is the later one."""
    log = Torn()
    start = log.as_line(log.start(NODE, STEP))
    end = log.as_line(log.done(NODE, STEP))
    log.raw(start + end)
    log.run(NODE, STEP)
    assert graph(opened, log).select("line", "end_line", "duration_us").rows() == [
        (1, 1, TICK),
        (2, 3, TICK),
    ]
