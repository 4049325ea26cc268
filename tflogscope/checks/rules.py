"""The rules of checks: what of a run breaks a key of a policy, `grammars/sentences/checks.toml`.

Each rule has the name of its key, and is asked about one section of the policy. It gives what it
measured, what breaks the policy, and the facts of the sentences; None where the log can't tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from tflogscope.checks.eager import unexpected_eager
from tflogscope.checks.evidence import (
    LINES,
    CheckedRun,
    evidence_columns,
    matching,
    most_frequent_line,
)
from tflogscope.checks.measurement import Broken, Measurement, PolicyKey, broken_group
from tflogscope.model.common.frames import first_of_each, only
from tflogscope.model.common.names import op_of_kernel
from tflogscope.model.common.once import once
from tflogscope.model.common.verbose import MADE
from tflogscope.model.executions.executions import spelled
from tflogscope.model.links.linked import IS_REFERENCE
from tflogscope.model.reasons.rules import HAS_KERNEL, ON_KERNEL

ROUNDING = 1e-9  # shares that differ by less are the same


# ---- graph functions -----------------------------------------------------------------------------


def max_retraces(entry: PolicyKey) -> Measurement | None:
    """Functions that were traced again more often than allowed."""
    if not entry.evidence.shows_eager:
        return _warned_of(entry)
    every = entry.mine(_traces(entry.evidence), "function")
    traces = first_of_each(every.filter(~pl.col("by_package")), "function")
    too_often = traces.filter(pl.col("retraces") > entry.limit).to_dicts()
    retraced = entry.evidence.run.findings.filter(id="retraced") if too_often else pl.DataFrame()
    advice = {row["subject"]: row["advice"] for row in retraced.to_dicts()}
    broken = [
        Broken(
            {"function": row["function"]},
            row["retraces"],
            row["source"],
            tuple(row["line"][1 : LINES + 1]),
            row["python"],
            {"advice": advice.get(row["function"]), "traces": row["line"][1:]},
        )
        for row in too_often
    ]
    facts = {"own": int(every.filter("by_package")["retraces"].sum())}
    return Measurement(max(traces["retraces"].to_list(), default=0), broken, facts)


def _warned_of(entry: PolicyKey) -> Measurement | None:
    """TensorFlow's own warnings, in a log that shows no call; None: there are none."""
    warned = entry.evidence.run.findings.filter(id="retraced").to_dicts()
    broken = [
        _of_finding(row, "function", row["count"]) for row in warned if row["count"] > entry.limit
    ]
    return Measurement(max(row["count"] for row in warned), broken) if warned else None


@once
def _traces(evidence: CheckedRun) -> pl.DataFrame:
    """How often each function was traced again, the most retraces first.

    Columns: function, source, line (of each trace), python, by_package, retraces.

    The first trace of a Python function is none; each further uid of it that is called is one.
    What TensorFlow traces for itself does not count. Functions called under a GradientTape
    (`__forward_…`) and others are counted apart.
    """
    keys = ["function", "flavour", "function_uid"]
    functions = evidence.run.python_functions.filter(pl.col("made_by").is_null())
    functions = first_of_each(functions.select(*keys, "python_function"), keys)
    calls = evidence.calls.filter(pl.col("flavour").is_in(["inference", "forward"]))
    return (
        first_of_each(calls, keys)
        .join(functions, on=keys, nulls_equal=True, maintain_order="left")
        .group_by("function", "python_function", maintain_order=True)
        .agg(
            pl.col("source").first(),
            pl.col("line"),
            # The calls that traced it again.
            pl.col("python").slice(1).drop_nulls().mode().sort().first(),
            by_package=pl.col("own").all(),
            retraces=pl.len() - 1,
        )
        .sort("retraces", descending=True, maintain_order=True)
    )


def max_crashes(entry: PolicyKey) -> Measurement:
    """Programs that an error or a signal ended, as the finding says."""
    return _ended(entry, "crashed", "crash")


