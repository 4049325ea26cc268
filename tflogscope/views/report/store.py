"""The pages of a store: an overview of its runs, and a page for each run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from tflogscope.model.figures import count_of
from tflogscope.views.markup import Markup, element
from tflogscope.views.report.page import STYLES, asset, policy
from tflogscope.views.report.sections import paragraph, section
from tflogscope.views.report.tables import Column, facts, table

Row = dict[str, Any]
PAGES = ".runs"
"""What the folder with the pages of the runs has behind the overview's name."""
_DIFFER = ("tensorflow", "onednn", "build", "tool_version", "host")
_CLUSTER = "TF_CONFIG"  # says which rank a run is
_MOST = 6  # values of a setting
_RUN = (
    Column("severity", "Severity"),
    Column("text", "Finding"),
    Column("advice", "Advice"),
    Column("line", "Line", "label"),
)
_OPS = (
    Column("mode", "Mode"),
    Column("op", "Op", "name"),
    Column("kernel", "Kernel", "name"),
    Column("executions", "Runs", "count"),
    Column("total_us", "Time", "us"),
    Column("causes", "Causes", "list"),
)
_FUNCTIONS = (
    Column("function", "Function", "name"),
    Column("calls", "Calls", "count"),
    Column("total_us", "Time", "us"),
    Column("traces", "Traces", "count"),
    Column("nodes", "Nodes", "count"),
    Column("rewritten_nodes", "oneDNN", "count"),
)


def page_of(run: str) -> str:
    """The file of a run's page, in the folder of the pages."""
    return f"{quote(run, safe='')}.html"


def store_page(name: str, rows: list[Row], folder: str, more: list[Markup]) -> str:
    """The overview as text.

    Args:
        name: of the store.
        rows: of `runs`, with figures where there are any, in the order of their start.
        folder: where the pages of the runs are, as a link.
        more: further sections.
    """
    listed = [_shown(row, folder) for row in rows]
    columns = [
        Column("link", "Run"),
        Column("start", "Start"),
        Column("tensorflow", "TensorFlow"),
        Column("onednn", "oneDNN"),
        Column("step_us", "Step", "us", "median of the calls of its step function but the first"),
        Column("eager", "Eager", about="share of the runs of ops"),
        Column("onednn_runs", "By oneDNN", about="share of what oneDNN has a kernel for"),
        Column("traces", "Traces", "count"),
        Column("findings", "Findings", "count"),
        Column("error", "Error"),
    ]
    main = element(
        "main",
        section("runs", "Runs", table("all-runs", f"{len(rows)} runs by time", columns, listed)),
        section("differences", "What differs between them", _differences(rows)),
        *more,
    )
    return _page(f"tflogscope store: {name}", main)


def _shown(row: Row, folder: str) -> Row:
    done = row["state"] == "done"
    link = element("a", row["run"], href=f"{quote(folder)}/{quote(page_of(row['run']))}")
    share = {"eager": "eager_share", "onednn_runs": "onednn_share"}
    shares = {key: _share(row.get(column)) for key, column in share.items()}
    return {**row, **shares, "link": link if done else row["run"]}


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.0%}"


def _differences(rows: list[Row]) -> Markup:
    """Columns of `runs`, and settings, in which not all agree: how many runs have each value."""
    done = [row for row in rows if row["state"] == "done"]
    every = [{name: row[name] for name in _DIFFER} | _settings(row) for row in done]
    pairs: list[tuple[str, str | Markup | None]] = []
    for name in dict.fromkeys(name for each in every for name in each):
        counts = Counter(_said(name, each, row) for each, row in zip(every, done, strict=True))
        if len(counts) > 1:
            most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
            said = [f"{value}: {count_of(count, 'run')}" for value, count in most[:_MOST]]
            said += [f"and {len(most) - _MOST} more"] if len(most) > _MOST else []
            pairs.append((name, "; ".join(said)))
    return facts(pairs) if pairs else paragraph("Releases, build and settings are the same.")


def _said(name: str, facts: Row, row: Row) -> str:
    value = facts.get(name)
    unknown = "not set" if name not in _DIFFER and row["settings"] else "not known"
    return unknown if value is None else str(value)


def _settings(row: Row) -> Row:
    settings: Row = json.loads(row["settings"] or "{}")
    return {name: value for name, value in settings.items() if name != _CLUSTER}


def run_page(row: Row, findings: list[Row], ops: list[Row], functions: list[Row]) -> str:
    """The page of one run, of its tables."""
    known = [(name, str(value)) for name, value in row.items() if value is not None]
    main = element(
        "main",
        section("findings", "Findings", table("all-findings", "Findings", _RUN, findings)),
        section("ops", "Ops", table("all-ops", "Ops", _OPS, ops)),
        section(
            "functions", "Functions", table("all-functions", "Functions", _FUNCTIONS, functions)
        ),
        section("recorded", "What was recorded", facts(known)),
    )
    return _page(f"tflogscope run: {row['run']}", main)


def _page(title: str, main: Markup) -> str:
    style = Markup("".join(asset(name) for name in STYLES))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy([style], [])),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", style),
    )
    body = element("body", element("header", element("h1", title)), main)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"
