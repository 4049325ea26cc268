"""A log that comes in parts: the same model, tables and figures as of the whole log."""

from __future__ import annotations

import io
import os
import queue
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from rich.cells import cell_len

import tflogscope
from tests.deep import examples
from tests.makelog import Log, Node, wrapped
from tests.mutations import KINDS
from tests.samples import NAMES, UNLIKE, path_of, raw_log, run_of, unpacked
from tests.waiting import PATIENCE_S
from tflogscope.cli.keys import split
from tflogscope.errors import InputError, UsageError
from tflogscope.escapes import safe
from tflogscope.grammar.load import load_grammar
from tflogscope.live.figures import Figures, read_figures
from tflogscope.live.follow import Beginning, GrowingFile, Receive, pipe
from tflogscope.live.growing import Growing, Latest
from tflogscope.live.hints import Hints
from tflogscope.model.run import Run
from tflogscope.recording.log_file import log_file
from tflogscope.views.watch import Shown, Watched, watch_lines

GRAMMAR = load_grammar()
ZENTF = "rewritten__zentf__vlog2"
TABLES = ("coverage", "timeline", "ops", "functions", "nodes", "rewrites", "primitives", "findings")


def grown(
    raw: bytes, cuts: random.Random, *, largest: int = 200_000, name: str = "run.log"
) -> tuple[Growing, Hints]:
    """A log that came in parts of any size, cut anywhere; its hints were asked for at times."""
    place, is_made = 0, threading.Event()

    def receive() -> bytes:
        nonlocal place
        is_made.wait()
        begin, place = place, place + cuts.choice([1, 100, 5_000, largest])
        if cuts.random() < 0.3:
            hints.advance()
        return raw[begin:place]

    growing = Growing(name, [receive], GRAMMAR)
    hints = Hints(growing)
    is_made.set()
    growing.scan.wait()
    hints.advance()
    return growing, hints


@lru_cache(1)
def growing_of(name: str) -> tuple[Growing, Hints]:
    return grown(raw_log(name), random.Random(name), name=str(path_of(name)))


def assert_same(run: Run, whole: Run) -> None:
    """Compare all tables."""
    for name in TABLES:
        assert_frame_equal(getattr(run, name), getattr(whole, name))


@pytest.mark.parametrize("name", UNLIKE)
def test_tables_are_those_of_the_whole_log(name: str) -> None:
    growing, hints = growing_of(name)
    assert_same(growing.run(), run_of(name))
    assert (hints.begun("instantiation"), hints.begun("call")) == ([], [])


@pytest.mark.parametrize("name", UNLIKE)
def test_figures_are_those_of_the_tables(name: str) -> None:
    figures, run = read_figures(growing_of(name)[0].run()), run_of(name)
    ran = run.ops.filter(pl.col("kind") == "op")
    in_graphs, rewritten = pl.col("mode") == "graph", pl.col("rewrite") != "none"
    work, runs = pl.col("work_us").fill_null(0), pl.col("executions")
    kinds = {
        "eager": ~in_graphs,
        "eager_rewritten": ~in_graphs & rewritten,
        "graph": in_graphs,
        "graph_rewritten": in_graphs & rewritten,
    }
    wanted = ran.group_by("op").agg(
        runs=runs.sum(),
        us=work.sum(),
        **{name: runs.filter(mine).sum() for name, mine in kinds.items()},
        **{f"{name}_us": work.filter(mine).sum() for name, mine in kinds.items()},
    )
    wanted = wanted.filter(pl.col("runs") > 0)
    assert {op["op"]: op for op in figures.ops} == {op["op"]: op for op in wanted.to_dicts()}
    calls = run.timeline.filter(kind="call").height
    assert sum(each["calls"] for each in figures.functions) == calls
    ran = run.primitives.filter(event="exec").drop_nulls("primitive")
    assert sum(each["runs"] for each in figures.primitives) == ran.height
    assert sum(each["us"] for each in figures.primitives) == pytest.approx(ran["duration_us"].sum())
    assert (figures.running, figures.lines) == ([], run.coverage["lines"].sum())


@pytest.mark.thorough
def test_the_last_seconds_are_those_before_the_last_record() -> None:
    run = run_of("keras_fit_mlp__tf2.13.1__vlog2")
    figures = read_figures(run)
    last = run.timeline.select(pl.col("end").max()).item().replace(microsecond=0)
    ran = run.timeline.filter(pl.col("kind") == "op", pl.col("status") != "dead")
    for mode, per_second in figures.per_second.items():
        began = ran.filter(pl.col("start") >= last, mode=mode).height
        assert (len(per_second), per_second[-1]) == (60, began)
        assert sum(per_second) == ran.filter(mode=mode).height


