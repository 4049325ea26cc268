"""Compares what the passes leave of functions with what a real log shows, program by program.

    python -m tests.runtime.compare_passes LOG_OF_TF_2_13 PROGRAM.py
        [--onednn off] [--constants] [--differences]

Both are reduced to multisets: eager dispatches by op, and nodes that the executor processed by name
and op (dead ones left out). `--constants` compares the nodes of step −1, and nothing else. The
program runs on the reference runtime with all passes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tflogscope.runtime import passes, simulate, telling

Items = Counter[tuple[str, ...]]

_NODE = re.compile(r"Process node: \d+ step (-?\d+) \{\{node (.+?)\}\} = (\S+?)\[.*")
_DISPATCH = re.compile(r"Executing op (\S+) in device")


def real_items(lines: Iterator[str]) -> Items:
    """What a log at level 1 or more shows."""
    items: Items = Counter()
    for line in lines:
        if "] Process node: " in line:
            match = _NODE.search(line)
            if match and " is dead device:" not in line:
                items["constants" if match[1] == "-1" else "node", match[2], match[3]] += 1
        elif "] Executing op " in line:
            match = _DISPATCH.search(line)
            if match:
                items["eager", match[1]] += 1
    return items


class Recorder(telling.Listener):
    """Counts what a log would show."""

    def __init__(self) -> None:
        self.items: Items = Counter()

    def constant_made(self, *_: Any, **__: Any) -> None:
        """A value became a tensor."""
        self.items["eager", "_EagerConst"] += 1

    def op_dispatched(self, op: str, *_: Any, **__: Any) -> None:
        """An eager op or function."""
        self.items["eager", op] += 1

    def node_started(self, step: int, node: Any) -> None:
        """A node of a graph."""
        self.items["constants" if step == -1 else "node", node.name, node.type] += 1


def simulated_items(program: Path, *, onednn: bool) -> Items:
    """What the runtime tells when it runs the program with all passes."""
    recorder = Recorder()
    settings = passes.Settings(onednn=onednn)
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        passes.using(settings),
        telling.listen(recorder),
    ):
        simulate.run_program(str(program), program.read_bytes(), [])
    return recorder.items


def f1(one: Items, other: Items) -> float:
    """How much they agree, from 0 to 1."""
    common = (one & other).total()
    total = one.total() + other.total()
    return 2 * common / total if total else 1.0


def without_names(items: Items) -> Items:
    """The same by op alone."""
    shorter: Items = Counter()
    for item, count in items.items():
        shorter[item[0], item[-1]] += count
    return shorter


def chosen(items: Items, *, constants: bool) -> Items:
    """Those of step -1, or the others."""
    return Counter(
        {item: each for item, each in items.items() if (item[0] == "constants") == constants}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the agreement, and the differences if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("--onednn", choices=("on", "off"), default="on")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args(arguments)
    with options.log.open(encoding="utf-8", errors="replace") as lines:
        real = real_items(lines)
    ours = simulated_items(options.program, onednn=options.onednn == "on")
    real, ours = (chosen(items, constants=options.constants) for items in (real, ours))
    by_op = f1(without_names(ours), without_names(real))
    lines_out = [f"{options.program.stem:16} by op {by_op:.4f}, by name {f1(ours, real):.4f}"]
    if options.differences:
        for title, rest in (("only here", ours - real), ("only there", real - ours)):
            for item, count in sorted(rest.items(), key=lambda pair: (-pair[1], pair[0])):
                lines_out.append(f"  {title}: {count} x {' '.join(item)}")
    sys.stdout.write("\n".join(lines_out) + "\n")


if __name__ == "__main__":
    main()
