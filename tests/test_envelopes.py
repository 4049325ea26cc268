"""What launchers, containers and CI put around lines: each log in it is the log without it."""

from __future__ import annotations

import ctypes
import io
import itertools
import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from textwrap import dedent
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tflogscope
from tests.command import run_command
from tests.deep import first_quick
from tests.fuzzing import BUCKETS
from tests.samples import NAMES, raw_log, run_of
from tests.wrappers import (
    CUTTING,
    TELL_APART,
    WRAPPERS,
    in_fragments,
    journal_export,
    mixed,
    wrapped,
)
from tflogscope.api import LogRun
from tflogscope.errors import GrammarError, InputError, UsageError
from tflogscope.grammar.check import misfits
from tflogscope.grammar.envelopes import FIELD_TYPES
from tflogscope.grammar.load import load_grammar
from tflogscope.live.growing import Growing
from tflogscope.model.run import Run
from tflogscope.native.library import library
from tflogscope.sources.block import numbers_at
from tflogscope.sources.envelopes import Chain
from tflogscope.sources.pieces import Opened
from tflogscope.sources.recognise import recognise

GRAMMAR = load_grammar()
LOGS = (
    "function_mlp__tf2.13.1__vlog2",
    "eager_basics__tf2.13.1__vlog2",
    "py_function__tf2.21.0__vlog2",
    "retrace__tf2.20.0__vlog2",
    "cnn_fit__tf2.13.1__vlog0__vmodule",
    "torch_mlp__torch2.13.0__vlog2",
)
RANKS = (
    *LOGS[:4],
    "function_mlp__tf2.20.0__vlog2",
    "error__tf2.13.1__vlog2",
    "bf16__tf2.10.1__vlog2",
    "python_threads__tf2.21.0__vlog2",
)
_PLACES = ("source", "line", "end_line")


def opened(path: Path, log: bytes) -> LogRun:
    path.write_bytes(log)
    return tflogscope.open_log(path)


def same(run: Run, bare: Run, *, lines: bool = True) -> None:
    """All that a run says is what the log without its wrapper says."""
    first = [] if lines else ["first_line"]
    assert run.ops.drop(first).equals(bare.ops.drop(first))
    places = _PLACES[:1] if lines else _PLACES
    assert run.timeline.drop(places).equals(bare.timeline.drop(places))


# ---- rows ----------------------------------------------------------------------------------------


def test_each_row_reads_its_samples() -> None:
    assert len(GRAMMAR.envelopes) > 20
    assert [str(each) for each in misfits(GRAMMAR, [], [], GRAMMAR.envelopes.values())] == []


@pytest.mark.thorough
def test_a_sample_that_does_not_fit_its_row_is_said(tmp_path: Path) -> None:
    row = """
    [[envelope]]
    id = "ours"
    name = "our launcher"
    meaning = "rank and text"
    source = "its code"
    head = 'worker ${rank:uint} | '
    streams = ["rank"]
    rank = "rank"
      [[envelope.sample]]
      line = 'worker 3 : text'
      text = 'text'
      stream = ["3"]
    """
    own = tmp_path / "own"
    own.mkdir()
    (own / "ours.toml").write_text(row)
    with pytest.raises(GrammarError, match="does not match"):
        load_grammar(own)
    (own / "ours.toml").write_text(row.replace("3 : text", "3 | text"))
    lines = raw_log(LOGS[0]).splitlines()
    path = tmp_path / "run.log"
    path.write_bytes(b"".join(b"worker 3 | " + line + b"\n" for line in lines))
    run = tflogscope.open_log(path, grammar=own)
    assert run.summary.recorded.envelope == "our launcher"
    found = tflogscope.open_log(path).summary.recorded.envelope
    assert found == "a prefix, the same on each line"
    (own / "ours.toml").write_text(row.replace('rank = "rank"', 'rank = "task"'))
    with pytest.raises(GrammarError, match="no field 'task'"):
        load_grammar(own)


