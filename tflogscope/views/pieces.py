"""Small pieces of the screens: headings, facts with a label, shares in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from tflogscope.model.figures import count_of
from tflogscope.views.text import paragraph_width, print_paragraph, safe, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tflogscope.model.facts import KindRuns, Mode, Rewriters, Summary

# What colours mean, everywhere in the terminal; what they say is also there in words.
EAGER, GRAPH, REWRITTEN, ERROR = "yellow", "cyan", "green", "red"
MODES = {"eager": EAGER, "graph": GRAPH}
NAME_WIDTH = 44  # cells of a name that comes from the log
_LABEL_WIDTH = 8
_LOST = 15  # cells at the end of a line where the next word has no room


_KINDS: dict[tuple[Mode, str], str] = {
    ("eager", "op"): "ops, one by one",
    ("eager", "call"): "calls, nodes included",
    ("graph", "op"): "nodes of functions",
    ("graph", "plumbing"): "arguments, results, sends",
    ("graph", "folding"): "constants, worked out ahead",
}


def kind_rows(facts: Summary) -> Iterator[tuple[Mode, str, str, KindRuns, int | None]]:
    """What ran: mode, kind, the kind in words, counts, and time (of calls the outermost)."""
    for (mode, kind), words in _KINDS.items():
        if counted := facts.mode(mode).kinds.get(kind):
            us = facts.nested.outer_us if kind == "call" else counted.total_us
            yield mode, kind, words, counted, us


def whose(rewriters: Rewriters) -> str:
    """Whose kernels a text speaks of: `oneDNN`, `ZenDNN`, `oneDNN and ITEX`."""
    return " and ".join(rewriters.kernels)


def heading(title: str, console: Console, colour: str = "") -> None:
    """Print a heading, an empty line before it."""
    console.print()
    console.print(text(title, f"bold {colour}".strip()), soft_wrap=True)


def say(label: str, fact: str, console: Console) -> None:
    """Print a fact behind its label; further lines are below its first word."""
    print_paragraph(fact, console, f"  {label.ljust(_LABEL_WIDTH)}")


def say_list(
    label: str, entries: list[str], console: Console, before: str = "", lines: int = 1
) -> None:
    """Print the first entries of a list, behind its label: as many as there is room for.

    Args:
        label: what the list is.
        entries: texts, the most important first.
        console: where to print.
        before: what comes between label and list.
        lines: how many it may take.
    """
    room = (paragraph_width(console) - 2 - _LABEL_WIDTH) * lines - _LOST * (lines - 1)
    shown = len(entries)
    while shown > 1 and cell_len(safe(before + _joined(entries, shown))) > room:
        shown -= 1
    say(label, before + _joined(entries, shown), console)


def _joined(entries: list[str], shown: int) -> str:
    more = f" and {len(entries) - shown} more" if len(entries) > shown else ""
    return ", ".join(entries[:shown]) + more


def percent(part: float, whole: float) -> str:
    """A share for people: what is there is never `0%`, and what is not all never `100%`."""
    share = part / whole if whole else 0.0
    if 0 < share <= 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def ops_without_line(facts: Summary) -> str:
    """How many eager ops no line of the program asked for, as far as the log says: `3 eager ops`.

    Such are the gradients of a py_function's own ops: no frame of the program is on the stack.
    """
    ran = facts.eager.kinds["op"].executions if "op" in facts.eager.kinds else 0
    left = ran - sum(line.eager_runs for line in facts.lines)
    return count_of(left, "eager op") if facts.lines and left > 0 else ""
