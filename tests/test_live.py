"""A log that comes in parts: the same model, tables and figures as of the whole log."""

from __future__ import annotations

import io
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tflogscope
from tests.deep import examples
from tests.makelog import Log, Node
from tests.mutations import KINDS
from tests.samples import UNLIKE, path_of, raw_log, run_of, unpacked
from tests.waiting import PATIENCE_S
from tflogscope.cli.keys import split
from tflogscope.errors import InputError
from tflogscope.grammar.load import load_grammar
from tflogscope.live.follow import Beginning, GrowingFile, Receive, pipe
from tflogscope.live.growing import Growing, Latest
from tflogscope.model.run import Run
from tflogscope.recording.log_file import log_file
from tflogscope.views.analyze import analyze_document
from tflogscope.views.terminal import drawn

GRAMMAR = load_grammar()
ZENTF = "rewritten__zentf__vlog2"
TABLES = ("coverage", "timeline", "ops", "functions", "nodes", "rewrites", "primitives", "findings")


def grown(
    raw: bytes, cuts: random.Random, *, largest: int = 200_000, name: str = "run.log"
) -> Growing:
    """A log that came in parts of any size, cut anywhere."""
    place = 0

    def receive() -> bytes:
        nonlocal place
        begin, place = place, place + cuts.choice([1, 100, 5_000, largest])
        return raw[begin:place]

    growing = Growing(name, [receive], GRAMMAR)
    growing.scan.wait()
    return growing


@lru_cache(1)
def growing_of(name: str) -> Growing:
    return grown(raw_log(name), random.Random(name), name=str(path_of(name)))


def assert_same(run: Run, whole: Run) -> None:
    """Compare all tables."""
    for name in TABLES:
        assert_frame_equal(getattr(run, name), getattr(whole, name))


@pytest.mark.parametrize("name", UNLIKE)
def test_tables_are_those_of_the_whole_log(name: str) -> None:
    assert_same(growing_of(name).run(), run_of(name))


@pytest.mark.thorough
@settings(max_examples=examples(4))
@given(st.integers(0, 2**32), st.integers(1, 30_000))
def test_any_parts_give_the_same(seed: int, largest: int) -> None:
    raw = raw_log("control_flow__tf2.20.0__vlog2")[-100_000:]  # loops: nodes that begin again
    one = grown(raw, random.Random(0), largest=len(raw))
    other = grown(raw, random.Random(seed), largest=largest)
    assert one.run().timeline.height
    assert_frame_equal(one.run().timeline, other.run().timeline)
    assert one.lines == other.lines