def test_the_row_of_the_docs_reads_its_sample(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "commands.md").read_text()
    (row,) = re.findall(r"(?m)^    \[\[envelope\]\]\n(?:    .*\n)+", text)
    (tmp_path / "own.toml").write_text(dedent(row))
    assert "fleet" in load_grammar(tmp_path).envelopes
    for kind in FIELD_TYPES:
        assert f"`{kind}`" in text.split("### Envelopes")[1]


# ---- one process ---------------------------------------------------------------------------------


# What is before lines of text, what cuts them, and objects are read in ways of their own.
KINDS = {"docker json-file": "object", "CRI": "cut"}


@pytest.mark.parametrize(
    ("name", "log"),
    first_quick(
        zip(WRAPPERS, itertools.cycle(LOGS), strict=False), lambda case: KINDS.get(case[0], "head")
    ),
)
def test_a_log_in_a_wrapper_is_the_log(tmp_path: Path, name: str, log: str) -> None:
    bare = run_of(log)
    run = opened(tmp_path / "wrapped.log", wrapped(raw_log(log), name))
    same(run, bare)
    assert run.coverage.drop("source", "bytes").equals(bare.coverage.drop("source", "bytes"))
    assert name.startswith(str(run.summary.recorded.envelope))


@pytest.mark.parametrize("log", NAMES)
def test_a_log_without_a_wrapper_has_none(log: str) -> None:
    assert recognise(raw_log(log)[: 1 << 16], GRAMMAR) in {(), None}


@pytest.mark.thorough
def test_lines_of_the_program_that_look_wrapped_stay(tmp_path: Path) -> None:
    raw = raw_log(LOGS[0])
    lines = raw.splitlines(keepends=True)
    said = [b"12: a step\n", b"[1] > text\n", b"(f pid=3) x\n", b'{"log":"x\\n","stream":"y"}\n']
    lines[100:100] = said * 50
    run = opened(tmp_path / "run.log", b"".join(lines))
    assert run.summary.recorded.envelope is None
    same(run, run_of(LOGS[0]), lines=False)


