"""The ledger: rows tile each thread, and every figure about time is a sum of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deep import first_quick
from tests.samples import NAMES, run_of
from tests.test_phases import RECORDED
from tflogscope import Run
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.ledger.owners import Owners, assign_owners, count_once

ROOT = Path(__file__).parent.parent
LOGS = first_quick([(name,) for name in sorted({*NAMES, *RECORDED})])
# Their time is that of nodes or primitives, whatever thread ran them.
OF_NODES = (
    *("not-rewritten", "onednn-off", "reference-implementation", "reorders", "bfloat16"),
    *("loop-overhead", "threads"),
)
NO_TENSORFLOW = ("torch_mlp__torch2.13.0__vlog2",)


def test_python_code_owns_of_each_call_as_much_as_it_ran_in_it() -> None:
    run = run_of("python_in_step__tf2.13.1")
    code = run.timeline.filter(pl.col("op").str.contains("PyFunc"), mode="graph")
    ran = code.group_by("call").agg(pl.col("duration_us").sum())
    owned = run.ledger.filter(owner="py-function").group_by("call")
    both = owned.agg(pl.col("avoidable_us").sum()).join(ran, on="call")
    assert both.height > 2
    share = (both["avoidable_us"] / both["duration_us"]).to_list()
    assert share == pytest.approx([share[0]] * both.height, rel=1e-3)


@pytest.mark.parametrize("name", LOGS)
def test_rows_tile_each_thread(name: str) -> None:
    ledger = run_of(name).ledger
    assert ledger.is_empty() == (name in NO_TENSORFLOW)
    following = pl.col("start").shift(-1).over("thread", order_by="start")
    assert ledger.filter(following != pl.col("end")).is_empty()
    assert ledger.filter(pl.col("end") < pl.col("start")).is_empty()
    assert (ledger["work_us"] <= ledger["wall_us"] + 0.001).all()


@pytest.mark.parametrize("name", LOGS)
def test_what_is_avoidable_has_one_owner_and_is_no_more_than_there_is(name: str) -> None:
    ledger = run_of(name).ledger
    assert ledger["owner"].is_null().equals(ledger["avoidable_us"].is_null())
    assert (ledger["avoidable_us"] <= ledger["work_us"] + 0.001).all()


@pytest.mark.parametrize("name", LOGS)
def test_findings_have_the_time_of_their_rows(name: str) -> None:
    run = run_of(name)
    owned = run.ledger.drop_nulls("owner").group_by("owner", "subject")
    sums = owned.agg(pl.col("avoidable_us").sum())
    known = run.findings.filter(~pl.col("id").is_in(OF_NODES)).drop_nulls("time_us")
    both = known.join(
        sums, left_on=["id", "subject"], right_on=["owner", "subject"], how="full", coalesce=True
    )
    assert both["time_us"].to_list() == pytest.approx(both["avoidable_us"].to_list(), abs=0.5)


def test_variables_of_one_checkpoint_are_of_no_loop() -> None:
    """Two files are written and three read, of a few variables each; elsewhere each step writes."""
    saved = run_of("saved_twice_loaded__tf2.21.0").ledger.filter(phase="checkpoint")
    assert saved.height
    assert not saved["repeats"].any()
    each_step = run_of("saves_each_step__tf2.20.0__record").ledger.filter(phase="checkpoint")
    assert each_step["repeats"].sum() == each_step.height - 1


def test_what_makes_variables_and_data_before_the_first_call_is_of_no_loop() -> None:
    ledger = run_of("prepared__tf2.20.0__record").ledger.filter("repeats")
    assert ledger["op"].drop_nulls().is_empty()
    assert ledger["function"].drop_nulls().unique().to_list() == ["step"]


def test_four_calls_are_the_loop_and_not_the_eager_ops_before() -> None:
    """The first call follows another op than the other three do."""
    repeated = run_of("few_calls__tf2.20.0__record").ledger.filter("repeats")
    assert set(repeated["phase"]) == {"compute", "python"}
    assert repeated.filter(phase="compute")["function"].to_list() == ["forward"] * 3


def test_each_thread_that_instantiates_a_function_makes_a_first_call() -> None:
    """Three threads call it at the same time, eight times each."""
    calls = run_of("threads_begin__tf2.20.0__record").ledger.filter(function="serve")
    made = calls.filter(phase="graph-passes")
    assert made["repeats"].to_list() == [False] * 3
    assert calls.filter("repeats")["call"].n_unique() == 3 * 7


def test_steps_op_by_op_before_the_first_call_are_a_loop() -> None:
    ledger = run_of("eager_then_function__tf2.13.1").ledger.filter("repeats")
    assert {"MatMul", "AssignSubVariableOp"} <= {*ledger["op"].drop_nulls()}


@pytest.mark.parametrize("name", LOGS)
def test_time_is_the_ledger_of_the_programs_thread(name: str) -> None:
    run = run_of(name)
    own = run.ledger.filter(pl.col("thread").eq_missing(pl.col("thread").first()))
    phases = dict(own.group_by("phase").agg(pl.col("work_us").sum()).rows())
    phases["logging"] = own.select((pl.col("wall_us") - pl.col("work_us")).sum()).item()
    for phase, wall in run.time.drop_nulls("wall_us").select("phase", "wall_us").rows():
        assert phases.get(phase, 0.0) == pytest.approx(wall, abs=1 + 0.001 * own.height), phase


@pytest.mark.parametrize(
    "name", ["map_serial_large__tf2.13.1__record", "mirrored__tf2.20.0__record"]
)
def test_the_hook_of_record_is_overhead_of_the_log(name: str) -> None:
    run = run_of(name)
    took = run.stages.events.messages("python_cost")["took_ns"][0] / 1000  # it times itself
    gaps = run.ledger.filter("repeats", pl.col("wall_us") > 3 * took, phase="python")
    overhead = gaps["wall_us"] - gaps["work_us"]
    assert (overhead >= took - 0.01).sum() >= 0.9 * gaps.height > 0


@pytest.mark.parametrize("name", LOGS)
def test_work_of_every_table_is_a_sum_over_the_timeline(name: str) -> None:
    run = run_of(name)
    alive = run.timeline.filter(pl.col("status") != "dead")
    for time in ("work_us", "steady_us"):
        whole = alive.filter(pl.col("kind") != "call")[time].sum()
        assert _sum(run, "ops", time) == pytest.approx(whole, abs=1)
        calls = alive.filter(kind="call")[time].sum()
        assert run.functions[time].sum() == pytest.approx(calls, abs=1)


def _sum(run: Run, table: str, column: str) -> float:
    frame: pl.DataFrame = getattr(run, table)
    return float(frame.filter(pl.col("kind") != "call")[column].sum())


def test_owners_are_findings_that_take_time() -> None:
    known = {row["id"] for row in packaged_toml("sentences/findings.toml")["finding"]}
    order = [row["id"] for row in packaged_toml("ledger.toml")["owner"]]
    assert len(order) == len({*order})
    assert known.issuperset(order)


def test_each_threshold_is_used_and_says_what_it_was_measured_on() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tflogscope").rglob("*.py"))
    used = {*re.findall(r'threshold\("([\w.-]+)"\)', sources)}
    rows = packaged_toml("ledger.toml")["thresholds"]
    own = {f"{id_}.worth" for id_ in re.findall(r'is_much\("([\w-]+)"', sources)}
    assert used <= {f"{part}.{name}" for part, each in rows.items() for name in each} <= used | own
    assert all(row["measured"] for each in rows.values() for row in each.values())


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
    st.lists(
        st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 40)), max_size=3),
        max_size=4,
    ),
)
def test_no_claim_takes_what_another_has(
    sizes: list[int], claims: list[list[tuple[int, int, int]]]
) -> None:
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    starts = [0, *ends[:-1]]
    stretches = pl.DataFrame(
        {"thread": [7] * len(sizes), "start": starts, "work_us": [float(each) for each in sizes]}
    )
    edges = [*starts, ends[-1]]
    schema = {"thread": pl.Int64, "begin": pl.Int64, "end": pl.Int64, "us": pl.Float64}
    layers = [
        [
            pl.DataFrame(
                [(7, edges[a % len(edges)], edges[b % len(edges)], us)], schema, orient="row"
            )
            for a, b, us in finding
        ]
        for finding in claims
    ]
    owner, avoidable = assign_owners(stretches, layers)
    assert ((owner >= 0) == (avoidable > 0)).all()
    assert (avoidable <= stretches["work_us"].to_numpy() + 1e-9).all()
    for number, finding in enumerate(claims):
        most = sum(us for *_, us in finding)
        assert avoidable[owner == number].sum() <= most + 1e-9
        inside = [(edges[a % len(edges)], edges[b % len(edges)]) for a, b, _ in finding]
        for start in stretches["start"].to_numpy()[owner == number]:
            assert any(since <= start < until for since, until in inside)


def test_time_that_threads_lose_together_counts_once() -> None:
    stretches = pl.DataFrame(
        {"thread": [1, 2, 1, 2], "start": [0, 10, 40, 60], "end": [30, 30, 50, 90]}
    )
    owners = Owners(np.array([0, 0, 1, -1]), np.array([20.0, 20.0, 10.0, 0.0]))
    counted = count_once(stretches, owners, range(2)).avoidable_us.tolist()
    # Of 50 µs of two threads, 30 µs passed.
    assert counted == [12.0, 12.0, 10.0, 0.0]
