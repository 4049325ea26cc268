"""The checks of oneDNN's lines, and of how much of the log could be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from tflogscope.checks.advice import IMPLEMENTATION, RECORD_ONEDNN
from tflogscope.checks.baseline import Baseline
from tflogscope.checks.evidence import (
    LINES,
    Evidence,
    evidence_columns,
    lines_of,
    matching,
    said_lines,
)
from tflogscope.checks.policy import Policy, Section
from tflogscope.checks.verdict import Check, Violation, cannot_say
from tflogscope.model.figures import count_of


def check_implementations(
    evidence: Evidence, policy: Policy, baseline: Baseline
) -> Iterator[Check]:
    """Yield a check of `forbid_implementations` for each section that names it."""
    key = "forbid_implementations"
    for section in policy.checked(key):
        ran = evidence.primitives
        if ran.is_empty():
            text = f"This log can't tell which ran: no line of oneDNN is in it. {RECORD_ONEDNN}"
            yield cannot_say(key, section, text)
            continue
        patterns = section.named[key]
        ran = ran.filter(policy.belong(key, section, ran["near"]))
        rows = ran.filter(pl.col("implementation").is_in(matching(ran["implementation"], patterns)))
        groups = (
            rows.group_by("implementation", "op", "near", maintain_order=True)
            .agg(*evidence_columns())
            .sort("amount", descending=True, maintain_order=True)
        )
        found = [_forbidden(key, row, baseline) for row in groups.to_dicts()]
        shown = tuple(each for each in found if each.new)
        text = f"{count_of(rows.height, 'primitive')} ran as {' or '.join(patterns)}."
        yield Check(key, section.pattern, not shown, text, patterns, rows.height, shown)


def _forbidden(key: str, row: dict[str, Any], baseline: Baseline) -> Violation:
    names = {"implementation": "implementation", "op": "op", "function": "near"}
    subject = {name: row[column] for name, column in names.items()}
    amount, lines = row["amount"], lines_of(row)
    op = "" if row["op"] is None else f" for {row['op']}"
    place = "" if row["near"] is None else f" in {row['near']}"
    text = (
        f"{row['implementation']} ran {count_of(amount, 'time')}{op}{place}: {said_lines(lines)}."
    )
    known = baseline.take(key, subject, amount)
    return Violation(
        subject, amount, text, row["source"], lines, IMPLEMENTATION, known, row["python"]
    )


@dataclass(frozen=True)
class _Count:
    """How many of how many things are not as they should be, in words, and where."""

    count: int
    whole: int
    named: str
    source: str | None = None
    lines: tuple[int, ...] = ()


def check_unlinked(evidence: Evidence, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield a check of `max_unlinked` for each section that names it: runs without an op."""
    key = "max_unlinked"
    for section in policy.checked(key):
        ran = evidence.primitives
        mine = ran.filter(policy.belong(key, section, ran["near"]))
        rows = mine.filter(pl.col("link") == "none")
        names = " and ".join(evidence.run.rewriters.primitives) or "oneDNN"
        named = f"{count_of(rows.height, 'run')} of {names} that no execution is known for"
        source = rows["source"].item(0) if rows.height else None
        lines = tuple(rows["line"].head(LINES))
        yield _limited(
            key, section, _Count(rows.height, mine.height, named, source, lines), baseline
        )


def check_unknown(evidence: Evidence, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield the check of `max_unknown`: records that no entry of the grammar matches."""
    key = "max_unknown"
    for section in policy.checked(key):
        coverage = evidence.run.coverage
        count, whole = int(coverage["unknown"].sum()), int(coverage["records"].sum())
        named = f"{count_of(count, 'record')} of unknown form"
        yield _limited(key, section, _Count(count, whole, named), baseline)


def _limited(key: str, section: Section, of: _Count, baseline: Baseline) -> Check:
    """Make a check of a count or, where the limit has a point, of a share of the whole."""
    limit = section.named[key]
    if isinstance(limit, float):
        unit, amount = "share", of.count / of.whole if of.whole else 0.0
        text = f"{of.named}, {amount:.2%} of {of.whole:,}; allowed: {limit:.2%}."
    else:
        unit, amount = "count", of.count
        text = f"{of.named}; allowed: {limit:,}."
    subject = {"functions": section.pattern, "unit": unit}
    known = baseline.take(key, subject, amount)
    passed = amount <= max(limit, known)
    where = f": {said_lines(of.lines)}" if of.lines else ""
    found = Violation(subject, amount, f"{of.named}{where}.", of.source, of.lines, "", known)
    shown = () if passed else (found,)
    return Check(key, section.pattern, passed, text, limit, amount, shown)
