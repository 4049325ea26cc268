"""Counts the lines of the reference runtime, which is small on purpose, and of its tests.

    python tools/runtime_lines.py

Prints a row a part: lines, and the most that `[tool.runtime-lines]` of pyproject.toml
allows. Blank lines and docstrings count: it is what a reader has to pass. Exits with 1 where a part
has more, or a file has more than `file`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = "runtime-lines"


def lines(path: Path) -> int:
    """How many."""
    return path.read_text(encoding="utf-8").count("\n")


def main() -> int:
    """Print the table."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    limits: dict[str, int] = settings["tool"][TABLE]
    runtime, tests = ROOT / "tflogscope" / "runtime", ROOT / "tests" / "runtime"
    files = {path: lines(path) for path in sorted(runtime.rglob("*.py"))}
    found = dict.fromkeys(limits, 0)
    for path, count in files.items():
        part = path.relative_to(runtime).parts[0].removesuffix(".py")
        found[part if part in limits else "rest"] += count
    found["all"] = sum(files.values())
    found["file"] = max(files.values())
    found["tests"] = sum(lines(path) for path in tests.rglob("*.py"))
    for part, limit in limits.items():
        print(f"{part:10} {found[part]:6} of {limit}{'  TOO MANY' * (found[part] > limit)}")
    return int(any(found[part] > limit for part, limit in limits.items()))


if __name__ == "__main__":
    sys.exit(main())
