"""A log that comes in parts: what is read of it, and figures so far, against the whole log's."""

from __future__ import annotations

import os
import queue
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.deep import examples
from tests.makelog import Log, Node, wrapped
from tests.mutations import KINDS
from tests.samples import NAMES, raw_log, run_of, unpacked
from tflogscope.cli.keys import split
from tflogscope.errors import InputError
from tflogscope.escapes import safe
from tflogscope.grammar.load import load_grammar
from tflogscope.live.asked import Asked, Found
from tflogscope.live.figures import Figures
from tflogscope.live.follow import Follow, GrowingFile, _Arriving, once
from tflogscope.live.growing import Growing
from tflogscope.model.calls import read_calls
from tflogscope.recording.log_file import log_file
from tflogscope.sources.block import SourceAccount
from tflogscope.sources.lines import read_blocks
from tflogscope.views.watch import Shown, Watched, watch_lines

GRAMMAR = load_grammar()
ZENTF = "rewritten__zentf__vlog2"
# Here the model's calls begin when their function is made ready.
BEFORE_2_11 = ("tf2.8.4", "tf2.10.1")


def grown(raw: bytes, cuts: random.Random, *, largest: int = 200_000) -> tuple[Growing, Figures]:
    """A log that came in parts of any size, cut anywhere, and was added up at times."""
    place = 0

    def receive() -> bytes:
        nonlocal place
        begin, place = place, place + cuts.choice([1, 100, 5_000, largest])
        return raw[begin:place]

    growing = Growing(GRAMMAR)
    figures = Figures(growing, GRAMMAR)
    account = SourceAccount()
    growing.begin("a log", account)
    for block in read_blocks(_Arriving(receive), account):
        growing.add(block.text)
        if cuts.random() < 0.3:
            figures.advance()
    growing.settle()
    figures.advance()
    return growing, figures


@lru_cache(1)
def figures_of(name: str) -> tuple[Growing, Figures]:
    return grown(raw_log(name), random.Random(name))


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_ops_are_those_of_the_timeline(name: str) -> None:
    _, figures = figures_of(name)
    ran = run_of(name).timeline.filter(pl.col("kind") == "op", pl.col("status") != "dead")
    in_graphs = pl.col("mode") == "graph"
    rewritten = pl.col("rewrite") != "none"
    us = pl.col("duration_us").fill_null(0)
    wanted = ran.group_by("op").agg(
        eager=(~in_graphs).sum(),
        eager_us=us.filter(~in_graphs).sum(),
        eager_rewritten=(~in_graphs & rewritten).sum(),
        eager_rewritten_us=us.filter(~in_graphs & rewritten).sum(),
        graph=in_graphs.sum(),
        graph_us=us.filter(in_graphs).sum(),
        graph_rewritten=(in_graphs & rewritten).sum(),
        graph_rewritten_us=us.filter(in_graphs & rewritten).sum(),
    )
    found = {op.name: astuple(op)[1:] for op in figures.ops()}
    assert found == {row[0]: row[1:] for row in wanted.iter_rows()}


@pytest.mark.parametrize("name", NAMES)
def test_calls_are_those_of_the_model(name: str) -> None:
    _, figures = figures_of(name)
    wanted = read_calls(run_of(name).events, run_of(name).stages.executions)
    found = {each.name: each.calls for each in figures.calls.functions.values() if each.calls}
    assert found == Counter(wanted["name"].to_list())
    if not any(release in name for release in BEFORE_2_11):
        took = dict(wanted.group_by("name").agg(pl.col("took_us").sum()).iter_rows())
        assert {each: figures.calls.functions[each].total_us for each in took} == took
    assert (figures.calls.making, figures.calls.running, figures.calls.eager) == ([], [], [])


