"""The checks of what happens to graph functions: retraces, rewrites, kernels that must run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.checks.advice import RECORD_OPS, RETRACES
from tflogscope.checks.baseline import Baseline
from tflogscope.checks.evidence import LINES, Evidence, matching, most_asked, said_lines
from tflogscope.checks.policy import Policy
from tflogscope.checks.verdict import Check, Violation, cannot_say
from tflogscope.model.figures import count_of
from tflogscope.model.names import op_of_kernel
from tflogscope.model.reasons.rules import NO_KERNEL

_ROUNDING = 1e-9  # shares that differ by less are the same


def check_retraces(evidence: Evidence, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield a check of `max_retraces` for each section that names it.

    The first trace of a Python function is none; each further uid of it that is called is one.
    What TensorFlow traces for itself does not count. Functions called under a GradientTape
    (`__forward_…`) and others are counted apart.
    """
    key = "max_retraces"
    same = evidence.run.python_functions.filter(pl.col("made_by").is_null())
    traces = (
        evidence.calls.filter(pl.col("flavour").is_in(["inference", "forward"]))
        .unique(["function", "flavour", "function_uid"], keep="first", maintain_order=True)
        .join(
            same.select("function", "flavour", "function_uid", "python_function"),
            on=["function", "flavour", "function_uid"],
            nulls_equal=True,
            maintain_order="left",
        )
        .group_by("function", "python_function", maintain_order=True)
        .agg(
            pl.col("source").first(),
            pl.col("line"),
            # The calls that traced it again.
            pl.col("python").slice(1).drop_nulls().mode().sort().first(),
            retraces=pl.len() - 1,
        )
        .sort("retraces", descending=True, maintain_order=True)
        .unique("function", keep="first", maintain_order=True)
    )
    for section in policy.checked(key):
        if not evidence.shows_eager:
            text = f"This log can't tell what was called: no dispatch is in it. {RECORD_OPS}"
            yield cannot_say(key, section, text)
            continue
        limit = section.named[key]
        mine = traces.filter(policy.belong(key, section, traces["function"]))
        over = mine.filter(pl.col("retraces") > limit).to_dicts()
        found = [_retraced(key, row, baseline) for row in over]
        shown = tuple(each for each in found if each.new)
        most = max(mine["retraces"].to_list(), default=0)
        text = f"At most {count_of(most, 'retrace')} of a function; allowed: {limit:,}."
        yield Check(key, section.pattern, not shown, text, limit, most, shown)


def _retraced(key: str, row: dict[str, Any], baseline: Baseline) -> Violation:
    subject, amount = {"function": row["function"]}, row["retraces"]
    again = tuple(row["line"][1:])
    text = f"{row['function']} was retraced {count_of(amount, 'time')}: {said_lines(again)}."
    known = baseline.take(key, subject, amount)
    lines, python = again[:LINES], row["python"]
    return Violation(subject, amount, text, row["source"], lines, RETRACES, known, python)


def check_rewritten(evidence: Evidence, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield a check of `min_rewritten` for each section that names it.

    The share of the executions of nodes that oneDNN, or a plug-in, could run that ran as its
    kernels. The violation's amount is the share of those that did not. Ops for which TensorFlow has
    no oneDNN kernel (`no-kernel`: AddV2, Relu, …) don't count: nothing in a program changes that.
    """
    key = "min_rewritten"
    names = " or ".join(evidence.run.rewriters.kernels)
    for section in policy.checked(key):
        if evidence.calls.height and not (evidence.run.timeline["mode"] == "graph").any():
            text = f"This log can't tell which nodes ran: none is in it. {RECORD_OPS}"
            yield cannot_say(key, section, text)
            continue
        limit = section.named[key]
        nodes = evidence.run.nodes
        nodes = nodes.filter(policy.belong(key, section, nodes["function"]))
        has_kernel = pl.col("eligible") & (pl.col("reason").fill_null("") != NO_KERNEL)
        nodes = nodes.filter(has_kernel.fill_null(False) & (pl.col("executions") > 0))
        left = nodes.filter(pl.col("rewrite") == "none")
        total, missed = int(nodes["executions"].sum()), int(left["executions"].sum())
        if not total:
            text = f"No node that {names} could run has run."
            yield Check(key, section.pattern, True, text, limit)
            continue
        subject, amount = {"functions": section.pattern}, missed / total
        known = baseline.take(key, subject, amount)
        passed = amount <= max(1 - limit, known) + _ROUNDING
        text = (
            f"{1 - amount:.1%} of {count_of(total, 'execution')} that {names} could run were on "
            f"{names} kernels; needed: {limit:.1%}."
        )
        lines = tuple(left["line"].head(LINES))
        said, source = _left_out(left, names), evidence.only_source
        python = left.select(most_asked()).item()
        violation = Violation(subject, amount, said, source, lines, "", known, python)
        shown = () if passed else (violation,)
        yield Check(key, section.pattern, passed, text, limit, 1 - amount, shown)


def _left_out(left: pl.DataFrame, names: str) -> str:
    """Name the ops that stayed as they were, the most frequent first."""
    groups = (
        left.with_columns(reason=pl.col("reason").fill_null("unknown"))
        .group_by("op", "reason", maintain_order=True)
        .agg(pl.col("executions").sum(), pl.col("line"))
        .sort("executions", descending=True, maintain_order=True)
    )
    named = [
        f"{row['op']} {count_of(row['executions'], 'time')}, reason {row['reason']}, "
        f"{said_lines(tuple(row['line']))}"
        for row in groups.to_dicts()
    ]
    return f"Not on {names} kernels: {'; '.join(named)}."


def check_kernels(evidence: Evidence, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield a check of `require_kernels` for each section that names it."""
    key = "require_kernels"
    for section in policy.checked(key):
        ran = _alive(evidence)
        ran = ran.filter(policy.belong(key, section, ran["near"]))
        kernels = ran["kernel"].unique()
        wanted = section.named[key]
        missing = [pattern for pattern in wanted if not matching(kernels, (pattern,))]
        found = [_missing(key, pattern, ran, baseline) for pattern in missing]
        shown = tuple(each for each in found if each.new)
        text = f"{len(missing)} of the kernels that must run did not ({', '.join(wanted)})."
        yield Check(key, section.pattern, not shown, text, wanted, len(missing), shown)


def _alive(evidence: Evidence) -> pl.DataFrame:
    """What ran: nodes by their function, eager ops by the function that they belong to."""
    columns = ("source", "line", "op", "kernel", "status", "python")
    timeline = evidence.run.timeline.filter(pl.col("mode") == "graph")
    nodes = timeline.select(*columns, near="function")
    rows = pl.concat([nodes, evidence.eager.select(*columns, "near")])
    return rows.filter(pl.col("status") != "dead")


def _missing(key: str, pattern: str, ran: pl.DataFrame, baseline: Baseline) -> Violation:
    """A kernel that did not run; its text says which kernels ran its op instead."""
    op = pl.select(op_of_kernel(pl.lit(pattern))).item()
    instead = ran.filter(pl.col("op") == op)
    subject, text = {"kernel": pattern}, f"No kernel {pattern} ran."
    lines = tuple(instead["line"].head(LINES))
    if lines:
        kernels = ", ".join(instead["kernel"].drop_nulls().unique().sort())
        text += f" {op} ran as {kernels}: {said_lines(lines)}."
    source = instead["source"].item(0) if lines else None
    known, python = baseline.take(key, subject, 1), instead.select(most_asked()).item()
    return Violation(subject, 1, text, source, lines, "", known, python)