@pytest.mark.thorough
def test_a_run_so_far_stays_as_it_is_when_more_comes(tmp_path: Path) -> None:
    name = "control_flow__tf2.20.0__vlog2"
    raw = raw_log(name)
    half = raw.index(b"\n", len(raw) // 2) + 1
    (tmp_path / "half.log").write_bytes(raw[:half])
    texts = queue.SimpleQueue[bytes]()
    growing = Growing(str(tmp_path / "half.log"), [texts.get], GRAMMAR)
    texts.put(raw[:half])
    wait_until(lambda: growing.lines == raw[:half].count(b"\n"))
    so_far = growing.run()
    texts.put(raw[half:])
    texts.put(b"")
    growing.scan.wait()
    assert_same(so_far, tflogscope.open_log(tmp_path / "half.log"))
    assert_frame_equal(growing.run().ops, run_of(name).ops)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait, and fail if that never becomes so."""
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "long_line"])
def test_a_damaged_log_is_followed(kind: str) -> None:
    raw = raw_log("python_threads__tf2.21.0__vlog2")[-300_000:]
    for seed in range(examples(1)):
        damaged = KINDS[kind](raw, random.Random(seed))
        run = grown(damaged, random.Random(seed)).run()
        assert drawn(analyze_document(run), width=80)


# ---- a scan that goes on ------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_last_lines_count_when_nothing_comes() -> None:
    texts = queue.SimpleQueue[bytes]()
    growing = Growing("run.log", [texts.get], GRAMMAR)
    log = Log()
    log.start(Node(3, "a", "MatMul"), 5)
    texts.put(log.text().encode())  # the next line may belong to it
    wait_until(lambda: growing.lines == 1)
    log = Log()
    log.start(Node(4, "b", "MatMul"), 6)
    texts.put(log.text().encode() * 2)
    wait_until(lambda: growing.lines == 3)
    assert growing.run().ops.select("op", "executions").rows() == [("MatMul", 3)]
    texts.put(b"")
    growing.scan.wait()
    assert growing.lines == 3


def test_what_record_wrote_above_a_log_is_known() -> None:
    raw = unpacked(Path(__file__).parent / "lines" / "program__tf2.13.1.log.zst")
    recorded = grown(raw, random.Random(1)).run().recorded_as
    assert recorded is not None
    assert "versions" in recorded


# ---- files and pipes ----------------------------------------------------------------------------


class Reading:
    """Text that is followed, from each beginning of the log."""

    def __init__(self, receives: Iterable[Receive]) -> None:
        self.texts: list[bytes] = []
        self._thread = threading.Thread(target=self._read, args=(receives,), daemon=True)
        self._thread.start()

    def _read(self, receives: Iterable[Receive]) -> None:
        for receive in receives:
            self.texts.append(b"")
            for block in Beginning("run.log", receive).blocks():
                self.texts[-1] += block.text

    def wait_for(self, *texts: bytes) -> None:
        """Wait for these texts; fail when they don't come."""
        until = time.monotonic() + PATIENCE_S
        while self.texts != list(texts) and time.monotonic() < until:
            time.sleep(0.01)
        assert self.texts == list(texts)

    def has_ended(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Path, GrowingFile, Reading]]:
    path = tmp_path / "run.log"
    path.write_bytes(b"one\ntw")
    file = GrowingFile(str(path))
    yield path, file, Reading(file)
    file.stop()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


Followed = tuple[Path, GrowingFile, Reading]


def test_a_line_that_is_half_written_waits_for_its_end(followed: Followed) -> None:
    path, file, reading = followed
    reading.wait_for(b"one\n")
    append(path, b"o\nthree")
    reading.wait_for(b"one\ntwo\n")
    file.stop()
    reading.wait_for(b"one\ntwo\nthree\n")
    assert reading.has_ended(PATIENCE_S)


def test_a_file_in_its_place_is_read_from_its_beginning(followed: Followed) -> None:
    path, _, reading = followed
    reading.wait_for(b"one\n")
    path.rename(path.with_suffix(".1"))
    append(path.with_suffix(".1"), b"o\n")  # its writer goes on until it opens the new one
    reading.wait_for(b"one\ntwo\n")
    path.write_bytes(b"new\n")
    reading.wait_for(b"one\ntwo\n", b"new\n")
    append(path, b"more\n")
    reading.wait_for(b"one\ntwo\n", b"new\nmore\n")


def test_a_file_that_became_shorter_is_read_from_its_beginning(followed: Followed) -> None:
    path, _, reading = followed
    reading.wait_for(b"one\n")
    os.truncate(path, 0)
    reading.wait_for(b"one\ntw\n", b"")
    append(path, b"again\n")
    reading.wait_for(b"one\ntw\n", b"again\n")


def test_what_is_packed_comes_when_its_writer_flushes(tmp_path: Path) -> None:
    path = tmp_path / "run.log.zst"
    lines = [f"{number} {random.Random(number).random()}\n".encode() for number in range(2_000)]
    with log_file(path, force=False) as log:
        log.write(b"".join(lines[:1000]))
        log.flush()
        file = GrowingFile(str(path))
        reading = Reading(file)
        reading.wait_for(b"".join(lines[:1000]))
        log.write(b"".join(lines[1000:]))
    file.stop()
    reading.wait_for(b"".join(lines))