@pytest.mark.parametrize("name", NAMES)
def test_primitives_are_those_of_the_table(name: str) -> None:
    _, figures = figures_of(name)
    ran = run_of(name).primitives.filter(event="exec").drop_nulls("primitive")
    wanted = ran.group_by("primitive").agg(pl.len(), us=pl.col("duration_us").sum())
    kinds = figures.primitives.kinds()
    assert {kind: runs for kind, runs, _ in kinds} == dict(wanted.drop("us").iter_rows())
    us = dict(wanted.drop("len").iter_rows())
    assert {kind: us for kind, _, us in kinds} == pytest.approx(us, rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_the_run_at_the_end_is_that_of_the_whole_log(name: str) -> None:
    growing, figures = figures_of(name)
    strip = figures.per_second(400)
    run, whole = growing.apart().run(), run_of(name)
    assert run.ops.equals(whole.ops.with_columns(source=pl.lit("a log"))[run.ops.columns])
    same = ["bytes", "lines", "recognised", "unknown", "torn", "cut_lines"]
    same = [name for name in same if name in whole.coverage.columns]
    assert run.coverage.select(same).equals(whole.coverage.select(same))
    assert run.findings["text"].to_list() == whole.findings["text"].to_list()
    timed = whole.timeline.filter(pl.col("kind") == "op", pl.col("status") != "dead")
    if timed.height and timed["start"].null_count() == 0:
        assert sum(strip["eager"]) + sum(strip["graph"]) == timed.height


@settings(max_examples=examples(8))
@given(st.integers(0, 2**32), st.integers(1, 30_000))
def test_any_parts_give_the_same(seed: int, largest: int) -> None:
    raw = raw_log("control_flow__tf2.20.0__vlog2")[-100_000:]  # loops: nodes that begin again
    one = grown(raw, random.Random(0), largest=len(raw))
    other = grown(raw, random.Random(seed), largest=largest)
    assert one[1].ops()
    assert one[1].ops() == other[1].ops()
    assert one[1].per_second(60) == other[1].per_second(60)
    assert one[0].lines == other[0].lines


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "long_line"])
def test_a_damaged_log_is_followed(kind: str) -> None:
    raw = raw_log("python_threads__tf2.21.0__vlog2")[-300_000:]
    for seed in range(examples(2)):
        damaged = KINDS[kind](raw, random.Random(seed))
        growing, figures = grown(damaged, random.Random(seed))
        watched = Watched("run.log", figures, Asked(growing), lines=growing.lines)
        assert len(watch_lines(watched, Shown(), 80, 30)) == 30
        graph = growing.apart().run().timeline.filter(mode="graph", kind="op")
        ran = graph.filter(pl.col("status") != "dead").height
        assert sum(op.graph for op in figures.ops()) == ran


# ---- what goes on right now ---------------------------------------------------------------------


def upto(raw: bytes, text: bytes) -> Figures:
    """Figures of a log up to the line that has this text."""
    end = raw.index(b"\n", raw.index(text)) + 1
    return grown(raw[:end], random.Random(1))[1]


def test_a_function_is_being_made_ready_and_then_runs() -> None:
    raw = raw_log("function_mlp__tf2.13.1__vlog2")
    name = b"__inference_train_"
    making = upto(raw, b'Instantiating MultiDevice function "' + name).calls
    assert [each.encode().startswith(name) for each, _ in making.making] == [True]
    running = upto(raw, b"Entering eager executing local operation '" + name).calls
    assert [each.encode().startswith(name) for each, _ in running.running] == [True]
    over = upto(raw, b"Exiting eager executing local operation '" + name).calls
    assert (over.making, over.running) == ([], [])


def test_a_function_is_being_traced_from_the_first_constant_that_is_worked_out() -> None:
    raw = raw_log("keras_fit_mlp__tf2.13.1__vlog2")
    made = raw.index(b'Instantiated MultiDevice function "__inference_Dataset_map')
    lines = raw[made:].split(b"\n")
    first = next(line for line in lines if b" step -1 " in line and b"Process node" in line)
    traced = upto(raw, first)
    assert traced.tracing_since == traced.last is not None
    ahead = b"step -1 {{node sequential/dropout/dropout/Const}}"  # when the call runs already
    assert upto(raw, ahead).calls.running
    assert upto(raw, ahead).tracing_since is None
    assert upto(raw, b"Entering eager executing local operation '__inf").tracing_since is None


