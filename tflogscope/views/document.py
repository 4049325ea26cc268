"""What a screen says, as a tree: made once, and drawn by `terminal`, `html` and `markdown`.

All texts are plain: what a log says may be in any of them, and each renderer escapes it. JSON is
not drawn of the tree: it has the facts that the tree is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.facts import Mode
from tflogscope.model.common.figures import duration, percent
from tflogscope.views.markup import Markup

ROWS = 1000  # of a table, unless all are asked for
Row: TypeAlias = Mapping[str, Any]
Kind = Literal["text", "name", "count", "label", "us", "line", "list", "number", "share", "bar"]
Tone = Literal["", "eager", "graph", "rewritten", "error", "passed", "failed", "hint"]
NUMBERS = frozenset({"count", "label", "us", "line", "number", "bar"})
KINDS: dict[tuple[Mode, str], str] = {
    ("eager", "op"): "ops (all threads)",
    ("eager", "call"): "tf.function calls",
    ("graph", "op"): "op nodes (all threads)",
    ("graph", "plumbing"): "transfer nodes (_Arg, _Send, …)",
    ("graph", "folding"): "constant folding",
}
"""Executions by mode and kind."""


def mode_tone(row: Row) -> Tone:
    """The tone of a row that has a mode."""
    tones: dict[str, Tone] = {"eager": "eager", "graph": "graph"}
    return tones.get(row["mode"], "")


class Code(str):
    """A text of the program or of the log, such as the name of an op."""

    __slots__ = ()


class Line(NamedTuple):
    """A line of the log, from 1, and of which log where there are several."""

    number: int
    source: str | None = None


class Link(NamedTuple):
    """A link to another page."""

    text: str
    place: str


Text: TypeAlias = str | Line | Link | Sequence["Text"]


class Paragraph(NamedTuple):
    """A text in lines as wide as people read."""

    text: Text
    tone: Tone = ""


class Item(NamedTuple):
    """An item of a list, and what belongs to it. `mark`: what a terminal has before it."""

    text: Text
    children: Sequence[Node] = ()
    mark: str = "- "
    tone: Tone = ""


class Fact(NamedTuple):
    """A text behind its label; then as many of the `entries` as there is room for in `lines`.

    Without a label it goes on with what the fact before it says.
    """

    label: str
    text: Text
    entries: Sequence[str] = ()
    lines: int = 1
    tone: Tone = ""
    children: Sequence[Node] = ()


class Figures(NamedTuple):
    """Figures side by side: what each is, its value in words, and what it is made of."""

    figures: Sequence[tuple[str, str, str]]
    class_: str = "way"


class Column(NamedTuple):
    """A column of a table: the key of its values, its title, and what they are.

    `name` is a text of the program, `count` an amount, `number` one that may have a fraction,
    `label` a number that is not an amount, `us` a duration in µs, `line` a line of the log, `list`
    texts joined by `;`, `share` a figure in words, `bar` a share from 0 to 1. `about` explains the
    column. Where there is no room a name keeps `least` cells of a terminal, and what `stays` is
    left out after all others. `page`: for a page alone; `paper`: whether it is printed.
    """

    key: str
    title: str
    kind: Kind = "text"
    about: str | None = None
    tone: Tone | Callable[[Row], Tone] = ""
    stays: bool = False
    least: int | None = None
    page: bool = False
    paper: bool = True


@cache
def columns(table: str) -> tuple[Column, ...]:
    """The columns of a table: rows of `grammars/sentences/columns.toml`."""
    titles = packaged_toml("sentences/columns.toml")[table]
    return tuple(Column(**{"key": key, "title": key, **facts}) for key, facts in titles.items())


class Table(NamedTuple):
    """A table. With `tools`, a page lets readers filter, sort and copy it.

    `titles`: whether a terminal shows them; `more` is where to find columns that have no room.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    id: str | None = None
    tools: bool = False
    titles: bool = True
    more: str = ""


class Finding(NamedTuple):
    """A finding: what it is called, what was found, and what to do about it.

    `python` is the line of the program that asked for most of it, `source` its text, `line` the
    first line of the log that shows it. `advice` may be empty.
    """

    severity: str
    id: str
    title: str
    text: str
    advice: str
    stake: str
    python: str | None
    source: str | None
    line: Line | None
    details: Sequence[Node]