@pytest.mark.thorough
def test_the_wrapper_is_named_and_is_not_torn(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(wrapped(raw_log(LOGS[0]), "docker compose"))
    text = run_command("analyze", "--full", path).stdout.decode()
    assert re.search(r"wrapper +docker compose · container worker-0", text)
    assert "torn" not in text.split("Eager and graph")[0]


# ---- lines that were cut -------------------------------------------------------------------------


def given_numbers(opened: Opened) -> list[int]:
    return list(map(int, numbers_at(opened.numbers, np.arange(opened.given))))


@pytest.mark.thorough
@pytest.mark.parametrize("name", CUTTING)
def test_lines_that_the_wrapper_cut_are_put_together_again(tmp_path: Path, name: str) -> None:
    lines = raw_log(LOGS[0]).splitlines()
    long = b'2026-11-21 03:56:34.965368: I tensorflow/x.cc:1] "' + b"\\x" * 30_000 + b'"'
    lines[2000:2000] = [long] * 20
    raw = b"".join(line + b"\n" for line in lines)
    bare = opened(tmp_path / "bare.log", raw)
    made = wrapped(raw, name)
    run = opened(tmp_path / "wrapped.log", made)
    same(run, bare, lines=False)
    there = made.splitlines()
    for line, op in run.timeline.filter(mode="eager", kind="op").head(5)[["line", "op"]].rows():
        assert f"Executing op {op}".encode() in there[line - 1]
    (row,) = run.coverage.to_dicts()
    assert row["lines"] == len(there)
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
    assert row["torn"] == bare.coverage["torn"][0]


def test_pieces_of_both_channels_are_told_apart() -> None:
    chain = Chain([GRAMMAR.envelopes["cri"]])
    text = (
        b"2026-11-21T03:56:34Z stdout P one \n2026-11-21T03:56:34Z stderr F err\n"
        b"2026-11-21T03:56:34Z stdout P two \n2026-11-21T03:56:34Z stdout F three\n"
        b"2026-11-21T03:56:34Z stdout P goes on\n"
    )
    (found,) = chain.open(text)
    assert found.text == b"err\none two three\n"
    assert given_numbers(found) == [1, 0]
    (found,) = chain.open(b"2026-11-21T03:56:34Z stdout F .\n", 5)
    assert found.text == b"goes on.\n"
    assert given_numbers(found) == [4]


def test_a_line_of_json_that_is_broken_stays_as_it_is() -> None:
    chain = Chain([GRAMMAR.envelopes["message-json"]])
    text = b'{"message":"a\\"b"}\n{"message":\nno object\n{"other":1}\n{"message":"c\\nd"}\n'
    (found,) = chain.open(text)
    assert found.text == b'a"b\n{"message":\nno object\n{"other":1}\nc\nd\n'
    assert given_numbers(found) == [0, 1, 2, 3, 4, 4]
    assert (found.given, found.lines) == (6, 5)


def test_texts_of_the_journal_that_are_bytes_are_texts_and_null_is_counted(tmp_path: Path) -> None:
    """It writes bytes where there are control characters, and null for what is long."""
    lines = raw_log(LOGS[0]).decode(errors="replace").splitlines()[-600:]
    texts: list[Any] = [[*line.encode()] if at % 50 == 7 else line for at, line in enumerate(lines)]

    def journal(texts: list[Any]) -> Run:
        path = tmp_path / "journal.log"
        rest = {"_HOSTNAME": "n", "_PID": "7"}
        path.write_text("".join(json.dumps({"MESSAGE": each} | rest) + "\n" for each in texts))
        return tflogscope.open_log(path)

    bare = tmp_path / "run.log"
    bare.write_text("".join(f"{line}\n" for line in lines))
    run, log = journal(texts), tflogscope.open_log(bare)
    assert log.timeline.height
    mine, its = (each.timeline.drop("source", "work_us") for each in (run, log))
    assert mine.equals(its)
    run = journal([None if isinstance(each, list) else each for each in texts])
    [said] = run.findings.filter(id="lines-lost")["text"]
    assert "12 lines have no text" in said


@pytest.mark.thorough
def test_an_entry_of_the_journal_is_a_line(tmp_path: Path) -> None:
    """Of two processes; the names of fields come in any order."""
    logs = [raw_log(log) for log in RANKS[:2]]
    path = tmp_path / "run.log"
    path.write_bytes(journal_export(logs))
    there = path.read_text().split("\n")
    for rank in range(len(logs)):
        run = tflogscope.open_log(f"{path}#{rank}")
        same(run, run_of(RANKS[rank]), lines=False)
        assert run.summary.recorded.process == f"hostname node1, pid 471{rank}"
        for line in run.timeline.filter(mode="eager", kind="op")["line"]:
            assert re.match("MESSAGE=.* Executing op ", there[line - 1])
        (row,) = run.coverage.to_dicts()
        assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]


def test_an_entry_may_be_cut_or_binary() -> None:
    chain = Chain([GRAMMAR.envelopes["journal-export"]])
    text = b"_PID=1\nMESSAGE=one \n_LINE_BREAK=line-max\n\nMESSAGE=two\n_PID=1\n\n"
    text += b"_PID=1\nMESSAGE\n\\x05" + b"\\x00" * 7 + b"a\tb\x1bc\n\nMESSAGE=x\n_PID=1\n"
    found, last = *chain.open(text), *chain.rest()
    assert found.text == b"one two\na\tb\x1bc\n"
    assert last.text == b"x\n"
    assert found.key == last.key == (b"", b"1")
    assert given_numbers(found) + given_numbers(last) == [1, 9, 11]


# ---- several processes ---------------------------------------------------------------------------

# Two processes each way that tells them apart; more in lines of text and of JSON.
MIXES = [*((2, name) for name in TELL_APART), (8, "srun --label"), (4, "journalctl -o json")]


