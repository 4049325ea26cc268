"""`collect`: many runs into a store that any reader of Parquet can read."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import tflogscope
from tests.deep import first_quick
from tests.dying import die, die_once
from tests.killing import ended_at
from tests.samples import path_of, run_of
from tflogscope.cli.main import main
from tflogscope.errors import (
    InputError,
    OutputError,
    TflogscopeError,
    TflogscopeWarning,
    UsageError,
)
from tflogscope.exports.schema import TABLES
from tflogscope.stores.collect import collect, collect_run
from tflogscope.stores.folder import LocalFolder, store_and_run
from tflogscope.stores.layout import RUN_COLUMNS
from tflogscope.stores.naming import fit, name_runs
from tflogscope.stores.pools import LOST, Processes

MLP, EAGER = "function_mlp__tf2.13.1__vlog2", "eager_basics__tf2.8.4__vlog2"
OTHER, TORCH = "py_function__tf2.13.1__vlog2", "torch_mlp__torch2.13.0__vlog2"
VERSION = tflogscope.__version__
TAKEN = ["run", *RUN_COLUMNS]


class Here(Processes):
    """A pool without processes."""

    def __init__(self) -> None:
        super().__init__(1)

    def run(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        for task in tasks:
            yield task, function(*task)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three real logs: two dates of one job, one of another."""
    return fill(tmp_path / "logs")


def fill(logs: Path) -> Path:
    for folder, rank, log in (("mlp/1", 0, MLP), ("mlp/2", 0, EAGER), ("old/1", 7, OTHER)):
        (logs / folder).mkdir(parents=True)
        shutil.copy(path_of(log), logs / folder / f"rank{rank}.log.zst")
    return logs


TEMPLATE = "{job}/{date}/rank{rank}.log*"


