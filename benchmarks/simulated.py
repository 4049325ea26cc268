"""How alike the reference runtime's logs and TensorFlow's own are, program by program.

    python benchmarks/simulated.py LOGS PROGRAMS [--release 2.13.1] [--only NAME,…] [--differences]

For each program it simulates it, analyses both logs, and prints F1 of the multisets of executions
by (mode, kind, op, kernel, rewrite), of the same with node and function names, and of oneDNN's
primitives by (kind, problem), and whether the eager ops come in the same order. LOGS has files
`PROGRAM__tfRELEASE__vlog2.log`, or `.log.zst`. With `--differences` it lists what differs, by kind.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

import tflogscope

BY_OP = ["mode", "kind", "op", "kernel", "rewrite"]
BY_NAME = [*BY_OP, "node", "function"]
NOT_RUN = frozenset({"torch_mlp"})
"""Programs that are not of TensorFlow."""


def simulate(program: Path, log: Path, release: str) -> str:
    """Write the program's log; the module that the program needs and that is not there, or ""."""
    series = ".".join(release.split(".")[:2])
    command = [sys.executable, "-m", "tflogscope", "simulate", str(program)]
    command += ["-o", str(log), "--dialect", series]
    done = subprocess.run(command, check=False, capture_output=True, timeout=600)
    missing = re.search(rb"ModuleNotFoundError: No module named '(.+?)'", done.stderr)
    return missing[1].decode() if missing else ""


def executions(log: Path) -> pl.DataFrame:
    """What ran, of ops and calls: dead nodes and constants computed ahead left out."""
    run = tflogscope.open_log(str(log))
    table = run.timeline.filter(pl.col("kind").is_in(["op", "call"]) & (pl.col("status") != "dead"))
    is_call = pl.col("kind") == "call"
    return table.with_columns(
        op=pl.when(is_call).then("function").otherwise("op"),
        kernel=pl.when(is_call).then(pl.lit("")).otherwise("kernel"),
    )


def primitives(log: Path) -> Counter[tuple[object, ...]]:
    """The runs of primitives."""
    table = tflogscope.open_log(str(log)).primitives.filter(pl.col("event") == "exec")
    return bag(table, ["primitive", "problem"])


def bag(table: pl.DataFrame, columns: Sequence[str]) -> Counter[tuple[object, ...]]:
    """The rows as a multiset."""
    return Counter(table.select(columns).iter_rows())


def f1(one: Counter[tuple[object, ...]], other: Counter[tuple[object, ...]]) -> float:
    """How much two multisets agree, from 0 to 1."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def eager_sequence(table: pl.DataFrame) -> list[str]:
    """The eager ops and calls, in order."""
    return [str(op) for op in table.filter(pl.col("mode") == "eager").sort("line")["op"]]


def shown(one: Counter[tuple[object, ...]], other: Counter[tuple[object, ...]]) -> Iterable[str]:
    """What is in one only, the most frequent first."""
    for title, rest in (("only real", one - other), ("only simulated", other - one)):
        for row, count in sorted(rest.items(), key=lambda pair: (-pair[1], str(pair[0])))[:60]:
            yield f"    {title}: {count} x {' '.join(str(each) for each in row if each)}"


def compare(real: Path, made: Path, *, differences: bool) -> tuple[float, float, float, float]:
    """The three figures of a program, and how much of the eager order is the same."""
    one, other = executions(real), executions(made)
    first, second = primitives(real), primitives(made)
    order = difflib.SequenceMatcher(None, eager_sequence(one), eager_sequence(other), False)
    if differences:
        for line in shown(bag(one, BY_NAME), bag(other, BY_NAME)):
            print(line)
        for line in shown(first, second):
            print(line)
        for tag, a, b, c, d in order.get_opcodes():
            if tag != "equal":
                was, now = eager_sequence(one)[a:b], eager_sequence(other)[c:d]
                print(f"    eager {tag} at {a}: {was[:8]} -> {now[:8]}")
    return (
        f1(bag(one, BY_OP), bag(other, BY_OP)),
        f1(bag(one, BY_NAME), bag(other, BY_NAME)),
        f1(first, second),
        order.ratio(),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--release", default="2.13.1")
    parser.add_argument("--only", default="")
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args()
    wanted = set(options.only.split(",")) - {""}
    rows = []
    print(f"{'program':16} by op  by name primitives eager order")
    for program in sorted(options.programs.glob("*.py")):
        name = program.stem
        found = sorted(options.logs.glob(f"{name}__tf{options.release}__vlog2.log*"))
        if not found or name in NOT_RUN or (wanted and name not in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "simulated.log"
            missing = simulate(program, log, options.release)
            if missing:
                print(f"{name:16} needs {missing}, which is not there")
                continue
            row = compare(found[0], log, differences=options.differences)
        rows.append(row)
        print(f"{name:16} " + "  ".join(f"{each:.4f}" for each in row), flush=True)
    if rows:
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        print(f"{'mean':16} " + "  ".join(f"{each:.4f}" for each in means))


if __name__ == "__main__":
    main()
