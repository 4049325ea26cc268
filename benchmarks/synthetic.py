"""Write a log of any size, of an encoder's training, and say how fast that was.

python benchmarks/synthetic.py OUT.log [--size 1G] [--release 2.13] [--threads 8] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tflogscope.runtime.emitter.synthetic import write

UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


def bytes_of(text: str) -> int:
    """`4G` as a number."""
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--size", type=bytes_of, default=10**9)
    parser.add_argument("--release", default="2.13")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    with options.log.open("wb") as file:
        totals = write(
            file,
            options.size,
            release=options.release,
            threads=options.threads,
            seed=options.seed,
        )
    took = time.perf_counter() - began
    print(
        f"{totals.bytes / 1e6:.0f} MB, {totals.steps} steps, {totals.executions} executions, "
        f"{totals.primitives} primitives in {took:.1f} s: {totals.bytes / 1e6 / took:.0f} MB/s"
    )


if __name__ == "__main__":
    main()