def test_an_eager_op_runs_until_its_end() -> None:
    raw = raw_log("eager_basics__tf2.13.1__vlog2")
    begins = upto(raw, b"from __wrapped____MklMatMul_device_").calls
    assert [name for name, _ in begins.eager] == ["_MklMatMul"]
    end = raw.index(b"Component function execution succeeded", raw.index(b"____MklMatMul_device_"))
    ended = grown(raw[: raw.index(b"\n", end) + 1], random.Random(1))[1]
    assert ended.calls.eager == []
    [op] = [op for op in ended.ops() if op.name == "MatMul"]
    assert (op.eager, op.eager_rewritten) == (1, 1)
    assert op.us == op.eager_rewritten_us > 0


def test_a_wrap_is_rewritten_while_another_thread_goes_on() -> None:
    log = Log()  # without threads in it
    log.instantiating(wrapped("MaxPool"))
    log.eager_op("Mul", 2)
    log.rewrite(Node(3, "MaxPool", "_MklNativeMaxPool"), "MaxPool")
    log.instantiated(wrapped("MaxPool"), 6)
    for _ in range(2):
        log.eager_op("MaxPool", 6)
    figures = grown(log.text().encode(), random.Random(1))[1]
    found = {op.name: (op.eager, op.eager_rewritten) for op in figures.ops()}
    assert found == {"Mul": (1, 0), "MaxPool": (2, 2)}


def test_before_2_11_a_call_ends_with_its_component_on_another_thread() -> None:
    log = Log("tid")
    function = "__inference_f_7"
    log.instantiate(function, 4)
    log.executing(function, thread=1)
    log.running(function, 4, thread=1)
    log.ran(function, 4, thread=2)
    ended = grown(log.text().encode(), random.Random(1))[1].calls
    assert (ended.running, ended.functions[function].ended) == ([], 1)
    log.executing(function, thread=1)
    again = grown(log.text().encode(), random.Random(1))[1].calls
    assert [name for name, _ in again.running] == [function]


def test_python_adds_nodes_until_something_else_happens() -> None:
    path = Path(__file__).parent / "lines" / "program__tf2.13.1.log.zst"
    raw = unpacked(path)
    [line, *_] = [line for line in raw.split(b"\n") if line.startswith(b"tflogscope node ")]
    node = line.rsplit(b" ", 1)[1].decode()
    figures = upto(raw, line)
    assert figures.calls.node == node
    shown = watch_lines(Watched("run.log", figures, Asked(Growing(GRAMMAR))), Shown(), 100, 30)
    assert f"Python adds nodes to a graph, the last one {node}" in shown[1].plain
    assert upto(raw, b"Entering eager executing local operation '__inf").calls.node is None


def test_the_last_lines_count_when_nothing_comes() -> None:
    log = Log()
    log.start(Node(3, "a", "MatMul"), 5)
    growing = Growing(GRAMMAR)
    figures = Figures(growing, GRAMMAR)
    growing.begin("a log", SourceAccount())
    growing.add(log.text().encode())
    figures.advance()
    assert figures.ops() == []  # the next line may belong to it
    growing.settle()
    figures.advance()
    assert [op.graph for op in figures.ops()] == [1]
    log = Log()
    log.start(Node(4, "b", "MatMul"), 6)
    growing.add(log.text().encode() * 2)
    growing.settle()
    figures.advance()
    assert (growing.lines, [op.graph for op in figures.ops()]) == (3, [3])


# ---- files and pipes ----------------------------------------------------------------------------