class Findings(NamedTuple):
    """Findings in full: sections of their own, on a page cards."""

    findings: Sequence[Finding]


class Picture(NamedTuple):
    """What only a page can draw."""

    markup: Markup


class Section(NamedTuple):
    """A heading, and what is below it. `id`: its anchor on a page.

    `brief`: what is said behind the title where there is not all of it.
    """

    title: str
    children: Sequence[Node]
    id: str | None = None
    tone: Tone = ""
    brief: str = ""


class Folded(NamedTuple):
    """What a page shows when its title is clicked; elsewhere it has no title."""

    title: str
    children: Sequence[Node]


class Brief(NamedTuple):
    """For a terminal and for Markdown: a page has more of it."""

    children: Sequence[Node]


class Full(NamedTuple):
    """For a page alone: made when a page is drawn."""

    make: Callable[[], Iterable[Node]]


_FIGURES: Mapping[str, Callable[[Any], str]] = {
    "us": duration,
    "bar": lambda share: percent(share, 1),
    "number": "{:,.3f}".format,
    "count": "{:,}".format,
}

Node: TypeAlias = (
    Paragraph | Item | Fact | Figures | Table | Findings | Picture | Section | Folded | Brief | Full
)
Document: TypeAlias = Sequence[Node]


class Room:
    """How much of a table a page has room for, and in words what it leaves out."""

    def __init__(self, *, full: bool = False) -> None:
        """`full`: leave nothing out."""
        self.full = full
        self.notes: list[str] = []

    def rows(self, table: Sequence[Row] | pl.DataFrame, name: str) -> Sequence[Row]:
        """The first rows of a table that has this name."""
        if not self.full and len(table) > ROWS:
            self.notes.append(f"The table of {name} shows {ROWS:,} of {len(table):,} rows.")
            table = table[:ROWS]
        return table.to_dicts() if isinstance(table, pl.DataFrame) else table


def plain(text: Text) -> str:
    """A text without what tells its parts apart."""
    if isinstance(text, str):
        return str(text)
    if isinstance(text, Link):
        return text.text
    return f"{text.number:,}" if isinstance(text, Line) else "".join(map(plain, text))


def shown(column: Column, row: Row) -> Text:
    """A cell as people read it; nothing where the value is null."""
    value = row.get(column.key)
    if value is None:
        return ""
    if isinstance(value, (str, tuple)):
        return value.replace(";", "; ") if column.kind == "list" else value  # type: ignore[union-attr]
    if column.kind == "line":
        return Line(value, row.get("source"))
    return _FIGURES.get(column.kind, str)(value)


def brief_columns(table: Table) -> list[Column]:
    """The columns that are not for a page alone and hold something; all if none does."""
    columns = [column for column in table.columns if not column.page]
    return [col for col in columns if any(shown(col, row) for row in table.rows)] or columns


def in_full(finding: Finding) -> Section:
    """A finding as a section of its own."""
    title = f"{finding.title} ({finding.severity}, {finding.id})"
    known = ("time", finding.stake), ("fix", finding.advice)
    facts = [Fact(name, text) for name, text in known if text]
    body = (Paragraph(finding.text), *facts, *finding.details)
    return Section(title, body, tone="error" if finding.severity == "error" else "")


def lines(numbers: Sequence[int], source: str | None = None) -> Sequence[Text]:
    """Lines of the log, one after the other."""
    texts: list[Text] = []
    for number in numbers:
        texts += [", "] * bool(texts) + [Line(number, source)]
    return texts


def log_lines(numbers: Sequence[int], source: str | None = None) -> Text:
    """The same after what they are: `lines 5, 9`."""
    return f"line{'s' * (len(numbers) > 1)} ", *lines(numbers, source)


def left_out(count: int, shown: int) -> Iterator[Node]:
    """How many entries there are besides those that are shown."""
    if count > shown:
        yield Paragraph(f"and {count - shown} more (--json has all)")


def first(entries: Sequence[str], count: int) -> str:
    """The first entries of a list, and how many more there are."""
    more = f" and {len(entries) - count} more" if len(entries) > count else ""
    return ", ".join(entries[:count]) + more