def collected(logs: Path, store: Path, template: str | None = TEMPLATE) -> list[dict[str, Any]]:
    return collect(name_runs([str(logs)], template, TAKEN), str(store), Here(), VERSION)[0]


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three logs, for tests that leave them as they are."""
    return fill(tmp_path_factory.mktemp("unchanged"))


@pytest.fixture(scope="module")
def whole(unchanged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `collected` makes of them, for tests that look at it."""
    store = tmp_path_factory.mktemp("whole") / "store"
    collected(unchanged, store)
    return store


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, for tests that change it."""
    return Path(shutil.copytree(whole, tmp_path / "store"))


def content(store: Path) -> dict[str, bytes]:
    files = [path for path in store.rglob("*") if path.is_file()]
    return {path.relative_to(store).as_posix(): path.read_bytes() for path in files}


def test_a_store_has_the_tables_of_each_run(unchanged: Path, whole: Path) -> None:
    store = tflogscope.open_store(whole)
    assert store.rows["run"].to_list() == ["mlp.1.0", "mlp.2.0", "old.1.7"]
    for id_ in ("mlp.1.0", "mlp.2.0", "old.1.7"):
        run = tflogscope.open_log(unchanged / "{}/{}/rank{}.log.zst".format(*id_.split(".")))
        for table in TABLES:
            frame: pl.DataFrame = getattr(run, table)
            lazy: pl.LazyFrame = getattr(store, table)
            assert lazy.collect_schema().names() == ["run", *frame.columns]
            here = lazy.filter(run=id_).drop("run").collect()
            assert here.equals(frame), f"{id_} {table}"
            assert here.schema == frame.schema
            assert getattr(store.run(id_), table).equals(here)


@pytest.mark.thorough
def test_a_row_of_runs_says_what_the_log_says(whole: Path) -> None:
    rows = tflogscope.open_store(whole).runs.collect()
    assert rows.columns == ["run", "job", "date", *RUN_COLUMNS]
    row = rows.row(0, named=True)
    assert (row["job"], row["date"], row["rank"], row["state"]) == ("mlp", "1", 0, "done")
    assert row["bytes"] == path_of(MLP).stat().st_size
    assert row["checksum"] == run_of(MLP).inputs[0].sha256
    assert row["start"] <= run_of(MLP).timeline["start"].min() <= row["end"]
    assert row["onednn"] == run_of(MLP).coverage["onednn_version"].item()
    assert "AVX" in row["build"]
    assert row["error"] is None


@pytest.mark.thorough
def test_duckdb_reads_a_store(whole: Path) -> None:
    connection = duckdb.connect()
    found = connection.execute(
        f"SELECT run, job, count(*) FROM read_parquet('{whole}/timeline/*/*.parquet', "
        f"hive_partitioning = true) JOIN '{whole}/runs/*.parquet' USING (run) "
        "WHERE state = 'done' GROUP BY run, job ORDER BY run"
    ).fetchall()
    assert found == [
        ("mlp.1.0", "mlp", run_of(MLP).timeline.height),
        ("mlp.2.0", "mlp", run_of(EAGER).timeline.height),
        ("old.1.7", "old", run_of(OTHER).timeline.height),
    ]


@pytest.mark.thorough
def test_what_is_there_is_not_done_again(logs: Path, store: Path) -> None:
    times = {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")}
    assert times
    collected(logs, store)
    again = {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")}
    assert again == times


@pytest.mark.thorough
def test_a_log_that_changed_replaces_its_run(logs: Path, store: Path, tmp_path: Path) -> None:
    shutil.copy(path_of(OTHER), logs / "mlp/1/rank0.log.zst")
    collected(logs, store)
    collected(logs, tmp_path / "anew")
    assert content(store).keys() == content(tmp_path / "anew").keys()
    run = tflogscope.open_store(store).run("mlp.1.0")
    assert run.ops.height == run_of(OTHER).ops.height


@pytest.mark.thorough
def test_one_bad_log_fails_its_run_alone(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "run", Here.run)
    (logs / "bad").mkdir()
    (logs / "bad" / "bad.log").write_text("hello\n")
    store = str(tmp_path / "store")
    assert main(["collect", str(logs / "bad"), str(logs / "mlp/1"), "-o", store]) == 1
    said = capsys.readouterr().err
    assert "bad: " in said
    assert "1 run in " in said
    rows = tflogscope.open_store(store).rows
    assert dict(rows.select("run", "state").rows()) == {"bad": "failed", "rank0": "done"}
    (error,) = rows.filter(state="failed")["error"]
    assert "no TensorFlow or oneDNN record" in error
    shutil.copy(path_of(EAGER), logs / "bad" / "bad.log")
    assert main(["collect", str(logs / "bad"), str(logs / "mlp/1"), "-o", store]) == 0
    assert "2 runs in " in (said := capsys.readouterr().err)
    assert said.endswith(" (1 unchanged)\n")
    assert tflogscope.open_store(store).run("bad").ops.height


def test_files_with_the_same_fields_are_one_run(tmp_path: Path) -> None:
    for name in ("a.log.1", "a.log.10", "a.log.2"):
        (tmp_path / name).write_bytes(b"")
    (run,) = name_runs([str(tmp_path)], "{name}.log.*", TAKEN)
    assert [Path(file).name for file in run.files] == ["a.log.1", "a.log.2", "a.log.10"]


@pytest.mark.thorough
def test_files_of_two_runs_are_not_added_up(logs: Path, tmp_path: Path) -> None:
    rows = collected(logs, tmp_path / "store", "{job}/*/rank{rank}.log*")
    states = {row["run"]: (row["state"], row["error"]) for row in rows}
    assert states["old.7"] == ("done", None)
    assert states["mlp.0"] == (
        "failed",
        "its files belong to 2 runs: TensorFlow started in each",
    )


def test_the_largest_runs_come_first(tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b", 3), ("c", 2)):
        (tmp_path / f"{name}.log").write_bytes(b"x" * size)
    assert [run.run for run in name_runs([str(tmp_path)], None, TAKEN)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("nothing/{x}.log", "none of 3 files matches"),
        ("no field", "needs fields"),
        ("{job", "needs fields"),
        ("{job}/{job}/rank{rank}.log*", "twice"),
        ("{state}/{date}/rank{rank}.log*", "is a column"),
    ],
)
def test_a_template_that_does_not_work_is_refused(logs: Path, template: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        name_runs([str(logs)], template, TAKEN)


def test_two_runs_with_one_id_are_refused(tmp_path: Path) -> None:
    for name in ("a.b/c", "a/b.c"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.log").write_bytes(b"")
    assert len(name_runs([str(tmp_path)], None, TAKEN)) == 2
    with pytest.raises(UsageError, match=r"two runs have the id 'a\.b\.c'"):
        name_runs([str(tmp_path)], "{x}/{y}.log", TAKEN)
    shutil.copy(tmp_path / "a/b.c.log", tmp_path / "a.b")
    with pytest.raises(UsageError, match=r"two runs have the id 'b\.c'"):
        name_runs([str(tmp_path)], None, TAKEN)


@pytest.mark.thorough
def test_an_id_may_have_what_urls_and_partitions_write_in_another_way(tmp_path: Path) -> None:
    name = "my run é 50%#1 a=b&c+d"
    shutil.copy(path_of(EAGER), tmp_path / f"{name}.log.zst")
    collect(name_runs([str(tmp_path)], None, TAKEN), str(tmp_path / "store"), Here(), VERSION)
    store = tflogscope.open_store(tmp_path / "store")
    assert set(store.ops.collect()["run"]) == {name}
    assert store_and_run(f"{store.name}#{name}") == (store.name, name)


NOT_IDS = ("a..b", "-o", ".hidden", "two\nlines", "a" * 240, "\x1b[31m", "a\udcff", "\u202e")


@pytest.mark.thorough
@pytest.mark.parametrize("name", NOT_IDS)
def test_a_name_that_can_not_be_an_id_gets_one(name: str, tmp_path: Path) -> None:
    log = tmp_path / "logs" / name / "run.log.zst"
    log.parent.mkdir(parents=True)
    shutil.copy(path_of(TORCH), log)
    runs = name_runs([str(log), str(path_of(TORCH))], "{folder}/*.log.zst", TAKEN)
    rows, _ = collect(runs, str(tmp_path / "store"), Here(), VERSION)
    assert [row["state"] for row in rows] == ["done", "done"]
    (id_,) = {row["run"] for row in rows} - {path_of(TORCH).parent.name}
    assert id_.isprintable()
    assert not id_.startswith((".", "-"))
    assert ".." not in id_
    assert tflogscope.open_store(tmp_path / "store").run(id_).primitives.height


@pytest.mark.thorough
def test_one_name_of_bytes_refuses_no_other_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("good.log.zst", os.fsdecode(b"-\xff\n.log.zst")):
        shutil.copy(path_of(EAGER), tmp_path / "logs" / name)
    rows, _ = collect(
        name_runs([str(tmp_path / "logs")], None, TAKEN), str(tmp_path / "store"), Here(), VERSION
    )
    assert {row["state"] for row in rows} == {"done"}


@pytest.mark.thorough
@pytest.mark.parametrize("left", ["one table", "no table", "a file half written"])
def test_a_first_collect_that_was_killed_is_taken_up(
    left: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "run", Here.run)
    store = tmp_path / "store"
    collect(name_runs([str(path_of(EAGER))], None, TAKEN), str(store), Here(), VERSION)
    whole = content(store)
    shutil.rmtree(store / "runs")
    for folder in store.iterdir():
        if left != "one table" or folder.name != "timeline":
            shutil.rmtree(folder)
    (store / f"timeline/run={EAGER}").mkdir(parents=True, exist_ok=True)
    if left == "a file half written":
        (store / f"timeline/run={EAGER}/.tflogscope-{8 * 'a1'}.tmp").write_bytes(b"PAR1")
    assert main(["collect", str(path_of(EAGER)), "-o", str(store)]) == 0
    assert content(store).items() >= whole.items()
    assert "1 run in" in (said := capsys.readouterr().err)
    assert "already" not in said


@pytest.mark.thorough
def test_a_store_that_can_not_be_written_says_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: LocalFolder, file: str, data: bytes) -> None:
        if file.startswith("ops/"):
            raise OutputError("No space left on device", file, "Nothing was written.")
        write(self, file, data)

    write = LocalFolder.write
    monkeypatch.setattr(LocalFolder, "write", full)
    monkeypatch.setattr(Processes, "run", Here.run)
    store = str(tmp_path / "store")
    assert main(["collect", str(path_of(EAGER)), "-o", store]) == 2
    said = capsys.readouterr().err
    assert "Nothing was written" not in said
    assert f"No run in {store}." in said
    monkeypatch.setattr(LocalFolder, "write", write)
    assert main(["collect", str(path_of(EAGER)), "-o", store]) == 0
    monkeypatch.setattr(LocalFolder, "write", full)
    assert main(["collect", str(path_of(MLP)), "-o", store]) == 2
    assert f"1 run in {store}. Run collect again to continue." in capsys.readouterr().err


@pytest.mark.thorough
def test_logs_that_can_not_be_read_refuse_no_other(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "run", Here.run)
    (tmp_path / "loop.log").symlink_to(tmp_path / "loop.log")
    closed = (logs / "mlp/2/rank0.log.zst").rename(logs / "mlp/2/2.log.zst")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(closed) and access(path, mode))
    long = "x" * 300
    wrong = [str(tmp_path / f"{name}.log") for name in ("loop", "gone", long)]
    store = str(tmp_path / "s")
    (logs / "mlp/1/rank0.log.zst").rename(logs / "mlp/1/1.log.zst")
    assert main(["collect", *wrong, str(logs), "-o", store]) == 1
    said = capsys.readouterr().err
    assert f"2: {closed}: can't be read: Permission denied" in said
    assert "2 runs in" in said
    assert "File name too long" in said
    assert "4 failed" in said
    rows = tflogscope.open_store(store).rows.filter(state="failed")
    assert rows["run"].to_list() == ["2", "gone", "loop", fit(long)]
    assert main(["collect", *wrong, "-o", str(tmp_path / "none")]) == 3  # nothing to begin with
    assert not (tmp_path / "none").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["missing", "cut off"])
def test_a_run_without_one_of_its_tables_is_collected_again(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "run", Here.run)
    command = ["collect", str(path_of(EAGER)), str(path_of(MLP)), "-o", str(tmp_path / "store")]
    assert main(command) == 0
    whole = content(tmp_path / "store")
    (file,) = (tmp_path / "store" / "ops" / f"run={MLP}").iterdir()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-10])
    assert main(command) == 0
    assert "(1 unchanged)" in capsys.readouterr().err
    assert content(tmp_path / "store").keys() == whole.keys()
    assert main(command) == 0
    assert "(2 unchanged)" in capsys.readouterr().err


@pytest.mark.thorough
def test_half_a_store_and_another_schema_are_said(logs: Path, store: Path) -> None:
    (file,) = (store / "ops/run=mlp.1.0").iterdir()
    file.unlink()
    opened = tflogscope.open_store(store)
    with pytest.raises(InputError, match="missing"):
        opened.query("SELECT * FROM ops")
    with pytest.raises(InputError, match="missing"):
        _ = opened.run("mlp.1.0").ops
    row = store / "runs/mlp.1.0.parquet"
    frame = pl.read_parquet(row)
    frame.with_columns(schema_version=pl.lit(99)).write_parquet(row)
    with pytest.raises(InputError, match="schema 99"):
        tflogscope.open_store(store)
    with pytest.raises(InputError, match="schema 99"):
        collected(logs, store)
    row.write_bytes(b"PAR1")
    with pytest.warns(TflogscopeWarning, match="not the row of a run"):
        assert tflogscope.open_store(store).rows.height == 2
    for each in (store / "runs").iterdir():
        if each != row:
            each.unlink()
    with pytest.raises(InputError, match="not the row of a run"):
        tflogscope.open_store(store)
    with pytest.raises(InputError, match="not a store"):
        tflogscope.open_store(logs)


@pytest.mark.thorough
def test_a_store_of_an_older_schema_is_said_by_all_that_read_it(
    logs: Path, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in (store / "runs").iterdir():
        pl.read_parquet(row).with_columns(schema_version=pl.lit(3)).write_parquet(row)
    before = content(store)
    for arguments in (
        ["query", str(store), "SELECT * FROM ops"],
        ["collect", str(logs), "-o", str(store), "--run", TEMPLATE],
        ["trend", str(store)],
        ["report", str(store), "-o", str(tmp_path / "page")],
    ):
        assert main(arguments) == 3
        assert "schema 3" in capsys.readouterr().err
    assert content(store) == before
    assert not (tmp_path / "page").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [b"PAR1", b"", b"no Parquet", None])
def test_a_damaged_row_refuses_no_collect(
    logs: Path,
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    damage: bytes | None,
) -> None:
    monkeypatch.setattr(Processes, "run", Here.run)
    row = store / "runs/mlp.1.0.parquet"
    row.write_bytes(row.read_bytes()[:-9] if damage is None else damage)
    assert main(["collect", str(logs), "--run", TEMPLATE, "-o", str(store)]) == 0
    capsys.readouterr()
    rows = tflogscope.open_store(store).rows
    assert rows["run"].to_list() == ["mlp.1.0", "mlp.2.0", "old.1.7"]
    assert rows["state"].unique().to_list() == ["done"]
    other = store / "runs/gone.parquet"  # of a run that is not collected now
    other.write_bytes(b"PAR1")
    assert len(collected(logs, store)) == 3
    with pytest.warns(TflogscopeWarning, match="gone.parquet: not the row of a run"):
        assert tflogscope.open_store(store).rows.height == 3


@pytest.mark.parametrize(
    "other", [{"rank": "zero"}, {"host": b"\xff"}, {"run": 7}, {"run": None}, {"rank": 1e300}]
)
def test_a_row_of_other_types_refuses_no_other_run(
    store: Path, capsys: pytest.CaptureFixture[str], other: dict[str, Any]
) -> None:
    row = store / "runs/mlp.1.0.parquet"
    frame = pl.read_parquet(row)
    for name, value in other.items():
        frame = frame.with_columns(pl.lit(value).alias(name))
    frame.write_parquet(row)
    with pytest.warns(TflogscopeWarning):
        assert tflogscope.open_store(store).rows["run"].to_list() == ["mlp.2.0", "old.1.7"]
    with warnings.catch_warnings(action="always"):
        assert main(["analyze", f"{store}#mlp.2.0"]) == 0
    assert "skipped" in capsys.readouterr().err
    frame = pl.read_parquet(store / "runs/mlp.2.0.parquet")
    frame.with_columns(pl.col("rank").cast(pl.String)).write_parquet(row)  # another's, but fits
    with pytest.warns(TflogscopeWarning):
        assert tflogscope.open_store(store).rows.height == 2


@pytest.mark.parametrize("above", ["date=2026-11-27", "run=7", "run=__HIVE_DEFAULT_PARTITION__"])
def test_the_path_above_a_store_means_nothing(store: Path, tmp_path: Path, above: str) -> None:
    moved = tmp_path / above / "store"
    moved.parent.mkdir()
    shutil.copytree(store, moved)
    ops = tflogscope.open_store(moved).ops.collect()
    assert ops.equals(tflogscope.open_store(store).ops.collect())
    assert ops["run"].null_count() == 0


def test_a_run_may_have_any_name(logs: Path, tmp_path: Path) -> None:
    name = "__HIVE_DEFAULT_PARTITION__"
    [log, *_] = sorted(each for each in logs.rglob("*") if each.is_file())
    (tmp_path / name).write_bytes(log.read_bytes())
    arguments = [str(tmp_path / name), "-o", str(tmp_path / "st"), "--workers", "1"]
    assert main(["collect", *arguments]) == 0
    assert set(tflogscope.open_store(tmp_path / "st").ops.collect()["run"]) == {name}


def test_a_directory_that_is_no_store_is_left_alone(logs: Path) -> None:
    before = content(logs)
    assert main(["collect", str(logs), "-o", str(logs)]) == 2
    assert content(logs) == before


@pytest.mark.thorough
def test_a_lost_process_takes_no_other_run_along(tmp_path: Path) -> None:
    tasks = [(str(tmp_path / "died"), value) for value in range(5)]
    assert sorted(found for _, found in Processes(2).run(die_once, tasks)) == [0, 1, 2, 3, 4]
    found = dict(Processes(2).run(die, [(value,) for value in range(4)]))
    assert found == {(0,): 0, (1,): 1, (2,): LOST, (3,): 3}


@pytest.mark.thorough
def test_a_collector_killed_midway_is_continued(
    unchanged: Path, whole: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-m", "tflogscope", "collect", str(unchanged), "-o", str(store)]
    command += ["--run", TEMPLATE, "--workers", "1"]
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    while started.poll() is None and not list(store.glob("runs/*.parquet")):
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):  # it may have been done before
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    collected(unchanged, store)
    for table in TABLES:
        tables = [getattr(tflogscope.open_store(each), table) for each in (store, whole)]
        one, other = (each.collect() for each in tables)
        assert one.equals(other)


_COLLECTS = """
import os, signal, sys
from tests.test_collect import TAKEN, VERSION, Here, collect, name_runs

