"""The pages of a store: an overview of its runs, and a page for each run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from tflogscope.model.common.figures import count_of
from tflogscope.views import document as doc
from tflogscope.views.html import capital
from tflogscope.views.report.page import plain_page

Row = dict[str, Any]
PAGES = ".runs"
"""What the folder with the pages of the runs has behind the overview's name."""
_DIFFER = {
    "tensorflow": "TensorFlow",
    "onednn": "oneDNN",
    "build": "build",
    "tool_version": "tflogscope",
    "host": "host",
}
_CLUSTER = "TF_CONFIG"  # says which rank a run is
_MOST = 6  # values of a setting


def page_of(run: str) -> str:
    """The file of a run's page, in the folder of the pages."""
    return f"{quote(run, safe='')}.html"


def store_page(name: str, runs: list[Row], folder: str, more: doc.Document) -> str:
    """The overview as text.

    Args:
        name: of the store.
        runs: rows of the table, with figures where there are any, in the order of their start.
        folder: where the pages of the runs are, as a link.
        more: further sections.
    """
    shown = [_shown(row, folder) for row in runs]
    caption = f"{len(runs)} runs by time"
    table = doc.Table(doc.columns("runs"), shown, caption, "all-runs", tools=True)
    sections = (
        doc.Section("Runs", [table], "runs"),
        doc.Section("Differences between runs", _differences(runs), "differences"),
    )
    return plain_page(f"tflogscope store: {name}", [*sections, *more])


def _shown(row: Row, folder: str) -> Row:
    done = row["state"] == "done"
    link = doc.Link(row["run"], f"{quote(folder)}/{quote(page_of(row['run']))}")
    share = {"eager": "eager_share", "onednn_runs": "onednn_share"}
    shares = {key: _share(row.get(column)) for key, column in share.items()}
    start = row["start"] and str(row["start"])[:19]  # to the second
    return {**row, **shares, "start": start, "link": link if done else row["run"]}


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.0%}"


def _differences(runs: list[Row]) -> list[doc.Node]:
    """Columns of `runs`, and settings, in which not all agree: how many runs have each value."""
    done = [row for row in runs if row["state"] == "done"]
    every = [{name: row[name] for name in _DIFFER} | _settings(row) for row in done]
    facts: list[doc.Node] = []
    for name in dict.fromkeys(name for run in every for name in run):
        counts = Counter(_said(name, run, row) for run, row in zip(every, done, strict=True))
        if len(counts) > 1:
            most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            values = [f"{value}: {count_of(count, 'run')}" for value, count in most[:_MOST]]
            values += [f"and {len(most) - _MOST} more"] if len(most) > _MOST else []
            facts.append(doc.Fact(_DIFFER.get(name, name), "; ".join(values)))
    return facts or [doc.Paragraph("None: releases, build and settings are equal.")]


def _said(name: str, facts: Row, row: Row) -> str:
    value = facts.get(name)
    unknown = "not set" if name not in _DIFFER and row["settings"] else "unknown"
    return unknown if value is None else str(value)


def _settings(row: Row) -> Row:
    settings: Row = json.loads(row["settings"] or "{}")
    return {name: value for name, value in settings.items() if name != _CLUSTER}


def run_page(row: Row, findings: list[Row], ops: list[Row], functions: list[Row]) -> str:
    """The page of one run, of its tables."""
    tables = {"findings": findings, "ops": ops, "functions": functions}
    sections = []
    for id_, content in tables.items():
        name, columns = capital(id_), doc.columns(f"run-{id_}")
        table = doc.Table(columns, content, name, f"all-{id_}", tools=True)
        sections.append(doc.Section(name, [table], id_))
    facts = [doc.Fact(name, str(value)) for name, value in row.items() if value is not None]
    recorded = doc.Section("What was recorded", facts, "recorded")
    return plain_page(f"tflogscope run: {row['run']}", [*sections, recorded])
