"""What holds for any log, however damaged: one property over mutated real logs.

Quick by default; TFLOGSCOPE_DEEP=1 tries 300 times as many, for nightly runs.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.deep import DEEP
from tests.mutations import KINDS, mutated
from tests.samples import NAMES, raw_log
from tests.test_model_schema import SCHEMA, check_tables
from tflogscope import Run, open_log
from tflogscope.errors import NothingRecognised, UsageError
from tflogscope.model.pictures.activity import read_activity
from tflogscope.views.analyze import analyze_document, summary_json
from tflogscope.views.chart import timeline_chart
from tflogscope.views.markdown import markdown
from tflogscope.views.notebook import notebook_html
from tflogscope.views.report.page import report_page
from tflogscope.views.terminal import draw
from tflogscope.views.timeline import render_timeline

pytestmark = pytest.mark.thorough

LINES = 400
BUCKETS = ("recognised", "ignored", "unknown", "continuation", "blank")
# Line numbers begin again in each file, and each file has its name.
OF_FILES = {"source", "line", "end_line", "first_line", "instantiated_line", "timeline_line"}
OF_LINES = {"rewrites", "findings"}  # their order or their texts contain line numbers


def opened(folder: Path, *parts: bytes) -> Run | None:
    """A log in several parts; None if nothing in it is recognised."""
    here = Path(mkdtemp(dir=folder))
    paths = [here / f"part{number}" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    try:
        return open_log(*paths)
    except NothingRecognised:
        return None


def tables(run: Run, *, without: set[str] | frozenset[str] = frozenset()) -> dict[str, str]:
    """All tables, to the byte, but for the folder that the log is in."""
    found = {}
    for name in (*SCHEMA, "findings"):
        text = getattr(run, name).drop(*without, strict=False).write_ndjson()
        found[name] = re.sub(r'[^" ]*/part(?=\d)', "part", text)
    return found


def check_sums(run: Run, log: bytes) -> None:
    """Each line is counted once, each primitive is linked or counted as not linked."""
    row = run.coverage.to_dicts()[0]
    assert row["lines"] == log.count(b"\n") + (not log.endswith(b"\n"))
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
    assert row["records"] == row["recognised"] + row["ignored"] + row["unknown"]
    ran = run.primitives.filter(pl.col("event") == "exec")
    linked = ran.filter(pl.col("timeline_line").is_not_null())
    assert ran["link"].null_count() == 0
    assert (linked["link"] != "none").all()
    assert ran.filter(pl.col("timeline_line").is_null() & (pl.col("link") == "certain")).is_empty()
    assert run.timeline["primitives"].sum() == linked.height


def check_same(run: Run, other: Run, stored: str) -> None:
    """A log gives the same tables however it is stored; in two files each numbers its own lines."""
    apart = stored == "two files"
    without = OF_FILES if apart else frozenset[str]()
    left, right = tables(run, without=without), tables(other, without=without)
    for name in left:
        if not (name == "coverage" and stored != "again") and not (apart and name in OF_LINES):
            assert left[name] == right[name], (stored, name)


VIEWS: dict[str, Callable[[Run, Console], object]] = {
    "analyze": lambda run, console: draw(analyze_document(run), console),
    "markdown": lambda run, _: markdown(analyze_document(run)),
    "json": lambda run, _: summary_json(run),
    "timeline": lambda run, console: render_timeline(
        read_activity(run, None, lambda _: 60), run.slices, console
    ),
    "report": lambda run, _: report_page(run, "tflogscope"),
    "notebook": lambda run, _: notebook_html(run),
    "chart": lambda run, _: timeline_chart(run),
    "explain": lambda run, _: [run.explain(op=op) for op in _explained(run).head(2)],
}


def _explained(run: Run) -> pl.Series:
    """Ops that `explain` takes: a function that is called is explained by what runs in it."""
    return run.ops.filter(pl.col("kind") != "call")["op"].drop_nulls()


def halves(log: bytes) -> tuple[bytes, bytes]:
    """A log cut after a line."""
    place = log.find(b"\n", len(log) // 2) + 1
    return log[:place], log[place:]


STORED: dict[str, Callable[[bytes], tuple[bytes, ...]]] = {
    "again": lambda log: (log,),
    "gzip": lambda log: (gzip.compress(log),),
    "crlf": lambda log: (log.replace(b"\n", b"\r\n"),),
    "two files": halves,
}


DAMAGE = st.tuples(st.sampled_from(sorted(set(KINDS) - {"long_line"})), st.integers(0, 2**32))
RECIPES = st.tuples(st.sampled_from(NAMES), st.floats(0, 1), st.lists(DAMAGE, max_size=2))


def made(name: str, place: float, damage: list[tuple[str, int]]) -> bytes:
    """Some lines of a real log, damaged."""
    lines = raw_log(name).splitlines(keepends=True)
    first = round(place * max(0, len(lines) - LINES))
    log = b"".join(lines[first : first + LINES])
    for kind, seed in damage:
        log = mutated(log, kind, seed) or b"\n"
    return log


@given(RECIPES)
@example(("attention__tf2.16.2__vlog2", 0.0, []))  # its timeline is one column
@settings(
    max_examples=3000 if DEEP else 4,
    deadline=None,
    derandomize=not DEEP,
    phases=tuple(Phase) if DEEP else (Phase.explicit, Phase.generate),
    suppress_health_check=[*HealthCheck],
)
def test_any_log(
    tmp_path_factory: pytest.TempPathFactory, recipe: tuple[str, float, list[tuple[str, int]]]
) -> None:
    folder, log = tmp_path_factory.mktemp("log"), made(*recipe)
    run = opened(folder, log)
    stored = {name: opened(folder, *store(log)) for name, store in STORED.items()}
    if run is None:
        assert not any(stored.values())
        return
    check_tables(run)
    check_sums(run, log)
    for name, other in stored.items():
        assert other is not None, name
        if b"\r" not in log or name in {"again", "gzip"}:
            check_same(run, other, name)
    for name, view in VIEWS.items():
        try:
            view(run, Console(file=io.StringIO(), width=100))
        except UsageError:
            assert name == "timeline", name
