"""Traces: what is in them, against the tables, and whether slices nest as viewers need it."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, Log, Node, X
from tests.samples import run_of
from tflogscope import Run
from tflogscope.cli.main import main
from tflogscope.errors import UsageError
from tflogscope.exports.traces import TRACE_FORMATS, is_gzip_name, trace_format_of_file

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
    TRACE_FORMATS[name].write(run, stream, "tests")
    return stream.getvalue()


@lru_cache(1)
def chrome(name: str) -> list[dict[str, Any]]:
    events = json.loads(written(run_of(name), "chrome"))["traceEvents"]
    assert isinstance(events, list)
    return events


def ns(microseconds: float) -> int:
    return round(microseconds * 1000)


def drawn(events: list[dict[str, Any]]) -> list[tuple[int, str, int, int]]:
    """Track, name, begin and end (ns) of each slice of a Chrome trace."""
    return [
        (event["tid"], event["name"], ns(event["ts"]), ns(event["ts"] + event.get("dur", 0)))
        for event in events
        if event["ph"] in "Xi"
    ]


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
    assert (slices.clock, slices.origin_us) == ("lines", None)
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
    moved = ((ran.origin_us or 0) - (drawn.origin_us or 0)) * 1000
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
    for flow, before in zip(drawn.flows.rows(), ran.flows.rows(), strict=True):
        for now, was in zip(flow[1:], before[1:], strict=True):
            assert drawn.frame["row"][now] == ran.frame["row"][was]


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
    times = [event["ts"] for event in slices]
    assert times == sorted(times)


def test_flows_lead_from_a_call_to_its_first_op() -> None:
    name = "keras_fit_mlp__tf2.13.1__vlog2"
    run, events = run_of(name), chrome(name)
    slices = {(event["tid"], event["ts"], event["args"].get("call")): event
              for event in events if event["ph"] == "X"}  # fmt: skip
    begins = [event for event in events if event["ph"] == "s"]
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(begins) == len(ends) == run.timeline.filter(kind="call").height == 11
    for begin in begins:
        end = ends[begin["id"]]
        call = slices[begin["tid"], begin["ts"], begin["id"]]
        op = slices[end["tid"], end["ts"], begin["id"]]
        ops = run.timeline.filter(call=begin["id"], kind="op", mode="graph", status="done")
        assert call["cat"] == "eager,call"
        assert op["args"]["line"] == ops.sort("start", "line")["line"][0]


@pytest.mark.parametrize("name", LOGS)
def test_counters_count(name: str) -> None:
    counted = [event for event in chrome(name) if event["ph"] == "C"]
    open_ = [event["args"] for event in counted if event["name"] == "open ops"]
    assert all(min(values.values()) >= 0 for values in open_)
    if open_:
        assert set(open_[-1].values()) == {0}
    shares = [event["args"]["percent"] for event in counted if event["name"] != "open ops"]
    assert all(0 <= share <= 100 for share in shares)


def test_hostile_names_stay_text(opened: Open) -> None:
    names = ['</script>"\\', "::error::x", "##[warning]y", "a\u202eb\x9b"]
    log = Log()
    log.step(-5, *(Node(number, name, "Mul") for number, name in enumerate(names, 2)))
    run = opened(log)
    for format_name in ("chrome", "speedscope"):
        data = written(run, format_name).decode()
        assert not {"\u202e", "\x9b"} & set(data)
        assert "##[" not in data
        json.loads(data)
    nodes = {event.get("args", {}).get("node") for event in json.loads(written(run, "chrome"))
             ["traceEvents"]}  # fmt: skip
    assert set(run.timeline["node"].drop_nulls()) <= nodes


# ---- Perfetto ------------------------------------------------------------------------------------


def parsed(data: bytes) -> Any:
    """A trace, read with Perfetto's own classes."""
    protos = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
    )
    trace = protos.Trace()
    trace.ParseFromString(data)
    return trace


