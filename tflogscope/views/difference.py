"""What `tflogscope diff` says: what changed from one run to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tflogscope.model.figures import count_of, duration
from tflogscope.views.document import Column, Document, Fact, Item, Node, Section, Table

Facts = dict[str, Any]
_ROWS_SHOWN = 10
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
_COUNTS = (
    Column("name", ""),
    Column("executions_before", "before", "count"),
    Column("executions_after", "after", "count"),
    Column("time_us_before", "time before", "us"),
    Column("time_us_after", "after", "us"),
)
_CHANGES = (
    Column("name", "name", "name"),
    Column("runs", "runs", "share"),
    Column("time", "time", "share"),
    Column("change", "change", least=12),
)


def difference_document(facts: Facts) -> Document:
    """What changed."""
    return [*_document(facts)]


def _document(facts: Facts) -> Iterator[Node]:
    yield from (_side(side, facts["runs"][side]) for side in ("before", "after"))
    yield _counts("Executions", facts["modes"], lambda row: f"{row['mode']} {row['kind']}")
    if facts["causes"]:
        yield _counts("Eager ops by cause", facts["causes"], lambda row: str(row["cause"]))
    ran = [name for side in ("before", "after") for name in facts["runs"][side]["libraries"]]
    libraries = " and ".join(dict.fromkeys(ran)) or "oneDNN"
    changed = [
        _changes(title.format(libraries), facts[key], names)
        for key, title, names in _WHAT
        if facts[key]
    ]
    yield from changed
    if facts["findings"]:
        said = [Item(f"{each['change']}: {each['text']}") for each in facts["findings"]]
        yield Section("Findings of one run only", said)
    if not changed and not facts["findings"]:
        yield Section("Nothing changed: the same ops, kernels, functions and primitives.", ())


def _side(side: str, run: Facts) -> Fact:
    onednn = f", oneDNN {run['onednn_version']}" if run["onednn_version"] else ""
    dialect = run["tensorflow_dialect"] or "no record of TensorFlow"
    return Fact(side, f"{run['source']} ({count_of(run['lines'], 'line')}, {dialect}{onednn})")


def _counts(title: str, rows: Sequence[Facts], name: Callable[[Facts], str]) -> Section:
    return Section(title, [Table(_COUNTS, [{**row, "name": name(row)} for row in rows])])


def _changes(title: str, rows: Sequence[Facts], names: tuple[str, ...]) -> Section:
    shown = [
        {
            "name": " ".join(str(row[name]) for name in names if row[name]) or "?",
            "runs": _pair(row, "executions", "{:,}".format),
            "time": _pair(row, "time_us", duration),
            "change": _change(row),
        }
        for row in rows[:_ROWS_SHOWN]
    ]
    more = f" ({_ROWS_SHOWN} of {len(rows)}; --json has all)" if len(rows) > _ROWS_SHOWN else ""
    return Section(f"{title} that changed, by time{more}", [Table(_CHANGES, shown)])


def _pair(row: Facts, column: str, said: Callable[[Any], str]) -> str:
    sides = [row[f"{column}_{side}"] for side in ("before", "after")]
    before, after = ("" if value is None else said(value) for value in sides)
    return before if before == after else f"{before or '–'} → {after or '–'}"


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
