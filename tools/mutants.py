"""Change one operator of the model or the checks at random, and see whether a test notices.

    python tools/mutants.py --draw 20 --seed 1 --only tflogscope/model/links

Each change is made in a copy of the tree. First the answers of kept logs that run its line are
compared with the golden ones, then the tests of the module run until one fails. Where none does,
the rule needs a test on a real log, or is not needed. The exit code is then 1.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
CHANGED = ("tflogscope/model", "tflogscope/checks")
ANSWERS = ("tables_are_as_approved[{}]", "facts_are_as_approved[{}]")  # of a log
FIRST = 12  # of these before the others
TESTS = {  # of the modules whose path begins so, the first that fits
    "tflogscope/model/activity": "test_timeline test_views_notebook test_lanes",
    "tflogscope/model/causes": "test_cause_rules test_causes_truth test_lines_shown",
    "tflogscope/model/costs": "test_costs test_model_*",
    "tflogscope/model/difference": "test_difference",
    "tflogscope/model/executions": "test_envelopes test_model_* test_truth",
    "tflogscope/model/explain": "test_explain",
    "tflogscope/model/figures": "test_views_table test_views_analyze test_report",
    "tflogscope/model/findings": "test_findings test_sentences",
    "tflogscope/model/log_run": "test_explain test_model_*",
    "tflogscope/model/links": "test_links_parts test_links test_links_truth test_report",
    "tflogscope/model/moments": "test_timeline",
    "tflogscope/model/opening": "test_recording test_open_log test_cli",
    "tflogscope/model/parts": "test_model_parts test_stores",
    "tflogscope/model/python_lines": "test_lines test_lines_shown",
    "tflogscope/model/source_text": "test_report test_checks_eager",
    "tflogscope/model/reasons": "test_reasons test_plugins test_truth",
    "tflogscope/model/slices": "test_lanes test_trace test_timeline",
    "tflogscope/model": "test_model_* test_truth test_findings test_sentences "
    "test_views_analyze test_views_table test_report test_plugins",
    "tflogscope/checks": "test_checks_* test_check_formats test_cli_check",
}
PATIENCE_S = 900  # a change may cause an endless loop, which is noticed
# Prints JSON for each kept log, smallest first: the lines of each file that its answers run.
REACHED = """
import json, sys
from coverage import Coverage
from tests.approve import answered, facts_of
from tests.samples import KEPT, path_of
answered(KEPT[0])  # what is imported, and done once
for name in sorted(KEPT, key=lambda name: path_of(name).stat().st_size):
    coverage = Coverage(data_file=None, branch=False)
    coverage.start()
    answered(name)
    facts_of(name)
    coverage.stop()
    data = coverage.get_data()
    lines = {file: data.lines(file) for file in data.measured_files() if "/tflogscope/" in file}
    print(json.dumps([name, lines]))
"""
OTHER = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"), ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"), ast.Invert: ("~", ""), ast.Not: ("not ", ""),
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of a file become `text`."""

    path: str
    line: int
    place: range  # lines of its statement; of the whole file if it is run by an import
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """The file with the change in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def __str__(self) -> str:
        source = (ROOT / self.path).read_bytes()
        now = self.applied(source).decode().splitlines()[self.line - 1].strip()
        was = source[self.start : self.end].decode()
        return f"{self.path}:{self.line}: {was} became {self.text or 'nothing'}: {now}"


def operators(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.expr, ast.expr | None]]:
    """Each operator with what is before and behind it; of a unary one the whole, and None."""
    for name, field in ast.iter_fields(tree):
        if name not in {"annotation", "returns"}:  # `int | None` is not computed
            for node in field if isinstance(field, list) else [field]:
                if isinstance(node, ast.AST):
                    yield from operators(node)
    match tree:
        case ast.Compare(left, ops, comparators):
            yield from zip(ops, [left, *comparators], comparators, strict=False)
        case ast.BoolOp(op, values):
            yield from ((op, *pair) for pair in pairwise(values))
        case ast.BinOp(left, op, right) | ast.AugAssign(left, op, right):
            yield op, left, right
        case ast.UnaryOp(op):
            yield op, tree, None


def mutants(path: str) -> Iterator[Mutant]:
    """All changes of a file."""
    source = (ROOT / path).read_bytes()
    lines = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {n for each in functions for n in range(each.lineno, (each.end_lineno or 0) + 1)}
    begins = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    for operator, before, behind in operators(tree):
        if type(operator) in OTHER:
            old, new = OTHER[type(operator)]
            if behind is None:
                first = lines[before.lineno - 1] + before.col_offset
            else:
                first = lines[(before.end_lineno or 0) - 1] + (before.end_col_offset or 0)
            start = source.index(old.encode(), first)
            line = source.count(b"\n", 0, start) + 1
            first = max(each for each in begins if each <= line)
            place = range(first, line + 1) if line in inside else range(1, len(lines))
            yield Mutant(path, line, place, start, start + len(old), new)


def tests_of(path: str) -> list[str]:
    """The test files that matter to a module."""
    names = next(text for folder, text in TESTS.items() if path.startswith(folder)).split()
    found = [each for name in names for each in sorted((ROOT / "tests").glob(f"{name}.py"))]
    return [each.relative_to(ROOT).as_posix() for each in found]


def python(
    tree: Path, *arguments: str, patience: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run Python in a copy of the project."""
    # No compiled files: two changes within a second have the same time.
    return subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        timeout=patience,
        check=False,
    )


def reached(tree: Path) -> dict[str, dict[str, set[int]]]:
    """The lines of each file that the answers of each kept log run."""
    found = map(json.loads, python(tree, "-c", REACHED).stdout.splitlines())
    return {
        log: {str(Path(file).relative_to(tree)): set(lines) for file, lines in files.items()}
        for log, files in found
    }


def is_noticed(mutant: Mutant, tree: Path, logs: list[str]) -> bool:
    """Whether a test fails in `tree`, a copy of the project, with the change in it.

    logs: those whose answers run its line.
    """
    target = tree / mutant.path
    source = target.read_bytes()
    target.write_bytes(mutant.applied(source))
    answers = [f"tests/test_golden.py::test_{each.format(log)}" for log in logs for each in ANSWERS]
    stages = answers[:FIRST], answers[FIRST:], tests_of(mutant.path)
    pytest = ("-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider")
    try:
        return any(
            stage and python(tree, *pytest, *stage, patience=PATIENCE_S).returncode
            for stage in stages
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_bytes(source)


def main() -> int:
    """Draw changes and try them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draw", type=int, default=10, metavar="N", help="how many changes")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same changes")
    parser.add_argument("--only", default="", metavar="PATH", help="a file or folder to change")
    options = parser.parse_args()
    files = [path for folder in CHANGED for path in (ROOT / folder).rglob("*.py")]
    paths = sorted(path.relative_to(ROOT).as_posix() for path in files)
    all_ = [each for path in paths if path.startswith(options.only) for each in mutants(path)]
    drawn = random.Random(options.seed).sample(all_, min(options.draw, len(all_)))  # noqa: S311  no secret
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", ".fuzz"))
        run_by = reached(tree)
        for mutant in drawn:
            logs = [
                log
                for log, files in run_by.items()
                if files.get(mutant.path, set()) & {*mutant.place}
            ]
            noticed = is_noticed(mutant, tree, logs)
            print("noticed " if noticed else "SURVIVED", mutant, flush=True)
            survivors += [] if noticed else [mutant]
    print(f"{len(drawn) - len(survivors)} of {len(drawn)} were noticed (of {len(all_)} possible).")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