@pytest.mark.parametrize("name", LOGS)
def test_perfetto_reads_the_same_slices_and_arguments(name: str) -> None:
    run, events = run_of(name), chrome(name)
    trace = parsed(written(run, "perfetto"))
    tables: dict[str, dict[int, str]] = {}
    tids, sequences = {}, {packet.trusted_packet_sequence_id for packet in trace.packet}
    assert sequences == {1}
    for packet in trace.packet:
        for field, entries in packet.interned_data.ListFields():
            tables[field.name] = {
                each.iid: each.str.decode() if field.name.endswith("values") else each.name
                for each in entries
            }
        if packet.HasField("track_descriptor"):
            tids[packet.track_descriptor.uuid] = packet.track_descriptor
    track = {each.uuid: place for place, each in enumerate(tids.values())}
    open_: dict[int, list[tuple[str, int]]] = {}
    found, arguments, before = Counter[tuple[str, int, int]](), [], 0
    for packet in trace.packet:
        event = packet.track_event
        if not packet.HasField("track_event") or event.type == event.TYPE_COUNTER:
            continue
        assert packet.sequence_flags == 2
        assert event.track_uuid in track
        assert packet.timestamp >= before
        before = packet.timestamp
        if event.type == event.TYPE_SLICE_END:
            title, begin = open_[event.track_uuid].pop()
            found[title, begin, packet.timestamp] += 1
            continue
        title = tables["event_names"][event.name_iid]
        said = {
            tables["debug_annotation_names"][each.name_iid]: tables[
                "debug_annotation_string_values"
            ][each.string_value_iid]
            if each.string_value_iid
            else each.double_value or each.int_value
            for each in event.debug_annotations
        }
        categories = [tables["event_categories"][each] for each in event.category_iids]
        arguments.append((",".join(categories), said))
        if event.type == event.TYPE_INSTANT:
            found[title, packet.timestamp, packet.timestamp] += 1
        else:
            open_.setdefault(event.track_uuid, []).append((title, packet.timestamp))
    assert not any(open_.values())
    assert found == Counter((title, begin, end) for _, title, begin, end in drawn(events))
    of_chrome = [
        (event["cat"], {**event["args"], **({"step": int(event["args"]["step"])}
         if "step" in event["args"] else {})})
        for event in events
        if event["ph"] in "Xi"
    ]  # fmt: skip
    assert arguments == of_chrome


def test_perfetto_has_flows_tracks_counters_and_a_clock() -> None:
    run = run_of("function_mlp__tf2.13.1__vlog2__tid")
    trace = parsed(written(run, "perfetto"))
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    starts = Counter(flow for event in events for flow in event.flow_ids)
    ends = Counter(flow for event in events for flow in event.terminating_flow_ids)
    assert starts == ends == Counter(range(1, 9))
    tracks = [each.track_descriptor for each in trace.packet if each.HasField("track_descriptor")]
    assert {each.thread.tid for each in tracks if each.HasField("thread")} == {9730, 9735, 9736}
    counters = {each.uuid: each.name for each in tracks if each.HasField("counter")}
    assert set(counters.values()) == {"open ops, eager", "open ops, graph", "oneDNN share, %"}
    counted = [event for event in events if event.type == event.TYPE_COUNTER]
    assert {event.track_uuid for event in counted} == set(counters)
    clocks = {each.clock_id: each.timestamp for each in trace.packet[0].clock_snapshot.clocks}
    assert run.drawn.origin_us
    assert clocks == {6: 0, 1: run.drawn.origin_us * 1000}


# ---- speedscope ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGS)
def test_speedscope_opens_and_closes_what_it_opened(name: str) -> None:
    document = json.loads(written(run_of(name), "speedscope"))
    frames = document["shared"]["frames"]
    found = Counter[tuple[str, int, int]]()
    for profile in document["profiles"]:
        open_: list[tuple[int, int]] = []
        before = profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= before
            before = event["at"]
            if event["type"] == "O":
                open_.append((event["frame"], event["at"]))
            else:
                frame, begin = open_.pop()
                assert frame == event["frame"]
                found[frames[frame]["name"], begin, event["at"]] += 1
        assert not open_
        assert profile["endValue"] == before
    assert found == Counter((title, begin, end) for _, title, begin, end in drawn(chrome(name)))


# ---- command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.json", "chrome"),
        ("A.JSON.GZ", "chrome"),
        ("a.speedscope.json", "speedscope"),
        ("a.pftrace.gz", "perfetto"),
        ("a.perfetto-trace", "perfetto"),
    ],
)
def test_the_suffix_says_the_format(file: str, name: str) -> None:
    assert trace_format_of_file(file).name == name
    assert is_gzip_name(file) == file.lower().endswith(".gz")


def test_an_unknown_suffix_is_an_error() -> None:
    with pytest.raises(UsageError, match="suffix"):
        trace_format_of_file("trace.txt")


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
    assert "exists already" in capfd.readouterr().err
    assert main(["trace", path, "-o", str(tmp_path / "t.xyz")]) == 2
    capfd.readouterr()
    assert main(["trace", path]) == 0
    assert json.loads(capfd.readouterr().out)["traceEvents"]
