"""A polars frame as a table in the terminal.

It never gets wider than the terminal: long names lose their middle first; if that is not enough,
columns are left out from the right and named below, as are those that hold nothing. The same frame
and width give the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.views.grid import Column, draw_grid
from tflogscope.views.pieces import MODES, REWRITTEN
from tflogscope.views.text import print_paragraph, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

DEFAULT_LIMIT = 500  # rows: more than anyone reads, and quick to draw
_NAME_KEEPS = 20  # cells: of a path or a long op type less says nothing

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
    filled = [name for name in frame.columns if frame[name].count()] or frame.columns
    left_out = draw_grid([_column(shown, name) for name in filled], console)
    if shown.height < frame.height:
        rows = frame.height - shown.height
        print_paragraph(f"{rows:,} more rows not shown; -o FILE writes all", console)
    if left_out:
        names = ", ".join(filled[-len(left_out) :])
        print_paragraph(f"no room for: {names}; -o FILE writes all", console)
    if empty := [name for name in frame.columns if name not in filled]:
        print_paragraph(f"empty: {', '.join(empty)}", console)


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


def _column(frame: pl.DataFrame, header: str) -> Column:
    """A column as texts; null is empty."""
    column, style = frame[header], list[str]()
    kind = column.dtype
    if header == "mode":
        style = [MODES.get(mode, "") for mode in column]
    elif header == "kernel" and "rewrite" in frame.columns:
        style = ["" if made in {None, "none"} else REWRITTEN for made in frame["rewrite"]]
    show: Callable[[Any], str] = str
    if kind.is_numeric() and header.endswith("_us"):
        header, show = header.removesuffix("_us"), duration
    elif kind.is_integer() and header not in _LABELS:
        show = "{:,}".format
    elif kind.is_float():
        show = "{:,.3f}".format
    elif kind == pl.Boolean:
        show = {True: "yes", False: "no"}.__getitem__
    elif kind == pl.List:
        column = column.cast(pl.List(pl.String)).list.join("; ")
    cells = ["" if value is None else show(value) for value in column]
    # Names may lose their middle, numbers and times may not.
    whole = kind.is_numeric() or kind.is_temporal()
    least = None if whole else _NAME_KEEPS
    return Column(header, cells, is_number=kind.is_numeric(), least=least, style=style or "")
