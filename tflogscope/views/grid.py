"""Columns of text in the terminal: never wider than it, and no blanks at the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tflogscope.escapes import safe
from tflogscope.views.text import shorten, text

_GAP = 2  # cells between columns


class GridColumn(NamedTuple):
    """A column: its title and cells, any texts.

    Numbers (`is_number`) are right-aligned. Names may lose their middle, but keep `least` cells;
    what has no `least` is shown whole or not at all. What `stays` is left out after all others.
    `style` is that of all cells, or of each one.
    """

    title: str
    cells: list[str]
    is_number: bool = False
    least: int | None = None
    stays: bool = False
    style: str | list[str] = ""

    @property
    def width(self) -> int:
        """Cells that it takes to show all of it."""
        return max(map(cell_len, (self.title, *self.cells)))


def draw_grid(
    columns: list[GridColumn], console: Console, *, indent: int = 0, titles: bool = True
) -> list[str]:
    """Print columns beside each other, below their titles, and return the titles of those left out.

    Where there is no room for all, long names lose their middle; if that is not enough, columns
    are left out from the right, those that stay after the others.
    """
    # Codes for characters that have an effect: before they are measured.
    columns = [
        raw._replace(title=safe(raw.title), cells=[*map(safe, raw.cells)]) for raw in columns
    ]
    shown, widths = _fit(columns, console.width - indent)
    cells = zip(*(column.cells for column in shown), strict=True)
    styles = zip(*map(_styles, shown), strict=True)
    lines = [_row(texts, shown, widths, style) for texts, style in zip(cells, styles, strict=True)]
    if titles:
        title = _row([column.title for column in shown], shown, widths, ["bold"] * len(shown))
        lines = [title, Text("─" * (sum(widths) + _GAP * (len(widths) - 1))), *lines]
    for line in lines:
        console.print(Text(" " * indent) + line, soft_wrap=True)
    return [column.title for column in columns if column not in shown]


def _styles(column: GridColumn) -> list[str]:
    return [column.style] * len(column.cells) if isinstance(column.style, str) else column.style


def _row(
    cells: Sequence[str], columns: list[GridColumn], widths: list[int], styles: Sequence[str]
) -> Text:
    row = Text()
    for number, (cell, column, width, style) in enumerate(
        zip(cells, columns, widths, styles, strict=True)
    ):
        short = shorten(cell, width)
        fill = " " * (width - cell_len(short))
        row.append(" " * (_GAP if number else 0))
        row.append(fill if column.is_number else "")
        row.append_text(text(short, style))
        row.append("" if column.is_number else fill)
    row.rstrip()
    return row


def _fit(columns: list[GridColumn], room: int) -> tuple[list[GridColumn], list[int]]:
    """The columns that there is room for, and their widths, the widest names shortened first."""
    shown = list(columns)
    while True:
        wanted = [column.width for column in shown]
        least = [
            width if column.least is None else min(width, column.least)
            for width, column in zip(wanted, shown, strict=True)
        ]
        gaps = _GAP * (len(shown) - 1)
        if sum(least) + gaps <= room or len(shown) <= 1:
            return shown, _shrink(wanted, least, room - gaps)
        shown.remove(next((column for column in shown[:0:-1] if not column.stays), shown[-1]))


def _shrink(wanted: list[int], least: list[int], room: int) -> list[int]:
    """Take cells from the widest column that has some to give, until the sum fits."""
    widths = [min(width, max(room, 1)) for width in wanted]
    while sum(widths) > room:
        spare = [(width, -place) for place, width in enumerate(widths) if width > least[place]]
        if not spare:
            break
        widths[-max(spare)[1]] -= 1
    return widths
