"""How fast, how large and how robust `tflogscope collect` is.

    python benchmarks/collect.py LOGS [--logs 64] [--runs 500] [--scratch DIRECTORY]

LOGS is a folder of logs; those that are largest, up to 1 MB packed, are taken. It prints

- the time of two processes against one, and of a Dask cluster of two workers against one worker, on
  this machine, and whether the stores are the same to the row;
- whether the store is the same if a process is killed midway, and if the collector is killed and
  started again;
- the memory of the collector with all its processes, against what one run needs by itself;
- the time and memory of a query of one op over a store of `--runs` simulated runs.

Needs `pip install 'tflogscope[dask]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

import tflogscope
from tflogscope.exports.schema import TABLES

LARGEST = 1_000_000  # bytes of a log, packed
PROGRAM = """
import numpy as np
import tensorflow as tf

layers = [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile("adam", "mse")
x = np.ones((640, 16), np.float32)
model.fit(x, x[:, :1], batch_size=32, verbose=0)
"""
ME = [sys.executable, "-m", "tflogscope"]


def collect(logs: list[Path], store: Path, *options: str) -> float:
    """Seconds that it takes to make a new store."""
    shutil.rmtree(store, ignore_errors=True)
    start = time.perf_counter()
    command = [*ME, "collect", *map(str, logs), "-o", str(store), *options]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def same(one: Path, other: Path) -> bool:
    """Whether two stores have the same rows in all tables."""
    left, right = tflogscope.open_store(one), tflogscope.open_store(other)
    if not left.rows.equals(right.rows):
        return False
    ids = left.done["run"].to_list()
    return all(
        getattr(left.run(id_), table).equals(getattr(right.run(id_), table))
        for id_ in ids
        for table in TABLES
    ) and len(list(one.rglob("*.parquet"))) == len(list(other.rglob("*.parquet")))


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[str]:
    """The address of a Dask cluster on this machine."""
    file = folder / f"scheduler{workers}.json"
    module = [sys.executable, "-m", "distributed.cli."]
    scheduler = [*module[:-1], f"{module[-1]}dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [*module[:-1], f"{module[-1]}dask_worker", "--nthreads", "1", "--no-nanny"]
    there = ["--no-dashboard", "--scheduler-file", str(file)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    commands = [[*scheduler, *there]] + [[*worker, *there]] * workers
    started = []
    try:
        for command in commands:
            started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment))
            while not file.exists():
                time.sleep(0.05)
        time.sleep(8)  # until the workers are there
        yield json.loads(file.read_text())["address"]
    finally:
        for each in reversed(started):
            each.terminate()
            each.wait()


def killed(logs: list[Path], store: Path, whom: Callable[[psutil.Process], psutil.Process]) -> None:
    """Collect, kill a process when a quarter of the runs are there, and collect what is missing."""
    shutil.rmtree(store, ignore_errors=True)
    command = [*ME, "collect", *map(str, logs), "-o", str(store), "--workers", "2"]
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while len(list(store.glob("runs/*.parquet"))) < len(logs) // 4:
        time.sleep(0.02)
    whom(psutil.Process(started.pid)).send_signal(signal.SIGKILL)
    if started.wait() != 0:
        time.sleep(3)  # its processes end by themselves
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def a_worker(collector: psutil.Process) -> psutil.Process:
    """One of its processes that has work."""
    return max(collector.children(), key=lambda each: each.memory_info().rss)


def peak(command: list[str]) -> tuple[float, float, float]:
    """Seconds, and the most memory, of a command and of all its processes together, in MB."""
    start, together = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        own = 0
        while started.poll() is None:
            try:
                process = psutil.Process(started.pid)
                own = max(own, process.memory_info().rss)
                every = [process, *process.children(recursive=True)]
                together = max(together, sum(each.memory_info().rss for each in every))
            except psutil.NoSuchProcess:
                pass
            time.sleep(0.02)
    return time.perf_counter() - start, own / 1e6, together / 1e6


def simulated(folder: Path, runs: int) -> tuple[list[Path], int]:
    """Logs of one program as if it had run on many days, and their bytes; 2 GB for 500 of them."""
    program, log = folder / "train.py", folder / "run.log"
    program.write_text(PROGRAM)
    subprocess.run([*ME, "simulate", str(program), "-o", str(log), "--force"], check=True)
    text = log.read_bytes()
    year = text[:4]
    (folder / "logs").mkdir(exist_ok=True)
    logs = []
    for number in range(runs):
        path = folder / "logs" / f"run{number:04}.log"
        path.write_bytes(text.replace(year + b"-", str(1900 + number).encode() + b"-"))
        logs.append(path)
    return logs, runs * len(text)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--logs", dest="count", type=int, default=64)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--scratch", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.scratch) as directory:
        folder = Path(directory)
        found = [path for path in chosen.logs.glob("*.log*") if path.stat().st_size <= LARGEST]
        logs = sorted(found, key=lambda path: path.stat().st_size)[-chosen.count :]
        if logs:
            speed(logs, folder)
        if chosen.runs:
            queries(folder, chosen.runs)


def speed(logs: list[Path], folder: Path) -> None:
    """Times, robustness and memory."""
    size = sum(path.stat().st_size for path in logs)
    print(f"{len(logs)} logs, {size / 1e6:.1f} MB packed", flush=True)
    one = collect(logs, folder / "one", "--workers", "1")
    two = collect(logs, folder / "two", "--workers", "2")
    print(f"processes: 1 {one:.1f} s, 2 {two:.1f} s, {one / two:.2f} x", flush=True)
    times = []
    for workers in (1, 2):
        with cluster(workers, folder) as address:
            times.append(collect(logs, folder / "dask", "--scheduler", address))
    print(f"dask: 1 {times[0]:.1f} s, 2 {times[1]:.1f} s, {times[0] / times[1]:.2f} x", flush=True)
    alike = same(folder / "one", folder / "two"), same(folder / "one", folder / "dask")
    print(f"same to the row: processes {alike[0]}, dask {alike[1]}", flush=True)
    killed(logs, folder / "killed", a_worker)
    print(f"a process killed: same store {same(folder / 'one', folder / 'killed')}", flush=True)
    killed(logs, folder / "killed", lambda collector: collector)
    print(f"the collector killed: same store {same(folder / 'one', folder / 'killed')}", flush=True)
    alone = max(peak([*ME, "export", str(log), "--table", "timeline"])[1] for log in logs[-5:])
    inputs = [*ME, "collect", *map(str, logs), "-o", str(folder / "c"), "--workers", "2"]
    _, own, together = peak(inputs)
    print(
        f"memory: the largest run {alone:.0f} MB, two processes and the collector "
        f"{together:.0f} MB, of these the collector {own:.0f} MB",
        flush=True,
    )


def queries(folder: Path, runs: int) -> None:
    """A query of one op over a store of simulated runs."""
    logs, size = simulated(folder, runs)
    seconds = collect(logs, folder / "many")
    stored = sum(path.stat().st_size for path in (folder / "many").rglob("*.parquet"))
    print(f"{runs} runs, {size / 1e9:.2f} GB: {seconds:.0f} s, {stored / 1e6:.0f} MB in the store")
    statement = "SELECT run, SUM(total_us) AS us FROM ops WHERE op = 'MatMul' GROUP BY run"
    for _ in range(5):
        took, own, _ = peak([*ME, "query", str(folder / "many"), statement])
        print(f"query of one op: {took:.2f} s, {own:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
