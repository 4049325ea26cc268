"""Traces: what is in them, against the tables, and whether slices nest as viewers need it."""

from __future__ import annotations

import gzip
import io
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, Log, Node, X
from tests.samples import path_of, run_of
from tflogscope import Run
from tflogscope.cli.main import main
from tflogscope.errors import UsageError
from tflogscope.exports.traces import trace_format, write_trace

# Threads and none, Python in graphs, calls at once, no ends of eager ops, primitives alone.
LOGS = (
    "function_mlp__tf2.13.1__vlog2__tid",
    "keras_fit_mlp__tf2.13.1__vlog2",
    "py_function__tf2.21.0__vlog2",
    "python_threads__tf2.21.0__vlog2",
    "control_flow__tf2.20.0__vlog2",
    "eager_basics__tf2.8.4__vlog2",
    "tf1_session__tf2.13.1__vlog2",
    "torch_mlp__torch2.13.0__vlog2",
)


def written(run: Run, name: str) -> bytes:
    stream = io.BytesIO()
    write_trace(run, stream, name, "tests")
    return stream.getvalue()


@lru_cache(1)
def chrome(name: str) -> list[dict[str, Any]]:
    events = json.loads(written(run_of(name), "chrome"))["traceEvents"]
    assert isinstance(events, list)
    return events


# ---- layout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGS)
def test_slices_nest_and_nothing_is_lost(name: str) -> None:
    run = run_of(name)
    frame = run.slices.frame
    open_: dict[int, list[int]] = {}
    edges = [
        (order, time, track, number, begins)
        for number, row in enumerate(frame.iter_rows(named=True))
        for order, time, track, begins in (
            (row["begin_order"], row["begin_ns"], row["track"], True),
            (row["end_order"], row["end_ns"], row["track"], False),
        )
    ]
    before = 0
    for _, time, track, number, begins in sorted(edges):
        assert time >= before
        before = time
        if begins:
            open_.setdefault(track, []).append(number)
        else:
            assert open_[track].pop() == number
    ran = run.timeline.filter(pl.col("status") != "dead").height
    primitives = run.primitives.filter(pl.col("event") == "exec").height
    assert frame["primitive"].null_count() == ran
    assert frame["primitive"].count() == primitives


@pytest.mark.parametrize("name", LOGS)
def test_a_primitive_is_drawn_inside_its_op(name: str) -> None:
    frame = run_of(name).slices.frame
    ops = frame.filter(pl.col("primitive").is_null())
    inner = frame.drop_nulls("primitive").drop_nulls("row").join(ops, on="row", suffix="_op")
    inside = (pl.col("begin_ns") >= pl.col("begin_ns_op")) & (
        pl.col("end_ns") <= pl.col("end_ns_op")
    )
    on_track = inner.filter(pl.col("track") == pl.col("track_op"))
    assert on_track.select(inside.all()).item()


def test_a_track_is_a_thread_where_the_log_has_threads() -> None:
    slices = run_of("function_mlp__tf2.13.1__vlog2__tid").slices
    assert slices.tracks["name"].sort().to_list() == ["thread 9730", "thread 9735", "thread 9736"]
    assert (slices.tracks["tid"] == slices.tracks["thread"]).all()


def test_eager_ops_that_an_eager_op_runs_are_inside_it() -> None:
    run = run_of("py_function__tf2.21.0__vlog2")
    assert run.slices.tracks["name"].str.contains("·").sum() == 0
    rows = run.timeline.with_row_index("row").filter(pl.col("line").is_in([5568, 6759]))
    outer, inner = run.slices.frame.filter(
        pl.col("row").is_in(rows["row"].implode()), pl.col("primitive").is_null()
    ).rows(named=True)
    assert outer["track"] == inner["track"]
    assert outer["begin_ns"] < inner["begin_ns"] < inner["end_ns"] < outer["end_ns"]


