"""Prefixes and their times, against what Python makes of the same text."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.makelog import MATMUL, Log
from tflogscope.events.times import NO_TIME, clock_seconds
from tflogscope.grammar.load import load_grammar

STEP = -5
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  as logs print it
QUICK = settings(max_examples=40, deadline=None)
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2199, 12, 31)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=0)
)
GRAMMAR = load_grammar()


# ---- times --------------------------------------------------------------------------------------


def times_of(prefix: str, clocks: list[str]) -> list[datetime | None]:
    """The times that dates and clocks of a prefix stand for."""
    found = clock_seconds(clocks, GRAMMAR.prefixes[prefix]).tolist()
    return [None if time == NO_TIME else EPOCH + timedelta(seconds=time) for time in found]


@given(st.lists(MOMENTS, min_size=1, max_size=50))
@QUICK
def test_classic_times(moments: list[datetime]) -> None:
    assert times_of("classic", [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in moments]) == moments


@given(st.lists(MOMENTS.filter(lambda moment: moment.year > 2001), min_size=1, max_size=50))
@QUICK
def test_absl_times(moments: list[datetime]) -> None:
    seconds = [(moment - EPOCH) // timedelta(seconds=1) for moment in moments]
    assert times_of("absl", [f"I0000 00:00:{time:010}" for time in seconds]) == moments


def test_a_date_with_a_letter_of_several_bytes_is_no_time() -> None:
    """A damaged date has as many bytes as others, but fewer characters."""
    clocks = ["2026-11-21 04:08:05", "2026-11-21 0\u033e08:05", "2025-11-21 04:08:05"]
    assert times_of("classic", clocks) == [
        datetime(2026, 11, 21, 4, 8, 5),  # noqa: DTZ001
        None,
        datetime(2025, 11, 21, 4, 8, 5),  # noqa: DTZ001
    ]


def test_a_dialect_without_a_year_has_no_time(opened: Open) -> None:
    log = Log()
    start = log.prefix("tensorflow/core/common_runtime/executor.cc", 841)
    log.run(MATMUL, STEP)
    text = log.text().replace(start, "W1121 03:58:48.300255 139665401 executor.cc:156] ", 1)
    assert opened(text).timeline["start"].to_list() == [None]


PARTS = st.tuples(
    st.integers(1960, 2280) | st.integers(0, 9999),
    st.integers(0, 13),
    st.integers(0, 32),
    st.integers(0, 24),
    st.integers(0, 60),
    st.integers(0, 59),
)


@given(st.lists(PARTS, min_size=1, max_size=100))
@QUICK
def test_what_no_calendar_has_is_no_time(parts: list[tuple[int, ...]]) -> None:
    clocks, expected = [], []
    for year, month, day, hour, minute, second in parts:
        clocks.append(f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
        moment = None
        with contextlib.suppress(ValueError):
            moment = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001
        expected.append(moment)
    assert times_of("classic", clocks) == expected


DIGITS = [at for at, letter in enumerate("YYYY-MM-DD hh:mm:ss") if letter.isalpha()]


@given(MOMENTS, st.sampled_from(DIGITS), st.sampled_from("x :/\x7f"))
def test_a_clock_with_something_else_for_a_digit_is_no_time(
    moment: datetime, at: int, instead: str
) -> None:
    clock = f"{moment:%Y-%m-%d %H:%M:%S}"
    assert times_of("classic", [clock[:at] + instead + clock[at + 1 :]]) == [None]


# ---- whole lines --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-21 03:56:34.965368: I tensorflow/core/common_runtime/executor.cc:841] ",
        "2026-11-21 03:56:34.965368: I ./tensorflow/core/common_runtime/executor.cc:841] ",
        "2026-11-21 03:56:34.965368: I external/local_xla/xla/executor.cc:841] ",
        "2026-11-21 03:56:34.965368: W tensorflow/core/common_runtime/executor.cc:841] ",
        "2026-11-21 03:56:34.965368: I    9790 tensorflow/core/common_runtime/executor.cc:841] ",
        "2026-11-21 03:56:34.965368: I 139790123 tensorflow/core/common_runtime/executor.cc:841] ",
        "I0000 00:00:1795233394.965368    5496 executor.cc:879] ",
        "W0000 00:00:1795233394.965368 1234567 executor.cc:879] ",
    ],
)
def test_prefixes_of_all_releases(opened: Open, prefix: str) -> None:
    log = Log()
    start = log.prefix("tensorflow/core/common_runtime/executor.cc", 841)
    log.run(MATMUL, STEP)
    text = log.text().replace(start, prefix, 1)
    row = opened(text).timeline.to_dicts()[0]
    moment = datetime(2026, 11, 21, 3, 56, 34, 965368, tzinfo=UTC)
    assert row["start"] == moment.replace(tzinfo=None)
    assert (row["node"], row["status"]) == ("MatMul", "done")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "prefix",
    [
        " 2026-11-21 03:56:34.965368: I tensorflow/core/common_runtime/executor: 841] ",
        "I0000 00:00:1795233394 5496 executor.cc:879] ",
        "executor.cc:879] ",
        "[1,0]<stderr>:",
    ],
)
def test_what_is_no_prefix(opened: Open, prefix: str) -> None:
    log = Log()
    log.run(MATMUL, STEP)
    fake = log.lines[0].split("] ", 1)[1].replace("MatMul", "Fake")
    assert opened(f"{prefix}{fake}\n{log.text()}").timeline["node"].to_list() == ["MatMul"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "clock",
    ["2026-11-21 03:56:34.965368 ", "2026-11-21 03:56:34,965: ", "2026-11-21 03:56:34.965: "],
)
def test_a_record_with_a_clock_of_another_form_has_no_time(opened: Open, clock: str) -> None:
    """grammars/repairs.toml finds its text in the line."""
    log = Log()
    log.run(MATMUL, STEP)
    other = log.lines[0].split("] ", 1)[1].replace("MatMul", "Other")
    text = f"{clock}I tensorflow/core/common_runtime/executor.cc:841] {other}\n{log.text()}"
    rows = opened(text).timeline.filter(node="Other")
    assert rows["start"].to_list() == [None]
