"""The top of the page: what was recorded, the verdict, four figures; and the findings as cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.model.figures import count_of
from tflogscope.views.markup import Markup, element, joined
from tflogscope.views.report.sections import paragraph, section
from tflogscope.views.report.tables import line_link
from tflogscope.views.table import duration

if TYPE_CHECKING:
    from tflogscope.model.facts import Example, Summary
    from tflogscope.model.run import Run

Facts = dict[str, Any]  # a finding
_SEVERITIES = {"error": "Error", "warning": "Warning", "note": "Note"}
_CARDS = 3


def head(run: Run) -> Markup:
    """The verdict, and the figures that it starts with."""
    headline = run.headline
    figures = (
        element(
            "li",
            element("span", each.name),
            element("b", each.value),
            element("small", each.about),
        )
        for each in headline.figures
    )
    return element(
        "section",
        element("p", headline.verdict, id="verdict", class_=headline.id),
        element("ol", *figures, class_="way figures"),
        aria_label="Verdict",
        id="head",
    )


def findings(run: Run, said: Summary) -> Markup:
    """Those with most at stake as cards, the others folded."""
    items = [_card(row) for row in run.findings.to_dicts()]
    if not items:
        return section("findings", "Findings", paragraph(_nothing(said)))
    rest = items[_CARDS:]
    more = None
    if rest:
        title = element("summary", count_of(len(rest), "more finding"))
        more = element("details", title, element("ol", *rest, class_="cards", start=_CARDS + 1))
    return section("findings", "Findings", element("ol", *items[:_CARDS], class_="cards"), more)


def _nothing(said: Summary) -> str:
    """What the page says without any finding; a log without executions proves nothing."""
    if said.eager.kinds or said.graph.kinds:
        return "None."
    return "The log shows no execution, so nothing can be found in it."


def _card(row: Facts) -> Markup:
    lines = [int(line) for line in (row["lines"] or "").split(";") if line]
    time = None if row["time_us"] is None else f"{duration(row['time_us'])} at stake"
    links: list[str | Markup] = []
    for line in lines:
        links += [", " if links else "Lines ", line_link(line, row["source"])]
    return element(
        "li",
        element("span", _SEVERITIES[row["severity"]], class_=f"severity {row['severity']}"),
        " ",
        element("code", row["id"]),
        None if time is None else element("span", time, class_="stake"),
        None if row["python"] is None else joined(" ", _line_of_program(row["python"])),
        paragraph(row["text"]),
        element(
            "details",
            element("summary", "What to do, and where"),
            paragraph(row["advice"]) if row["advice"] else None,
            paragraph(*links, ".") if links else None,
        ),
    )


def _line_of_program(python: str) -> Markup:
    return element("a", element("code", python), href="#lines")


def answers(said: Summary) -> Markup | None:
    """What people ask of such a log, each answer folded below its question."""
    if not said.answers:
        return None
    folded = (
        element(
            "details",
            element("summary", _QUESTIONS[entry.id]),
            paragraph(entry.text),
            element("ul", *(_evidence(each) for each in entry.evidence)),
        )
        for entry in said.answers
    )
    return element("div", *folded, class_="answers")


_QUESTIONS = {
    "both-modes": "Why did an op run eagerly here and in a graph there?",
    "never-eager": "Which ops ran as oneDNN kernels in graphs only?",
    "eager-rewritten": "Which eager ops were rewritten?",
}


def _evidence(entry: Example) -> Markup:
    said: list[str | Markup] = [element("code", entry.op)]
    if entry.eager_lines:
        first, last = entry.eager_lines
        said += [" eagerly on lines ", line_link(first), " to ", line_link(last)]
    if entry.graph_line:
        said += [" in a graph from line ", line_link(entry.graph_line)]
    return element("li", *said, class_="evidence")
