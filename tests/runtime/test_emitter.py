"""The log that the runtime writes, analysed, says what really happened: in every dialect, on any
number of threads, and through every fault.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import tflogscope
from tests.command import run_command
from tests.runtime import emitted
from tflogscope.runtime.emitter.dialects import DIALECTS, SITES, dialect
from tflogscope.runtime.emitter.faults import FAULTS, faults_named
from tflogscope.runtime.emitter.output import Levels, Prefixes

ROOT = Path(__file__).parent.parent.parent
CLEAN = [("2.8", 2), ("2.13", 1), ("2.13", 8), ("2.16", 4), ("2.20", 16), ("2.21", 8)]
FAULTY = [
    *(("2.13", 8, (name,)) for name in FAULTS),
    ("2.20", 8, ("torn", "prints")),
    ("2.21", 16, ("prints", "bytes", "clock")),
    ("2.13", 3, tuple(name for name in FAULTS if name != "processes")),
]


def wrong(verdict: emitted.Verdict, release: str = "2.13") -> list[object]:
    """What the tables say otherwise than it was. NB: 2.8 prints no ends of eager ops."""
    found: list[object] = []
    for name, said, was, execution in verdict.wrong:
        if (release == "2.8" or execution["mode"] == "eager") and said == "unknown":
            continue
        found.append((name, said, was, execution))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(("release", "threads"), CLEAN)
def test_tables_are_the_truth(tmp_path: Path, release: str, threads: int) -> None:
    verdict = emitted.compare(*emitted.write(tmp_path, release, threads))
    assert verdict.executions > 800
    assert not verdict.missed
    assert not wrong(verdict, release)
    assert verdict.added == 0
    assert verdict.linked == verdict.primitives > 5
    assert verdict.coverage["unknown"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["2.13", "2.21"])
def test_times_of_the_truth_are_those_of_the_records(tmp_path: Path, release: str) -> None:
    log, truth = emitted.write(tmp_path, release, 2)
    told = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    times = {
        each["line"]: (each["start"], each["end"])
        for each in told
        if each["truth"] == "execution" and "line" in each
    }
    rows = tflogscope.open_log(str(log)).timeline.drop_nulls("end")
    found = rows.select("line", pl.col("start").dt.epoch("us"), pl.col("end").dt.epoch("us"))
    assert len(found) > 500
    assert [row for row in found.iter_rows() if times[row[0]] != row[1:]] == []


def test_only_the_first_product_by_gemm_is_slow(tmp_path: Path) -> None:
    _, truth = emitted.write(tmp_path, "2.13", 2)
    told = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    slow = [each["kind"] for each in told if each["truth"] == "primitive" and each["ms"] > 10]
    assert len(slow) == 1
    assert slow[0] in {"gemm_api", "inner_product"}


def test_a_running_constant_shows_its_dtype_only(tmp_path: Path) -> None:
    log, _ = emitted.write(tmp_path, "2.20", 2)
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if "= Const[" in line]
    assert any("Instantiating kernel" in line and "value=Tensor<type: " in line for line in lines)
    ran = [line.partition("= Const[")[2] for line in lines if "Process node" in line]
    assert {line[:9] for line in ran} == {"dtype=DT_"}
    assert not any("value=" in line or "_XlaHasReferenceVars" in line for line in ran)


@pytest.mark.thorough
def test_kernels_of_one_shape_at_once_are_told_apart_by_their_direction(tmp_path: Path) -> None:
    program = Path(__file__).parent / "programs" / "cnn_fit.py"
    log, truth = tmp_path / "run.log", tmp_path / "truth.jsonl"
    options = ("--threads", "8", "-o", log, "--truth", truth)
    run_command("simulate", program, *options).check_returncode()
    verdict = emitted.compare(log, truth)
    assert not verdict.missed
    assert not wrong(verdict)
    assert verdict.linked == verdict.primitives > 150


@pytest.mark.thorough
@pytest.mark.parametrize(("release", "threads", "faults"), FAULTY)
def test_through_faults_nothing_is_lost_and_nothing_wrong_is_certain(
    tmp_path: Path, release: str, threads: int, faults: tuple[str, ...]
) -> None:
    verdict = emitted.compare(*emitted.write(tmp_path, release, threads, faults))
    assert verdict.executions > 100
    assert not verdict.missed
    assert not verdict.falsely_certain
    said = [each for each in wrong(verdict, release) if "kill" not in faults]
    assert not said
    assert verdict.added == 0


def test_torn_records_are_really_torn(tmp_path: Path) -> None:
    log, truth = emitted.write(tmp_path, "2.13", 4, ("torn",))
    glued = re.findall(rb",\d+\.\d{1,9}20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", log.read_bytes())
    told = [json.loads(line) for line in truth.read_text().splitlines()]
    assert len(glued) > 3
    assert {each.get("torn") for each in told if each["truth"] == "line"} == {None, "A", "B", "C"}


def test_late_blocks_end_at_4096_bytes(tmp_path: Path) -> None:
    log, _ = emitted.write(tmp_path, "2.13", 4, ("late",))
    cut = re.search(rb"\n(onednn_verbose[^\n]*?)2026-11-21 [^\n]*\n", log.read_bytes())
    assert cut is not None


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow as tf\nw = tf.Variable(tf.random.normal((4, 4)))\n"
        "f = tf.function(lambda x: tf.nn.relu(x @ w))\nprint(f(tf.ones((2, 4))).shape)\n"
    )

    def text(*options: str) -> bytes:
        log = tmp_path / "run.log"
        command = [sys.executable, "-m", "tflogscope", "simulate", str(program), "-o", str(log)]
        done = subprocess.run([*command, "--force", *options], check=True, capture_output=True)
        assert done.stdout == b"(2, 4)\n"
        return log.read_bytes()

    first = text("--threads", "4")
    assert first == text("--threads", "4")
    assert first != text("--threads", "4", "--seed", "1")
    assert b"Process node" in first
    assert b"(2, 4)\n" in first


@pytest.mark.parametrize(("release", "level"), [("2.13", 1), ("2.13", 3), ("2.20", 1), ("2.8", 1)])
def test_levels(tmp_path: Path, release: str, level: int) -> None:
    shown = Prefixes(dialect(release), Levels(level))
    assert shown.shows("process")
    assert shown.shows("done") == (level >= 2)
    del tmp_path


def test_single_files_can_be_louder() -> None:
    shown = Prefixes(dialect("2.13"), Levels(0, {"executor": 2, "execute": 1}))
    assert shown.shows("done")
    assert shown.shows("executing")
    assert not shown.shows("running")
    assert not shown.shows("new kernel")


def test_each_statement_has_a_line_for_each_release() -> None:
    for site in SITES.values():
        assert len(site.lines) == len(DIALECTS)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("release", "head"),
    [
        ("2.8", "onednn_verbose,info,oneDNN v2.5.0 (commit N/A)"),
        ("2.13", "onednn_verbose,info,oneDNN v2.7.3 (commit N/A)"),
        ("2.16", "onednn_verbose,info,oneDNN v3.3.4 (commit N/A)"),
        ("2.21", "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)"),
    ],
)
def test_onednn_says_who_it_is(tmp_path: Path, release: str, head: str) -> None:
    log, _ = emitted.write(tmp_path, release)
    assert head in log.read_text(encoding="utf-8").splitlines()


@pytest.mark.thorough
def test_thread_ids_are_those_of_the_truth(tmp_path: Path) -> None:
    log, truth = emitted.write(tmp_path, "2.21", 4)
    told = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    threads = {each["line"]: each["thread"] for each in told if each["truth"] == "execution"}
    rows = tflogscope.open_log(str(log)).timeline.select("line", "thread").iter_rows()
    assert all(threads[line] == thread for line, thread in rows)


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["2.13", "2.21"])
def test_large_logs_without_running_anything(tmp_path: Path, release: str) -> None:
    log, script = tmp_path / "large.log", ROOT / "benchmarks" / "synthetic.py"
    command = [sys.executable, str(script), str(log), "--size", "12M", "--release", release]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.match(r"\d+ MB, (\d+) steps, (\d+) executions, (\d+) primitives", done.stdout)
    assert found is not None
    steps, executions, primitives = map(int, found.groups())
    run, data = tflogscope.open_log(str(log)), log.read_bytes()
    assert len(data) >= 12_000_000
    calls = run.timeline.filter(run.timeline["kind"] == "call")
    assert calls.height == 2 * (steps + 2)  # forward and backward; two steps come before
    assert run.timeline.height == data.count(b"Process node: ") + data.count(b"Executing op ")
    assert run.timeline.height > executions > 50 * steps > 0
    assert run.timeline["status"].unique().to_list() == ["done"]
    assert run.primitives.filter(run.primitives["event"] == "exec").height > primitives > 0
    assert run.coverage["unknown"].sum() == 0


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no dialect 1\.15"):
        dialect("1.15.0")
    with pytest.raises(ValueError, match="no fault flood"):
        faults_named(["flood"], 0, Prefixes(dialect("2.13"), Levels()))
