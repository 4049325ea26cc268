"""The page of two runs: the verdict, both on one scale of time, and what changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tflogscope.model.run import Run
from tflogscope.views.chart import timeline_svg, whole_activity
from tflogscope.views.difference import difference_document, verdict
from tflogscope.views.document import Node, Picture, Section
from tflogscope.views.markup import Markup, element
from tflogscope.views.report.page import plain_page


def comparison_page(before: Run, after: Run, facts: dict[str, Any]) -> str:
    """The page as text; `facts` are those of `model.difference`."""
    names = [run.headline.facts[0] for run in (before, after)]
    title = f"tflogscope diff: {' and '.join(dict.fromkeys(names))}"
    heading = element("small", "before "), names[0], element("small", " after "), names[1]
    document: list[Node] = [
        Picture(element("p", verdict(facts), id="verdict")),
        Section("Both runs on one time scale", [*_timelines(before, after)], "timelines"),
        *difference_document(facts),
    ]
    return plain_page(title, document, *heading)


def _timelines(before: Run, after: Run) -> Iterator[Node]:
    """A picture of each; on one scale where both have the same clock."""
    both = [(run, whole_activity(run)) for run in (before, after)]
    same = before.slices.clock == after.slices.clock
    last = max(activity.last_ns for _, activity in both) if same else None
    for name, (run, activity) in zip(("before", "after"), both, strict=True):
        drawn: Markup = timeline_svg(run, activity, last)
        caption = element("figcaption", name)
        yield Picture(element("figure", caption, drawn, class_="chart", tabindex=0))
