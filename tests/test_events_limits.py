"""Limits of the events: memory for torn lines, impossible times, and the order in a line."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, Log, Node
from tests.samples import raw_log
from tests.test_events_torn import Torn
from tflogscope.errors import InputError
from tflogscope.events import events, scan
from tflogscope.events.events import PLACES
from tflogscope.events.store import BlockOutput
from tflogscope.grammar.compiled import CompiledGrammar
from tflogscope.model.executions import dispatches
from tflogscope.model.overview import limits

NAME = "function_mlp__tf2.13.1__vlog2"
PREFIX = "2026-11-21 03:56:34.965368: I tensorflow/core/common_runtime/executor.cc:841] "
MEMORY = 3 << 30  # bytes of addresses, of which polars alone reserves one


def limited(
    command: str, log: Path, *, memory: int, python: tuple[str, ...] = ("-m", "tflogscope")
) -> subprocess.CompletedProcess[bytes]:
    """A command that may have so many bytes of addresses."""
    return subprocess.run(
        [sys.executable, *python, command, str(log)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        capture_output=True,
        check=False,
    )


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS as Linux has it")
def test_many_bare_prefixes_before_a_long_line_need_little_memory(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        f"text{PREFIX * 20_000}\nProcess node: {'y' * 500_000}\n\n{raw_log(NAME).decode()}"
    )
    ended = limited("analyze", log, memory=MEMORY)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS as Linux has it")
def test_many_distinct_texts_need_few_addresses(tmp_path: Path) -> None:
    """polars makes room for as many strings as there are bytes, before it takes them apart."""
    log = Log()
    log.executing("Mul")
    for number in range(300_000):
        log.record("tensorflow/core/common_runtime/eager/execute.cc", 9, f"Else {number:0110d}")
    (tmp_path / "run.log").write_text(log.text())
    ended = limited("analyze", tmp_path / "run.log", memory=1300 << 20)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_short_lines_of_onednn_need_few_outputs(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output is some MB, and each block has its own while it waits for its turn."""
    made = []

    def output(grammar: CompiledGrammar) -> BlockOutput:
        made.append(BlockOutput(grammar))
        return made[-1]

    monkeypatch.setattr(scan, "BlockOutput", output)
    log = Log()
    log.step(7, MATMUL)
    for _ in range(60_000):
        log.raw("onednn_verbose,exec,,,,,,,,,1")
    assert opened(log).primitives.height == 60_000
    assert len(made) < 12


def test_few_lines_that_can_not_be_read_have_a_row_and_all_are_counted(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (events, limits):
        monkeypatch.setattr(module, "MOST_UNREAD", 20)
    log = Log()
    log.step(7, MATMUL)
    read = "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0,,,4x8:8x6,0.5"
    for line in ("onednn_verbose,", "onednn_verbose,exec,cpu", "MKL_VERBOSE what", read) * 15:
        log.raw(line)
    run = opened(log)
    assert run.primitives.filter(pl.col("duration_us").is_not_null()).height == 15
    assert run.primitives.height == 15 + 20
    assert run.primitives["line"].is_sorted()
    assert run.coverage["unknown"].item() == run.summary.recorded.onednn_unread_lines == 45
    [lost] = run.findings.filter(id="lines-lost").rows(named=True)
    assert (lost["count"], lost["text"]) == (45, "45 oneDNN lines can't be parsed.")
    [said] = [limit.text for limit in run.summary.limits if limit.id == "unread-onednn-lines"]
    assert said.startswith("45 oneDNN lines are truncated or in an unknown format.")
    assert said.endswith(" Only the first 20 are in the tables.")


def test_more_ops_than_tensorflow_can_have_are_refused(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions are none of them: a program may have any number of these."""
    monkeypatch.setattr(dispatches, "_MOST_OPS", 20)
    log = Log()
    for number in range(20):
        log.executing(f"Op{number}")
        log.executing(f"__inference_f_{number}")
    assert opened(log).ops.height == 40
    log.executing("Op20")
    with pytest.raises(InputError, match="21 ops, and 20 is the limit") as error:
        _ = opened(log).ops
    assert error.value.where is not None


def test_a_message_completes_the_last_of_several_bare_prefixes(opened: Open) -> None:
    log = Torn()
    prefix, message = log.as_line(log.start(MATMUL, -7)).split("] ", 1)
    log.raw(f"{prefix}] {prefix}] ")
    log.raw(message)
    log.done(MATMUL, -7)
    rows = opened(log).events.runs
    assert rows["at"].to_list() == [1]  # the second record of the first line


@pytest.mark.thorough
@pytest.mark.parametrize("damaged", ["1026", "9026", "2926", "2326", "2027", "1780"])
def test_a_few_dates_with_a_flipped_digit_are_no_times(opened: Open, damaged: str) -> None:
    text = raw_log(NAME)
    lines = text.split(b"\n")
    found = [number for number, line in enumerate(lines) if b"] Process node: " in line]
    chosen = found[10 :: len(found) // 4][:3]
    for number in chosen:
        lines[number] = re.sub(rb"^2026", damaged.encode(), lines[number])
    whole, run = opened(text), opened(b"\n".join(lines))
    expected, times = whole.events.time_span(), run.events.time_span()
    assert times == expected
    rows = [each.events.runs.select("time", line=pl.col("at") // PLACES) for each in (whole, run)]
    same = rows[0].with_columns(time=pl.when(~pl.col("line").is_in(chosen)).then("time"))
    assert rows[1].equals(same)
    assert rows[1]["time"].null_count() > 0


def test_a_log_with_a_long_pause_has_all_its_times(opened: Open) -> None:
    log = Log()
    for _ in range(40):
        log.run(ADD, -7)
    log.wait(90 * 86_400 * 10**6)  # the program goes on three months later
    for _ in range(40):
        log.run(ADD, -8)
    assert opened(log).events.runs["time"].null_count() == 0


def test_records_of_one_line_are_in_the_order_in_which_they_are_there(opened: Open) -> None:
    nodes = [Node(number, f"n{number}", "Add", "x") for number in range(6)]
    log = Torn()
    glued = "".join(log.as_line(log.start(node, -7)) for node in nodes[::-1])
    verbose = [
        f"onednn_verbose,exec,cpu,matmul,x,undef,src_f32::blocked:ab:f0,,,{k}x8:8x6,0.5"
        for k in (3, 1, 2)
    ]
    log.raw(glued)
    log.raw("".join(verbose))
    for _ in range(3):
        run = opened(log)
        at = run.events.runs["at"].to_list()
        assert at == [*range(6)]
        nodes_there = run.timeline.filter(line=1)["node"].to_list()
        assert nodes_there == [node.name for node in nodes[::-1]]
        assert run.primitives["problem"].to_list() == ["3x8:8x6", "1x8:8x6", "2x8:8x6"]
