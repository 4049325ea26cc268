"""What a run would have taken without its log, against runs that wrote none (tests/costs).

The truth is of TensorFlow's profiler and of the program's own clock. Run three times, these differ
by 0.02 to 0.06 in shares, a quarter in op time and a fifth in steps: that is the noise of truth.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tflogscope
from tests.conftest import Open
from tests.makelog import Log, Node
from tests.samples import NAMES, run_of, unpacked
from tflogscope.model.common.origin import RECORD_MARK
from tflogscope.model.run import Run
from tflogscope.recording.header import header_line
from tflogscope.views.recorded import slowed_fact

COSTS = Path(__file__).parent / "costs"
RECORDED = sorted(path.name.removesuffix(".log.zst") for path in COSTS.glob("*.log.zst"))
WITH_GRAPHS = [name for name in RECORDED if not name.startswith("eager")]
SHARES_APART = {"loop": 0.2}  # of programs whose nodes do next to nothing
ELSEWHERE = 0.15
_TIMES = ("total_us", "steady_us")


def truth_of(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((COSTS / f"{name}.json").read_text())
    return truth


def kernels_of(name: str, column: str) -> tuple[dict[str, float], dict[str, float]]:
    """µs a step by kernel, of the profiler and of a column of `ops`."""
    truth = truth_of(name)
    true = {kernel: us for kernel, us in truth["kernels_us"].items() if kernel != "Run"}
    ops = tflogscope.open_log(COSTS / f"{name}.log.zst").ops.filter(mode="graph")
    found = ops.group_by("kernel").agg(pl.col(column).sum() / truth["calls"])
    mine = dict(found.iter_rows())
    return true, {kernel: mine.get(kernel, 0.0) for kernel in true}


def apart(true: dict[str, float], mine: dict[str, float]) -> float:
    """Half of the sum of differences of shares: 0 is equal, 1 has nothing in common."""
    whole, all_mine = sum(true.values()), sum(mine.values())
    return sum(abs(us / whole - mine[kernel] / all_mine) for kernel, us in true.items()) / 2


@pytest.mark.parametrize("name", WITH_GRAPHS)
def test_shares_of_time_are_those_of_a_run_without_a_log(name: str) -> None:
    true, work = kernels_of(name, "steady_us")
    assert apart(true, work) <= SHARES_APART.get(name.partition("_")[0], ELSEWHERE)
    assert apart(true, kernels_of(name, "total_us")[1]) > apart(true, work)


@pytest.mark.thorough
@pytest.mark.parametrize("name", WITH_GRAPHS)
def test_op_time_is_that_of_a_run_without_a_log(name: str) -> None:
    true, work = kernels_of(name, "steady_us")
    assert 0.6 <= sum(work.values()) / sum(true.values()) <= 1.6


@pytest.mark.thorough
@pytest.mark.parametrize("name", WITH_GRAPHS)
def test_a_call_takes_what_the_programs_own_clock_says(name: str) -> None:
    step = tflogscope.open_log(COSTS / f"{name}.log.zst").functions.filter(function="train_step")
    call = step.select(pl.col("steady_us") / pl.col("calls")).item()
    assert 0.5 <= call / truth_of(name)["step_us"] <= 2


def test_eager_ops_take_what_the_profiler_finds() -> None:
    (name,) = set(RECORDED) - set(WITH_GRAPHS)
    truth = truth_of(name)
    ops = tflogscope.open_log(COSTS / f"{name}.log.zst").ops
    ran = ops.filter(
        pl.col("mode") == "eager", pl.col("op") != "_EagerConst"
    )  # not run by a kernel
    work = float(ran["steady_us"].sum())
    assert 0.5 <= work / truth["calls"] / truth["kernels_us"]["Run"] <= 2


@pytest.mark.thorough
def test_nodes_that_do_nothing_are_not_what_costs() -> None:
    """As printed, most of the loop's time is in nodes of its control flow."""
    ops = tflogscope.open_log(COSTS / "loop__tf2.13.1.log.zst").ops.filter(mode="graph")
    plain = pl.col("kernel").is_in(["Const", "Enter", "Merge", "NextIteration", "Switch"])
    share = {name: float(ops.filter(plain)[name].sum()) / float(ops[name].sum()) for name in _TIMES}
    assert share["total_us"] > 0.4
    assert share["steady_us"] < 0.25
    assert ops["kernel"][0] == "_MklMatMul"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_negative_or_takes_longer_than_printed(name: str) -> None:
    timeline = run_of(name).timeline
    known = timeline.drop_nulls("work_us")
    assert (known["work_us"] >= 0).all()
    assert (known["work_us"] <= known["duration_us"]).all()
    assert not timeline.filter(pl.col("duration_us").is_null())["work_us"].count()


def test_branches_that_were_not_taken_have_no_work_without_an_end(opened: Open) -> None:
    log = Log()
    dead = Node(2, "b", "MatMul", dead=True)
    for step in range(1, 41):
        log.step(step, Node(1, "a", "Const"), dead)
    log.start(dead, 99)
    timeline = opened(log.text()).timeline.filter(status="dead")
    assert timeline["work_us"].to_list() == [0.0] * 40 + [None]