def max_nonzero_exits(entry: PolicyKey) -> Measurement:
    """Programs that chose another exit status than 0, as the finding says."""
    return _ended(entry, "exit-status", "exit")


def _ended(entry: PolicyKey, finding: str, named: str) -> Measurement:
    endings = entry.evidence.run.endings.filter(id=finding).to_dicts()
    broken = [_of_finding(row, named, 1) for row in endings]
    return Measurement(len(broken), broken, may_be=entry.limit)


def _of_finding(row: dict[str, Any], named: str, amount: int) -> Broken:
    """A row of the table `findings`; its subject is called `named`."""
    lines = tuple(map(int, row["lines"].split(";")))
    facts = {"text": row["text"], "advice": row["advice"], "traces": lines}
    return Broken({named: row["subject"]}, amount, row["source"], lines, row["python"], facts)


def min_rewritten(entry: PolicyKey) -> Measurement | None:
    """The share of the executions of nodes that oneDNN, or a plug-in, could run, and did not."""
    evidence = entry.evidence
    if evidence.calls.height and not (evidence.run.executions["mode"] == "graph").any():
        return None
    nodes = entry.mine(evidence.run.nodes, "function")
    nodes = nodes.filter(HAS_KERNEL & (pl.col("executions") > 0))
    left = nodes.filter(~ON_KERNEL)
    total, missed = int(nodes["executions"].sum()), int(left["executions"].sum())
    facts = {"names": evidence.run.rewriters.kernels, "executions": total, "left": _by_op(left)}
    if not total:
        return Measurement(None, [], facts)
    share = missed / total
    broken = Broken(
        {"functions": entry.section.pattern},
        share,
        evidence.only_source,
        tuple(left["line"].head(LINES)),
        left.select(most_frequent_line()).item(),
    )
    return Measurement(1 - share, [broken] if share > 1 - entry.limit + ROUNDING else [], facts)


def _by_op(left: pl.DataFrame) -> list[dict[str, Any]]:
    """The ops that stayed as they were and why, the most frequent first."""
    groups = (
        left.with_columns(reason=pl.col("reason").fill_null("unknown"))
        .group_by("op", "reason", maintain_order=True)
        .agg(pl.col("executions").sum(), lines=pl.col("line"))
        .sort("executions", descending=True, maintain_order=True)
    )
    return groups.to_dicts()


def require_kernels(entry: PolicyKey) -> Measurement:
    """Kernels that did not run, each with those that ran its op instead."""
    ran = entry.mine(_alive(entry.evidence), "near")
    kernels = ran["kernel"].unique()
    missing = [pattern for pattern in entry.limit if not matching(kernels, (pattern,))]
    return Measurement(len(missing), [_missing(pattern, ran) for pattern in missing])


@once
def _alive(evidence: CheckedRun) -> pl.DataFrame:
    """What ran: nodes by their function, eager ops by the function that they belong to."""
    columns = ("source", "line", "op", "kernel", "status", "python")
    executions = evidence.run.executions
    in_graphs = only(executions, executions["mode"] == "graph")
    nodes = spelled(in_graphs.select(*columns, near="function"))
    ran = pl.concat([nodes, evidence.run.eager_executions.select(*columns, "near")])
    return ran.filter(pl.col("status") != "dead")


def _missing(pattern: str, ran: pl.DataFrame) -> Broken:
    op = pl.select(op_of_kernel(pl.lit(pattern))).item()
    instead = ran.filter(pl.col("op") == op)
    return Broken(
        {"kernel": pattern},
        1,
        instead["source"].first(),  # type: ignore[arg-type]  # a text
        tuple(instead["line"].head(LINES)),
        instead.select(most_frequent_line()).item(),
        {"op": op, "kernels": instead["kernel"].drop_nulls().unique().sort().to_list()},
    )


# ---- oneDNN's lines, and how much of the log could be read ---------------------------------------


