"""How long `tflogscope` takes, as ratios of what else is to be waited for.

LOG must not be compressed; 3 repeats if not said. `--against` runs each command with the
project as it was at a commit as well, installed into a temporary environment.

The commands run in turn, so that a busy machine is unfair to none. One run of each before the
first that counts brings the log into the page cache. The ratios are of the least times. `rg` is
left out where it is not installed. Needs Linux or another system with `os.wait4`, and room for
eight copies of the log.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NAIVE = Path(__file__).with_name("naive.py")
EXECUTOR = r"executor\.cc:[0-9]+\] (Process node|Synchronous kernel done|Async kernel done): [0-9]+"
# ru_maxrss is in KiB on Linux, in bytes on macOS.
BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024
ONEDNN_LINES = 200_000
COPIES = 8
SMALL = 1_000_000  # bytes
LOGS = 64  # of a collect


@dataclass(frozen=True)
class Cost:
    """What one run of a command took: seconds by the clock and of processors, and peak memory."""

    seconds: float
    processor: float
    peak_bytes: int


def run(command: list[str]) -> Cost:
    """Run a command and measure it. Exits with a message if it fails."""
    start = time.perf_counter()
    none = subprocess.DEVNULL
    # Compiled modules are kept, or what is installed without them is compiled in each run.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, stdin=none, stdout=none, stderr=none, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # `check` says with 1 that it found something
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * BYTES_PER_UNIT)


def install(commit: str, work: Path) -> str:
    """The Python of a new environment with the project as it was at a commit."""
    tree, python = work / "before", work / "venv" / "bin" / "python"
    tree.mkdir()
    archive = work / "before.tar"
    root = Path(__file__).parents[1]
    for command in (
        ["git", "-C", root, "archive", "--output", archive, commit],
        ["tar", "--extract", "--file", archive, "--directory", tree],
        [sys.executable, "-m", "venv", work / "venv"],
        [python, "-m", "pip", "install", "--quiet", tree],
    ):
        subprocess.run(command, check=True)
    return str(python)


def commands_on(log: Path, work: Path, before: str | None) -> dict[str, list[str]]:
    """What is measured: commands on the log, on others made of it, and on lines of oneDNN.

    With `before`, another Python, each of ours is there twice: `NAME, before` runs in that one.
    """
    # -P: not what is in the folder that this runs in.
    ours = [sys.executable, "-P", "-m", "tflogscope"]
    names = ("copies.log", "log.zst", "small.log", "onednn.log", "logs")
    copies, packed, small, onednn, logs = (work / name for name in names)
    # In pieces: a process starts with the peak memory of the one that started it.
    with zstd.open(packed, "wb") as out, log.open("rb") as file:
        shutil.copyfileobj(file, out)
    with copies.open("wb") as out:
        for _ in range(COPIES):
            with log.open("rb") as file:
                shutil.copyfileobj(file, out)
    logs.mkdir()
    with log.open("rb") as file:
        for number in range(LOGS):
            text = file.read(SMALL) + file.readline()
            (logs / f"{number}.log").write_bytes(text)
            if number == 0:
                small.write_bytes(text)
    with onednn.open("w") as out:
        out.writelines(onednn_lines())
    commands = {
        "imports": [sys.executable, "-c", "import polars, numpy, typer, rich"],
        "naive pass": [sys.executable, str(NAIVE), str(log)],
        "analyze": [*ours, "analyze", str(log)],
        "analyze copies": [*ours, "analyze", str(copies)],
        "pipe": ["sh", "-c", 'cat "$0" | "$@"', str(log), *ours, "analyze", "-"],
        "pipe copies": ["sh", "-c", 'cat "$0" | "$@"', str(copies), *ours, "analyze", "-"],
        "rg": ["rg", "-c", EXECUTOR, str(log)],
        "rg copies": ["rg", "-c", EXECUTOR, str(copies)],
        "analyze .zst": [*ours, "analyze", str(packed)],
        "report": [*ours, "report", str(log), "--force", "-o", str(work / "report.html")],
        "trace": [*ours, "trace", str(log), "--force", "-o", str(work / "trace.json")],
        "analyze 1 MB": [*ours, "analyze", str(small)],
        "check 1 MB": [*ours, "check", str(small)],
        "ops 1 MB": [*ours, "ops", str(small), "--force", "-o", str(work / "ops.csv")],
        "analyze oneDNN": [*ours, "analyze", str(onednn)],
        **{
            f"collect, {workers}": [
                "sh", "-c", 'rm -rf "$0"; "$@"', str(work / "store"), *ours, "collect", str(logs),
                "-o", str(work / "store"), "--workers", str(workers),
            ]
            for workers in (1, 2)
        },
    }  # fmt: skip
    if shutil.which("rg") is None:
        commands = {name: each for name, each in commands.items() if each[0] != "rg"}
    if before is None:
        return commands
    both: dict[str, list[str]] = {}
    for name, command in commands.items():
        both[name] = command
        if "tflogscope" in command:
            both[f"{name}, before"] = [before if part == ours[0] else part for part in command]
    return both


def onednn_lines() -> Iterator[str]:
    """Verbose lines of which each is different from all others."""
    chosen = random.Random(0)  # noqa: S311  a benchmark
    yield "onednn_verbose,info,oneDNN v2.7.3 (commit N/A)\n"
    for _ in range(ONEDNN_LINES):
        m, k, n = (chosen.randrange(1, 4000) for _ in range(3))
        yield (
            "onednn_verbose,exec,cpu,matmul,brg:avx512_core,undef,src_f32::blocked:ab:f0 "
            "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,attr-scratchpad:user ,,"
            f"{m}x{k}:{k}x{n}:{m}x{n},{chosen.uniform(0.001, 10):.6g}\n"
        )


def ratios(least: dict[str, float], peak: dict[str, int], size: int) -> Iterator[tuple[str, str]]:
    """What is said of the least seconds and the peak memory (bytes) of each command."""
    more = (COPIES - 1) * size
    if "rg" in least:
        byte = least["rg copies"] - least["rg"]
        for name, one in (("a byte", "analyze"), ("a byte through a pipe", "pipe")):
            yield name, f"{(least[f'{one} copies'] - least[one]) / byte:.2f} x rg's"
    for name in ("analyze .zst", "report", "trace"):
        yield name, f"{least[name] / least['analyze']:.2f} x analyze"
    for name in ("analyze 1 MB", "check 1 MB", "ops 1 MB", "analyze oneDNN"):
        yield name, f"{least[name] / least['imports']:.2f} x the imports"
    yield "analyze", f"{least['naive pass'] / least['analyze']:.2f} x the naive pass's speed"
    beyond = (peak["analyze copies"] - peak["analyze"]) / more
    yield "peak memory", f"{peak['analyze'] / 1e6:.0f} MB; beyond, {beyond:.3f} bytes a byte"
    yield "collect", f"{least['collect, 1'] / least['collect, 2']:.2f} x one worker's runs a second"


def main(log: Path, repeats: int, commit: str | None) -> None:
    """Measure all commands in turn and print times and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        before = install(commit, Path(folder)) if commit else None
        commands = commands_on(log, Path(folder), before)
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for turn in range(repeats + 1):
            for name, command in commands.items():
                cost = run(command)
                if turn:
                    costs[name].append(cost)
    size = log.stat().st_size
    print(f"{log.name}: {size / 1e6:.1f} MB, {repeats} runs each, in turn; the least")
    least = {name: min(each.seconds for each in all_) for name, all_ in costs.items()}
    processor = {name: min(each.processor for each in all_) for name, all_ in costs.items()}
    peak = {name: max(each.peak_bytes for each in all_) for name, all_ in costs.items()}
    for name in costs:
        print(
            f"  {name:<22} {least[name]:7.3f} s  processor {processor[name]:7.3f} s  "
            f"peak memory {peak[name] / 1e6:6.0f} MB"
        )
    for name, said in ratios(least, peak, size):
        print(f"{name}: {said}")
    for name in costs:
        if (old := f"{name}, before") in costs:
            clock, work = (of[old] / of[name] for of in (least, processor))
            print(f"{name}: {clock:.2f} x as fast as {commit}, by processor time {work:.2f} x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path)
    parser.add_argument("repeats", type=int, nargs="?", default=3)
    parser.add_argument("--against", metavar="COMMIT")
    asked = parser.parse_args()
    main(asked.log, asked.repeats, asked.against)