class Reading:
    """Text that is followed, from each beginning of the log."""

    def __init__(self, follow: Follow) -> None:
        self.follow = follow
        self.texts: list[bytes] = []

    def wait_for(self, *texts: bytes) -> None:
        """Wait for these texts; fail when they don't come."""
        until = time.monotonic() + 20
        while self.texts != list(texts) and time.monotonic() < until:
            self.take()
        assert self.texts == list(texts)

    def has_ended(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self.follow.ended and time.monotonic() < until:
            self.take()
        return self.follow.ended

    def take(self) -> None:
        for part in self.follow.parts(time.monotonic() + 0.1):
            if part.text:
                self.texts[-1] += part.text
            else:
                self.texts.append(b"")


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Path, GrowingFile, Reading]]:
    path = tmp_path / "run.log"
    path.write_bytes(b"one\ntw")
    file = GrowingFile(str(path))
    yield path, file, Reading(Follow(file.begin))
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
    assert reading.has_ended(20)


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
        reading = Reading(Follow(file.begin))
        reading.wait_for(b"".join(lines[:1000]))
        log.write(b"".join(lines[1000:]))
    file.stop()
    reading.wait_for(b"".join(lines))


def test_a_pipe_is_read_as_it_comes_and_ends() -> None:
    written: queue.Queue[bytes] = queue.Queue()
    reading = Reading(Follow(once(written.get)))
    written.put(b"one\ntw")
    reading.wait_for(b"one\n")
    written.put(b"o\n")
    reading.wait_for(b"one\ntwo\n")
    assert not reading.has_ended(0.2)
    written.put(b"")
    assert reading.has_ended(20)


def test_a_large_pipe_is_not_kept() -> None:
    left = [b"x" * 99 + b"\n"] * 400_000
    arriving = _Arriving(lambda: b"".join([left.pop() for _ in range(min(10_000, len(left)))]))
    blocks = [block.text for block in read_blocks(arriving, SourceAccount())]
    assert sum(map(len, blocks)) == 40_000_000
    assert len(arriving._kept) < 20 << 20


def test_a_file_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        GrowingFile(str(tmp_path / "no.log"))


# ---- findings -----------------------------------------------------------------------------------


def test_findings_rest_after_the_model_but_not_after_it_was_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, ran = [1000.0], []

    class Slow:
        lines = 0

        def apart(self) -> Slow:
            return self

        def run(self) -> Slow:
            clock[0] += 10
            ran.append(self.lines)
            return self

        @property
        def findings(self) -> pl.DataFrame:
            return pl.DataFrame({"id": ["unfinished"]})

    monkeypatch.setattr("tflogscope.live.asked.time.monotonic", lambda: clock[0])
    slow = Slow()
    asked = Asked(cast("Growing", slow))

    def look(seconds: float) -> list[int]:
        clock[0] += seconds
        slow.lines += 1
        asked.look()
        if asked._thread is not None:
            asked._thread.join()
        return ran

    assert look(0) == [1]
    assert look(1) == [1]
    assert look(2) == [1, 3]
    assert look(300) == [1, 3]
    assert look(30) == [1, 3, 5]


# ---- the screen ---------------------------------------------------------------------------------


def screen(log: bytes, change: Callable[[Shown], None] = lambda _: None) -> tuple[Watched, Shown]:
    growing, figures = grown(log, random.Random(2))
    watched = Watched("run.log", figures, Asked(growing), bytes=len(log), lines=growing.lines)
    shown = Shown()
    change(shown)
    return watched, shown


@pytest.mark.parametrize("width", [10, 40, 60, 80, 120, 160])
@pytest.mark.parametrize("height", [3, 12, 24, 50])
def test_the_screen_is_as_wide_and_as_high_as_the_terminal(width: int, height: int) -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
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