@pytest.mark.thorough
@settings(max_examples=examples(4))
@given(st.integers(0, 2**32), st.integers(1, 30_000))
def test_any_parts_give_the_same(seed: int, largest: int) -> None:
    raw = raw_log("control_flow__tf2.20.0__vlog2")[-100_000:]  # loops: nodes that begin again
    one, hints = grown(raw, random.Random(0), largest=len(raw))
    other, other_hints = grown(raw, random.Random(seed), largest=largest)
    assert one.run().timeline.height
    assert_frame_equal(one.run().timeline, other.run().timeline)
    assert one.lines == other.lines
    assert hints.last == other_hints.last
    assert hints.begun("call") == other_hints.begun("call")


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
        growing, hints = grown(damaged, random.Random(seed))
        figures = read_figures(growing.run())
        watched = Watched("run.log", hints, figures, lines=growing.lines)
        assert len(watch_lines(watched, Shown(), 80, 30)) == 30


# ---- what goes on right now ---------------------------------------------------------------------


def upto(raw: bytes, text: bytes) -> Hints:
    """Hints after the line that has this text."""
    end = raw.index(b"\n", raw.index(text)) + 1
    return grown(raw[:end], random.Random(1))[1]


@pytest.mark.thorough
def test_a_function_is_instantiated_and_then_runs() -> None:
    raw = raw_log("function_mlp__tf2.13.1__vlog2")
    making = upto(raw, b'Instantiating MultiDevice function "__inference_train_')
    assert [name for name, _ in making.begun("instantiation")] == ["train 116"]
    made = upto(raw, b'Instantiated MultiDevice function "__inference_train_')
    assert made.begun("instantiation") == []
    for record in (b"Entering eager executing local operation '", b"Executing op "):
        running = upto(raw, record + b"__inference_train_")
        [(name, since)] = running.begun("call")
        assert name == "train 116"
        assert since is not None
        assert running.last is not None
        assert since <= running.last
    over = upto(raw, b"Exiting eager executing local operation '__inference_train_")
    assert (over.begun("instantiation"), over.begun("call")) == ([], [])


@pytest.mark.thorough
def test_a_function_is_being_traced_from_the_first_constant_that_is_folded() -> None:
    raw = raw_log("keras_fit_mlp__tf2.13.1__vlog2")
    made = raw.index(b'Instantiated MultiDevice function "__inference_Dataset_map')
    lines = raw[made:].split(b"\n")
    first = next(line for line in lines if b" step -1 " in line and b"Process node" in line)
    traced = upto(raw, first)
    assert traced.tracing == traced.last is not None
    ahead = b"step -1 {{node sequential/dropout/dropout/Const}}"  # when the call runs already
    assert upto(raw, ahead).begun("call")
    assert upto(raw, ahead).tracing is None
    assert upto(raw, b"Entering eager executing local operation '__inf").tracing is None


def test_an_eager_op_runs_until_its_end() -> None:
    raw = raw_log("eager_basics__tf2.13.1__vlog2")
    begin = raw.index(b"from __wrapped____MklMatMul_device_")
    end = raw.index(b"Component function execution succeeded", begin)
    for place, running in ((begin, ["_MklMatMul"]), (end, [])):
        log = raw[: raw.index(b"\n", place) + 1]
        figures = read_figures(grown(log, random.Random(1))[0].run())
        assert [name for name, _ in figures.running] == running


def test_an_instantiation_is_over_when_an_op_is_dispatched() -> None:
    log = Log()
    log.instantiating("__inference_f_7")
    begun = grown(log.text().encode(), random.Random(1))[1].begun("instantiation")
    assert [name for name, _ in begun] == ["f 7"]
    log.eager_op("Mul", 2)  # it has failed, which no record says
    assert grown(log.text().encode(), random.Random(1))[1].begun("instantiation") == []


def test_before_2_11_a_call_ends_with_its_component_on_another_thread() -> None:
    log = Log("tid")
    function = "__inference_f_7"
    log.instantiate(function, 4)
    log.executing(function, thread=1)
    log.running(function, 4, thread=1)
    assert grown(log.text().encode(), random.Random(1))[1].begun("call")
    log.ran(function, 4, thread=2)
    assert grown(log.text().encode(), random.Random(1))[1].begun("call") == []
    log.executing(function, thread=1)
    again = grown(log.text().encode(), random.Random(1))[1].begun("call")
    assert [name for name, _ in again] == ["f 7"]


def test_python_adds_nodes_until_something_else_happens() -> None:
    path = Path(__file__).parent / "lines" / "program__tf2.13.1.log.zst"
    raw = unpacked(path)
    [line, *_] = [line for line in raw.split(b"\n") if line.startswith(b"tflogscope node ")]
    node = line.rsplit(b" ", 1)[1].decode()
    hints = upto(raw, line)
    assert hints.node == node
    shown = watch_lines(Watched("run.log", hints), Shown(), 100, 30)
    assert f"Python adds nodes to a graph, the last one {node}" in shown[1].plain
    assert upto(raw, b"Entering eager executing local operation '__inf").node is None


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
    [op] = read_figures(growing.run()).ops
    assert (op["op"], op["graph"]) == ("MatMul", 3)
    texts.put(b"")
    growing.scan.wait()
    assert growing.lines == 3