def test_a_pipe_is_read_as_it_comes_and_ends() -> None:
    written: queue.Queue[bytes] = queue.Queue()
    reading = Reading([written.get])
    written.put(b"one\ntw")
    reading.wait_for(b"one\n")
    written.put(b"o\n")
    reading.wait_for(b"one\ntwo\n")
    assert not reading.has_ended(0.2)
    written.put(b"")
    assert reading.has_ended(PATIENCE_S)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system makes pipes larger")
def test_what_a_quick_writer_writes_comes_together() -> None:
    """A pipe holds 64 kB, and each piece that is read is a block, which takes some ms."""
    end, begin = os.pipe()
    with io.FileIO(end) as stream, io.FileIO(begin, "w") as writer:
        receive = pipe(stream, "-")
        os.set_blocking(begin, False)
        assert writer.write(bytes(1 << 20)) == len(receive()) == 1 << 20


@pytest.mark.thorough
def test_a_large_pipe_is_not_kept() -> None:
    left = [b"x" * 99 + b"\n"] * 400_000
    large = Beginning("-", lambda: b"".join([left.pop() for _ in range(min(10_000, len(left)))]))
    assert sum(len(block.text) for block in large.blocks()) == 40_000_000
    assert len(large._reader._kept) < 20 << 20


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are POSIX's")
def test_a_fifo_is_read_from_one_writer_to_the_next_and_can_be_left(followed: Followed) -> None:
    path, file, reading = followed
    reading.wait_for(b"one\n")
    path.unlink()
    os.mkfifo(path)
    reading.wait_for(b"one\ntw\n", b"")
    for line in (b"by one\n", b"by another\n"):
        path.write_bytes(line)
    reading.wait_for(b"one\ntw\n", b"by one\nby another\n")
    with path.open("wb"):  # a writer that says nothing
        file.stop()
        assert reading.has_ended(20)


def test_a_file_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        GrowingFile(str(tmp_path / "no.log"))


def test_what_can_not_be_read_is_raised() -> None:
    def receive() -> bytes:
        raise InputError("is gone", "run.log")

    growing = Growing("run.log", [receive], GRAMMAR)
    with pytest.raises(InputError, match="is gone"):
        growing.scan.wait()


# ---- the latest run -----------------------------------------------------------------------------


def test_the_model_rests_ten_times_as_long_as_it_took_but_not_after_it_was_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, ran = [1000.0], []

    class Span(NamedTuple):
        lines: int

    class Read(NamedTuple):
        spans: list[Span]

    class Slow:
        lines = 0

        def run(self) -> Slow:
            clock[0] += 10
            ran.append(self.lines)
            return self

        @property
        def events(self) -> Read:
            return Read([Span(self.lines)])

    monkeypatch.setattr("tflogscope.live.growing.time.monotonic", lambda: clock[0])
    slow = Slow()
    latest = Latest(cast("Growing", slow), lambda _: ["the analysis"])

    def look(seconds: float, *, ended: bool = False) -> list[int]:
        clock[0] += seconds
        slow.lines += 1
        latest.look(ended=ended)
        latest._thread.join()
        return ran

    assert look(0) == [1]
    assert look(0.5) == [1, 2]
    assert look(99) == [1, 2]
    assert look(2) == [1, 2, 4]
    assert look(1, ended=True) == [1, 2, 4, 5]
    assert (latest.lines, latest.of_lines) == (["the analysis"], 5)


def test_what_the_model_raises_is_raised() -> None:
    class Broken:
        lines = 1

        def run(self) -> Run:
            raise MemoryError

    latest = Latest(cast("Growing", Broken()), lambda _: [])
    latest.look()
    latest._thread.join()
    with pytest.raises(MemoryError):
        latest.look()


def test_keys_that_are_several_characters_are_one() -> None:
    assert split("a\x1b[A\x1b[6~q") == ["a", "up", "page-down", "q"]
    assert split("\x1b") == ["\x1b"]
    assert split("ä\r\x7f") == ["ä", "\r", "\x7f"]