runs = name_runs(sys.argv[2:], None, TAKEN)
os.kill(os.getpid(), signal.SIGSTOP)  # from here on, system calls count
collect(runs, sys.argv[1], Here(), VERSION)
"""
TWO = [str(path_of(name)) for name in (EAGER, OTHER)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a store of two runs."""
    store = tmp_path_factory.mktemp("written")
    collect(name_runs(TWO, None, TAKEN), str(store), Here(), VERSION)
    return content(store)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="needs ptrace as Linux has it")
@pytest.mark.parametrize("seed", range(int(os.environ.get("TFLOGSCOPE_KILLS", "2"))))
def test_a_collector_killed_at_any_system_call_leaves_whole_runs(
    seed: int, written: dict[str, bytes], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-c", _COLLECTS, str(store), *TWO]
    killed, calls = ended_at(command, random.Random(seed).randrange(1, 16_000))
    there = content(store) if store.exists() else {}
    named = {file: data for file, data in there.items() if not file.endswith(".tmp")}
    assert killed or len(named) == len(written)
    assert named.items() <= written.items(), calls  # each file is whole
    if any(file.startswith("runs/") for file in named):
        opened = tflogscope.open_store(store)
        assert opened.query("SELECT COUNT(*) AS n FROM ops")["n"].item() > 0
    else:
        assert not is_readable(store)
    collect(name_runs(TWO, None, TAKEN), str(store), Here(), VERSION)
    assert content(store).items() >= written.items()


def is_readable(store: Path) -> bool:
    try:
        tflogscope.open_store(store)
    except TflogscopeError:
        return False
    return True


@pytest.mark.thorough
def test_two_collectors_at_once_make_one_store(
    unchanged: Path, whole: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-m", "tflogscope", "collect", str(unchanged), "-o", str(store)]
    command += ["--run", TEMPLATE, "--workers", "1"]
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in "ab"]
    assert [each.wait() for each in both] == [0, 0]
    assert content(store).keys() == content(whole).keys()


def test_a_store_that_can_not_be_written_is_an_error(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (named, *_) = name_runs([str(logs)], TEMPLATE, TAKEN)
    with pytest.raises(TflogscopeError):
        collect_run(str(tmp_path / "file"), named, VERSION)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize(
    "number", first_quick((each,) for each in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP))
)
def test_no_worker_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    """A worker that has work for ever ends with its parent."""
    program = tmp_path / "parent.py"
    program.write_text(
        "import os, sys, time\nfrom tflogscope.stores.pools import Processes\n"
        # One write: two workers print at once, and print may write the end of the line by itself.
        "def work(number):\n    os.write(1, b'%d\\n' % os.getpid())\n    time.sleep(600)\n"
        "if __name__ == '__main__': list(Processes(2).run(work, [(0,), (1,)]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.send_signal(number)
    for _ in range(6000):
        if not any(Path(f"/proc/{each}").exists() for each in workers):
            return
        time.sleep(0.01)
    for each in workers:
        os.kill(each, signal.SIGKILL)
    pytest.fail("workers are left")
