"""The screen of `tflogscope ranks`, and its section of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.model.figures import count_of
from tflogscope.views.grid import Column, draw_grid
from tflogscope.views.markup import Markup, element
from tflogscope.views.pieces import heading
from tflogscope.views.table import duration
from tflogscope.views.text import print_paragraph, text

if TYPE_CHECKING:
    from rich.console import Console

Facts = dict[str, Any]
_LEAST = 12
_ROWS = 20
_CELL = 12  # of the heat map, in pixels
_STEPS = 400


def render_ranks(facts: Facts, console: Console) -> None:
    """Print what differs between the ranks of a run, and who waits for whom."""
    name = f" of {facts['group']}" if facts["group"] else ""
    console.print(text(f"{len(facts['ranks'])} ranks{name}", "bold"), soft_wrap=True)
    heading("What should be equal and is not", console)
    for line in said_differences(facts):
        print_paragraph(line, console, "  ")
    heading("Who waits for whom", console)
    for line in said_waits(facts):
        print_paragraph(line, console, "  ")
    steps = facts["steps"]
    if steps:
        console.print()
        _steps(steps, console)


def said_differences(facts: Facts) -> list[str]:
    """A sentence for each difference, the odd ranks first."""
    said = []
    for each in facts["differences"]:
        who = f"rank {', '.join(each['odd'])}: " if each["odd"] else "ranks differ: "
        by_value: dict[str, list[str]] = {}
        for rank, value in each["values"].items():
            by_value.setdefault(value, []).append(rank)
        values = "; ".join(f"{value} ({', '.join(ranks)})" for value, ranks in by_value.items())
        said.append(f"{who}{each['what']}, {each['subject']}: {values}")
    return said or ["Nothing: releases, settings, functions, kernels and problems are equal."]


def said_waits(facts: Facts) -> list[str]:
    """Who makes the others wait, and how far the clocks are apart."""
    if not facts["steps"]:
        return ["No function is called by the ranks: the logs can't say."]
    slow, said = facts["slow"], []
    if slow is None:
        said.append("No rank comes last more often than by chance, or for long.")
    else:
        said.append(
            f"rank {slow['rank']} comes last in {slow['steps']} of {slow['of']} steps after the "
            f"first. That makes the first one wait {duration(slow['wait_us'])} (median) of a step "
            f"of {duration(slow['step_us'])}."
        )
    skew = facts["skew_us"]
    if skew:
        apart = ", ".join(f"{rank}: {value:+,.0f} µs" for rank, value in skew.items())
        said.append(f"Clocks, by when collectives end, against the middle one: {apart}.")
    else:
        said.append("No collective is in the logs: who takes longest counts as last.")
    return said


def _steps(steps: list[Facts], console: Console) -> None:
    shown = steps[:_ROWS]
    columns = [Column("step", [str(step["step"]) for step in shown], is_number=True)]
    columns.append(Column("last", [step["slowest"] or "" for step in shown], least=_LEAST))
    columns.append(Column("spread", [_time(step["spread_us"]) for step in shown], is_number=True))
    for number, first in enumerate(shown[0]["ranks"]):
        cells = [_both(step["ranks"][number]) for step in shown]
        columns.append(Column(f"rank {first['rank']}", cells, is_number=True))
    left_out = draw_grid(columns, console, indent=2)
    print_paragraph("time of the call, and in collectives", console, "  ")
    if left_out:
        print_paragraph(f"no room for: {', '.join(left_out)}; --json has all", console, "  ")
    if len(steps) > len(shown):
        rest = count_of(len(steps) - len(shown), "more step")
        print_paragraph(f"{rest}; --json has all", console, "  ")


def _time(value: float | None) -> str:
    return "" if value is None else duration(value)


def _both(rank: Facts) -> str:
    took, inside = rank["took_us"], rank["collective_us"]
    return _time(took) + ("" if inside is None else f" / {_time(inside)}")


def ranks_markup(facts: Facts) -> Markup:
    """What differs, who waits, and a heat map of ranks by steps: how late each rank came."""
    said = [element("li", line) for line in (*said_differences(facts), *said_waits(facts))]
    return element("div", element("ul", *said), _heat_map(facts))


def _heat_map(facts: Facts) -> Markup | None:
    steps = facts["steps"][:_STEPS]
    if not steps:
        return None
    rows = len(facts["ranks"])
    cells: list[Markup] = []
    for column, step in enumerate(steps):
        inside = [rank["collective_us"] for rank in step["ranks"]]
        most = max((each for each in inside if each is not None), default=0)
        for row, rank in enumerate(step["ranks"]):
            if rank["collective_us"] is None:
                continue
            late = most - rank["collective_us"]
            share = late / rank["took_us"] if rank["took_us"] else 0
            cells.append(
                element(
                    "rect",
                    x=column * _CELL,
                    y=row * _CELL,
                    width=_CELL - 1,
                    height=_CELL - 1,
                    fill="#b3261e",
                    fill_opacity=round(0.05 + 0.95 * min(share, 1), 3),
                )
            )
    label = (
        f"{rows} ranks (rows) by {len(steps)} steps: the darker, the later a rank came, against "
        "its own time of the step"
    )
    return element(
        "figure",
        element(
            "svg",
            *cells,
            width=len(steps) * _CELL,
            height=rows * _CELL,
            role="img",
            aria_label=label,
        ),
        element("figcaption", label),
    )
