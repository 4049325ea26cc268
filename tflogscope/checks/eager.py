"""The rule of ops that ran eagerly where graph functions should run them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.checks.evidence import (
    evidence_columns,
    matching,
)
from tflogscope.checks.measurement import Measurement, PolicyKey, broken_group
from tflogscope.model.causes.rules import UNKNOWN, cause_grammar, causes_that_count
from tflogscope.model.rows.unexpected import (
    CALLS_PER_TURN,
    is_unexpected,
    repeats,
    seldom_lines,
)


def unexpected_eager(entry: PolicyKey) -> Measurement | None:
    """Ops that ran eagerly where graph functions should run them.

    By op, cause, function and line of the program.
    """
    evidence = entry.evidence
    if not evidence.shows_eager:
        return None
    eager = evidence.run.eager_executions
    parts = [_counted(entry, function) for function in eager["near"].unique(maintain_order=True)]
    counted = pl.concat([eager.clear(), *(part for part in parts if part is not None)])
    counted = counted.sort("row")
    seldom = _ran_seldom(entry, counted)
    others = counted.filter(~seldom)
    once = others.height if _ran_once(entry, others) else 0
    if once == others.height:
        counted = counted.clear()
    groups = (
        counted.with_columns(cause="judged_by", function=pl.when("inside").then("near"))
        .group_by("op", "cause", "function", "python", maintain_order=True)
        .agg(*evidence_columns("python"))
        .sort("amount", descending=True, maintain_order=True)
    )
    subject = ("op", "cause", "function")
    broken = [
        broken_group(row, *subject, advice=_advice(row["cause"])) for row in groups.to_dicts()
    ]
    first = evidence.calls.row(0, named=True) if evidence.calls.height else {}
    training = _training_line(eager, first["source"], first["line"]) if first else None
    own = eager.filter("own", ~pl.col("before_calls"))
    facts = {
        "training": training,
        "first": None if training else first.get("function"),
        "line": first.get("line"),
        "uncalled": not first,
        "once": once,
        "seldom": 0 if counted.height else int(seldom.sum()),
        "calls_per_turn": CALLS_PER_TURN,
        "metrics": _metric_ops(entry),
        "own": own.height,
        "notebook": evidence.run.in_notebook,
    }
    return Measurement(counted.height, broken, facts, entry.limit)


def _metric_ops(entry: PolicyKey) -> int:
    """How many ops of metrics the program runs after the first call, where the policy lets them."""
    allowed = entry.policy.value("allow_eager_causes", None)
    if "metrics" not in (causes_that_count("never") if allowed is None else allowed):
        return 0
    metrics = (pl.col("judged_by") == "metrics") & ~pl.col("before_calls") & ~pl.col("own")
    metrics &= pl.col("python").is_not_null()  # else Keras may run them
    return entry.evidence.run.eager_executions.filter(metrics).height


def _ran_once(entry: PolicyKey, counted: pl.DataFrame) -> bool:
    """Whether no loop that calls functions has any of what counts, on lines that didn't repeat it.

    A loop calls the same trace before and after it. What runs once, between loops or after the
    last, gains nothing from a function that would be traced for it.
    """
    calls = entry.evidence.calls
    if calls.is_empty() or entry.policy.value("after", None) == "start":
        return False
    loops = calls.group_by("function", "function_uid").agg(first=pl.min("row"), last=pl.max("row"))
    begun, ended = (np.searchsorted(loops[end].sort(), counted["row"]) for end in ("first", "last"))
    in_python = counted["judged_by"].is_in(causes_that_count("always")).any()
    return not in_python and not (begun > ended).any() and not repeats(counted, "python")


def _ran_seldom(entry: PolicyKey, counted: pl.DataFrame) -> pl.Series:
    """Per op whether its line ran after few of the calls, such as once in an epoch.

    Steps of training that run op by op count however few they are.
    """
    evidence = entry.evidence
    lines = []
    if counted.height and evidence.calls.height and entry.policy.value("after", None) != "start":
        lines = seldom_lines(counted, evidence.calls)
    if lines and evidence.run.findings.filter(id="eager-training-step").height:
        lines = []
    in_python = pl.col("judged_by").is_in(causes_that_count("always"))
    is_seldom = pl.col("python").is_in(lines) & ~in_python
    return counted.select(seldom=is_seldom.fill_null(False))["seldom"]


def _training_line(eager: pl.DataFrame, source: str, first: int) -> int | None:
    """The line before the first call from which eager steps of training count; None: none do."""
    lines = eager.filter(~pl.col("before_calls"), source=source)["line"]
    return next((line for line in lines.head(1) if line < first), None)


def _counted(entry: PolicyKey, function: str | None) -> pl.DataFrame | None:
    """What counts of a function; None: another section says the key for it."""
    evidence, policy = entry.evidence, entry.policy
    if policy.section(entry.key, function) is not entry.section:
        return None
    near = evidence.run.eager_executions.filter(
        pl.col("near").eq_missing(pl.lit(function, pl.String))
    )
    allowed = matching(near["op"].unique(), policy.value("allow_eager_ops", function))
    places = policy.value("allow_eager_at", function)
    places = (*places, *(f"*/{place}" for place in places))  # of a file in a folder
    lines = near["python"].drop_nulls().unique()
    allowed_at = [*matching(lines, places), *filter(evidence.lets_pass, lines)]
    counts = is_unexpected(
        policy.value("allow_eager_causes", function), policy.value("after", function)
    )
    is_allowed = pl.col("op").is_in(allowed) | pl.col("python").is_in(allowed_at)
    return near.filter(counts & ~is_allowed.fill_null(False))


def _advice(cause: str) -> str:
    causes = cause_grammar().causes
    return causes.get(cause, causes[UNKNOWN]).advice
