"""The check of `unexpected_eager`: ops that ran eagerly where graph functions should run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.checks.advice import CAUSES, RECORD_OPS
from tflogscope.checks.baseline import Baseline
from tflogscope.checks.evidence import Evidence, evidence_columns, lines_of, matching, said_lines
from tflogscope.checks.policy import Policy, Section
from tflogscope.checks.verdict import Check, Violation, cannot_say
from tflogscope.model.figures import count_of
from tflogscope.model.unexpected import is_unexpected

_KEY = "unexpected_eager"


def check_eager(evidence: Evidence, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield a check for each section that says how many are allowed."""
    parts = list(_parts(evidence, policy))
    for section in policy.checked(_KEY):
        if not evidence.shows_eager:
            text = f"This log can't tell what ran eagerly: no dispatch is in it. {RECORD_OPS}"
            yield cannot_say(_KEY, section, text)
            continue
        limit = section.named[_KEY]
        rows = [rows for owner, rows in parts if owner is section]
        violations = _violations(pl.concat(rows), baseline) if rows else []
        found = int(sum(each.amount for each in violations))
        new = int(sum(each.new for each in violations))
        shown = tuple(each for each in violations if each.new)
        text = _said(evidence, found, new, limit)
        yield Check(_KEY, section.pattern, new <= limit, text, limit, found, shown)


def _parts(evidence: Evidence, policy: Policy) -> Iterator[tuple[Section, pl.DataFrame]]:
    """Unexpected eager executions by function, with the section that says how many may be."""
    for function in evidence.eager["near"].unique(maintain_order=True):
        rows = evidence.eager.filter(pl.col("near").eq_missing(pl.lit(function, pl.String)))
        allowed = matching(rows["op"].unique(), policy.value("allow_eager_ops", function))
        counts = is_unexpected(
            policy.value("allow_eager_causes", function), policy.value("after", function)
        )
        rows = rows.filter(counts & ~pl.col("op").is_in(allowed).fill_null(False))
        yield policy.section(_KEY, function), rows


def _violations(rows: pl.DataFrame, baseline: Baseline) -> list[Violation]:
    """One for each op, cause and function inside which it ran; the most frequent first."""
    groups = (
        rows.sort("row")
        .with_columns(cause="judged_by", function=pl.when("inside").then("near"))
        .group_by("op", "cause", "function", maintain_order=True)
        .agg(*evidence_columns())
        .sort("amount", descending=True, maintain_order=True)
    )
    return [_violation(row, baseline) for row in groups.to_dicts()]


def _violation(row: dict[str, Any], baseline: Baseline) -> Violation:
    subject = {name: row[name] for name in ("op", "cause", "function")}
    op, cause, function = subject.values()
    amount, lines = row["amount"], lines_of(row)
    name = "An op whose name is cut off" if op is None else op
    inside = "" if function is None else f" inside {function}"
    return Violation(
        subject,
        amount,
        f"{name} ran eagerly {count_of(amount, 'time')}{inside}, cause {cause}: "
        f"{said_lines(lines)}.",
        row["source"],
        lines,
        CAUSES.get(cause, CAUSES["unknown"]),
        baseline.take(_KEY, subject, amount),
        row["python"],
    )


def _said(evidence: Evidence, found: int, new: int, limit: int) -> str:
    known = f", {found - new:,} of them in the baseline" if found > new else ""
    if evidence.calls.is_empty():
        where = "No graph function was called, so all count"
    else:
        first = evidence.calls.row(0, named=True)
        where = (
            f"The first call of a graph function, {first['function']}, is line {first['line']:,}"
        )
    keras = int(evidence.eager["own"].sum())
    rest = f" Keras's own, not counted: {keras:,}." if keras else ""
    found_text = count_of(found, "unexpected eager execution")
    return f"{found_text}{known}; allowed: {limit:,}. {where}.{rest}"
