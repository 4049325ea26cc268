"""Where the blocks end in which a log is read changes nothing, not even amid a torn record."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from functools import partial

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import Node
from tests.samples import path_of, run_of
from tests.test_events_torn import GEMM_2, GEMM_3, NODE, PRINTED, STEP, Torn, account, graph
from tflogscope import open_log
from tflogscope.events.scan import Scan
from tflogscope.grammar.load import load_grammar
from tflogscope.sources.block import Block, SourceAccount
from tflogscope.sources.lines import read_blocks

# TensorFlow has not been seen to glue two of its own records; it writes each in one call.


@pytest.mark.parametrize("block_size", [300, 1 << 20])
def test_a_start_glued_to_an_end_is_not_lost(
    opened: Open, monkeypatch: pytest.MonkeyPatch, block_size: int
) -> None:
    """In a block that comes late too, when the definitions are known."""
    small = partial(read_blocks, block_size=block_size)
    monkeypatch.setattr("tflogscope.sources.source.read_blocks", small)
    log = Torn()
    other = Node(5, "other", "Mul", "x")
    for _ in range(20):
        log.run(NODE, STEP - 1)
    first = len(log.lines)
    log.run(NODE, STEP)
    log.start(NODE, STEP)
    end = log.as_line(log.done(NODE, STEP))
    log.raw(end + log.as_line(log.start(other, STEP)))
    log.done(other, STEP)
    rows = graph(opened, log).filter(pl.col("step") == STEP)
    assert rows.select("line", "end_line", "node").rows() == [
        (first + 1, first + 2, NODE.name),
        (first + 3, first + 4, NODE.name),
        (first + 4, first + 5, "other"),
    ]
    assert account(opened, log)["torn"] == 1


@pytest.mark.thorough
@pytest.mark.parametrize("block_size", [1, 7, 64, 100, 333, 1000, 5000])
def test_borders_of_blocks_change_nothing(
    opened: Open, monkeypatch: pytest.MonkeyPatch, block_size: int
) -> None:
    log = Torn()
    log.raw(GEMM_2 + log.as_line(log.start(NODE, STEP)))
    log.raw("")
    prefix, message = log.as_line(log.done(NODE, STEP)).split("] ", 1)
    log.raw(prefix + "] " + GEMM_3)
    log.raw("")
    log.raw(GEMM_3)
    log.raw(message)
    log.raw(PRINTED + log.as_line(log.start(NODE, STEP)))
    log.raw(log.as_line(log.done(NODE, STEP)) + GEMM_3)
    log.raw("")
    log.eager_op("Softmax", 4)
    whole = opened(log)
    expected = [whole.timeline.drop("source"), whole.coverage.drop("source")]
    verbose = whole.events.verbose.frame()
    small = partial(read_blocks, block_size=block_size)
    monkeypatch.setattr("tflogscope.sources.source.read_blocks", small)
    run = opened(log)
    assert run.timeline.drop("source").equals(expected[0])
    assert run.coverage.drop("source").equals(expected[1])
    assert run.events.verbose.frame().equals(verbose)
    assert expected[0]["end_line"].to_list() == [3, 8, 13]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "eager_basics__tf2.8.4__vlog2",
        "python_threads__tf2.13.1__vlog2",
        "function_mlp__tf2.20.0__vlog2",
        "py_function__tf2.21.0__vlog2",
    ],
)
@pytest.mark.parametrize("block_size", [1 << 13, 50_000])
def test_borders_of_blocks_in_real_logs(
    monkeypatch: pytest.MonkeyPatch, name: str, block_size: int
) -> None:
    expected = run_of(name)
    small = partial(read_blocks, block_size=block_size)
    monkeypatch.setattr("tflogscope.sources.source.read_blocks", small)
    run = open_log(path_of(name))
    for table in ("timeline", "ops", "functions", "nodes", "rewrites", "primitives", "coverage"):
        assert getattr(run, table).equals(getattr(expected, table)), table


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="only POSIX has it")
def test_an_interrupt_that_another_thread_gets_is_obeyed() -> None:
    waiting, obeyed = threading.Event(), threading.Event()
    found: list[bool] = []

    class Silent:
        name = "silent"
        size: int | None = None
        account = SourceAccount()

        def blocks(self) -> Iterator[Block]:
            waiting.wait()
            time.sleep(0.3)  # until `wait` waits
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            found.append(obeyed.wait(20))
            yield from ()

    with pytest.raises(KeyboardInterrupt), Scan([Silent()], load_grammar()) as scan:
        try:
            waiting.set()
            scan.wait()
        finally:
            obeyed.set()
    while not scan.has_ended:
        time.sleep(0.01)
    assert found == [True]
