r"""A document as Markdown, as GitHub and GitLab read it: for a job's summary or a pull request.

What a log says stays text: no element, link, image, mention, formula or emphasis comes of it, and
no line begins with what a CI runner would obey. Marks are escaped by `\`, which Markdown takes
before any of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tflogscope.escapes import safe
from tflogscope.views import document as doc
from tflogscope.views.document import brief_columns, first, in_full, plain, shown

_ENTRIES = 8  # of a list
_DEEPEST = 6  # levels of headings
# `_` and `:` have a meaning only at the edge of a word, and before `/` (a URL) or another `:`.
_MARKS = re.compile(r"[\\`*\[\]|~$#!{}]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=[:/])")
_URL = re.compile(r"\b(www)\.", re.IGNORECASE)
# What begins a list, a quotation, a heading or a rule at the start of a line.
_START = re.compile(r"^(\s*(?:\d+(?=[.)](?:\s|$))|(?=[-+=>])))")
_NO_CODE = re.compile(r"[`|]|^\s|\s$|^$|\\x3a:|\\x23#")


def markdown(document: doc.Document, level: int = 2) -> str:
    """A document as text. `level`: that of its headings."""
    return "\n".join(_blocks(document, level)).strip("\n") + "\n"


def _blocks(nodes: Iterable[doc.Node], level: int) -> Iterator[str]:
    """Lines, an empty one between blocks; those of a list follow each other."""
    last: doc.Node | None = None
    for node in nodes:
        draw = _DRAWN.get(type(node))
        if draw is None:
            continue
        if last is not None and not (
            isinstance(node, (doc.Item, doc.Fact)) and type(node) is type(last)
        ):
            yield ""
        last = node
        yield from draw(node, level)


def _section(node: doc.Section, level: int) -> Iterator[str]:
    yield f"{'#' * min(level, _DEEPEST)} {_begun(node.title + node.brief)}"
    if node.children:
        yield ""
        yield from _blocks(node.children, level + 1)


def _paragraph(node: doc.Paragraph, _level: int) -> Iterator[str]:
    bold = "**" if node.tone in ("passed", "failed") else ""
    yield f"{bold}{_begun(node.text)}{bold}"


def _item(node: doc.Item, level: int) -> Iterator[str]:
    yield f"- {_begun(node.text)}"
    yield from _inside(node.children, level)


def _fact(node: doc.Fact, level: int) -> Iterator[str]:
    text = escaped((node.text, first(node.entries, _ENTRIES)))
    label = f"**{escaped(node.label)}** " if node.label else ""
    yield f"- {label}{text}"
    yield from _inside(node.children, level)


def _figures(node: doc.Figures, level: int) -> Iterator[str]:
    for name, value, about in node.figures:
        yield from _fact(doc.Fact(name, f"{value}: {about}"), level)


def _inside(children: Iterable[doc.Node], level: int) -> Iterator[str]:
    """What belongs to an item of a list: further in, below an empty line."""
    for number, line in enumerate(_blocks(children, level)):
        if not number:
            yield ""
        yield f"  {line}" if line else line


def _table(node: doc.Table, _level: int) -> Iterator[str]:
    columns = brief_columns(node)
    yield _cells(escaped(column.title) for column in columns)
    yield _cells("--:" if column.kind in {*doc.NUMBERS, "share"} else "---" for column in columns)
    for row in node.rows:
        yield _cells(_cell(column, row) for column in columns)


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: doc.Column, row: doc.Row) -> str:
    value = shown(column, row)
    named = column.kind == "name" and isinstance(value, str) and value
    return escaped(doc.Code(value) if named else value)


def _begun(text: doc.Text) -> str:
    """A text at the start of a line: blanks there would make code of it."""
    return escaped(text).lstrip()


def escaped(text: doc.Text) -> str:
    """A text whose marks have no effect; a name as code, if it can be."""
    if isinstance(text, doc.Code) and not _NO_CODE.search(safe(text)):
        return f"`{safe(text)}`"
    if not isinstance(text, (str, doc.Line, doc.Link)):
        return "".join(map(escaped, text))
    marked = _MARKS.sub(r"\\\g<0>", safe(plain(text)))
    marked = marked.replace("&", "&amp;").replace("<", "&lt;").replace("@", "@<!-- -->")
    return _START.sub(r"\1\\", _URL.sub(r"\1\\.", marked))


_DRAWN: dict[type, Callable[[Any, int], Iterator[str]]] = {
    doc.Section: _section,
    doc.Brief: lambda node, level: _blocks(node.children, level),
    doc.Folded: lambda node, level: _blocks(node.children, level),
    doc.Findings: lambda node, level: _blocks(map(in_full, node.findings), level),
    doc.Paragraph: _paragraph,
    doc.Item: _item,
    doc.Fact: _fact,
    doc.Figures: _figures,
    doc.Table: _table,
}
