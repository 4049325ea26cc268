"""The thread of polars on which the command line makes its tables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import polars as pl
import pytest

from tests.samples import path_of
from tflogscope.cli.main import main
from tflogscope.model.opening import open_with
from tflogscope.model.worker import on_worker

# The work says when it has begun. It would end after an hour.
LONG = """
import time, polars as pl
from tflogscope.model.worker import on_worker
frame = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
def work():
    print("begun", flush=True)
    end = time.monotonic() + 3600
    while time.monotonic() < end:
        frame.select("b")
try:
    on_worker(work)
except KeyboardInterrupt:
    print("interrupted")
"""


def thread() -> int:
    return threading.get_native_id()


def test_the_work_is_done_on_a_thread_of_polars_and_comes_back() -> None:
    there, inside = on_worker(lambda: (thread(), on_worker(thread)))
    assert there != thread()
    assert inside == there, "work within work stays where it is"
    assert on_worker(lambda: pl.DataFrame({"a": [1]}).select(b="a", c="a").row(0)) == (1, 1)
    assert on_worker(lambda: None) is None


@pytest.mark.parametrize("error", [KeyError, SystemExit, MemoryError])
def test_what_the_work_raises_is_raised(error: type[BaseException]) -> None:
    def work() -> None:
        raise error("said")

    with pytest.raises(error, match="said"):
        on_worker(work)
    assert on_worker(thread) != thread(), "and the thread goes on"


def test_tables_are_made_where_the_run_says() -> None:
    made: list[Callable[[], object]] = []

    def make(work):  # type: ignore[no-untyped-def]
        made.append(work)
        return work()

    run = open_with(1, path_of("eager_basics__tf2.8.4__vlog2"), make=make)
    assert made
    made.clear()
    first = run.ops
    assert len(made) == 1
    assert run.ops is first
    assert len(made) == 1, "it is kept"
    run.explain(op=first["op"][0])
    assert len(made) > 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_the_work() -> None:
    command = [sys.executable, "-c", LONG]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"


def test_a_screen_made_there_is_printed_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A console of rich captures what its own thread prints.
    printed: list[str] = []
    monkeypatch.setattr("tflogscope.cli.analyze.print_text", printed.append)
    assert main(["analyze", str(path_of("eager_basics__tf2.8.4__vlog2"))]) == 0
    assert capsys.readouterr().out == ""
    assert "What it means" in printed[0]
