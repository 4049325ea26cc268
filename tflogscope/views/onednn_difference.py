"""What `tflogscope diff` says of oneDNN's time: a sentence, and the problems that both ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tflogscope.model.common.figures import count_of, duration
from tflogscope.views.document import Node, Section, Table, columns, left_out

Facts = dict[str, Any]
_SHOWN = 10
_SAME = 1.02  # times that differ by less are the same


def time_sentence(facts: Facts) -> str:
    """`12 primitives in 1.93 ms (was 5.73 ms, 3.0 times as fast)`, on equal problems."""
    was, now = facts["us_before"], facts["us_after"]
    count = count_of(facts["runs_after"], "primitive")
    if not was or not now:
        return f"{count} in {duration(now)}"
    ratio = was / now
    how = "as fast" if ratio > 1 else "as long"
    times = f"{max(ratio, 1 / ratio):.1f} times {how}"
    same = max(ratio, 1 / ratio) < _SAME
    change = "(unchanged)" if same else f"(was {duration(was)}, {times})"
    both = facts["both"]
    equal = f"{len(both)} of {max(facts['before'], facts['after'])} problems in common"
    changed = {_changed(row) for row in both if row["implementations_before"]} - {""}
    kinds = f"; {', '.join(sorted(changed)[:3])}" if changed else ""
    return f"{count} in {duration(now)} {change}; {equal}{kinds}"


def _changed(row: Facts) -> str:
    was, now = row["implementations_before"], row["implementations_after"]
    return "" if was == now else f"{row['primitive']} {was} → {now}"


def problems_section(facts: Facts | None) -> Iterator[Node]:
    """The problems that both runs have."""
    if not facts or not facts["both"]:
        return
    problems = [
        {**row, "name": f"{row['primitive']} {row['problem']}", "changed": _changed(row)}
        for row in facts["both"]
    ]
    shown = [Table(columns("diff-problems"), problems[:_SHOWN]), *left_out(len(problems), _SHOWN)]
    yield Section("oneDNN problems common to both", shown)
