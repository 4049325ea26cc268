"""The door between log text and the terminal.

rich reads `[…]` as markup and TensorFlow's logs are full of it, so nothing from a log is ever
passed to `Console.print` as a string: it goes through `text`, which makes a `rich.text.Text` of
characters that have no effect.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tflogscope.digits import whole
from tflogscope.escapes import safe

WIDTH_WITHOUT_TERMINAL = 100
_ARROW, _LEAST_SIDES = " → ", 8
_WIDEST_PARAGRAPH = 100  # cells: longer lines are hard to read
# An amount and its unit stay on one line. For rich each blank is a break, the no-break space too.
_AMOUNT, _NO_BREAK = re.compile(r"(?<=\d) (?=(?:µs|ms|s|min|[kMG]?B)\b)"), "\ue000"


def text(value: object, style: str = "") -> Text:
    """Any value as text for rich; markup and control characters in it have no effect."""
    return Text(safe(str(value)), style=style)


def paragraph_width(console: Console) -> int:
    """Cells of a line of text."""
    return min(console.width, _WIDEST_PARAGRAPH)


def print_paragraph(value: str, console: Console, label: str = "", style: str = "") -> None:
    """Print a text in lines as wide as people read; all but the first are below its first word.

    Args:
        value: any text; what is in it has no effect.
        console: where to print; its width is kept.
        label: what comes before the first line.
        style: of all of it.
    """
    before, indent = text(label), cell_len(label)
    room = max(paragraph_width(console) - indent, 1)
    for line in text(_AMOUNT.sub(_NO_BREAK, value)).wrap(console, room):
        # rich keeps the blanks at which it breaks, at the end of a line or the start of the next.
        plain = line.plain.strip().replace(_NO_BREAK, " ")
        console.print(before + Text(plain), style=style, soft_wrap=True)
        before = Text(" " * indent)


def shorten(value: str, width: int) -> str:
    """Cut the middle out of a text that is wider than `width` terminal cells: `_Mkl…_8586`.

    The end of a name says as much as its beginning: `…/MatMul_1`, `…_8586`. Of `before → after`
    each side is cut.
    """
    if cell_len(value) <= width:
        return value
    before, arrow, after = value.partition(_ARROW)
    room = width - len(_ARROW)
    if arrow and room >= _LEAST_SIDES:
        before = shorten(before, max(room // 2, room - cell_len(after)))
        return f"{before}{arrow}{shorten(after, room - cell_len(before))}"
    if width < 2:
        return "…"[:width]
    tail = _head(value[::-1], (width - 1) // 2)[::-1]
    return f"{_head(value, width - 1 - cell_len(tail))}…{tail}"


def _head(value: str, width: int) -> str:
    """As many first characters as fit: wide ones take two cells."""
    if value.isascii():
        return value[:width]
    used = 0
    for position, character in enumerate(value):
        used += cell_len(character)
        if used > width:
            return value[:position]
    return value


def wants_colour(stream: TextIO) -> bool:
    """NO_COLOR over FORCE_COLOR over TERM=dumb over whether the stream is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def make_console(
    stream: TextIO | None = None,
    *,
    colour: bool | None = None,
    width: int | None = None,
    moves: bool = False,
) -> Console:
    """A rich console that takes no markup and guesses no highlights.

    Args:
        stream: where to write; standard output if not given.
        colour: whether to use colours; if not given, `wants_colour` decides.
        width: how many cells wide; if not given as COLUMNS says, else as the terminal, else 100.
        moves: whether to move the cursor of a terminal also where it shows no colours.
    """
    stream = stream or sys.stdout
    terminal = stream.isatty()
    coloured = wants_colour(stream) if colour is None else colour
    return Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        # FORCE_COLOR asks for colours where rich would find none.
        color_system=("auto" if terminal else "standard") if coloured else None,
        force_terminal=coloured or moves,
        width=width or (None if terminal else _asked_width() or WIDTH_WITHOUT_TERMINAL),
    )


def _asked_width() -> int | None:
    """What COLUMNS says; None if it is not set, or is not a number of cells."""
    width = whole(os.environ.get("COLUMNS", ""))
    return width if width and width < 10_000 else None
