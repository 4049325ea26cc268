"""A document in the terminal. Its texts reach the console as `rich.text.Text` only."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console

from tflogscope.escapes import safe
from tflogscope.views import document as doc
from tflogscope.views import grid
from tflogscope.views.document import brief_columns, first, in_full, plain, shown
from tflogscope.views.text import (
    make_console,
    paragraph_width,
    print_paragraph,
    shorten,
    text,
)

# What colours mean, everywhere in the terminal; what they say is also there in words.
STYLES: dict[doc.Tone, str] = {
    "": "",
    "eager": "yellow",
    "graph": "cyan",
    "rewritten": "green",
    "error": "red",
    "passed": "bold green",
    "failed": "bold red",
    "hint": "",
}
NAME_WIDTH = 44  # cells of a name that comes from the log
_LEAST_NAME = 12  # cells that a name keeps where there is no room
_LABEL = 8
_LOST = 15  # cells at the end of a line where the next word has no room
_STEP = 2
_BAR = 20  # cells of a bar that is all


def drawn(document: doc.Document, *, to_file: bool = False, width: int | None = None) -> str:
    """A document as text, for the terminal or for a file."""
    console = make_console(io.StringIO(), colour=False) if to_file else make_console(width=width)
    with console.capture() as screen:  # printed after the progress bar is gone
        draw(document, console)
    return screen.get()


def drawn_within(document: doc.Document, most: int, last: str) -> str:
    """The first parts of a document that have room in so many lines, and a last line."""
    console = make_console()
    pen, text_, lines = _Pen(console), "", 0
    for node in document:
        with console.capture() as screen:
            pen.draw([node], 0)
        part = screen.get()
        count = part.count("\n")
        if lines + count < most:
            text_, lines = text_ + part, lines + count
    with console.capture() as screen:
        pen.draw([doc.Paragraph(last)], 0)
    return text_ + screen.get()


def draw(document: doc.Document, console: Console) -> None:
    """Print a document; no line is wider than the terminal or ends with blanks."""
    _Pen(console).draw(document, 0)


class _Pen:
    """Draws one node after the other."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun = False  # whether anything was printed: sections have an empty line above

    def draw(self, nodes: Iterable[doc.Node], indent: int) -> None:
        for node in nodes:
            if isinstance(node, doc.Section):
                self._section(node, indent)
            elif isinstance(node, (doc.Brief, doc.Folded)):
                self.draw(node.children, indent)
            elif isinstance(node, doc.Paragraph):
                self._say(plain(node.text), " " * indent, node.tone)
            elif isinstance(node, doc.Item):
                before = " " * max(indent - len(node.mark), 0) + node.mark
                self._say(plain(node.text), before, node.tone)
                self.draw(node.children, indent + _STEP)
            elif isinstance(node, doc.Fact):
                self._fact(node, indent)
            elif isinstance(node, doc.Figures):
                facts = (doc.Fact(name, f"{value}: {about}") for name, value, about in node.figures)
                self.draw(facts, indent)
            elif isinstance(node, doc.Table):
                self._table(node, indent)
            elif isinstance(node, doc.Findings):
                self.draw(map(in_full, node.findings), indent)

    def _say(self, value: str, before: str, tone: doc.Tone = "") -> None:
        print_paragraph(value, self._console, before, STYLES[tone])
        self._begun = True

    def _gap(self) -> None:
        if self._begun:
            self._console.print()

    def _section(self, node: doc.Section, indent: int) -> None:
        self._gap()
        style = f"bold {STYLES[node.tone]}".strip()
        print_paragraph(node.title + node.brief, self._console, " " * indent, style)
        self._begun = True
        self.draw(node.children, indent + _STEP)

    def _fact(self, node: doc.Fact, indent: int) -> None:
        before = f"{' ' * indent}{node.label.ljust(_LABEL - 1)} "
        value = plain(node.text)
        if node.entries:
            room = paragraph_width(self._console) - cell_len(before)
            room = room * node.lines - _LOST * (node.lines - 1)
            count = len(node.entries)
            while count > 1 and cell_len(safe(value + first(node.entries, count))) > room:
                count -= 1
            value += first(node.entries, count)
        if isinstance(node.text, doc.Code):  # a path that is broken can't be found or copied
            self._console.print(text(before + value), style=STYLES[node.tone], soft_wrap=True)
            self._begun = True
        else:
            self._say(value, before, node.tone)
        if node.children:
            self._gap()
            self.draw(node.children, indent + 2 * _STEP)
            self._gap()

    def _table(self, node: doc.Table, indent: int) -> None:
        columns = [_column(column, node) for column in brief_columns(node)]
        left_out = grid.draw_grid(columns, self._console, indent=indent, titles=node.titles)
        self._begun = True
        if left_out and node.titles:
            more = f"; {node.more}" if node.more else ""
            self._say(f"columns not shown: {', '.join(left_out)}{more}", " " * indent)


def _column(column: doc.Column, table: doc.Table) -> grid.GridColumn:
    is_name = column.kind in ("name", "list")
    cells = [plain(shown(column, row)) for row in table.rows]
    if column.kind == "bar":
        bars = ["▇" * round((row.get(column.key) or 0) * _BAR) for row in table.rows]
        cells = [f"{cell:>4} {bar:{_BAR}}" for cell, bar in zip(cells, bars, strict=True)]
    tone = column.tone
    return grid.GridColumn(
        column.title,
        [shorten(cell, NAME_WIDTH) for cell in cells] if is_name else cells,
        is_number=(column.kind in doc.NUMBERS and column.kind != "bar") or column.kind == "share",
        least=_LEAST_NAME if is_name and column.least is None else column.least,
        stays=column.stays,
        style=[STYLES[tone(row)] for row in table.rows] if callable(tone) else STYLES[tone],
    )
