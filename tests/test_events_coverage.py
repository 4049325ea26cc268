"""Every line is counted: recognised, ignored or unknown; and how a log was recorded."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, CPU, MATMUL, SOURCE, TICK, Dialect, Log, X
from tests.samples import path_of, run_of, unpacked
from tflogscope.errors import InputError, NothingRecognised
from tflogscope.grammar.load import load_grammar

STEP = -42
GEMM = (
    "onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ba:f0 "
    "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,16x8:8x96,0.00292969"
)
BUCKETS = ("recognised", "ignored", "unknown", "continuation", "blank")


def buckets(opened: Open, *logs: Log | str | bytes) -> tuple[int, ...]:
    row = opened(*logs).coverage.to_dicts()[0]
    assert row["records"] == row["recognised"] + row["ignored"] + row["unknown"]
    assert sum(row[name] for name in BUCKETS) == row["lines"]
    return tuple(row[name] for name in BUCKETS)


@pytest.mark.parametrize("dialect", ["classic", "tid", "absl"])
def test_one_line_of_each_kind(opened: Open, dialect: Dialect) -> None:
    log = Log(dialect)
    log.run(MATMUL, STEP)  # two recognised
    log.raw("")
    log.record("tensorflow/core/graph/algorithm.cc", 235, "Reverse reach : x from y")
    log.record("tensorflow/core/common_runtime/executor.cc", 99, "Not of any release we know")
    log.raw("what a program prints")
    log.raw(GEMM)
    assert buckets(opened, log) == (3, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tensorflow/core/common_runtime/eager/execute.cc", "Executing something in device x"),
        ("tensorflow/core/common_runtime/executor.cc", "Process nodes: 5 step 1"),
        ("tensorflow/core/common_runtime/mkl_layout_pass.cc", "MklLayoutRewritePass: Boo"),
        ("tensorflow/core/framework/op_kernel.cc", "Instantiating kernels for node"),
    ],
)
def test_a_message_that_no_entry_matches_is_unknown(opened: Open, path: str, message: str) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    log.record(path, 1, message)
    assert buckets(opened, log) == (2, 0, 1, 0, 0)


def test_lines_that_go_on_are_no_records(opened: Open) -> None:
    log = Log()
    log.record("tensorflow/core/graph/algorithm.cc", 235, "a\n  b {\n\n  }\n" + "c" * 9000)
    log.run(MATMUL, STEP)
    assert buckets(opened, log) == (2, 1, 0, 3, 1)


@pytest.mark.parametrize(
    "line",
    [
        "WARNING:tensorflow:5 out of the last 5 calls to <function f at 0x7f> triggered retracing.",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    ],
)
def test_lines_of_python_are_records(opened: Open, line: str) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    log.raw(line)
    assert sum(buckets(opened, log)[:3]) == 3


@pytest.mark.parametrize("text", ["", "\n\n\n", "hello\n", "2026-11-21 is a date\n", "\x00" * 100])
def test_a_text_without_a_record_is_refused(opened: Open, text: str) -> None:
    with pytest.raises(NothingRecognised) as refused:
        opened(text)
    assert refused.value.exit_code == 3
    assert "part0.log" in str(refused.value)


def test_a_log_of_files_of_no_use_is_refused(opened: Open) -> None:
    log = Log()
    log.record("tensorflow/core/graph/algorithm.cc", 235, "Reverse reach : x from y")
    with pytest.raises(InputError):
        opened(log)


def test_one_good_source_is_enough(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    coverage = opened("nothing\n", log, "").coverage
    assert coverage["lines"].to_list() == [1, 2, 0]
    assert coverage["recognised"].to_list() == [0, 2, 0]
    assert coverage["source"].n_unique() == 3


def test_a_last_line_without_an_end_counts(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    text = log.text()
    assert buckets(opened, text.rstrip("\n")) == buckets(opened, text) == (2, 0, 0, 0, 0)


def test_bytes_that_a_record_quotes_are_text(opened: Open) -> None:
    """`tf.saved_model.save` prints the first 64 bytes of a serialized message (execute.cc)."""
    log = Log()
    log.run(MATMUL, STEP)
    head = (
        b"I0000 00:00:1795812824.644523   23568 execute.cc:353] Full type for eager 'TensorHandle("
    )
    said = b'"\\n\x8a\\001 no [...], dtype=DT_STRING, device="/job:localhost")\n'
    text = log.text().encode()
    assert opened(text + head + said).coverage["bad_bytes"].to_list() == [0]
    assert opened(text + said + head + b"\x8a").coverage["bad_bytes"].to_list() == [2]


def test_bytes_of_a_string_tensor_are_text_without_quotes() -> None:
    """`Tensor::DebugString` prints a constant's strings as they are (tensor.cc, SummarizeValue)."""
    run = run_of("ragged_rows__tf2.20.0__record")
    text = unpacked(path_of("ragged_rows__tf2.20.0__record"))
    assert b"values: \\n\x8a\x83\x80" in text
    assert run.coverage["bad_bytes"].to_list() == [0]


