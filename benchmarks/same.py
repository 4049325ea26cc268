"""Whether two installations give the same answers: all tables of all logs, and what `analyze` says.

usage: python same.py PYTHON_A PYTHON_B LOG…    (logs, or directories of them)

Each Python has its tflogscope; where a table differs, the rows that only one of them has are shown
(`-` the first, `+` the second). The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Run by both Pythons: a line of JSON for each log, with each table's rows as lines of JSON.
WORKER = r"""
import io, json, sys
import tflogscope
from tflogscope.views.analyze import summary_json

TABLES = "coverage timeline ops functions nodes rewrites primitives findings".split()
for path in map(str.rstrip, sys.stdin):
    answers = {}
    try:
        run = tflogscope.open_log(path)
        for name in TABLES:
            frame = getattr(run, name)
            text = io.StringIO()
            frame.write_ndjson(text)
            schema = json.dumps({name: str(kind) for name, kind in frame.schema.items()})
            answers[name] = [schema, *text.getvalue().splitlines()]
        answers["analyze"] = json.dumps(summary_json(run), indent=1).splitlines()
    except Exception as error:
        answers["error"] = [f"{type(error).__name__}: {error}"]
    print(json.dumps(answers), flush=True)
print(tflogscope.__file__, file=sys.stderr)
"""


class Installation:
    """A Python with a tflogscope, asked for one log after the other."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [*python.split(), "-c", WORKER],
            cwd="/",  # with -c Python takes modules from where it is first
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answers(self, log: Path) -> dict[str, list[str]]:
        """Lines of each table."""
        if not self._process.stdin or not self._process.stdout:
            return {}
        print(log.resolve(), file=self._process.stdin, flush=True)
        found: dict[str, list[str]] = json.loads(self._process.stdout.readline() or "{}")
        return found or {"error": ["the process ended"]}


def differences(one: dict[str, list[str]], two: dict[str, list[str]], most: int) -> list[str]:
    """What differs, a line each."""
    found = []
    for name in dict.fromkeys([*one, *two]):
        first, second = one.get(name, []), two.get(name, [])
        if first == second:
            continue
        gone, new = set(first) - set(second), set(second) - set(first)
        found.append(f"  {name}: {len(gone)} rows gone, {len(new)} new, of {len(first)}")
        if not gone and not new:
            found.append("    the order differs, or how often a row is there")
        for mark, rows, lines in (("-", gone, first), ("+", new, second)):
            found += [f"    {mark} {line[:400]}" for line in lines if line in rows][:most]
    return found


def logs_in(paths: list[Path]) -> list[Path]:
    """Files, and the logs in directories."""
    found = []
    for path in paths:
        inside = sorted(path.glob("*.log*")) if path.is_dir() else [path]
        found += [each for each in inside if ".truth." not in each.name]
    return found


def main() -> int:
    """Read the command line, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs=2, metavar="PYTHON")
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=6, help="rows to show for each table")
    options = parser.parse_args()
    installations = [Installation(python) for python in options.pythons]
    logs, differing = logs_in(options.logs), 0
    with ThreadPoolExecutor(len(installations)) as pool:
        for number, log in enumerate(logs, 1):
            one, two = pool.map(lambda each, log=log: each.answers(log), installations)
            if "error" in one:
                print(f"{log.name}: {one['error'][0]}")
            if found := differences(one, two, options.rows):
                differing += 1
                print(f"{log.name}\n" + "\n".join(found), flush=True)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(logs)} logs", end="", file=sys.stderr)
    print(f"{len(logs)} logs, {differing} with differences")
    return 1 if differing else 0


if __name__ == "__main__":
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    sys.exit(main())
