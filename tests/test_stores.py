"""The commands on a store, and on logs of several runs."""

from __future__ import annotations

import builtins
import errno
import gzip
import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import tflogscope
from tests.deep import first_quick
from tests.samples import path_of, raw_log, run_of
from tests.test_collect import TAKEN, VERSION, Here
from tflogscope.cli.main import main
from tflogscope.errors import InputError, UsageError
from tflogscope.stores.collect import collect
from tflogscope.stores.naming import name_runs

MLP, NEWER = "function_mlp__tf2.13.1__vlog2", "function_mlp__tf2.20.0__vlog2"
EAGERLY, SESSION = "run_eagerly__tf2.13.1__vlog2", "tf1_session__tf2.13.1__vlog2"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four real runs, and one that failed."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "bad.log").write_text("hello\n")
    inputs = [str(path_of(name)) for name in (MLP, NEWER, EAGERLY, SESSION)]
    runs = name_runs([*inputs, str(folder / "bad.log")], None, TAKEN)
    collect(runs, str(folder / "runs"), Here(), VERSION)
    return str(folder / "runs")


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


@pytest.mark.thorough
def test_ops_and_export_have_the_run_first(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        json.loads(line)
        for line in printed(
            ["ops", store, "--format", "jsonl", "--where", "op = 'MatMul'"], capsys
        ).splitlines()
    ]
    assert {next(iter(row)) for row in rows} == {"run"}
    assert {row["run"] for row in rows} == {MLP, NEWER, EAGERLY, SESSION}
    assert {row["op"] for row in rows} == {"MatMul"}
    one = printed(["export", f"{store}#{MLP}", "--table", "nodes", "--format", "csv"], capsys)
    log = printed(["export", str(path_of(MLP)), "--table", "nodes", "--format", "csv"], capsys)
    assert one == log
    runs = printed(["export", store, "--table", "runs", "--format", "csv"], capsys)
    assert runs.startswith("run,host,pid,rank,start,")
    assert main(["export", f"{store}#{MLP}", "--table", "runs"]) == 2