def test_what_overlaps_has_lanes_where_the_log_has_no_threads(opened: Open) -> None:
    log = Log()
    other = Node(7, "other", "Mul", "x")
    log.start(MATMUL, 5)
    log.start(other, 5)
    log.done(MATMUL, 5)
    log.done(other, 5)
    log.run(ADD, 5)
    slices = opened(log).slices
    assert slices.frame["track"].to_list() == [0, 1, 0]
    assert slices.tracks["name"].to_list() == ["in graphs", "in graphs · 2"]


def test_a_log_without_times_counts_its_lines(opened: Open) -> None:
    log = Log()
    log.call("__inference_f_7", 9, -5, X, MATMUL)
    glog = r"I1121 03:56:34.000001    9000 \1"
    lines = [re.sub(r"^.*?: I \S*/(\w+\.cc:)", glog, line) for line in log.lines]
    slices = opened("\n".join(lines) + "\n").slices
    assert (slices.clock, slices.origin) == ("lines", None)
    begins = slices.frame["begin_ns"].to_list()
    assert begins == sorted(begins)
    lines_of = slices.frame["line"].cast(pl.Int64)
    assert (slices.frame["begin_ns"] // 1000 == lines_of - lines_of[0]).all()


@pytest.mark.parametrize("name", LOGS)
def test_what_made_functions_ready_is_drawn_beside_what_ran(name: str) -> None:
    run = run_of(name)
    ran, drawn = run.slices, run.drawn
    kinds = drawn.texts["kind"].gather(drawn.frame["text"])
    is_prepared = drawn.texts["mode"].gather(drawn.frame["text"]).eq_missing("preparation")
    others = drawn.frame.filter(~is_prepared)
    moved = ((ran.origin or 0) - (drawn.origin or 0)) * 1000
    for column in ("begin_ns", "end_ns"):
        assert (others[column] - moved).to_list() == ran.frame[column].to_list()
    for column in ("row", "primitive", "text", "track", "line", "call"):
        assert others[column].to_list() == ran.frame[column].to_list()
    assert drawn.frame["begin_ns"].is_sorted()
    spans = run.stages.instantiations.spans
    made = drawn.frame.filter(is_prepared & (kinds == "instantiation"))
    took = (made["end_ns"] - made["begin_ns"]) // 1000
    known = (spans["end_time"] - spans["time"]).drop_nulls()
    assert took.sum() == (known.filter(known > 0).sum() if ran.clock == "time" else 0)


def test_a_compilation_of_xla_is_drawn_as_long_as_it_says(opened: Open) -> None:
    log = Log()
    log.call("__inference_f_7", 9, -5, X, MATMUL)
    said = (
        "Compilation of XLA executable time: 513 ms (cumulative: 513 ms, max: 513 ms, #called: 1)"
    )
    log.record("compiler/jit/device_compiler.h", 465, said)
    slices = opened(log).drawn
    kinds = slices.texts["kind"].gather(slices.frame["text"])
    begin, end = slices.frame.filter(kinds == "XLA compilation").select("begin_ns", "end_ns").row(0)
    assert end - begin == 513_000_000
    assert begin == 0


@pytest.mark.parametrize("others", [0, 1])
def test_a_compilation_is_of_the_only_call_around_it(others: int, opened: Open) -> None:
    log = Log()
    for number in range(others + 1):
        log.executing(f"__inference_f_{number}", thread=number)
    log.wait(2000)
    said = "Compilation of XLA executable time: 1 ms (cumulative: 1 ms, max: 1 ms, #called: 1)"
    log.record("compiler/jit/device_compiler.h", 465, said)
    for number in range(others + 1):
        log.exiting(f"__inference_f_{number}", thread=number)
    texts = opened(log).drawn.texts.filter(pl.col("kind") == "XLA compilation")
    assert texts.select("function", "function_uid").rows() == [(None, None) if others else ("f", 0)]


# ---- Chrome --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGS)
def test_chrome_says_what_the_tables_say(name: str) -> None:
    run, events = run_of(name), chrome(name)
    rows = {row["line"]: row for row in run.timeline.iter_rows(named=True)}
    slices = [event for event in events if event["ph"] in "Xi"]
    assert len(slices) == run.drawn.frame.height
    for event in slices:
        arguments = event["args"]
        if event["cat"] == "onednn,primitive" or event["cat"].startswith("preparation"):
            continue
        row = rows[arguments["line"]]
        for key in ("op", "node", "cause", "end_line", "call", "status"):
            assert arguments.get(key) == row[key]
        assert arguments.get("step") == (None if row["step"] is None else str(row["step"]))
        if row["kind"] != "call":
            assert (event["name"], arguments["kernel"]) == (row["kernel"], row["kernel"])
        if row["duration_us"] is None:
            assert event["ph"] == "i"
        else:
            assert event["dur"] == row["duration_us"]
        work = row["work_us"]
        assert arguments.get("work_us") == (None if work is None else pytest.approx(work, abs=0.1))
    times = [event["ts"] for event in slices]
    assert times == sorted(times)


def test_hostile_names_stay_text(opened: Open) -> None:
    names = ['</script>"\\', "::error::x", "##[warning]y", "a\u202eb\x9b"]
    log = Log()
    log.step(-5, *(Node(number, name, "Mul") for number, name in enumerate(names, 2)))
    run = opened(log)
    data = written(run, "chrome").decode()
    assert not {"\u202e", "\x9b"} & set(data)
    assert "##[" not in data
    nodes = {event.get("args", {}).get("node") for event in json.loads(data)["traceEvents"]}
    assert set(run.timeline["node"].drop_nulls()) <= nodes


# ---- command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.json", "chrome"), ("A.JSON.GZ", "chrome"), ("a.folded", "folded"), (None, "chrome")],
)
def test_the_suffix_says_the_format(file: str | None, name: str) -> None:
    assert trace_format(file, None) == name
    assert trace_format("a.txt", name) == name


