"""The rules of checks: what of a run breaks a key of a policy, `grammars/sentences/checks.toml`.

Each rule has the name of its key, and is asked about one section of the policy. It gives what it
measured, what breaks the policy, and the facts of the sentences; None where the log can't tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tflogscope.checks.evidence import (
    LINES,
    CheckedRun,
    evidence_columns,
    lines_of,
    matching,
    most_frequent_line,
)
from tflogscope.checks.policy import Policy, PolicySection
from tflogscope.model.causes.rules import UNKNOWN, cause_grammar, causes_that_count
from tflogscope.model.common.frames import first_of_each, only
from tflogscope.model.common.names import op_of_kernel
from tflogscope.model.common.once import once
from tflogscope.model.common.verbose import MADE
from tflogscope.model.executions.executions import spelled
from tflogscope.model.links.linked import IS_REFERENCE
from tflogscope.model.reasons.rules import HAS_KERNEL, ON_KERNEL
from tflogscope.model.rows.unexpected import (
    CALLS_PER_TURN,
    is_unexpected,
    repeats,
    seldom_lines,
)

ROUNDING = 1e-9  # shares that differ by less are the same


class PolicyKey(NamedTuple):
    """A key of a policy, as one of its sections names it."""

    evidence: CheckedRun
    policy: Policy
    key: str
    section: PolicySection

    @property
    def limit(self) -> Any:
        """What the section allows."""
        return self.section.named[self.key]

    def mine(self, frame: pl.DataFrame, function: str) -> pl.DataFrame:
        """The rows whose function, a column, the section says the key for."""
        return frame.filter(self.policy.belong(self.key, self.section, frame[function]))


class Broken(NamedTuple):
    """One thing that breaks a policy, see `Violation`, with more facts of its sentences."""

    subject: Mapping[str, str | None]
    amount: float
    source: str | None = None
    lines: tuple[int, ...] = ()
    python: str | None = None
    facts: Mapping[str, Any] = {}


class Measurement(NamedTuple):
    """What a rule found. `may_be`: how much may break the policy and is not in the baseline."""

    measured: float | None
    broken: list[Broken]
    facts: Mapping[str, Any] = {}
    may_be: float = 0


# ---- what runs eagerly ---------------------------------------------------------------------------


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
    broken = [_of_group(row, *subject, advice=_advice(row["cause"])) for row in groups.to_dicts()]
    first = evidence.calls.row(0, named=True) if evidence.calls.height else {}
    training = _training_line(eager, first["source"], first["line"]) if first else None
    facts = {
        "training": training,
        "first": None if training else first.get("function"),
        "line": first.get("line"),
        "uncalled": not first,
        "once": once,
        "seldom": 0 if counted.height else int(seldom.sum()),
        "calls_per_turn": CALLS_PER_TURN,
        "metrics": _metric_ops(entry),
        "own": int(eager["own"].sum()),
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


def _of_group(row: dict[str, Any], *subject: str, **facts: Any) -> Broken:
    """A row of a group that was made with `evidence_columns`."""
    named = {name: row[name] for name in subject}
    return Broken(named, row["amount"], row["source"], lines_of(row), row["python"], facts)


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
    broken = [_of_group(row, "implementation", "op", "function") for row in groups.to_dicts()]
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