@pytest.mark.parametrize(("count", "name"), first_quick(MIXES))
def test_each_process_of_a_file_is_as_if_it_was_alone(
    tmp_path: Path, count: int, name: str
) -> None:
    logs = [raw_log(log) for log in RANKS[:count]]
    text, places = mixed(logs, name)
    (tmp_path / "run.log").write_bytes(text)
    for rank, log in enumerate(RANKS[:count]):
        bare = run_of(log)
        run = tflogscope.open_log(f"{tmp_path / 'run.log'}#{rank}")
        same(run, bare, lines=False)
        there = pl.Series(places[rank], dtype=pl.UInt64)
        assert run.timeline["line"].equals(there[bare.timeline["line"] - 1].alias("line"))
        assert run.coverage.drop("source", "bytes").equals(bare.coverage.drop("source", "bytes"))


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["[1,{}]<stderr>:", "[Thu Nov 26 01:01:27 2026][1,{}]<stderr>: "])
def test_lines_that_mpirun_mixed_are_put_together_again(tmp_path: Path, form: str) -> None:
    logs = [raw_log(log) for log in RANKS[:4]]
    path = tmp_path / "run.log"
    path.write_bytes(in_fragments(logs, form))
    there = path.read_bytes().split(b"\n")
    for rank in range(len(logs)):
        run = tflogscope.open_log(f"{path}#{rank}")
        same(run, run_of(RANKS[rank]), lines=False)
        (row,) = run.coverage.to_dicts()
        assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
        for line in run.timeline.filter(mode="eager", kind="op")["line"]:  # its last piece
            assert form.format(rank).encode() in there[line - 1]


@pytest.mark.thorough
def test_text_that_mpirun_has_no_room_for_is_counted(tmp_path: Path) -> None:
    """Many short lines, and 37 bytes before each: of these 4 kB some are left out."""
    tag = "Thu Nov 26 01:01:27 2026[1,{}]<stderr>:"
    logs = [raw_log(log) for log in RANKS[:4]]
    path = tmp_path / "run.log"
    path.write_bytes(in_fragments(logs, tag, room=8192))
    counts = []
    for rank, log in enumerate(logs):
        pieces = [log[begin : begin + 4096] for begin in range(0, len(log), 4096)]
        tags = [1 + piece[:-1].count(b"\n") for piece in pieces]
        long = [
            len(piece) + each * len(tag.format(0)) for piece, each in zip(pieces, tags, strict=True)
        ]
        counts.append(sum(each > 8192 for each in long))
        run, bare = tflogscope.open_log(f"{path}#{rank}"), run_of(RANKS[rank])
        said = f"{counts[rank]} lines have no text or are cut"
        assert [said in problem for problem in run.summary.recorded.problems] == [True][
            : counts[rank]
        ]
        named = ["mode", "kind", "op", "node", "duration_us"]
        rows = run.timeline[named].drop_nulls("duration_us")
        assert not Counter(rows.rows()) - Counter(bare.timeline[named].rows())
    assert 0 in counts
    assert sum(counts) > 5


@pytest.mark.thorough
def test_lines_of_a_job_that_was_killed_are_kept_and_counted(tmp_path: Path) -> None:
    """The last line of each rank never ends; most of these have other ranks' text behind them."""
    logs = [raw_log(log)[: 200_000 + 1237 * rank] for rank, log in enumerate(RANKS[:4])]
    assert all(not log.endswith(b"\n") for log in logs)
    path = tmp_path / "run.log"
    path.write_bytes(in_fragments(logs, "[1,{}]<stderr>:"))
    there = path.read_bytes().split(b"\n")
    for rank, log in enumerate(logs):
        run, bare = tflogscope.open_log(f"{path}#{rank}"), opened(tmp_path / "bare.log", log)
        same(run, bare, lines=False)
        assert run.coverage.drop("source", "bytes").equals(bare.coverage.drop("source", "bytes"))
        assert f"[1,{rank}]<stderr>:".encode() in there[run.timeline["line"].sort()[-1] - 1]


@pytest.mark.thorough
def test_lines_that_never_end_take_so_much_memory_at_most() -> None:
    """One of a rank becomes a line at 1 MB, those of all ranks together at 64 MB."""
    chain = Chain([GRAMMAR.envelopes["mpirun"]])
    given = waiting = 0
    for rank in range(100):
        text = b"[1,%d]<stderr>:%b[1,999]<stderr>:x\n" % (rank, b"x" * 1_000_000)
        given += sum(len(each.text) for each in chain.open(text))
    waiting = sum(len(each.text) for each in chain.rest())
    assert given + waiting == 100 * (1_000_000 + 1 + 2)
    assert 60_000_000 < waiting < 65 << 20


