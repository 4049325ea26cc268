"""Prefixes, numbers and distinct strings, each against what Python makes of the same bytes."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.makelog import CPU, MATMUL, Log
from tflogscope import open_log
from tflogscope.events.block import Block
from tflogscope.events.dictionary import Dictionary
from tflogscope.events.digits import eight_digits, leading_digits, signed_numbers

STEP = -5
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  as logs print it
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2199, 12, 31))  # noqa: DTZ001


# ---- numbers ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 99_999_999), min_size=1, max_size=20))
def test_eight_digits(values: list[int]) -> None:
    text = "".join(f"{value:08}" for value in values).encode()
    words = Block(text).word(np.arange(0, len(text), 8))
    assert eight_digits(words).tolist() == values


@given(st.text("0123456789:/-\x7f\x80é ", max_size=40))
def test_leading_digits(text: str) -> None:
    raw = text.encode()
    values, counts = leading_digits(Block(raw).word(np.arange(len(raw))))
    for start, (value, count) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)):
        digits = re.match(rb"[0-9]{0,8}", raw[start:])
        assert digits is not None
        assert (value, count) == (int(digits[0] or b"0"), len(digits[0]))


@given(st.lists(st.tuples(st.integers(-(2**64), 2**64), st.text("abc :./", min_size=1, max_size=9)),
                min_size=1, max_size=20))  # fmt: skip
def test_signed_numbers(pieces: list[tuple[int, str]]) -> None:
    text, starts = "", []
    for value, rest in pieces:
        starts.append(len(text))
        text += f"{value}{rest}"
    values, sizes = signed_numbers(Block(text.encode()).words(np.array(starts), 3))
    for (expected, _), value, size in zip(pieces, values.tolist(), sizes.tolist(), strict=True):
        if abs(expected) < 2**63:
            assert (value, size) == (expected, len(str(expected)))
        else:
            assert size == 0


@given(st.binary(max_size=200), st.integers(1, 6), st.data())
def test_words_anywhere_in_a_block(text: bytes, count: int, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, len(text) + 9), max_size=9))
    words = Block(text).words(np.array(positions, np.int64), count)
    assert words.shape == (count, len(positions))
    for position, column in zip(positions, words.T, strict=True):
        expected = text[position : position + 8 * count].ljust(8 * count, b"\0")
        assert column.tobytes() == expected


# ---- distinct strings ---------------------------------------------------------------------------


@given(st.lists(st.lists(st.binary(max_size=3), max_size=30), max_size=6))
@settings(deadline=None)
def test_a_dictionary_numbers_strings_as_they_come(batches: list[list[bytes]]) -> None:
    dictionary, model = Dictionary(), dict[bytes, int]()
    for batch in batches:
        texts = pl.Series("text", batch, pl.Binary)
        codes = dictionary.encode(texts.hash().to_numpy(), texts.gather)
        assert codes.tolist() == [model.setdefault(text, len(model)) for text in batch]
    assert dictionary.texts().to_list() == list(model)
    assert dictionary.texts(1).to_list() == list(model)[1:]
    assert len(dictionary) == len(model)


def test_a_dictionary_of_more_strings_than_it_has_slots() -> None:
    """Strings whose hashes want the same slot are told apart, and found again."""
    texts = pl.Series("text", [f"text {number}" for number in range(400_000)]).cast(pl.Binary)
    dictionary = Dictionary()
    for _ in range(2):
        codes = dictionary.encode(texts.hash().to_numpy(), texts.gather)
        assert (codes == np.arange(len(texts))).all()


# ---- times --------------------------------------------------------------------------------------


def times_of(folder: Path, prefixes: list[str]) -> list[datetime | None]:
    """The times of records that begin so."""
    step = f"step -5 {MATMUL.definition()} device: {CPU}"
    lines = [f"{prefix}Process node: {at} {step}\n" for at, prefix in enumerate(prefixes)]
    path = folder / "run.log"
    path.write_text("".join(lines))
    found: list[datetime | None] = open_log(path).timeline["start"].to_list()
    assert len(found) == len(prefixes)
    return found


@given(st.lists(MOMENTS, min_size=1, max_size=50))
@QUICK
def test_classic_times(tmp_path: Path, moments: list[datetime]) -> None:
    prefixes = [f"{moment:%Y-%m-%d %H:%M:%S.%f}: I executor.cc:1] " for moment in moments]
    assert times_of(tmp_path, prefixes) == moments


@given(st.lists(MOMENTS.filter(lambda moment: moment.year > 2001), min_size=1, max_size=50))
@QUICK
def test_absl_times(tmp_path: Path, moments: list[datetime]) -> None:
    micros = [(moment - EPOCH) // timedelta(microseconds=1) for moment in moments]
    prefixes = [
        f"I0000 00:00:{time // 10**6:010}.{time % 10**6:06}    5496 executor.cc:1] "
        for time in micros
    ]
    assert times_of(tmp_path, prefixes) == moments


def test_a_dialect_without_a_year_has_no_time(tmp_path: Path) -> None:
    assert times_of(tmp_path, ["W1121 03:58:48.300255 139665401 executor.cc:156] "]) == [None]


PARTS = st.tuples(st.integers(0, 9999), *[st.integers(0, 99)] * 4, st.integers(0, 59))


@given(st.lists(PARTS, min_size=1, max_size=100))
@QUICK
def test_what_no_calendar_has_is_no_time(tmp_path: Path, parts: list[tuple[int, ...]]) -> None:
    prefixes, expected = [], []
    for year, month, day, hour, minute, second in parts:
        date, clock = f"{year:04}-{month:02}-{day:02}", f"{hour:02}:{minute:02}:{second:02}"
        prefixes.append(f"{date} {clock}.000001: I executor.cc:1] ")
        moment = None
        with contextlib.suppress(ValueError):
            moment = datetime(year, month, day, hour, minute, second, 1)  # noqa: DTZ001
        expected.append(moment)
    assert times_of(tmp_path, prefixes) == expected


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


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-21 03:56:34.965368 I tensorflow/core/common_runtime/executor.cc:841] ",
        "2026-11-21 03:56:34,965: I tensorflow/core/common_runtime/executor.cc:841] ",
        "2026-11-21 03:56:34.965: I tensorflow/core/common_runtime/executor.cc:841] ",
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
