"""URLs through fsspec, and a Dask cluster: the same store as from one process of this machine."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest

import tflogscope
from tests.samples import path_of
from tests.test_collect import TAKEN, VERSION, Here
from tflogscope.cli.main import main
from tflogscope.errors import InputError, UsageError
from tflogscope.exports.schema import TABLES
from tflogscope.stores.collect import collect
from tflogscope.stores.naming import name_runs
from tflogscope.stores.pools import Cluster

pytestmark = pytest.mark.thorough

NAMES = ("function_mlp__tf2.13.1__vlog2", "eager_basics__tf2.8.4__vlog2", "error__tf2.13.1__vlog2")


@pytest.fixture
def memory() -> Iterator[str]:
    """Logs in fsspec's memory."""
    system: Any = fsspec.filesystem("memory")
    for name in NAMES[:2]:
        system.pipe_file(f"/logs/{name}.log.zst", path_of(name).read_bytes())
    yield "memory://logs"
    system.rm("/", recursive=True)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    for name in NAMES:
        shutil.copy(path_of(name), tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tflogscope.Store:
    """What one process of this machine makes of them."""
    store = str(tmp_path_factory.mktemp("here") / "store")
    runs = name_runs([str(path_of(name)) for name in NAMES], None, TAKEN)
    collect(runs, store, Here(), VERSION)
    return tflogscope.open_store(store)


def same_tables(one: tflogscope.Store, other: tflogscope.Store) -> None:
    assert one.rows["run"].to_list() == other.rows["run"].to_list()
    for table in TABLES:
        frames = [getattr(each, table).drop("source", strict=False) for each in (one, other)]
        left, right = (frame.collect() for frame in frames)
        assert left.columns == right.columns
        left, right = (each.drop("subject", strict=False) for each in (left, right))
        assert left.equals(right), table


def test_logs_and_store_may_be_urls(memory: str, tmp_path: Path) -> None:
    runs = name_runs([memory], "{name}.log.zst", TAKEN)
    assert [each.files[0].startswith("memory://") for each in runs] == [True, True]
    collect(runs, "memory://store", Here(), VERSION)
    local = [str(path_of(name)) for name in NAMES[:2]]
    collect(name_runs(local, "{name}.log.zst", TAKEN), str(tmp_path), Here(), VERSION)
    remote, here = tflogscope.open_store("memory://store"), tflogscope.open_store(tmp_path)
    same_tables(remote, here)
    assert remote.run(NAMES[0]).coverage["source"].item() == f"memory:///logs/{NAMES[0]}.log.zst"
    assert remote.run(NAMES[0]).check().passed == here.run(NAMES[0]).check().passed
    statement = "SELECT run, COUNT(*) FROM ops GROUP BY run ORDER BY run"
    assert remote.query(statement).equals(here.query(statement))


def test_what_is_not_at_a_url_is_said(memory: str) -> None:
    with pytest.raises(InputError):
        name_runs(["memory://nowhere"], None, TAKEN)
    with pytest.raises(UsageError):
        name_runs(["nothing-that-exists://x"], None, TAKEN)
    with pytest.raises(InputError, match="not a store"):
        tflogscope.open_store(memory)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """A scheduler on this machine."""
    file = tmp_path / "scheduler.json"
    started = start_scheduler(file)
    yield str(file)
    started.terminate()
    started.wait()


def start_scheduler(file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    command += ["--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not file.exists():
        assert started.poll() is None
        time.sleep(0.01)
    return started


def worker(scheduler: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", scheduler]
    command += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def address(scheduler: str) -> str:
    return str(json.loads(Path(scheduler).read_text())["address"])


def test_a_cluster_makes_the_same_store_even_if_a_worker_is_killed(
    scheduler: str, logs: Path, tmp_path: Path, here: tflogscope.Store
) -> None:
    store = tmp_path / "store"
    workers = [worker(scheduler), worker(scheduler)]
    try:
        command = [sys.executable, "-m", "tflogscope", "collect", str(logs), "-o", str(store)]
        started = subprocess.Popen(
            [*command, "--scheduler", address(scheduler)], stderr=subprocess.DEVNULL
        )
        while started.poll() is None and not list(store.glob("runs/*.parquet")):
            time.sleep(0.01)
        workers[0].send_signal(signal.SIGKILL)
        assert started.wait() == 0
        same_tables(tflogscope.open_store(store), here)
        assert len(list(store.rglob("ops/*/*.parquet"))) == len(NAMES)
    finally:
        for each in workers:
            each.kill()
            each.wait()


def test_what_a_killed_scheduler_left_is_finished_by_the_next_collect(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], here: tflogscope.Store
) -> None:
    file, store = tmp_path / "scheduler.json", tmp_path / "store"
    scheduler = start_scheduler(file)
    working = worker(str(file))
    arguments = ["collect", str(logs), "-o", str(store)]
    command = [sys.executable, "-m", "tflogscope", *arguments, "--scheduler", address(str(file))]
    try:
        started = subprocess.Popen(command, stderr=subprocess.PIPE)
        while started.poll() is None and not list(store.glob("runs/*.parquet")):
            time.sleep(0.01)
        working.send_signal(signal.SIGSTOP)  # before it has done all
        scheduler.kill()
        _, said = started.communicate()
    finally:
        for each in (scheduler, working):
            each.kill()
            each.wait()
    assert started.returncode == 2
    assert b"the cluster failed" in said
    assert b"Finished runs are in the store." in said
    assert main([*arguments, "--workers", "1"]) == 0
    assert "unchanged" in capsys.readouterr().err
    same_tables(tflogscope.open_store(store), here)


def test_a_cluster_that_fails_is_one_error(scheduler: str) -> None:
    cluster = Cluster(address(scheduler))
    assert cluster.workers == 0
    started = worker(scheduler)
    try:
        with pytest.raises(UsageError, match="the cluster failed: invalid literal"):
            list(cluster.run(int, [("no number",)]))
    finally:
        started.kill()
        started.wait()


def test_a_scheduler_that_is_not_there_is_said(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tflogscope.stores.pools._PATIENCE", "1s")
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        Cluster("tcp://127.0.0.1:9")
    arguments = ["collect", str(logs), "-o", str(tmp_path / "store")]
    assert main([*arguments, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert main([*arguments, "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"]) == 2
    assert not (tmp_path / "store").exists()
