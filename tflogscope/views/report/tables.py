"""Tables of the page: plain HTML, which `assets/tables.js` makes sortable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tflogscope.views.markup import Markup, element, joined
from tflogscope.views.table import duration

Row = dict[str, Any]
Kind = Literal["text", "name", "count", "label", "us", "line", "list"]
_NUMBERS = frozenset({"count", "label", "us", "line"})


@dataclass(frozen=True)
class Column:
    """A column: the key of its values, its title, and what they are.

    `name` is a text of the program (an op), `label` a number that is not an amount, `us` a
    duration in µs, `line` a line of the log, `list` texts joined by `;`. `on_paper`: whether it is
    printed.
    """

    key: str
    title: str
    kind: Kind = "text"
    about: str | None = None
    on_paper: bool = True

    @property
    def class_(self) -> str | None:
        """What `assets/report.css` knows it by."""
        number = "n" if self.kind in _NUMBERS else "l" if self.kind == "list" else None
        screen = None if self.on_paper else "screen"
        return " ".join(filter(None, (number, screen))) or None


def table(
    id_: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    *,
    tools: bool = False,
) -> Markup:
    """A table; with `tools` it can be filtered, sorted and copied.

    Columns that hold nothing are left out. Each row may name its `source` (for links to lines).
    """
    every = list(rows)
    shown = [
        column for column in columns if any(row.get(column.key) is not None for row in every)
    ] or list(columns)
    head = element("tr", *(_title(column) for column in shown))
    body = (element("tr", *(_cell(column, row) for column in shown)) for row in every)
    return element(
        "div",
        element(
            "table",
            element("caption", element("span", caption)),
            element("thead", head),
            element("tbody", *body),
            id=id_,
            data_tools=tools,
        ),
        class_="wide",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def _title(column: Column) -> Markup:
    return element("th", column.title, scope="col", class_=column.class_, title=column.about)


def _cell(column: Column, row: Row) -> Markup:
    value = row.get(column.key)
    if value is None:
        return element("td", class_=column.class_)
    if isinstance(value, Markup):
        return element("td", value, class_=column.class_)
    exact: str | None = str(value)
    shown: str | Markup = str(value)
    if column.kind == "us":
        shown = duration(value)
    elif column.kind == "count":
        shown = f"{value:,}"
    elif column.kind == "line":
        shown = line_link(value, row.get("source"))
    elif column.kind == "name":
        shown = element("code", str(value))
    elif column.kind == "list":
        shown = str(value).replace(";", "; ")
    if exact == shown or column.kind in ("name", "text"):
        exact = None  # the cell itself is exact
    title = str(shown) if column.kind == "list" else None  # it may be cut
    return element("td", shown, class_=column.class_, data_value=exact, title=title)


def line_link(line: int, source: str | None = None) -> Markup:
    """A line of the log, as a link to what the timeline shows of it."""
    place = f"#line-{line}"
    return element("a", f"{line:,}", href=place, class_="line", data_source=source)


def facts(pairs: Iterable[tuple[str, str | Markup | None]]) -> Markup:
    """What there is to say under some headings; None is left out."""
    said = [
        joined(element("dt", name), element("dd", value))
        for name, value in pairs
        if value is not None
    ]
    return element("dl", *said)