@pytest.mark.thorough
def test_query_reads_the_table_of_runs_too(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    statement = (
        "SELECT run, COUNT(*) AS n FROM timeline JOIN runs USING (run) "
        "WHERE onednn IS NOT NULL GROUP BY run ORDER BY run"
    )
    text = printed(["query", store, statement, "--format", "json"], capsys)
    found = {row["run"]: row["n"] for row in json.loads(text)["rows"]}
    assert found[MLP] == run_of(MLP).timeline.height
    assert main(["query", store, "SELECT * FROM nothing"]) == 2


@pytest.mark.thorough
def test_a_table_of_one_run_needs_no_other(store: str) -> None:
    plan = tflogscope.open_store(store).ops.filter(pl.col("op") == "MatMul").select("run").explain()
    assert "PROJECT 1/" in plan or "PROJECT 2/" in plan


@pytest.mark.thorough
@pytest.mark.parametrize("log", [MLP, EAGERLY, SESSION])
def test_check_of_a_run_is_that_of_its_log(
    store: str, log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["check", str(path_of(log)), "--json"])
    of_log = json.loads(capsys.readouterr().out)
    assert json.loads(printed(["check", f"{store}#{log}", "--json"], capsys, code)) == of_log


@pytest.mark.thorough
def test_check_has_one_verdict_and_a_suite_for_each_run(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(["check", store, "-o", str(tmp_path / "all.xml")], capsys, 1)
    assert f"ok      {MLP}" in text
    root = ET.fromstring((tmp_path / "all.xml").read_text())
    failures = {suite.attrib["name"]: suite.attrib["failures"] for suite in root}
    assert failures[f"tflogscope check {MLP}"] == "0"
    assert failures[f"tflogscope check {EAGERLY}"] == "1"
    assert failures["tflogscope check bad"] == "1"
    for name in ("sarif", "github"):
        assert EAGERLY in printed(["check", store, "--format", name], capsys, 1)
    facts = json.loads(printed(["check", store, "--json"], capsys, 1))
    assert [run["run"] for run in facts["runs"] if run["passed"]]
    assert main(["check", store, "--write-baseline", str(tmp_path / "known.json")]) == 2


@pytest.mark.thorough
def test_diff_of_two_runs_is_that_of_their_logs(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = printed(["diff", f"{store}#{MLP}", f"{store}#{NEWER}", "--json"], capsys)
    logs = printed(["diff", str(path_of(MLP)), str(path_of(NEWER)), "--json"], capsys)
    assert json.loads(runs) == json.loads(logs)


def test_the_report_of_a_store_leads_to_a_page_for_each_run(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "all.html"
    printed(["report", store, "-o", str(page)], capsys)
    text = page.read_text()
    for run in (MLP, NEWER, EAGERLY, SESSION):
        assert f'href="all.html.runs/{run}.html"' in text
        own = (tmp_path / "all.html.runs" / f"{run}.html").read_text()
        assert "sha256-" in own.split("script-src", 1)[1][:20]
        assert "src=" not in own
    assert "Ranks" not in text  # these runs are of none
    assert "_MklMatMul" in (tmp_path / "all.html.runs" / f"{MLP}.html").read_text()
    assert "no TensorFlow or oneDNN record" in text
    printed(["report", f"{store}#{MLP}", "-o", str(tmp_path / "one.html")], capsys)
    assert 'id="timeline"' in (tmp_path / "one.html").read_text()


def test_the_pages_of_a_store_are_never_taken_for_redacted(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", store, "-o", str(page), "--redacted"]) == 2
    assert "redact LOG" in capsys.readouterr().err
    assert not page.exists()


def test_a_store_in_which_all_runs_failed_has_empty_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.log").write_text("hello\n")
    name = str(tmp_path / "runs")
    collect(name_runs([str(tmp_path / "bad.log")], None, TAKEN), name, Here(), VERSION)
    assert printed(["trend", name, "--format", "json"], capsys).count("run") <= 1
    assert main(["report", name, "-o", str(tmp_path / "report.html")]) == 0
    names = tflogscope.open_store(name).ops.collect_schema().names()
    assert names == ["run", *run_of(MLP).ops.columns]


def test_half_a_store_is_not_taken_for_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half" / "timeline" / "run=a").mkdir(parents=True)
    assert main(["ops", str(tmp_path / "half")]) == 3
    assert "Run tflogscope collect again, into the same store" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trend {}", "ops {}", "analyze {}#a", "collect LOG -o {}"])
def test_a_store_that_may_not_be_read_is_not_taken_for_none(
    store: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests may run as root, whom no permission stops."""
    scanned = os.scandir

    def refuse(path: str | Path) -> Any:
        if Path(path).is_relative_to(store):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return scanned(path)

    monkeypatch.setattr(os, "scandir", refuse)
    words = [word.replace("LOG", str(path_of(MLP))) for word in command.format(store).split()]
    assert main(words) == 3
    assert capsys.readouterr().err == (
        f"tflogscope: {store}: can't be read: Permission denied\n"
        "Get permission to read it, or a copy.\n"
    )


@pytest.mark.parametrize("at", ["stat", "open"])
def test_a_table_that_may_not_be_read_is_not_called_missing(
    store: str, at: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests may run as root, whom no permission stops."""
    module = os if at == "stat" else builtins
    before = getattr(module, at)

    def refuse(path: Any, *rest: Any, **more: Any) -> Any:
        if f"{store}/ops/" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return before(path, *rest, **more)

    monkeypatch.setattr(module, at, refuse)
    assert main(["ops", store]) == 3
    said = capsys.readouterr().err
    assert "can't be read: Permission denied\nGet permission" in said
    assert "Remove" not in said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("damage", "command"),
    [
        ("empty", "ops {}"),
        ("empty", "query {} SQL"),
        ("half", "trend {}"),
        ("half", "report {} -o {}.html"),
        ("pages", "report {} -o {}.html"),
        ("pages", "trend {}"),
        ("schema", "query {} SQL"),
        ("schema", "ops {}"),
    ],
)
def test_a_damaged_file_is_no_fault_of_the_statement(
    store: str, tmp_path: Path, command: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "runs"
    shutil.copytree(store, copy)
    for file in copy.glob(f"*/run={MLP}/*.parquet"):
        data = file.read_bytes()
        pages = data[:4] + b"?" * (len(data) // 4) + data[len(data) // 4 + 4 :]
        schema = data[:-300] + bytes(byte ^ 90 for byte in data[-300:-260]) + data[-260:]
        half = data[: len(data) // 2]
        file.write_bytes({"empty": b"", "half": half, "pages": pages, "schema": schema}[damage])
    words = command.format(copy, copy).split()
    assert main([word.replace("SQL", "SELECT * FROM timeline") for word in words]) == 3
    said = capsys.readouterr().err
    assert "damaged" in said
    assert damage in ("pages", "schema") or f"Remove {copy}/runs/{MLP}.parquet" in said
    (copy / "runs" / f"{MLP}.parquet").unlink()
    collect(name_runs([str(path_of(MLP))], None, TAKEN), str(copy), Here(), VERSION)
    assert tflogscope.open_store(copy).timeline.collect().height


@pytest.mark.thorough
def test_parts_in_another_order_than_that_of_their_times_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = raw_log(MLP).splitlines(keepends=True)
    halves = [tmp_path / "one.log", tmp_path / "two.log"]
    halves[0].write_bytes(b"".join(lines[: len(lines) // 2]))
    halves[1].write_bytes(b"".join(lines[len(lines) // 2 :]))
    for command in ("analyze", "ops", "timeline"):
        assert main([command, *map(str, reversed(halves))]) == 0
        said = f"unless the parts are passed in order: {halves[0]} {halves[1]}\n"
        assert capsys.readouterr().err.endswith(said)
        assert main([command, *map(str, halves)]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "asked",
    first_quick(
        (words,)
        for words in (["analyze"], ["timeline"], ["explain", "--op", "MatMul", "--json"], ["trace"])
    ),
)
def test_a_run_of_a_store_is_shown_as_its_log(
    store: str, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    for name in (MLP, NEWER, EAGERLY):
        of_run = printed([*asked, f"{store}#{name}"], capsys)
        assert of_run == printed([*asked, str(path_of(name))], capsys)


def test_what_does_not_fit_a_store_says_so(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", store]) == 2
    assert "STORE#ID" in capsys.readouterr().err
    assert main(["ops", store, str(path_of(MLP))]) == 2
    capsys.readouterr()
    assert main(["ops", f"{store}#nothing"]) == 2
    hint = capsys.readouterr().err.splitlines()[1]
    assert hint.startswith("It has 5 runs: bad, ")
    assert hint.endswith(", …")
    assert main(["ops", f"{store}#bad"]) == 2
    with pytest.raises(UsageError, match="failed"):
        tflogscope.open_store(store).run("bad")


# ---- several files -------------------------------------------------------------------------------


def halves(tmp_path: Path, name: str) -> list[str]:
    text = raw_log(name)
    middle = text.index(b"\n", len(text) // 2) + 1
    files = [tmp_path / "run.log.1", tmp_path / "run.log.2"]
    for file, part in zip(files, (text[:middle], text[middle:]), strict=True):
        file.write_bytes(part)
    return [str(file) for file in files]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("log", "why"),
    [
        (MLP, "the times of one follow the other's"),
        ("function_mlp__tf2.13.1__vlog2__tid", "they share thread ids"),
    ],
)
def test_parts_of_one_run_are_added_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], log: str, why: str
) -> None:
    files = halves(tmp_path, log)
    assert f"2 parts of one run ({why})" in " ".join(printed(["analyze", *files], capsys).split())
    facts = json.loads(printed(["analyze", *files, "--json"], capsys))
    assert (facts["taken_as"], facts["why"]) == ("parts of one run", why)
    assert facts["recorded"]["lines"] == raw_log(log).count(b"\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("log", "seed"),
    [(MLP, 0), ("retrace__tf2.20.0__vlog2", 1), ("eager_basics__tf2.8.4__vlog2", 2), (SESSION, 3)],
)
def test_a_log_cut_anywhere_is_one_run(tmp_path: Path, log: str, seed: int) -> None:
    random = Random(seed)
    lines = raw_log(log).splitlines(keepends=True)
    cuts = sorted(random.sample(range(1, 50 if seed == 0 else len(lines)), 3))
    files = [tmp_path / f"run.log.{number}" for number in range(4)]
    for file, start, end in zip(files, [0, *cuts], [*cuts, None], strict=True):
        text = b"".join(lines[start:end])
        file.write_bytes(gzip.compress(text) if random.random() < 0.5 else text)
    (part,) = tflogscope.open_log(*files).parts
    assert len(part.sources) == len(files)


def test_parts_of_two_runs_are_put_together(tmp_path: Path) -> None:
    for run, log in (("a", MLP), ("b", "error__tf2.13.1__vlog2")):
        (tmp_path / run).mkdir()
        halves(tmp_path / run, log)
    with pytest.warns(UserWarning, match="these are 2 runs, which are added up"):
        parts = tflogscope.open_log(tmp_path).parts
    assert [{Path(each.name).parent.name for each in part.sources} for part in parts] == [
        {"a"},
        {"b"},
    ]


@pytest.mark.thorough
def test_two_runs_are_never_added_up(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path_of(MLP)), str(path_of(NEWER))]
    text = printed(["analyze", *files], capsys)
    assert "Run 1 of 2 (TensorFlow started in each)" in text
    assert "Run 2 of 2 (TensorFlow started in each)" in text
    runs = json.loads(printed(["analyze", *files, "--json"], capsys))["runs"]
    assert [run["recorded"]["sources"] for run in runs] == [[file] for file in files]
    assert main(["ops", *files]) == 2
    assert "expected one run, found 2" in capsys.readouterr().err
    facts = json.loads(printed(["check", *files, "--json"], capsys))
    assert [run["run"] for run in facts["runs"]] == files
    threads = [str(path_of("function_mlp__tf2.13.1__vlog2__tid"))]
    threads += [str(path_of("python_threads__tf2.13.1__vlog2"))]
    assert main(["analyze", *threads]) == 0
    assert "Run 2 of 2" in capsys.readouterr().out


def test_two_streams_of_one_process_are_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = raw_log("function_mlp__tf2.20.0__vlog2").splitlines(keepends=True)
    verbose = [line for line in lines if line.startswith(b"onednn_verbose")]
    assert len(verbose) > 10
    (tmp_path / "out.log").write_bytes(b"".join(verbose))
    records = [line for line in lines if b"onednn_verbose" not in line]
    (tmp_path / "err.log").write_bytes(b"".join(records))
    text = " ".join(printed(["analyze", str(tmp_path)], capsys).split())
    assert "2 parts of one run (only one has TensorFlow executions)" in text


@pytest.mark.thorough
def test_two_processes_at_one_time_are_two_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = raw_log(SESSION).splitlines(keepends=True)[99:]  # without what says that they start
    text = b"".join(line for line in lines if b"_verbose,info" not in line)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(text)
    assert "Run 2 of 2 (their times overlap)" in printed(["analyze", str(tmp_path)], capsys)


def test_a_store_of_another_name_for_repeated_time_is_read(tmp_path: Path) -> None:
    collect(name_runs([str(path_of(MLP))], None, TAKEN), str(tmp_path / "s"), Here(), VERSION)
    (file,) = (tmp_path / "s" / "avoidable").rglob("*.parquet")
    written = pl.read_parquet(file)
    written.rename({"repeats_us": "in_loops_us"}).write_parquet(file)
    (name,) = tflogscope.open_store(tmp_path / "s").done["run"]
    read = tflogscope.open_store(tmp_path / "s").run(name).avoidable
    assert read["repeats_us"].equals(written["repeats_us"])


def test_a_store_of_version_4_is_read() -> None:
    old = tflogscope.open_store(Path(__file__).parent / "stores" / "version4")
    name = "eager_basics__tf2.13.1__vlog2"
    today = tflogscope.open_log(path_of(name))
    ops = old.ops.drop("run").collect()
    assert ops.columns == today.ops.columns
    assert ops["op"].sort().equals(today.ops["op"].sort())
    assert ops["steady_us"].sum() == pytest.approx(today.ops["steady_us"].sum())
    assert not ops["work_us"].count()
    assert old.timeline.collect().height == today.timeline.height
    assert old.ledger.collect().is_empty()
    assert old.run(name).findings.height == old.run(name).avoidable.height
    with pytest.raises(InputError, match="its table summary can't be read"):
        _ = old.run(name).summary