def test_bad_bytes_are_counted_and_harm_nothing(opened: Open) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    text = log.text().encode() + b"\xff\xfe\x00 printed\n"
    run = opened(text + log.text().encode())
    assert run.coverage["bad_bytes"].to_list() == [3]
    assert run.timeline.height == 2


@pytest.mark.parametrize("size", [64, 100_000, 3 << 20])
@pytest.mark.parametrize("line", [0, 1, 3, 4])
def test_a_hole_in_a_log_is_counted_and_takes_no_record(opened: Open, size: int, line: int) -> None:
    """logrotate's copytruncate: a writer that doesn't append goes on at its old offset."""
    log = Log()
    log.step(STEP, MATMUL)
    lines = log.text().encode().splitlines(keepends=True)
    text = b"".join([*lines[:line], bytes(size), *lines[line:]])
    run = opened(text)
    assert run.timeline.drop("source").equals(opened(log).timeline.drop("source"))
    row = run.coverage.row(0, named=True)
    assert (row["bytes"], row["lines"], row["bad_bytes"]) == (len(text), len(lines), 0)
    (found,) = run.findings.filter(id="lines-lost")["text"]
    assert f"{size:,} bytes are NUL" in found
    torn = b"".join([*lines[:line], b"2026-11-2" if line else b"", bytes(size), *lines[line:]])
    assert opened(torn).timeline.height == run.timeline.height


# ---- how it was recorded -----------------------------------------------------------------------


def test_a_log_of_oneDNN_alone(opened: Open) -> None:  # noqa: N802  its name
    run = opened(f"onednn_verbose,v1,info,oneDNN v3.7.3 (commit abc)\n{GEMM}\n")
    row = run.coverage.to_dicts()[0]
    assert (row["vlog_level"], row["tensorflow_dialect"]) == (None, None)
    assert row["onednn_version"] == "3.7.3"
    assert row["recognised"] == 2
    assert run.timeline.is_empty()


@pytest.mark.parametrize(
    ("header", "version"),
    [
        ("onednn_verbose,info,oneDNN v2.7.3 (commit N/A)", "2.7.3"),
        ("dnnl_verbose,info,oneDNN v2.2.0 (commit N/A)", "2.2.0"),
        ("dnnl_verbose,info,DNNL v1.2.0 (commit 70f8b879ea)", "1.2.0"),
        ("mkldnn_verbose,info,Intel MKL-DNN v0.95.0 (commit abc)", "0.95.0"),
        ("onednn_verbose,v1,info,oneDNN v3.12.0 (commit a)", "3.12.0"),
    ],
)
def test_the_version_is_in_the_header(opened: Open, header: str, version: str) -> None:
    assert opened(header + "\n").coverage["onednn_version"].to_list() == [version]


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("classic", "classic"), ("tid", "classic with thread ids"), ("absl", "absl")],
)
def test_the_dialect_is_told(opened: Open, dialect: Dialect, name: str) -> None:
    log = Log(dialect)
    log.run(MATMUL, STEP)
    assert opened(log).coverage["tensorflow_dialect"].to_list() == [name]


def test_the_level_is_that_of_the_highest_message(opened: Open) -> None:
    log = Log()
    log.start(MATMUL, STEP)
    assert opened(log).coverage["vlog_level"].to_list() == [1]
    log.done(MATMUL, STEP)
    assert opened(log).coverage["vlog_level"].to_list() == [2]