@pytest.mark.parametrize(
    "file", ["a.txt", "a.pftrace", "a.speedscope.json", "a.speedscope.json.gz"]
)
def test_an_unknown_suffix_is_an_error_that_names_the_others(file: str) -> None:
    with pytest.raises(UsageError, match=r"trace format\n.*\.json\.gz.*\.folded"):
        trace_format(file, None)


@pytest.mark.parametrize("name", ["perfetto", "speedscope", ""])
def test_an_unknown_format_is_an_error_that_names_the_others(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    run, target = run_of("torch_mlp__torch2.13.0__vlog2"), tmp_path / "t.json"
    with pytest.raises(UsageError, match="Perfetto, speedscope"):
        run.trace(target, name)
    path = str(path_of("torch_mlp__torch2.13.0__vlog2"))
    assert main(["trace", path, "-o", str(target), "--format", name]) == 2
    assert "chrome (.json, .json.gz)" in capfd.readouterr().err
    assert not target.exists()


def test_the_command_writes_and_says_what_is_not_as_it_was(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = "sample_logs/torch_mlp__torch2.13.0__vlog2.log.zst"
    target = tmp_path / "t.json.gz"
    path = str(Path(__file__).parent.parent / log)
    assert main(["trace", path, "-o", str(target)]) == 0
    assert "back to back" in capfd.readouterr().err
    with gzip.open(target) as stream:
        assert json.load(stream)["otherData"]["made_by"].startswith("tflogscope ")
    assert main(["trace", path, "-o", str(target)]) == 2
    assert "already exists" in capfd.readouterr().err
    assert main(["trace", path, "-o", str(tmp_path / "t.xyz")]) == 2
    capfd.readouterr()
    assert main(["trace", path]) == 0
    assert json.loads(capfd.readouterr().out)["traceEvents"]
