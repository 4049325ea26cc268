"""Hold tflogscope against the truth of a whole folder of logs.

usage: python corpus.py FOLDER [--only eager|graph|rewrites|calls|coverage|links] [--without TEXT]
                        [--worst N] [--processes N]

FOLDER holds PROGRAM__tfVERSION__….log[.zst] with PROGRAM__….truth.jsonl[.zst] beside them. Prints
each measure per release and overall, and the logs that did worst. The exit code is 1 if a log could
not be analyzed at all.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import traceback
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import truth

Results = dict[str, dict[str, truth.Measure]]
"""Measures by log and by name."""


def logs_in(folder: Path, without: str | None) -> list[Path]:
    """The logs of a folder, the largest first, so that the processes end together."""
    logs = [*folder.glob("*.log.zst"), *folder.glob("*.log")]
    chosen = [log for log in logs if without is None or without not in log.name]
    return sorted(chosen, key=lambda log: (-log.stat().st_size, log.name))


def release_of(name: str) -> str:
    """`2.13.1` of `bert_fit__tf2.13.1__vlog2.log.zst`; another program's name as it stands."""
    parts = name.split("__")
    return parts[1].removeprefix("tf") if len(parts) > 1 else "?"


def measure_or_fail(log: Path, only: str | None) -> tuple[str, dict[str, truth.Measure], str]:
    """Return name, measures and, where tflogscope failed, the last lines of what it raised."""
    try:
        return log.name, truth.measure(log, only), ""
    except Exception:  # noqa: BLE001  one log that fails must not hide the others
        return log.name, {}, traceback.format_exc(limit=-2).strip()


def measure_all(logs: list[Path], only: str | None, processes: int) -> tuple[Results, list[str]]:
    """Measures of all logs, and what failed. Each process has one polars thread."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    results: Results = {}
    failures: list[str] = []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn) as pool:
        for name, measures, failure in pool.map(partial(measure_or_fail, only=only), logs):
            results[name] = measures
            if failure:
                failures.append(f"{name}\n{failure}")
            if sys.stderr.isatty():
                print(f"\r{len(results)} of {len(logs)} logs", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results, failures


def print_table(results: Results) -> None:
    """Per cent right, a row per release, a column per measure."""
    names = [name for name in truth.MEASURES if any(name in found for found in results.values())]
    groups: dict[str, list[dict[str, truth.Measure]]] = defaultdict(list)
    for log, found in results.items():
        groups[release_of(log)].append(found)
    rows = sorted(groups.items(), key=lambda group: [part.zfill(4) for part in group[0].split(".")])
    print(f"{'release':<12} {'logs':>4}", *(f"{name:>13}" for name in names))
    for release, group in [*rows, ("all", list(results.values()))]:
        print(f"{release:<12} {len(group):>4}", *(f"{_percent(group, name):>13}" for name in names))
    print()
    for name in names:
        measures = [found[name] for found in results.values() if name in found]
        right, total = sum(each.right for each in measures), sum(each.total for each in measures)
        print(f"{name:<13} {right:,} of {total:,} in {len(measures)} logs: {truth.MEASURES[name]}")


def _percent(found: list[dict[str, truth.Measure]], name: str) -> str:
    measures = [each[name] for each in found if name in each]
    total = sum(each.total for each in measures)
    if not total:
        return ""
    # Rounded down: 100 means all of them.
    share = sum(each.right for each in measures) / total
    return f"{int(share * 100_000) / 1000:.3f}"


def print_worst(results: Results, count: int) -> None:
    """The logs with the smallest share in each measure, if any is below one."""
    for name in truth.MEASURES:
        below = [
            (found[name], log)
            for log, found in results.items()
            if name in found and found[name].share < 1
        ]
        if below and count:
            print(f"\nworst in {name!r} ({len(below)} logs below 100)")
        for each, log in sorted(below, key=lambda pair: (pair[0].share, pair[1]))[:count]:
            print(f"  {each.share:8.4f}  {log}  {each.note[:120]}")


def main() -> int:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=truth.CHECKS)
    parser.add_argument("--without", help="leave out logs whose names hold this text")
    parser.add_argument("--worst", type=int, default=5, help="logs to name per measure")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    logs = logs_in(options.folder, options.without)
    if not logs:
        parser.error(f"{options.folder} holds no .log or .log.zst file")
    results, failures = measure_all(logs, options.only, options.processes)
    print_table(results)
    print_worst(results, options.worst)
    for failure in failures:
        print(f"\nFAILED {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