def forbid_implementations(entry: PolicyKey) -> Measurement | None:
    """Primitives that ran as implementations that must not run."""
    if entry.evidence.primitives.is_empty():
        return None
    ran = entry.mine(entry.evidence.primitives, "near")
    names = matching(ran["implementation"], entry.limit)
    ran = ran.filter(pl.col("implementation").is_in(names))
    groups = (
        ran.group_by("implementation", "op", function="near", maintain_order=True)
        .agg(*evidence_columns())
        .sort("amount", descending=True, maintain_order=True)
    )
    broken = [broken_group(row, "implementation", "op", "function") for row in groups.to_dicts()]
    return Measurement(ran.height, broken)


def max_unlinked(entry: PolicyKey) -> Measurement:
    """Primitives that no execution is known for."""
    mine = entry.mine(entry.evidence.primitives, "near")
    unlinked = mine.filter(pl.col("link") == "none")
    names = entry.evidence.run.rewriters.primitives or ["oneDNN"]
    return _limited(entry, unlinked, unlinked.height, mine.height, names=names)


def max_unknown(entry: PolicyKey) -> Measurement:
    """Records that no entry of the grammar matches."""
    coverage = entry.evidence.run.coverage
    count, whole = int(coverage["unknown"].sum()), int(coverage["records"].sum())
    return _limited(entry, pl.DataFrame({"source": [], "line": []}), count, whole)


def _limited(
    entry: PolicyKey, at: pl.DataFrame, count: int, whole: int, **facts: Any
) -> Measurement:
    """A count or, where the limit has a point, a share of the whole. `at` are the places."""
    is_share = isinstance(entry.limit, float)
    amount = (count / whole if whole else 0.0) if is_share else count
    subject = {"functions": entry.section.pattern, "unit": "share" if is_share else "count"}
    source = at["source"].first()
    broken = Broken(subject, amount, source, tuple(at["line"].head(LINES)))  # type: ignore[arg-type]  # a text
    facts |= {"count": count, "whole": whole, "is_share": is_share, "is_count": not is_share}
    return Measurement(amount, [broken] if amount > entry.limit else [], facts)


def max_creation_share(entry: PolicyKey) -> Measurement | None:
    """How much of oneDNN's time goes into making primitives."""
    lines = entry.evidence.run.primitives
    made = lines.filter(pl.col("event").str.contains(MADE))
    return _share_of(entry, made, pl.concat([made, lines.filter(event="exec")]))


def max_reorder_share(entry: PolicyKey) -> Measurement | None:
    """How much of the time of primitives is that of reorders."""
    ran = entry.evidence.run.primitives.filter(event="exec")
    return _share_of(entry, ran.filter(primitive="reorder"), ran)


def max_reference_share(entry: PolicyKey) -> Measurement | None:
    """How much of the time of primitives is that of reference code."""
    ran = entry.evidence.run.primitives.filter(event="exec")
    return _share_of(entry, ran.filter(IS_REFERENCE), ran)


def _share_of(entry: PolicyKey, some: pl.DataFrame, every: pl.DataFrame) -> Measurement | None:
    """The share of time that some lines have in that of all; None: no line has a time."""
    if not every["duration_us"].count():
        return None
    took, whole = (float(frame["duration_us"].sum()) for frame in (some, every))
    share = took / whole if whole else 0.0
    lines = tuple(some["line"].head(LINES))
    broken = Broken({"functions": None}, share, some["source"].first(), lines)  # type: ignore[arg-type]  # a text
    violations = [broken] if share > entry.limit + ROUNDING else []
    return Measurement(share, violations, {"took": took, "whole": whole})


OF_TIMES = ("max_creation_share", "max_reorder_share", "max_reference_share")
OF_ONEDNN = ("forbid_implementations", *OF_TIMES)
RULES: dict[str, Callable[[PolicyKey], Measurement | None]] = {
    rule.__name__: rule
    for rule in (
        unexpected_eager,
        max_retraces,
        max_crashes,
        max_nonzero_exits,
        min_rewritten,
        forbid_implementations,
        require_kernels,
        max_unlinked,
        max_unknown,
        max_creation_share,
        max_reorder_share,
        max_reference_share,
    )
}
