"""The screen of `tflogscope diff`: what changed from one run to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.model.figures import count_of
from tflogscope.views.grid import Column, draw_grid
from tflogscope.views.pieces import NAME_WIDTH, heading, say
from tflogscope.views.table import duration
from tflogscope.views.text import print_paragraph, shorten, text

if TYPE_CHECKING:
    from rich.console import Console

Facts = dict[str, Any]
_ROWS_SHOWN = 10
_LEAST = 12
_WHAT = (
    ("functions", "Functions", ("function",)),
    ("ops", "Ops", ("op",)),
    ("nodes", "Nodes of functions that both have", ("function", "node")),
    ("primitives", "{} primitives", ("primitive", "implementation")),
)
# What a change is from and to, by its name.
_VALUES = {
    "mode": "modes",
    "kernel": "kernels",
    "reason": "reasons",
    "traces": "traces",
    "rewritten": "rewritten",
}


def render_difference(facts: Facts, console: Console) -> None:
    """Print what changed; log text reaches the console as text only."""
    for side in ("before", "after"):
        run = facts["runs"][side]
        onednn = f", oneDNN {run['onednn_version']}" if run["onednn_version"] else ""
        dialect = run["tensorflow_dialect"] or "no record of TensorFlow"
        say(side, f"{run['source']} ({count_of(run['lines'], 'line')}, {dialect}{onednn})", console)
    heading("Executions", console)
    _counts(facts["modes"], lambda row: f"{row['mode']} {row['kind']}", console)
    if facts["causes"]:
        heading("Eager ops by cause", console)
        _counts(facts["causes"], lambda row: str(row["cause"]), console)
    changed = False
    ran = [name for side in ("before", "after") for name in facts["runs"][side]["libraries"]]
    libraries = " and ".join(dict.fromkeys(ran)) or "oneDNN"
    for key, title, names in _WHAT:
        rows = facts[key]
        if rows:
            changed = True
            _changes(title.format(libraries), rows, names, console)
    if not changed:
        console.print()
        console.print(text("Nothing changed: the same ops, kernels, functions and primitives."))


def _counts(rows: list[Facts], name: Any, console: Console) -> None:
    columns = [
        Column("", [name(row) for row in rows], least=_LEAST),
        Column("before", [_count(row["executions_before"]) for row in rows], is_number=True),
        Column("after", [_count(row["executions_after"]) for row in rows], is_number=True),
        Column("time before", [_time(row["total_us_before"]) for row in rows], is_number=True),
        Column("after", [_time(row["total_us_after"]) for row in rows], is_number=True),
    ]
    draw_grid(columns, console, indent=2)


def _changes(title: str, rows: list[Facts], names: tuple[str, ...], console: Console) -> None:
    more = f" ({_ROWS_SHOWN} of {len(rows)}; --json has all)" if len(rows) > _ROWS_SHOWN else ""
    heading(f"{title} that changed, by time{more}", console)
    shown = rows[:_ROWS_SHOWN]
    named = [" ".join(str(row[name]) for name in names if row[name]) or "?" for row in shown]
    columns = [
        Column("name", [shorten(name, NAME_WIDTH) for name in named], least=_LEAST),
        Column("runs", [_pair(row, "executions", _count) for row in shown], is_number=True),
        Column("time", [_pair(row, "total_us", _time) for row in shown], is_number=True),
        Column("change", [_change(row) for row in shown], least=_LEAST),
    ]
    left_out = draw_grid(columns, console, indent=2)
    if left_out:
        print_paragraph(f"no room for: {', '.join(left_out)}", console, "  ")


def _pair(row: Facts, column: str, said: Any) -> str:
    before, after = said(row[f"{column}_before"]), said(row[f"{column}_after"])
    return str(before) if before == after else f"{before or '–'} → {after or '–'}"


def _change(row: Facts) -> str:
    """What changed, with values: `kernel: MatMul → _MklMatMul`."""
    said = []
    for change in row["changes"]:
        column = _VALUES.get(change)
        if column is None or f"{column}_before" not in row:
            said.append(change)
            continue
        before, after = row[f"{column}_before"], row[f"{column}_after"]
        said.append(f"{change}: {_value(before)} → {_value(after)}")
    return ", ".join(said)


def _value(value: object) -> str:
    return str(value).replace(";", " and ") if value not in (None, "") else "none"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _time(value: float | None) -> str:
    return "" if value is None else duration(value)