def test_a_rate_is_that_of_now() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    found = watched.figures.per_second(60)
    assert found["eager"][-2]
    eager = f" {found['eager'][-2]:,}/s"
    assert watch_lines(watched, shown, 100, 40)[3].plain.endswith(eager)
    watched.undated = 5.0
    assert watch_lines(watched, shown, 100, 40)[3].plain.endswith(" 0/s")
    watched, shown = screen(b"")
    assert watch_lines(watched, shown, 40, 40)[3].plain == "eager   no record with a date yet"


def test_functions_keep_their_places_and_a_low_terminal_has_room_for_ops() -> None:
    raw = raw_log("keras_fit_mlp__tf2.13.1__vlog2")
    watched, shown = screen(raw)
    watched.asked.lines = watched.lines
    facts = {"id": "slow", "severity": "warning", "text": "It is slow."}
    watched.asked.findings = [Found(facts, 0.0)] * 5
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
    figures = grown(log.text().encode(), random.Random(1))[1]
    watched = Watched("run.log", figures, Asked(Growing(GRAMMAR)), quiet=0.3)
    assert "runs" not in watch_lines(watched, Shown(), 100, 30)[1].plain
    watched.quiet = 1.5
    assert "MatMul runs, since 03:56:34 (1.50 s)" in watch_lines(watched, Shown(), 100, 30)[1].plain
    log.wait(2_000)
    log.eager_input("Relu")
    figures = grown(log.text().encode(), random.Random(1))[1]
    watched = Watched("run.log", figures, Asked(Growing(GRAMMAR)), quiet=0.3)
    assert "MatMul runs, since 03:56:34 (2.0" in watch_lines(watched, Shown(), 100, 30)[1].plain


def test_eager_kernels_of_onednn_have_their_share() -> None:
    watched, shown = screen(raw_log("eager_basics__tf2.13.1__vlog2"))
    lines = [line.plain for line in watch_lines(watched, shown, 140, 50)]
    ran = run_of("eager_basics__tf2.13.1__vlog2").timeline.filter(mode="eager", kind="op")
    share = ran.filter(pl.col("rewrite") != "none").height / ran.height
    assert any(f"{share:.0%} of eager ops" in line for line in lines)
    assert any(re.match(r"..MatMul .* 100%$", line) for line in lines)


def test_what_runs_is_not_a_finding_but_what_was_cut_off_is() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    watched.asked.lines = watched.lines
    facts = {"id": "unfinished", "severity": "note", "text": "It has no end."}
    watched.asked.findings = [Found(facts, 0.0)]
    assert not any("unfinished" in line.plain for line in watch_lines(watched, shown, 100, 40))
    watched.ended = True
    assert any("1 note: unfinished" in line.plain for line in watch_lines(watched, shown, 100, 40))


def test_ops_are_sorted_and_filtered() -> None:
    watched, shown = screen(raw_log("keras_fit_mlp__tf2.13.1__vlog2"))
    watch_lines(watched, shown, 100, 40)
    by_time = list(shown.ops)
    ops = {op.name: op for op in watched.figures.ops()}
    times = [ops[name].us for name in by_time]
    assert times == sorted(times, reverse=True)
    shown.sort = "eager"
    watch_lines(watched, shown, 100, 40)
    runs = [ops[name].eager for name in shown.ops]
    assert runs == sorted(runs, reverse=True)
    shown.filter = "MATMUL"
    watch_lines(watched, shown, 100, 40)
    assert shown.ops
    assert all("matmul" in name.casefold() for name in shown.ops)
    assert len(shown.ops) < len(by_time)


def test_the_screen_in_the_documents_is_that_of_a_log() -> None:
    raw = raw_log("keras_fit_mlp__tf2.13.1__vlog2")
    calls = [*re.finditer(b"Entering eager executing local operation '__inference_tra", raw)]
    watched, shown = screen(raw[: raw.index(b"\n", calls[6].start()) + 1])
    watched.rate, found = 1.25e6, watched.asked._growing.apart().run().findings.to_dicts()
    watched.asked.findings = [Found(each, 1795233414.8) for each in found]
    watched.asked.lines = watched.lines
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
