"""A document as HTML: plain elements, of which `report/assets/tables.js` makes sortable tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from tflogscope.model.common.figures import count_of
from tflogscope.views import document as doc
from tflogscope.views.document import plain, shown
from tflogscope.views.markup import Markup, element, joined

_SEVERITIES = {"error": "Error", "warning": "Warning", "note": "Note"}
_BAR = 90, 9  # pixels of a bar that is all
_CARDS = 3  # findings that are not folded


def html(document: doc.Document, level: int = 2) -> Markup:
    """The elements of a document, one after the other. `level`: that of its headings."""
    parts = []
    for kind, run in groupby(_flat(document), type):
        nodes = list(run)
        if kind is doc.Item:
            parts.append(element("ul", *map(_item, nodes)))  # type: ignore[arg-type]
        elif kind is doc.Fact:
            parts.append(_facts(nodes))  # type: ignore[arg-type]
        else:
            parts += [_node(node, level) for node in nodes]
    return joined(*parts)


def _flat(nodes: Iterable[doc.Node]) -> Iterator[doc.Node]:
    """What a page shows."""
    for node in nodes:
        if isinstance(node, doc.Full):
            yield from _flat(node.make())
        elif not isinstance(node, doc.Brief):
            yield node


def _node(node: doc.Node, level: int) -> Markup:
    if isinstance(node, doc.Section):
        labelled = None if node.id is None else f"{node.id}-title"
        heading = element(f"h{level}", node.title, id=labelled)
        inside = html(node.children, level + 1)  # a landmark for screen readers
        return element("section", heading, inside, id=node.id, aria_labelledby=labelled)
    draw: Callable[[Any], Markup] = _DRAWN[type(node)]
    return draw(node)


def inline(text: doc.Text) -> Markup:
    """A text: names in a typewriter's face, lines of the log as links."""
    if isinstance(text, str):
        return element("code", text) if isinstance(text, doc.Code) else joined(text)
    if isinstance(text, doc.Link):
        return element("a", text.text, href=text.place)
    if isinstance(text, doc.Line):
        return _to_line(text, f"{text.number:,}")
    return joined(*map(inline, text))


def _to_line(line: doc.Line, text: Markup | str) -> Markup:
    """A link to what the timeline shows of a line of the log."""
    place = f"#line-{line.number}"
    return element("a", text, href=place, class_="line", data_source=line.source)


def _item(node: doc.Item) -> Markup:
    return element("li", inline(node.text), html(node.children))


def _facts(nodes: Iterable[doc.Fact]) -> Markup:
    parts, last = [], ""
    for node in nodes:
        if node.label and node.label != last:
            parts.append(element("dt", capital(node.label)))
            last = node.label
        content = joined(inline(node.text), ", ".join(node.entries))
        parts.append(element("dd", content, html(node.children)))
    return element("dl", *parts)


def _figure(figure: tuple[str, str, str]) -> Markup:
    name, value, about = figure
    small = element("small", about) if about else None
    return element("li", element("span", name), element("b", value), small)


def capital(text: str) -> str:
    """A text that begins with a capital."""
    first = text.partition(" ")[0]
    return text if first != first.lower() else text[:1].upper() + text[1:]


# ---- findings ------------------------------------------------------------------------------------


def _findings(node: doc.Findings) -> Markup:
    """Those with most at stake as cards, notes and all others folded."""
    cards = [*map(_card, node.findings)]
    worth = sum(finding.severity != "note" for finding in node.findings[:_CARDS])
    shown_ = element("ol", *cards[:worth], class_="cards") if worth else None
    if len(cards) == worth:
        return joined(shown_)
    notes = all(finding.severity == "note" for finding in node.findings[worth:])
    title = count_of(len(cards) - worth, "note" if notes else "more finding")
    rest = element("ol", *cards[worth:], class_="cards", start=worth + 1)
    return joined(shown_, element("details", element("summary", title), rest))


def _card(finding: doc.Finding) -> Markup:
    python = None if finding.python is None else element("code", finding.python)
    if python is not None and finding.line is not None:
        python = _to_line(finding.line, python)
    return element(
        "li",
        element("span", _SEVERITIES[finding.severity], class_=f"severity {finding.severity}"),
        " ",
        element("code", finding.id),
        element("span", finding.stake, class_="stake") if finding.stake else None,
        joined(" ", python),
        element("pre", element("code", finding.source)) if finding.source else None,
        element("p", finding.text),
        element("p", element("b", "Fix: "), finding.advice) if finding.advice else None,
        element("details", element("summary", "Where"), html(finding.details)),
    )


# ---- tables --------------------------------------------------------------------------------------


def table(node: doc.Table) -> Markup:
    """A table; columns that hold nothing are left out."""
    columns = [
        column
        for column in node.columns
        if any(row.get(column.key) is not None for row in node.rows)
    ] or list(node.columns)
    body = (element("tr", *(_cell(column, row) for column in columns)) for row in node.rows)
    return element(
        "div",
        element(
            "table",
            element("caption", element("span", node.caption)) if node.caption else None,
            element("thead", element("tr", *map(_title, columns))),
            element("tbody", *body),
            id=node.id,
            data_tools=node.tools,
        ),
        class_="wide",
        tabindex=0,
        role="group",  # not a landmark: captions are not unique
        aria_label=node.caption or None,
    )


def _class(column: doc.Column) -> str | None:
    """What `assets/report.css` knows a column by."""
    number = "n" if column.kind in doc.NUMBERS else "l" if column.kind == "list" else None
    return " ".join(filter(None, (number, None if column.paper else "screen"))) or None


def _title(column: doc.Column) -> Markup:
    return element(
        "th", capital(column.title), scope="col", class_=_class(column), title=column.about
    )


def _cell(column: doc.Column, row: doc.Row) -> Markup:
    value, text = row.get(column.key), shown(column, row)
    if value is None:
        return element("td", class_=_class(column))
    if column.kind == "name" and isinstance(text, str):
        text = doc.Code(text)
    words = plain(text)
    bar = _bar(value) if column.kind == "bar" else None
    exact = str(value) if column.kind in doc.NUMBERS and str(value) != words else None
    long = words if column.kind == "list" else None  # it may be cut
    return element("td", inline(text), bar, class_=_class(column), data_value=exact, title=long)


def _bar(share: float) -> Markup:
    width, height = _BAR
    filled = element("rect", width=round(share * width, 1), height=height)
    return element("svg", filled, class_="share", width=width, height=height, aria_hidden="true")


_DRAWN = {
    doc.Paragraph: lambda node: element("p", inline(node.text), class_=node.tone or None),
    doc.Table: table,
    doc.Findings: _findings,
    doc.Folded: lambda node: element(
        "details", element("summary", node.title), html(node.children)
    ),
    doc.Figures: lambda node: element("ol", *map(_figure, node.figures), class_=node.class_),
    doc.Picture: lambda node: node.markup,
}
