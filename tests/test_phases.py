"""Where the wall time went, against the clocks of programs that sleep in one phase (tests/time)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tflogscope
from tests.makelog import Log
from tests.samples import run_of, unpacked
from tflogscope.model.common.intervals import first_open
from tflogscope.model.common.origin import RECORD_MARK, footer_of, read_moment
from tflogscope.model.ledger.phases import PHASES

TIME = Path(__file__).parent / "time"
RECORDED = sorted(path.name.removesuffix(".log.zst") for path in TIME.glob("*.log.zst"))
SURE = 0.05  # of the run


def phases_of(name: str) -> dict[str, float | None]:
    table = tflogscope.open_log(TIME / f"{name}.log.zst").time
    return dict(table.select("phase", "wall_us").rows())


@pytest.mark.parametrize("name", RECORDED)
def test_each_phase_is_what_the_programs_clock_says(name: str) -> None:
    clock = json.loads((TIME / f"{name}.json").read_text())
    run_s, found = clock.pop("run"), phases_of(name)
    for phase, seconds in clock.items():
        assert abs((found[phase] or 0) / 1e6 - seconds) < SURE * run_s, phase


@pytest.mark.parametrize("name", RECORDED)
def test_phases_add_up_to_the_run(name: str) -> None:
    run = tflogscope.open_log(TIME / f"{name}.log.zst")
    began, last = read_moment(run.recorded_as, "started"), run.summary.recorded.last
    last = [*run.events.messages("python_cost")["ended"].drop_nulls(), last][0]
    assert began is not None
    assert last is not None
    assert run.time["phase"].to_list() == list(PHASES)
    assert run.time["wall_us"].sum() == pytest.approx(last - began, abs=1)
    assert run.time["share"].sum() == pytest.approx(1)


def test_a_run_ends_before_python_and_tensorflow_clear_up() -> None:
    """The program had ended a second before its process did."""
    run = run_of("pyfunc__tf2.20.0")
    (ended,) = run.events.messages("python_cost")["ended"]
    process_ended = read_moment(footer_of(run.events.spans[-1].tail), "ended")
    assert process_ended is not None
    assert ended < process_ended - 0.5e6
    assert run.time["end"].max() == datetime.fromtimestamp(ended / 1e6, UTC).replace(tzinfo=None)


@pytest.mark.thorough
def test_a_run_ends_where_record_says_that_the_program_ended(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(unpacked(TIME / "eager__tf2.20.0.log.zst"))
    before = tflogscope.open_log(log)
    last = before.summary.recorded.last
    assert last is not None
    ended = datetime.fromtimestamp(last / 1e6 + 3, UTC).isoformat(timespec="milliseconds")
    with log.open("ab") as file:
        file.write(RECORD_MARK + f'{{"status":0,"ended":"{ended}"}}\n'.encode())
    after = tflogscope.open_log(log)
    longer = (after.time["wall_us"] - before.time["wall_us"]).to_list()
    assert longer[PHASES.index("python")] == pytest.approx(3e6, abs=2000)
    assert sum(longer) == pytest.approx(3e6, abs=1001)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("log", "repeats"),
    [
        ("sentences/logs/functions_of_one_code__tf2.20.0__record.log.zst", False),
        ("difference/scale__tf2.20.0__record.log.zst", True),
    ],
)
def test_a_trace_that_the_program_comes_back_to_is_made_once(log: str, repeats: bool) -> None:
    """Two shapes that come in turn; and ten rates, four steps of each."""
    run = tflogscope.open_log(Path(__file__).parent / log)
    made = run.ledger.filter(pl.col("phase") == "graph-passes", owner="retraced")
    assert made["repeats"].unique().to_list() == [repeats]


def test_a_log_of_another_recorder_begins_with_its_first_record() -> None:
    run = run_of("retrace__tf2.20.0__vlog2")
    assert run.time["wall_us"].sum() == pytest.approx(run.summary.recorded.wall_us, abs=1)


def test_a_log_without_ends_shows_only_the_start() -> None:
    run = run_of("off_eager__tf2.13.1__vlog1")
    known = run.time.drop_nulls("wall_us")["phase"].to_list()
    assert known == ["start-up", "logging"]


def test_a_log_without_any_op_has_no_phase(tmp_path: Path) -> None:
    log = Log()
    log.instantiating("__inference_f_1")
    log.wait(500)
    log.instantiated("__inference_f_1", 1)
    (tmp_path / "run.log").write_text(log.text())
    time = tflogscope.open_log(tmp_path / "run.log").time
    assert time.height == len(PHASES)
    assert time["wall_us"].null_count() == len(PHASES)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 3)), max_size=12),
)
def test_first_open_is_what_a_plain_loop_finds(spans: list[tuple[int, int, int]]) -> None:
    begin, end, order = (
        (np.array(each, np.int64) for each in zip(*spans, strict=True))
        if spans
        else (np.array([], np.int64),) * 3
    )
    edges, found = first_open(begin, end, order, 0, 25)
    kinds = max((kind for *_, kind in spans), default=-1) + 1
    for moment in range(25):
        open_ = [kind for since, until, kind in spans if since <= moment < until]
        piece = int(np.searchsorted(edges, moment, side="right")) - 1
        assert found[piece] == min(open_, default=kinds)
    assert edges[0] == 0
    assert edges[-1] == 25