# ---- time ---------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("hours", [0, 2, -8, 9, 5.5])
def test_two_dialects_in_one_log_have_one_clock(opened: Open, hours: float) -> None:
    """2.20 prints a few records in the absl dialect, in UTC; the others are in local time."""
    log = Log(zone_hours=hours)  # type: ignore[arg-type]
    for step in range(-60, -40):
        log.run(X, step)
        log.dialect = "absl"
        log.run(MATMUL, step)
        log.dialect = "classic"
        log.run(ADD, step)
    run = opened(log)
    assert run.coverage["tensorflow_dialect"].to_list() == ["classic, absl"]
    start = run.timeline["start"]
    assert start.is_sorted()
    assert set(start.diff().drop_nulls().to_list()) == {timedelta(microseconds=2 * TICK)}
    assert start[0].hour == (3 + int(hours // 1)) % 24 or hours == 5.5
    assert set(run.timeline["duration_us"].to_list()) == {TICK}


def test_a_pair_of_two_dialects_has_its_duration(opened: Open) -> None:
    log = Log(zone_hours=-5)
    log.run(X, STEP)
    log.start(MATMUL, STEP)
    log.dialect = "absl"
    log.done(MATMUL, STEP)
    assert opened(log).timeline["duration_us"].to_list() == [TICK, TICK]


@pytest.mark.parametrize("dialect", ["classic", "tid", "absl"])
def test_times_are_those_that_the_log_prints(opened: Open, dialect: Dialect) -> None:
    log = Log(dialect)
    log.wait(86_400_000_000 * 100 + 123_456)
    moment = log.now
    log.run(MATMUL, STEP)
    assert opened(log).timeline["start"].to_list() == [moment.replace(tzinfo=None)]


# ---- several sources ---------------------------------------------------------------------------


def test_a_pair_of_records_may_lie_in_two_files(opened: Open) -> None:
    first, second = Log(), Log()
    first.start(MATMUL, STEP)
    second.now = first.now
    second.raw("")
    end = second.done(MATMUL, STEP)
    run = opened(first, second)
    row = run.timeline.to_dicts()[0]
    assert row["source"].endswith("part0.log")
    assert (row["line"], row["end_line"], row["status"]) == (1, end, "done")
    assert row["duration_us"] == TICK


def test_calls_are_numbered_over_all_files(opened: Open) -> None:
    first, second = Log(), Log()
    first.first_call("__inference_f_7", 6, STEP, MATMUL)
    second.now = first.now
    second.call("__inference_f_7", 6, STEP + 1, MATMUL)
    run = opened(first, second)
    calls = run.timeline.filter(pl.col("kind") == "call")
    assert calls["call"].to_list() == [0, 1]
    assert calls["source"].n_unique() == 2
    assert run.functions["calls"].to_list() == [2]
    rows = run.timeline.filter(pl.col("step") == STEP + 1)
    assert set(rows.select("function", "call").iter_rows()) == {("f", 1)}


def test_a_torn_record_at_the_end_of_a_file_takes_nothing_from_the_next(opened: Open) -> None:
    first, second = Log(), Log()
    first.start(MATMUL, STEP)
    prefix, _ = first.lines[0].split("] ", 1)
    first.lines = [prefix + "] " + GEMM]
    second.run(SOURCE, STEP)
    run = opened(first, second)
    assert run.timeline.select("node", "status").rows() == [("_SOURCE", "done")]
    assert run.coverage["lines"].to_list() == [1, 2]
    assert run.coverage["torn"].to_list() == [1, 0]


def test_devices_of_every_form(opened: Open) -> None:
    log = Log()
    for device in (CPU, "/device:CPU:0", "/job:worker/replica:0/task:12/device:XLA_CPU:1"):
        log.run(MATMUL.on(device), STEP)
    assert opened(log).timeline["device"].to_list() == [
        CPU,
        "/device:CPU:0",
        "/job:worker/replica:0/task:12/device:XLA_CPU:1",
    ]
    assert opened(log).timeline["status"].unique().to_list() == ["done"]


def test_each_message_can_be_asked_for() -> None:
    """Whatever its fields are called: some are called `text`, and no column gets lost."""
    events = run_of("keras_fit_mlp__tf2.13.1__vlog2").events
    found = {id_: events.messages(id_) for id_ in load_grammar().by_id}
    assert found["onednn_on"].height == 1
    assert found["onednn_on"]["text"][0].startswith("You may see slightly different")
    for frame in found.values():
        assert {"at", "time", "thread", "id"} <= set(frame.columns)
