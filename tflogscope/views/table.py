"""A polars frame as a table in the terminal.

It never gets wider than the terminal: long names lose their middle first; if that is not enough,
columns are left out from the right and named below. The same frame and width give the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table

from tflogscope.views.text import safe, shorten, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

DEFAULT_LIMIT = 500  # rows: more than anyone reads, and quick to draw
NARROWEST = 12  # cells a name keeps at least, before columns are left out
_GAP = 2  # cells between columns: one of padding, one of the box

# Numbers that are looked up, not read as amounts: no thousands separators.
_LABELS = frozenset(
    {"call", "end_line", "first_line", "function_uid", "instantiated_line", "line", "step"}
    | {"thread", "timeline_line", "vlog_level"}
)


def render_table(
    frame: pl.DataFrame, console: Console, title: str | None = None, limit: int = DEFAULT_LIMIT
) -> None:
    """Print a frame.

    Columns named `…_us` hold µs and are shown as durations, under a name without the `_us`.

    Args:
        frame: the rows to show.
        console: where to print; its width is kept.
        title: a line above the table.
        limit: rows to show at most; what is cut is said below.
    """
    if title is not None:
        console.print(text(title, "bold"))
    shown = frame.head(limit)
    columns = [_cells(shown[name]) for name in shown.columns]
    widths = _fit([_width(cells) for cells in columns], _shrinkable(shown), console.width)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name, cells, width in zip(shown.columns, columns, widths, strict=False):
        number = shown.schema[name].is_numeric()
        header = text(shorten(cells[0], width), "bold")
        table.add_column(
            header, justify="right" if number else "left", no_wrap=True, min_width=width
        )
    visible = columns[: len(widths)]
    for row in range(shown.height):
        table.add_row(
            *(
                text(shorten(cells[row + 1], width))
                for cells, width in zip(visible, widths, strict=True)
            )
        )
    console.print(table)
    _say_what_is_cut(frame, console, columns=len(widths), rows=shown.height)


def duration(microseconds: float) -> str:
    """µs for people, three digits: `12.5 µs`, `3.20 ms`, `1.75 s`, `2 min 05 s`."""
    if microseconds < 0:
        return f"-{duration(-microseconds)}"
    for unit, size in (("µs", 1.0), ("ms", 1e3), ("s", 1e6)):
        value = microseconds / size
        if value < (59.95 if unit == "s" else 999.5):
            if unit == "µs" and value == int(value):
                return f"{int(value)} µs"
            decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{decimals}f} {unit}"
    seconds = round(microseconds / 1e6)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60:02} min"


def _cells(column: pl.Series) -> list[str]:
    """A column as texts, its header first; null is empty."""
    header = column.name
    show: Callable[[Any], str] = str
    if column.dtype.is_numeric() and header.endswith("_us"):
        header, show = header.removesuffix("_us"), duration
    elif column.dtype.is_integer() and header not in _LABELS:
        show = "{:,}".format
    elif column.dtype.is_float():
        show = "{:,.3f}".format
    elif column.dtype == pl.Boolean:
        show = {True: "yes", False: "no"}.__getitem__
    elif column.dtype == pl.List:
        column = column.cast(pl.List(pl.String)).list.join("; ")
    return [header, *("" if value is None else safe(show(value)) for value in column)]


def _width(cells: list[str]) -> int:
    return max(map(cell_len, cells))


def _shrinkable(frame: pl.DataFrame) -> list[bool]:
    """Names may lose their middle, numbers and times may not."""
    return [not (kind.is_numeric() or kind.is_temporal()) for kind in frame.dtypes]


def _fit(wanted: list[int], shrinkable: list[bool], room: int) -> list[int]:
    """Widths of as many leading columns as fit, the widest names shortened first."""
    for count in range(len(wanted), 0, -1):
        least = [
            min(width, NARROWEST) if shrinks else width
            for width, shrinks in zip(wanted[:count], shrinkable[:count], strict=True)
        ]
        if sum(least) + _GAP * (count - 1) <= room or count == 1:
            return _shrink(wanted[:count], least, room - _GAP * (count - 1))
    return []


def _shrink(wanted: list[int], least: list[int], room: int) -> list[int]:
    """Take cells from the widest column that has some to give, until the sum fits."""
    widths = [min(width, max(room, 1)) for width in wanted]
    while sum(widths) > room:
        spare = [(width, -place) for place, width in enumerate(widths) if width > least[place]]
        if not spare:
            break
        widths[-max(spare)[1]] -= 1
    return widths


def _say_what_is_cut(frame: pl.DataFrame, console: Console, *, columns: int, rows: int) -> None:
    if rows < frame.height:
        console.print(text(f"{frame.height - rows:,} more rows not shown; -o FILE writes all"))
    if columns < frame.width:
        names = ", ".join(frame.columns[columns:])
        console.print(text(f"no room for: {names}; -o FILE writes all"))