def test_what_record_wrote_above_a_log_is_known() -> None:
    raw = unpacked(Path(__file__).parent / "lines" / "program__tf2.13.1.log.zst")
    recorded = grown(raw, random.Random(1))[0].run().recorded_as
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

    class Slow:
        lines = 0

        def run(self) -> Slow:
            clock[0] += 10
            ran.append(self.lines)
            return self

        @property
        def findings(self) -> pl.DataFrame:
            return pl.DataFrame({"id": ["unfinished"]})

    monkeypatch.setattr("tflogscope.live.growing.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("tflogscope.live.growing.read_figures", lambda run: Figures(run.lines))
    slow = Slow()
    latest = Latest(cast("Growing", slow))

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


def test_what_the_model_raises_is_raised() -> None:
    class Broken:
        lines = 1

        def run(self) -> Run:
            raise MemoryError

    latest = Latest(cast("Growing", Broken()))
    latest.look()
    latest._thread.join()
    with pytest.raises(MemoryError):
        latest.look()


@pytest.mark.thorough
def test_the_latest_run_explains_an_op() -> None:
    latest = Latest(growing_of("keras_fit_mlp__tf2.13.1__vlog2")[0])

    def answer(op: str) -> object:
        latest.explain(op)
        for _ in range(2):  # the run is made first
            latest.look()
            latest._thread.join()
        return latest.answer

    run = run_of("keras_fit_mlp__tf2.13.1__vlog2")
    assert answer("MatMul") == run.explain(op="MatMul")
    assert isinstance(answer("NoSuchOp"), UsageError)


# ---- the screen ---------------------------------------------------------------------------------


def screen(log: bytes) -> tuple[Watched, Shown]:
    growing, hints = grown(log, random.Random(2))
    figures = read_figures(growing.run()) if log else Figures()
    watched = Watched("run.log", hints, figures, bytes=len(log), lines=growing.lines)
    return watched, Shown()


@pytest.mark.thorough
def test_the_screen_is_as_wide_and_as_high_as_the_terminal() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    for width, height in product([10, 40, 60, 80, 120, 160], [3, 12, 24, 50]):
        lines = watch_lines(watched, shown, width, height)
        assert len(lines) == height
        assert max(cell_len(line.plain) for line in lines) <= width
        assert "q quit" in lines[-1].plain + "q quit" * (width < 40)


def test_what_a_log_holds_has_no_effect_on_the_screen() -> None:
    evil = "[red]\x1b[2J\u202e[/]"
    log = Log()
    for step in range(8):
        log.record(
            "tensorflow/core/common_runtime/eager/execute.cc",
            1678,
            f"Entering eager executing local operation '__inference_{evil}_{step}'",
        )
        log.start(Node(3, f"a/{evil}", evil), step)
    watched, shown = screen(log.text().encode())
    text = "\n".join(line.plain for line in watch_lines(watched, shown, 200, 40))
    assert "[red]\\x1b[2J" in text
    assert all(safe(line) == line for line in text.split("\n"))
    assert not any(
        span.style == "red" for line in watch_lines(watched, shown, 200, 40) for span in line.spans
    )


@pytest.mark.parametrize(("name", "whose"), [(NAMES[0], "oneDNN"), (ZENTF, "ZenDNN")])
def test_the_screen_says_whose_kernels_ran(name: str, whose: str) -> None:
    watched, shown = screen(raw_log(name))
    lines = [line.plain for line in watch_lines(watched, shown, 100, 40)]
    assert any(re.match(rf"{whose} +\d+% of nodes in graphs", line) for line in lines)
    assert any(re.match(rf"  op .*  {whose}$", line) for line in lines)


@pytest.mark.thorough
def test_a_rate_is_that_of_now() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    before = watched.figures.per_second["eager"][-2]
    assert before
    eager = f" {before:,}/s"
    assert watch_lines(watched, shown, 100, 40)[3].plain.endswith(eager)
    watched.undated = 5.0
    assert watch_lines(watched, shown, 100, 40)[3].plain.endswith(" 0/s")
    watched, shown = screen(b"")
    assert watch_lines(watched, shown, 40, 40)[3].plain == "eager   no record with a date yet"


@pytest.mark.thorough
def test_functions_keep_their_places_and_a_low_terminal_has_room_for_ops() -> None:
    raw = raw_log("keras_fit_mlp__tf2.13.1__vlog2")
    watched, shown = screen(raw)
    facts = {"id": "slow", "severity": "warning", "text": "It is slow.", "since": 0.0}
    watched.findings = [facts] * 5
    for height, findings, least in ((24, 1, 6), (40, 3, 16)):
        lines = [line.plain for line in watch_lines(watched, shown, 100, height)]
        assert sum("It is slow" in line for line in lines) == findings
        [rows] = [int(found[1]) for line in lines if (found := re.match(r"  op \((\d+) of", line))]
        assert rows >= least
        names = [line.split()[0] for line in lines if re.match(r"\w+_function \d", line)]
        assert names == ["train_function", "test_function", "predict_function"]


def test_an_op_whose_end_may_be_in_the_last_lines_is_not_said_to_run() -> None:
    log = Log()
    log.eager_op("Mul", 2)
    log.executing("MatMul")
    log.running(wrapped("MatMul"), 4)

    def now(quiet: float) -> str:
        watched, shown = screen(log.text().encode())
        watched.quiet = quiet
        return watch_lines(watched, shown, 100, 30)[1].plain

    assert "runs" not in now(0.3)
    assert "MatMul runs, since 03:56:34 (1.50 s)" in now(1.5)
    log.wait(2_000)
    log.eager_input("Relu")
    assert "MatMul runs, since 03:56:34 (2.0" in now(0.3)


def test_figures_say_of_how_much_of_the_log_they_are() -> None:
    watched, shown = screen(raw_log("function_mlp__tf2.13.1__vlog2"))
    watched.lines += 1_000
    said = f"of the first {watched.lines - 1_000:,} lines"
    assert said in watch_lines(watched, shown, 100, 30)[2].plain


@pytest.mark.thorough
def test_eager_kernels_of_onednn_have_their_share() -> None:
    watched, shown = screen(raw_log("eager_basics__tf2.13.1__vlog2"))
    lines = [line.plain for line in watch_lines(watched, shown, 140, 50)]
    ran = run_of("eager_basics__tf2.13.1__vlog2").timeline.filter(mode="eager", kind="op")
    share = ran.filter(pl.col("rewrite") != "none").height / ran.height
    assert any(f"{share:.0%} of eager ops" in line for line in lines)
    assert any(re.match(r"..MatMul .* 100%$", line) for line in lines)


@pytest.mark.thorough
def test_what_runs_is_not_a_finding_but_what_was_cut_off_is() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    facts = {"id": "unfinished", "severity": "note", "text": "It has no end.", "since": 0.0}
    watched.findings = [facts]
    assert not any("unfinished" in line.plain for line in watch_lines(watched, shown, 100, 40))
    watched.ended = True
    assert any("1 note: unfinished" in line.plain for line in watch_lines(watched, shown, 100, 40))


def test_ops_are_sorted_and_filtered() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    watch_lines(watched, shown, 100, 40)
    by_time = list(shown.ops)
    ops = {op["op"]: op for op in watched.figures.ops}
    times = [ops[name]["us"] for name in by_time]
    assert times == sorted(times, reverse=True)
    shown.sort = "eager"
    watch_lines(watched, shown, 100, 40)
    runs = [ops[name]["eager"] for name in shown.ops]
    assert runs == sorted(runs, reverse=True)
    shown.filter = "MATMUL"
    watch_lines(watched, shown, 100, 40)
    assert shown.ops
    assert all("matmul" in name.casefold() for name in shown.ops)
    assert len(shown.ops) < len(by_time)


@pytest.mark.thorough
def test_the_screen_in_the_documents_is_that_of_a_log() -> None:
    raw = raw_log("keras_fit_mlp__tf2.13.1__vlog2")
    calls = [*re.finditer(b"Entering eager executing local operation '__inference_tra", raw)]
    log = raw[: raw.index(b"\n", calls[6].start()) + 1]
    watched, shown = screen(log)
    found = grown(log, random.Random(2))[0].run().findings.to_dicts()
    watched.findings = [each | {"since": 1795233414.8} for each in found]
    watched.rate = 1.25e6
    text = "".join(f"{line.plain.rstrip()}\n" for line in watch_lines(watched, shown, 100, 30))
    text = re.sub(r"\d\d:\d\d:\d\d - ", "03:56:55 - ", text)  # in the zone of who looks at it
    document = (Path(__file__).parent.parent / "docs" / "commands.md").read_text()
    described = document[document.index("\n## watch\n") :]
    shown_there = described.split("```text\n")[1].split("```")[0]
    assert shown_there == text


def test_keys_that_are_several_characters_are_one() -> None:
    assert split("a\x1b[A\x1b[6~q") == ["a", "up", "page-down", "q"]
    assert split("\x1b") == ["escape"]
    assert split("ä\r\x7f") == ["ä", "enter", "backspace"]
