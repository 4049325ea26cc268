"""What `tflogscope explain --primitive` says: each problem, its time, what was skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tflogscope.model.common.figures import count_of, duration
from tflogscope.views import document as doc
from tflogscope.views.text import shorten

Facts = dict[str, Any]
_SHOWN = 12  # problems, and reasons
_NAME = 60  # cells


def primitive_document(facts: Facts) -> doc.Document:
    """The problems of a primitive, the most time first."""
    name = facts["asked"]["primitive"]
    return [doc.Section(shorten(name, _NAME), [*_said(facts)]), *_refused(facts["refused"])]


def _said(facts: Facts) -> Iterator[doc.Node]:
    made = count_of(facts["created"], "creation")
    created = f", {made} in {duration(facts['created_us'])}" if facts["created"] else ""
    ran = f"{count_of(facts['runs'], 'run')} in {duration(facts['total_us'])}{created}, "
    yield doc.Paragraph(f"{ran}{count_of(len(facts['problems']), 'problem')}.")
    problems = [{**problem, "line": problem["lines"][0]} for problem in facts["problems"]]
    if problems:
        yield doc.Table(doc.columns("primitive-problems"), problems[:_SHOWN])
    yield from doc.left_out(len(problems), _SHOWN)


def _refused(skipped: list[Facts]) -> Iterator[doc.Section]:
    """Why implementations were skipped."""
    items: list[doc.Node] = [doc.Item(_refusal(row)) for row in skipped[:_SHOWN]]
    if items:
        yield doc.Section("Implementations skipped", items)


def _refusal(row: Facts) -> doc.Text:
    name, times = row["implementation"] or "an implementation", count_of(row["count"], "time")
    return f"{name}: {row['reason']} ({times}, first on line ", doc.Line(row["line"]), ")"
