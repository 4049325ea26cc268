"""How long `tflogscope analyze LOG` takes, beside the naive pass over the same log.

usage: python speed.py LOG [REPEATS]    (an uncompressed log; 5 repeats if not said)

The two commands run in turn, so that a busy machine is unfair to neither. One run of each before
the first that counts brings the log into the page cache. Standard library only; needs Linux or
another system with `os.wait4`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

NAIVE = Path(__file__).with_name("naive.py")
# ru_maxrss is in KiB on Linux, in bytes on macOS.
BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Cost:
    """What one run of a command took: seconds of wall clock, and bytes of memory at its peak."""

    seconds: float
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
    return Cost(seconds, usage.ru_maxrss * BYTES_PER_UNIT)


def main(log: Path, repeats: int) -> None:
    """Measure both commands in turn and print the medians."""
    commands = {
        "tflogscope analyze": [sys.executable, "-m", "tflogscope", "analyze", str(log)],
        "naive pass": [sys.executable, str(NAIVE), str(log)],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            cost = run(command)
            if turn:
                costs[name].append(cost)
    size = log.stat().st_size
    medians = {}
    print(f"{log.name}: {size / 1e6:.1f} MB, {repeats} runs each, in turn")
    for name, measured in costs.items():
        seconds = medians[name] = statistics.median(cost.seconds for cost in measured)
        least = min(cost.seconds for cost in measured)
        peak = max(cost.peak_bytes for cost in measured)
        print(
            f"  {name:<20} median {seconds:7.3f} s  least {least:7.3f} s  "
            f"{size / 1e6 / seconds:7.1f} MB/s  peak memory {peak / 1e6:6.0f} MB"
        )
    analyze, naive = medians.values()
    print(f"  analyze takes {analyze / naive:.2f} times as long as the naive pass")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 5)