def test_a_read_that_copies_its_variable_is_no_price_of_a_record(opened: Open) -> None:
    log, read = Log(), Node(2, "b", "ReadVariableOp")
    for step in range(1, 41):
        log.step(step, Node(1, "a", "Const"), Node(3, "c", "_Arg"))
        log.start(read, step)
        log.wait(5_000)
        log.done(read, step)
    work = opened(log.text()).timeline.group_by("op").agg(pl.col("work_us").median())
    of_op = dict(work.iter_rows())
    assert of_op["ReadVariableOp"] > 3_000
    assert of_op["Const"] < 1


def test_a_short_log_says_that_it_does_not_show_the_price(opened: Open) -> None:
    log = Log()
    log.step(1, Node(1, "a", "Const"), Node(2, "b", "MatMul"))
    run = opened(log.text())
    assert run.timeline["duration_us"].count()
    assert not run.timeline["work_us"].count()
    assert "no-price" in {limit.id for limit in run.summary.limits}
    assert run.summary.slowed is None


@pytest.mark.thorough
def test_a_log_with_enough_nodes_shows_the_price() -> None:
    run = tflogscope.open_log(COSTS / "mlp__tf2.13.1.log.zst")
    assert "no-price" not in {limit.id for limit in run.summary.limits}
    slowed = run.summary.slowed
    assert slowed is not None
    assert slowed.function == "train_step"
    assert slowed.later_us is not None
    assert slowed.duration_us is not None
    assert slowed.duration_us > 2 * slowed.later_us


# ---- record --calibrate --------------------------------------------------------------------------


def calibrated(opened: Open, function: str, taken: float) -> Run:
    """A real log as if a run without one had found what later calls of a function take."""
    log = unpacked(COSTS / "mlp__tf2.13.1.log.zst")
    first, rest = log.split(b"\n", 1)
    header = header_line([], {}, {}, {function: taken})
    return opened(header + (rest if first.startswith(RECORD_MARK) else log))


def later_us(run: Run) -> float:
    calls = run.timeline.filter(kind="call", function="train_step")
    found = calls["work_us"][1:].median()
    assert isinstance(found, float)
    return found


@pytest.mark.thorough
def test_later_calls_take_what_a_run_without_a_log_says_and_their_nodes_follow(
    opened: Open,
) -> None:
    estimated = tflogscope.open_log(COSTS / "mlp__tf2.13.1.log.zst")
    wanted = later_us(estimated) * 0.8
    run = calibrated(opened, "__inference_train_step", wanted)
    assert later_us(run) == pytest.approx(wanted)
    for before, after in zip(
        *(each.nodes.filter(pl.col("steady_us") > 0)["steady_us"] for each in (estimated, run)),
        strict=True,
    ):
        assert after == pytest.approx(before * 0.8, rel=0.01, abs=0.01)
    outside = pl.col("call").is_null()
    assert run.timeline.filter(outside)["work_us"].equals(
        estimated.timeline.filter(outside)["work_us"]
    )
    assert run.summary.slowed is not None
    assert run.summary.slowed.later_us == pytest.approx(wanted)
    (said,) = slowed_fact(run.summary.slowed)
    assert "calibrated" in str(said)
    assert "estimates" not in str(said)


@pytest.mark.thorough
@pytest.mark.parametrize("taken", [1e9, 1e-3])
def test_a_calibrated_time_is_no_longer_than_the_printed_one(opened: Open, taken: float) -> None:
    run = calibrated(opened, "__inference_train_step", taken)
    known = run.timeline.drop_nulls("work_us")
    assert known["work_us"].is_between(0, known["duration_us"]).all()
    sums = run.ops.drop_nulls("work_us")
    assert sums["work_us"].is_between(0, sums["total_us"] + 0.001).all()
    slowed = run.summary.slowed
    assert slowed is not None
    assert slowed.later_us is not None
    assert slowed.duration_us is not None
    assert slowed.later_us <= slowed.duration_us


@pytest.mark.thorough
def test_a_calibration_of_another_function_changes_nothing(opened: Open) -> None:
    estimated = tflogscope.open_log(COSTS / "mlp__tf2.13.1.log.zst")
    run = calibrated(opened, "__inference_train_step_too", 1.0)
    assert run.timeline["work_us"].equals(estimated.timeline["work_us"])
    assert run.ops["work_us"].equals(estimated.ops["work_us"])
    assert run.summary.slowed == estimated.summary.slowed


def test_what_xla_compiled_costs_no_log() -> None:
    """A later call runs ten records and one node of XLA's; without a log 0.8 s, here up to 2.3."""
    calls = run_of("xla_in_graph__tf2.21.0").timeline.filter(pl.col("kind") == "call")[1:]
    assert (calls["work_us"] > 0.95 * calls["duration_us"]).all()
