"""How long `tflogscope` takes, beside other ways to read the same log.

usage: python speed.py LOG [REPEATS]    (an uncompressed log; 5 repeats if not said)

The commands run in turn, so that a busy machine is unfair to none. One run of each before the
first that counts brings the log into the page cache. `rg` is left out where it is not installed.
Needs Linux or another system with `os.wait4`.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
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
    import zstandard as zstd

NAIVE = Path(__file__).with_name("naive.py")
EXECUTOR = r"executor\.cc:[0-9]+\] (Process node|Synchronous kernel done|Async kernel done): [0-9]+"
# ru_maxrss is in KiB on Linux, in bytes on macOS.
BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024
ONEDNN_LINES = 200_000


@dataclass(frozen=True)
class Cost:
    """What one run of a command took: seconds by the clock and of processors, and peak memory."""

    seconds: float
    processor: float
    peak_bytes: int


def run(command: list[str]) -> Cost:
    """Run a command and measure it. Exits with a message if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * BYTES_PER_UNIT)


def commands_on(log: Path, work: Path) -> dict[str, list[str]]:
    """What is measured: commands on the log, on others made of it, and on lines of oneDNN."""
    ours = [sys.executable, "-m", "tflogscope"]
    packed, small, onednn = (work / name for name in ("log.zst", "small.log", "onednn.log"))
    # In pieces: a process starts with the peak memory of the one that started it.
    with log.open("rb") as file, zstd.open(packed, "wb") as out:
        shutil.copyfileobj(file, out)
    with log.open("rb") as file:
        start = file.read(1_000_000)
    small.write_bytes(start[: start.rfind(b"\n") + 1])
    with onednn.open("w") as out:
        out.writelines(onednn_lines())
    commands = {
        "analyze": [*ours, "analyze", str(log)],
        "naive pass": [sys.executable, str(NAIVE), str(log)],
        "rg -c": ["rg", "-c", EXECUTOR, str(log)],
        "analyze .zst": [*ours, "analyze", str(packed)],
        "report": [*ours, "report", str(log), "--force", "-o", str(work / "report.html")],
        "trace": [*ours, "trace", str(log), "--force", "-o", str(work / "trace.json")],
        "analyze 1 MB": [*ours, "analyze", str(small)],
        "analyze oneDNN": [*ours, "analyze", str(onednn)],
    }
    return commands if shutil.which("rg") else {k: v for k, v in commands.items() if k != "rg -c"}


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


def main(log: Path, repeats: int) -> None:
    """Measure all commands in turn and print medians and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        commands = commands_on(log, Path(folder))
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for turn in range(repeats + 1):
            for name, command in commands.items():
                cost = run(command)
                if turn:
                    costs[name].append(cost)
    size = log.stat().st_size
    print(f"{log.name}: {size / 1e6:.1f} MB, {repeats} runs each, in turn; medians")
    medians = {}
    for name, measured in costs.items():
        seconds = medians[name] = statistics.median(cost.seconds for cost in measured)
        processor = statistics.median(cost.processor for cost in measured)
        peak = max(cost.peak_bytes for cost in measured)
        print(
            f"  {name:<15} {seconds:7.3f} s  least {min(c.seconds for c in measured):7.3f} s  "
            f"processor {processor:7.3f} s  peak memory {peak / 1e6:6.0f} MB"
        )
    analyze = medians["analyze"]
    print(f"analyze has {medians['naive pass'] / analyze:.2f} times the speed of the naive pass")
    if "rg -c" in medians:
        rg = medians["rg -c"]
        print(f"analyze takes 3 times as long as rg -c and {analyze - 3 * rg:.3f} s")
    for name in ("analyze .zst", "report", "trace"):
        print(f"{name} takes {medians[name] / analyze:.2f} times as long as analyze")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 5)