def test_many_lines_that_never_end_are_few_at_a_time() -> None:
    """All that wait are looked at again with each block: more than 4,096 are lines as they are."""
    chain = Chain([GRAMMAR.envelopes["journal-json"]])
    line = '{"_HOSTNAME":"","_PID":"%d","_LINE_BREAK":"line-max","MESSAGE":"x"}\n'
    given = chain.open("".join(line % pid for pid in range(10_000)).encode())
    waiting = chain.rest()
    assert sum(each.lines for each in given) + sum(each.lines for each in waiting) == 10_000
    assert sum(each.lines for each in waiting) <= 4096


def test_more_processes_than_any_job_has_are_refused(tmp_path: Path) -> None:
    record = next(line for line in raw_log(LOGS[0]).split(b"\n") if b"Executing op" in line)
    path = tmp_path / "run.log"
    path.write_bytes(b"".join(b"[%d] %b\n" % (rank // 2, record) for rank in range(8194)))
    with pytest.raises(InputError, match=r"4,097 processes; the limit is 4,096"):
        tflogscope.open_log(path)


@pytest.mark.parametrize("size", first_quick([(1 << 20,), (3 << 20,)]))
@pytest.mark.parametrize("behind", first_quick([("\nmore\n",), ("",), ("\n",)]))
def test_a_string_of_json_of_any_length_is_its_lines(
    tmp_path: Path, size: int, behind: str
) -> None:
    lines = raw_log(LOGS[0]).decode().splitlines(keepends=True)
    odd = '"quoted" \\ \\n \\\\u0041 \t ü 🎉 \x7f'
    text = "".join(f"{odd}{number} {line}" for number, line in enumerate(lines))
    text = "".join(lines) + (text * (1 + size // len(text)))[:size]
    for ascii_only in (True, False):
        path = tmp_path / "run.log"
        path.write_text(json.dumps(text, ensure_ascii=ascii_only) + behind)
        found = b"".join(
            block.text for block in tflogscope.sources.source.Source(str(path)).blocks()
        )
        if b"\n" in found[:-1]:  # one that is short is a line, until it is known what it is
            known = text + "\n" * (not text.endswith("\n")) + behind[1:]
            assert found.decode().split("\n") == known.split("\n")
    assert run_command("analyze", path).returncode == 0


@pytest.mark.thorough
def test_pieces_that_nothing_tells_apart_are_counted(tmp_path: Path) -> None:
    """`mpirun --timestamp-output` of Open MPI 4: what is left is of the logs."""
    logs = [raw_log(log) for log in RANKS[:2]]
    tag, path = "Thu Nov 26 01:01:27 2026<stderr>:", tmp_path / "run.log"
    path.write_bytes(in_fragments(logs, tag))
    run = tflogscope.open_log(path)
    assert "several-processes" in {limit.id for limit in run.summary.limits}
    count = len(re.findall(f".{re.escape(tag)}".encode(), path.read_bytes()))
    assert count > 100
    assert f": {count} lines have no text or are cut" in run.summary.recorded.problems[0]
    (row,) = run.coverage.to_dicts()
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
    named = ["mode", "kind", "op", "node"]
    there = pl.concat([run_of(log).timeline[named] for log in RANKS[:2]])
    rows = run.timeline[named].drop_nulls("op")
    assert rows.height > 0.8 * there.height
    assert not Counter(rows.rows()) - Counter(there.rows())


@pytest.mark.thorough
def test_jobs_of_two_containers_are_told_apart(tmp_path: Path) -> None:
    """Both have a rank 0, whose lines are in pieces."""
    logs = [raw_log(log)[:200_000] for log in RANKS[:4]]
    jobs = [in_fragments(logs[first : first + 2], "[1,{}]<stderr>:") for first in (0, 2)]
    path = tmp_path / "run.log"
    path.write_bytes(mixed(jobs, "docker compose")[0])
    for number, log in enumerate(logs):
        run = tflogscope.open_log(f"{path}#{number}")
        same(run, opened(tmp_path / "bare.log", log), lines=False)
        assert run.summary.recorded.process == f"container worker-{number // 2}, rank {number % 2}"


def test_records_in_one_text_are_lines(tmp_path: Path) -> None:
    place = "tensorflow/core/common_runtime/eager/execute.cc:1678"
    record = f"2026-11-21 03:56:34.965368: I {place}] Executing op Add in device /d:CPU:0"
    text = json.dumps({"message": f"{record}\n{record}\n{record}"})
    (row,) = opened(tmp_path / "run.log", f"{text}\n{text}\n".encode()).coverage.to_dicts()
    assert row["lines"] == sum(row[bucket] for bucket in BUCKETS) == 6


def two(tmp_path: Path, name: str = "mpirun --tag-output") -> str:
    path = tmp_path / "run.log"
    path.write_bytes(mixed([raw_log(log) for log in RANKS[:2]], name)[0])
    return str(path)


@pytest.mark.thorough
def test_commands_take_one_process_of_a_file(tmp_path: Path) -> None:
    path = two(tmp_path)
    text = run_command("analyze", path).stdout.decode()
    assert "Run 1 of 2 (lines name their process: rank 0)" in " ".join(text.split())
    assert "2 ranks Differences between ranks" in " ".join(text.split())
    facts = json.loads(run_command("analyze", path, "--json").stdout.decode())
    assert [run["recorded"]["process"] for run in facts["runs"]] == ["rank 0", "rank 1"]
    assert [run["recorded"]["sources"] for run in facts["runs"]] == [[f"{path}#0"], [f"{path}#1"]]
    assert f"Pass one ({path}#0)" in run_command("ops", path).stderr.decode()
    assert "eager" in run_command("diff", f"{path}#0", f"{path}#1").stdout.decode()
    assert "2 ranks" in run_command("ranks", path).stdout.decode()
    assert "of 2 runs fail" in run_command("check", path).stdout.decode()
    missing = run_command("ops", f"{path}#7")
    assert missing.returncode == 2
    assert f"{path}#0, {path}#1" in " ".join(missing.stderr.decode().split())
    same_file = run_command("ops", f"{path}#0", "-o", path, "--force")
    assert same_file.returncode == 2


@pytest.mark.thorough
def test_processes_without_a_rank_are_compared_by_their_names(tmp_path: Path) -> None:
    path = two(tmp_path, "docker compose")
    found = run_command("ranks", path, "--json").stdout.decode()
    (group,) = json.loads(found)["runs"]
    names = ["container worker-0", "container worker-1"]
    assert [each["rank"] for each in group["ranks"]] == names
    calls = {each["what"]: each["values"] for each in group["differences"]}["order of calls"]
    assert [calls[name].count("train") for name in names] == [4, 0]
    assert run_command("ranks", "-", stdin=Path(path).read_bytes()).stdout == (
        run_command("ranks", path).stdout
    )
    alone = run_command("ranks", f"{path}#0")
    assert alone.returncode == 2


@pytest.mark.thorough
def test_the_report_of_several_processes_is_an_overview(tmp_path: Path) -> None:
    path, page = two(tmp_path, "docker compose"), tmp_path / "report.html"
    assert run_command("report", path, "-o", str(page)).returncode == 0
    text = page.read_text()
    assert "Differences between ranks" in text
    pages = sorted((tmp_path / "report.html.runs").iterdir())
    assert len(pages) == 2
    assert "train" in pages[0].read_text()
    redacted = run_command("report", path, "-o", str(page), "--force", "--redacted")
    assert "expected one run, found 2" in redacted.stderr.decode()


def test_more_than_ten_ranks_are_told_apart(tmp_path: Path) -> None:
    raw = raw_log(LOGS[0])
    path = tmp_path / "run.log"
    path.write_bytes(wrapped(raw, "torchrun --tee", 10) + wrapped(raw, "torchrun --tee", 0))
    same(tflogscope.open_log(f"{path}#10"), run_of(LOGS[0]), lines=False)


@pytest.mark.thorough
def test_processes_of_a_file_are_collected_as_runs(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert run_command("collect", two(tmp_path), "-o", store).returncode == 0
    rows = tflogscope.open_store(store).runs.collect().sort("run")
    assert rows[["run", "rank", "state"]].rows() == [("run.0", 0, "done"), ("run.1", 1, "done")]


def test_open_log_says_that_it_adds_up(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="2 runs, which are added up: lines name"):
        tflogscope.open_log(two(tmp_path))
    with pytest.raises(UsageError, match="no process 'x'"):
        tflogscope.open_log(f"{two(tmp_path)}#x")


def test_a_process_that_begins_late_is_another_run_all_the_same(tmp_path: Path) -> None:
    logs = [raw_log(log) for log in RANKS[:2]]
    path = tmp_path / "run.log"
    path.write_bytes(b"".join(wrapped(log, "Ray", rank) for rank, log in enumerate(logs)))
    with pytest.warns(UserWarning, match="2 runs"):
        run = tflogscope.open_log(path)
    assert [part.name for part in run.parts] == [f"{path}#0", f"{path}#1"]


def test_processes_without_a_record_are_no_runs(tmp_path: Path) -> None:
    raw = raw_log(LOGS[0])
    made = wrapped(raw, "docker compose").splitlines(keepends=True)
    made[5:5] = [b"Attaching to worker-0, db-1\n", *[b"db-1  | ready\n"] * 30]
    run = opened(tmp_path / "run.log", b"".join(made))
    same(run, run_of(LOGS[0]), lines=False)
    (row,) = run.coverage.to_dicts()
    assert row["source"] == str(tmp_path / "run.log")
    assert row["lines"] == len(made)
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]


# ---- what has to hold for any text ---------------------------------------------------------------

_HEADS = st.sampled_from([b"[1,0]<stdout>: ", b"[1,0]<stderr>: ", b"[1,1]<stdout>: ", b"", b"[1,"])
_TEXTS = st.sampled_from([b"", b"x", b"2026-11-21 03:56:34.965368: I a.cc:1] m", b"[1,0]<std"])


def heads_and_texts(lines: list[tuple[bytes, bytes]]) -> Iterator[tuple[int, bytes]]:
    for number, (head, line) in enumerate(lines):
        yield number, re.sub(rb"^\[1,\d\]<std(?:out|err)>: ", b"", head + line)


@given(st.lists(st.tuples(_HEADS, _TEXTS), min_size=1, max_size=12))
def test_every_line_goes_to_one_process(lines: list[tuple[bytes, bytes]]) -> None:
    chain = Chain([GRAMMAR.envelopes["mpirun-5"]])
    text = b"".join(head + line + b"\n" for head, line in lines)
    for _ in range(2):  # the second time by the heads of the first
        found = chain.open(text)
        assert sum(each.lines for each in found) == len(lines)
        whole = dict(heads_and_texts(lines))
        for each in found:
            for number, line in zip(given_numbers(each), each.text.splitlines(), strict=True):
                assert line == whole.pop(number)
        assert whole == {}


@given(st.lists(st.sampled_from([b"a1 x", b"a22 x", b"a x", b"ab", b"", b"b333:y"]), min_size=1))
def test_the_library_takes_heads_off_as_a_pattern_does(lines: list[bytes]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    heads = [b"a\x01 ", b"b\x01:"]
    packed = b"".join(struct.pack("<H", len(head)) + head + b"\0\0" for head in heads)
    room, which = (ctypes.create_string_buffer(len(text)) for _ in range(2))
    count, read = ctypes.c_uint64(), ctypes.c_uint64()
    size = library().tflogscope_unwrap(
        *(text, len(text), packed, len(packed), room, which),
        *(ctypes.byref(count), ctypes.byref(read)),
    )
    matches = [re.match(rb"a\d+ |b\d+:", line) for line in lines]
    known = list(itertools.takewhile(bool, matches))
    rests = [line[match.end() :] for line, match in zip(lines, known, strict=False) if match]
    assert room.raw[:size] == b"".join(rest + b"\n" for rest in rests)
    assert count.value == len(known)
    assert list(which.raw[: len(known)]) == [line[:1] == b"b" for line in lines[: len(known)]]
    assert read.value == sum(len(line) + 1 for line in lines[: len(known)])


_JSON_TEXTS = st.one_of(
    st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"])),
    st.sampled_from(["", '"', "\\", "a\\", '\\"', "\\n", 'x="y", {}]', "é€😀 \t\x1b", "12 " * 9]),
)
_EMPTY = st.sampled_from(["", "7", 'a "b" \\', "{]", "log"])


@given(
    st.lists(st.tuples(_JSON_TEXTS, _EMPTY, st.integers(0, 999)), min_size=1, max_size=8),
    st.sampled_from(["docker-json", "google", "journal-json"]),
    st.booleans(),
)
def test_the_library_reads_json_as_python_does(
    lines: list[tuple[str, str, int]], row: str, go: bool
) -> None:
    made = []
    for text, other, number in lines:
        objects: dict[str, dict[str, object]] = {
            "docker-json": {"log": text + "\n", "stream": "stderr", "time": other, "n": [number]},
            "google": {
                "insertId": other,
                "resource": {"labels": {"pod_name": "p 1", "n": {"textPayload": other}}},
                "textPayload": text,
                "n": [number, True, None],
            },
            "journal-json": {"MESSAGE": text, "_PID": "7", "_HOSTNAME": "h", "x": other},
        }
        line = json.dumps(objects[row], ensure_ascii=go or number % 2 == 0)
        made.append(line.replace("<", "\\u003c").replace(">", "\\u003e") if go else line)
    chain = Chain([GRAMMAR.envelopes[row]])
    data = "".join(f"{line}\n" for line in made).encode()
    expected = "".join(f"{text}\n" for text, *_ in lines).encode()
    for _ in range(2):
        (opened,) = chain.open(data)
        assert opened.text == expected
        assert opened.lines == len(lines)
        assert opened.key == {"docker-json": (), "google": (b"p 1",)}.get(row, (b"h", b"7"))


@pytest.mark.thorough
def test_json_whose_lines_look_alike_needs_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first lines go through the library alone."""
    log = raw_log(NAMES[0])
    for name in ("docker json-file", "Google Cloud Logging", "journalctl -o json", "Fluent Bit"):
        text = wrapped(log, name)
        envelopes = recognise(text[:100_000], GRAMMAR)
        assert envelopes is not None
        chain = Chain(envelopes)
        assert [each.text for each in chain.open(text)] == [log]
        monkeypatch.setattr("tflogscope.sources.objects._read", None)
        assert [each.text for each in chain.open(text)] == [log]
        monkeypatch.undo()


@pytest.mark.parametrize("name", ["mpirun --tag-output", "docker compose", "journalctl -o json"])
def test_lines_of_processes_that_look_alike_need_no_pattern(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The library parts them, as the pattern and polars do."""
    text, _ = mixed([raw_log(log)[:50_000].rpartition(b"\n")[0] for log in RANKS[:3]], name)
    envelopes = recognise(text, GRAMMAR)
    assert envelopes is not None
    chain = Chain(envelopes)
    found = chain.open(text)
    monkeypatch.setattr("tflogscope.sources.objects._read", None)
    monkeypatch.setattr("tflogscope.sources.heads.Heads._split", None)
    again = chain.open(text, 7)
    assert len(again) == 3
    by_key = {each.key: each for each in found}
    for each in again:
        first = by_key[each.key]
        assert (each.text, each.given, each.lines) == (first.text, first.given, first.lines)
        assert given_numbers(each) == [7 + number for number in given_numbers(first)]


# ---- while it is written -------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("asked", "rank"), [(None, 1), ("0", 0)])
def test_a_log_that_grows_is_followed_as_one_process(asked: str | None, rank: int) -> None:
    """The first lines are of rank 1."""
    text, _ = mixed([raw_log(log) for log in RANKS[:2]], "mpirun --tag-output")
    stream = io.BytesIO(text)
    growing = Growing("run.log", [lambda: stream.read(50_000)], GRAMMAR, asked)
    growing.scan.wait()
    run = growing.run()
    assert run.summary.recorded.process == f"rank {rank}"
    with NamedTemporaryFile() as bare:
        bare.write(raw_log(RANKS[rank]))
        bare.flush()
        same(run, tflogscope.open_log(bare.name), lines=False)
    (row,) = run.coverage.to_dicts()
    assert row["lines"] == text.count(b"\n")
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
