"""The picture in the terminal: its lanes agree with the tables, and it fits."""

from __future__ import annotations

import io
import json
import unicodedata
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len

from tests.conftest import Open
from tests.makelog import ADD, CPU, MATMUL, Log, X
from tests.samples import path_of, run_of
from tflogscope import Run
from tflogscope.cli.main import main
from tflogscope.errors import UsageError
from tflogscope.model.pictures.activity import Activity, read_activity
from tflogscope.model.pictures.moments import moment_ns, of_function
from tflogscope.views.text import make_console
from tflogscope.views.timeline import Layout, render_timeline

KERAS = "keras_fit_mlp__tf2.13.1__vlog2"
LOGS = (KERAS, "retrace__tf2.20.0__vlog2", "eager_basics__tf2.8.4__vlog2",
        "torch_mlp__torch2.13.0__vlog2", "python_threads__tf2.21.0__vlog2")  # fmt: skip


def of(run: Run, columns: int = 50, rows: pl.Series | None = None) -> Activity:
    return read_activity(run, rows, lambda _: columns)


def drawn(run: Run, width: int = 100, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    console = make_console(stream, colour=False)
    console.width = width
    activity = read_activity(run, None, lambda names: Layout(width, names).picture)
    return render_timeline(activity, run.slices, console)


# ---- lanes ---------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_lanes_are_sums_of_the_timeline() -> None:
    run = run_of(KERAS)
    ran = run.timeline.filter(pl.col("status") != "dead")
    lanes = {(lane.group, lane.name): lane for lane in of(run).lanes}
    eager = ran.filter(mode="eager", kind="op")
    calls = ran.filter(kind="call", function="train_function")
    rewritten = ran.filter(pl.col("mode") == "graph", pl.col("rewrite") != "none")
    folding = ran.filter(cause="constant-folding")
    for key, rows in {
        ("eager", "ops"): eager,
        ("calls", "train_function"): calls,
        ("graph", "oneDNN kernels"): rewritten,
        ("graph", "constant folding"): folding,
    }.items():
        lane = lanes[key]
        assert (lane.runs, lane.total_us) == (rows.height, rows["duration_us"].sum()), key
    known = run.primitives.filter(event="exec")
    primitives = lanes["oneDNN", "primitives"]
    assert primitives.runs == known.height
    assert primitives.total_us == pytest.approx(known["duration_us"].sum())
    prepared = dict(run.preparations["kind"].value_counts().rows())
    assert lanes["", "tracing"].runs == prepared["tracing"]
    assert lanes["", "graph optimization"].runs == prepared["instantiation"]
    every = ran.height + known.height + sum(prepared.values())
    assert sum(lane.runs for lane in lanes.values()) == every


@pytest.mark.parametrize("name", LOGS)
def test_no_lane_is_busier_than_all_the_time(name: str) -> None:
    activity = of(run_of(name), 33)
    for lane in [*activity.lanes, activity.all]:
        assert len(lane.busy) == len(lane.begun) == len(activity.edges_ns) - 1
        assert all(0 <= share <= 1 for share in lane.busy)
        assert lane.busy_time <= (activity.last_ns - activity.first_ns) / 1000
        if lane.group:  # what came before did not run
            assert max(lane.busy) <= max(activity.all.busy)


def test_each_trace_of_a_function_is_marked() -> None:
    run = run_of("retrace__tf2.20.0__vlog2")
    traces = (
        run.timeline.filter(kind="call").group_by("function").agg(pl.col("function_uid").n_unique())
    )
    marked = {lane.name: len(lane.traced) for lane in of(run, 4000).lanes if lane.group == "calls"}
    assert marked == dict(traces.rows())


def test_what_has_no_end_is_counted_and_not_busy() -> None:
    lane = of(run_of("eager_basics__tf2.8.4__vlog2")).lanes[0]
    assert (lane.name, lane.total_us, lane.busy_time) == ("ops", None, 0)
    assert sum(lane.begun) == lane.runs


def test_gaps_lie_between_what_ran(opened: Open) -> None:
    log = Log()
    log.eager_op("Mul", 3)
    log.wait(1_000_000)
    before = len(log.lines)
    called, _ = log.first_call("__inference_f_7", 9, -5, X, MATMUL, ADD)
    (gap,) = of(opened(log)).gaps
    assert gap.after == (before, "Mul")
    assert gap.before == (called, "__inference_f_7")
    assert gap.duration_us == pytest.approx(1_000_000, rel=0.001)
    assert [name for name, _ in gap.ready] == ["f_7"]
    assert gap.tracing == 0  # no record of it


def test_gaps_say_how_much_of_them_was_tracing() -> None:
    """The first call of Keras' step waits for Python, then for graph passes, and for no more."""
    gaps = of(run_of("keras_fit_mlp__tf2.13.1__vlog2")).gaps
    (gap,) = (each for each in gaps if [*dict(each.ready)] == ["train_function_809"])
    assert gap.tracing + sum(us or 0 for _, us in gap.ready) <= gap.duration_us
    assert gap.tracing > gap.duration_us / 2


# ---- the picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_the_picture_fits_and_has_no_effect(name: str, width: int) -> None:
    picture = drawn(run_of(name), width)
    assert max(map(cell_len, picture.split("\n"))) <= width
    assert {c for c in picture if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}} == {"\n"}
    assert all(line == line.rstrip() for line in picture.split("\n"))


def test_hostile_names_are_shown_by_their_codes(opened: Open) -> None:
    log = Log()
    log.call("__inference_[red]\x1b[31m_7", 9, -5, X, MATMUL)
    picture = drawn(opened(log))
    assert "\x1b" not in picture
    assert r"[red]\x1b[31m" in picture


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [(0.001, "500 µs"), (1, "500 ms"), (50, "20 s"), (3600, "15:00 min"), (90_000, "6:00 h")],
)
def test_long_and_short_runs_have_round_numbers_on_their_axis(
    seconds: float, ticks: str, opened: Open
) -> None:
    log = Log()
    log.eager_op("Mul", 3)
    log.now += timedelta(seconds=seconds)
    log.eager_op("Mul", 3)
    axis = next(line for line in drawn(opened(log)).split("\n") if "│" in line)
    assert f"│{ticks} " in axis


def test_a_log_without_times_says_that_its_lines_are_drawn(opened: Open) -> None:
    line = f"I1121 03:56:34.000001    9000 execute.cc:1678] Executing op Mul in device {CPU}"
    picture = drawn(opened(f"{line}\n" * 50))
    assert picture.startswith("The log has no timestamps; drawn in line order, 1 to 50.")


def test_what_began_last_and_has_no_end_is_shown(opened: Open) -> None:
    log = Log()
    log.eager_op("Mul", 3)
    log.executing("Mul")
    assert sum(lane.runs for lane in of(opened(log)).lanes) == 2


# ---- what is shown -------------------------------------------------------------------------------


def test_moments_are_lines_times_and_times_since_the_begin() -> None:
    run = run_of(KERAS)
    row = run.timeline.filter(line=30_882).row(0, named=True)
    begin = run.timeline["start"].min()
    since = round((row["start"] - begin).total_seconds() * 1e6) * 1000
    assert moment_ns(run, "30882", last=False) == since
    assert moment_ns(run, row["start"].isoformat(), last=False) == since
    assert moment_ns(run, str(row["start"].time()), last=True) == since
    assert moment_ns(run, "+1.5s", last=False) == 1_500_000_000
    assert moment_ns(run, "+2min", last=True) == 120_000_000_000
    for wrong in ("soon", "99999999", "25:00", "-3"):
        with pytest.raises(UsageError):
            moment_ns(run, wrong, last=False)


def as_json(capfd: pytest.CaptureFixture[str], *options: str) -> dict[str, list[dict[str, object]]]:
    assert main(["timeline", str(path_of(KERAS)), "--json", *options]) == 0
    found = json.loads(capfd.readouterr().out)
    assert isinstance(found, dict)
    return found


@pytest.mark.thorough
def test_options_choose_what_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    timeline = run_of(KERAS).timeline.filter(pl.col("status") != "dead")
    call = as_json(capfd, "--call", "2")["all"]
    inside = timeline.filter(call=2)
    assert call["runs"] == inside.height + inside["primitives"].sum()  # type: ignore[call-overload]
    (lane,) = as_json(capfd, "--where", "op = 'AddV2' AND mode = 'eager'")["lanes"]
    assert lane["runs"] == 2
    lanes = as_json(capfd, "--function", "train_function")["lanes"]
    assert [lane["name"] for lane in lanes if lane["group"] == "calls"] == ["train_function"]
    assert " _MklNativeFusedMatMul" in [lane["name"] for lane in lanes]
    part = as_json(capfd, "--from", "30882", "--to", "32433")
    calls = [lane for lane in part["lanes"] if lane["group"] == "calls"]
    assert [lane["runs"] for lane in calls] == [1]


def test_a_function_is_named_by_itself_by_a_trace_and_as_logged() -> None:
    rows = run_of(KERAS).timeline.with_row_index("row")
    called = rows.filter(kind="call", function="train_function").row(0, named=True)
    uid, logged = called["function_uid"], called["op"]
    expected = {
        "train_function": rows.filter(function="train_function"),
        f"train_function_{uid}": rows.filter(function="train_function", function_uid=uid),
        logged: rows.filter(op=logged),
        f"train_function_{uid + 1}": rows.clear(),
        "train_functio": rows.clear(),
    }
    for name, some in expected.items():
        assert rows.filter(of_function(name))["row"].equals(some["row"]), name
    # What ran inside is of the function, too; a call as it is logged is alone.
    heights = [some.height for some in expected.values()]
    assert heights[0] >= heights[1] > heights[2] > 0 == heights[3]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        ["--call", "99"],
        ["--function", "train_functio"],
        ["--from", "soon"],
        ["--from", "+2s", "--to", "+1s"],
        ["--where", "op = 'Nothing'"],
        ["--where", "opp = 'Mul'"],
    ],
)
def test_wrong_options_are_errors_of_usage(
    options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["timeline", str(path_of(KERAS)), *options]) == 2
    assert "tflogscope: " in capfd.readouterr().err


def test_nothing_to_draw_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.instantiating("__inference_f_7")
    path = tmp_path / "run.log"
    path.write_text(log.text())
    assert main(["timeline", str(path)]) == 2
    assert "nothing ran in this log" in capfd.readouterr().err
    assert main(["trace", str(path), "-o", str(tmp_path / "t.json")]) == 0
