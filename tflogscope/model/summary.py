"""The facts of `facts.Summary`: what was recorded, what ran, what it means.

Everything is counted from the compact executions; the big timeline is not needed for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.onednn_ops import EAGER_OPS
from tflogscope.grammar.rewriters import ONEDNN, ONEDNN_REWRITES, libraries_of, names_of
from tflogscope.model.executions import Executions, with_places
from tflogscope.model.facts import (
    Answer,
    Eligible,
    Example,
    KindRuns,
    Mode,
    ModeRuns,
    Nested,
    Recorded,
    Rewriters,
    RewrittenRuns,
)
from tflogscope.model.figures import rounded
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.links.linked import Linked
from tflogscope.model.origin import tensorflow_version
from tflogscope.model.reasons.plugins import plugins_of
from tflogscope.model.sentences import rows

_EVIDENCE = 8  # entries for one answer


def recorded_facts(events: Events, header: Mapping[str, Any] | None) -> Recorded:
    """What was read. `header` is the line of `tflogscope record` above the log, if there is one."""
    coverage = events.coverage
    counts = coverage.select(
        pl.col("bytes", "lines", "records", "recognised", "ignored", "unknown").sum(),
        pl.col("continuation", "blank", "torn", "bad_bytes").sum(),
    ).to_dicts()[0]
    first, last = events.time_span()
    return Recorded(
        sources=coverage["source"].to_list(),
        **counts,
        vlog_level=coverage.select(pl.col("vlog_level").max()).item(),
        tensorflow_dialect=_joined(coverage["tensorflow_dialect"]),
        onednn_version=_joined(coverage["onednn_version"]),
        onednn_verbose_lines=len(events.verbose),
        onednn_unread_lines=events.primitives["reason"].count(),
        has_thread_ids=events.has_threads,
        problems=events.problems(),
        first=first,
        last=last,
        span_us=None if first is None or last is None else max(last - first, 0),
        recorded_by_tflogscope=header is not None,
        tensorflow_version=tensorflow_version(header),
    )


def _joined(values: pl.Series) -> str | None:
    return ", ".join(values.drop_nulls().unique(maintain_order=True).to_list()) or None


def rewriter_facts(events: Events, linked: Linked, rewrites: pl.DataFrame) -> Rewriters:
    """Whose kernels and primitives a text speaks of."""
    working = plugins_of(events).working
    kernels = names_of([*rewrites["by"], *(each.id for each in working)]) or [ONEDNN]
    onednn = ONEDNN in kernels or "onednn_on" in events.seen
    passes = [each.name for each in working] + ["the layout pass"] * onednn
    return Rewriters(
        kernels=kernels,
        primitives=libraries_of(linked.lines["library"]),
        knows=f"{' or '.join(passes)} know{'s' * (len(passes) == 1)}",
    )


def mode_facts(ops: pl.DataFrame, mode: Mode) -> ModeRuns:
    """Executions and summed time of one mode. `ops` is the table of ops."""
    here = ops.filter(pl.col("mode") == mode)
    known = pl.col("total_us").count() > 0
    kinds = here.group_by("kind").agg(
        pl.col("executions", "dead").sum(), total_us=pl.when(known).then(pl.col("total_us").sum())
    )
    rewritten = here.filter((pl.col("kind") == "op") & (pl.col("rewrite") != "none"))
    return ModeRuns(
        kinds={row.pop("kind"): KindRuns(**row) for row in kinds.sort("kind").to_dicts()},
        rewritten=RewrittenRuns(
            executions=int(rewritten["executions"].sum()),
            total_us=int(rewritten["total_us"].sum()),
        ),
        has_durations=bool(here["total_us"].count()),
    )


def op_facts(executions: Executions, statuses: pl.DataFrame) -> pl.DataFrame:
    """Eager against graph, one row per op type, the most time (where none is known, runs) first.

    Columns: op, source (of its first line), and of each mode `eager_runs`, `_us`, `_first_line`,
    `_last_line`, `_rewritten` (runs of rewritten ops that did not fail), `_kernels` (that ran),
    `_rewrites`, `_rewritten_first_line`, `_rewritten_last_line`. Lines are null where it never ran.
    """
    frame = executions.frame.select("at", "signature", "status", "duration_us")
    signatures = executions.signatures.select(
        "signature", "mode", "kind", "op", "kernel", "rewrite"
    )
    # Not all releases and levels print an end, and with it the status, of an eager op.
    failed = pl.int_range(pl.len()).is_in(statuses["row"].drop_nulls().implode())
    alive = frame.with_columns(failed=failed).filter(pl.col("status") != "dead")
    grouped = alive.group_by("signature").agg(
        runs=pl.len(),
        ran=(~pl.col("failed")).sum(),
        us=pl.col("duration_us").sum(),
        known=pl.col("duration_us").count(),
        first=pl.col("at").min(),
        last=pl.col("at").max(),
    )
    joined = grouped.join(signatures, on="signature").filter(pl.col("kind") == "op")
    for edge in ("first", "last"):
        placed = with_places(executions.spans, joined.select(at=edge))
        joined = joined.with_columns(placed["line"].alias(f"{edge}_line"))
    joined = joined.with_columns(with_places(executions.spans, joined.select(at="first"))["source"])
    columns = [pl.col("source").sort_by("first").first()]
    for mode in ("eager", "graph"):
        here = pl.col("mode") == mode
        known = pl.col("known").filter(here).sum() > 0
        columns += [
            pl.col("runs").filter(here).sum().alias(f"{mode}_runs"),
            pl.when(known).then(pl.col("us").filter(here).sum()).alias(f"{mode}_us"),
            pl.col("first_line").filter(here).min().alias(f"{mode}_first_line"),
            pl.col("last_line").filter(here).max().alias(f"{mode}_last_line"),
            pl.col("ran")
            .filter(here & (pl.col("rewrite") != "none"))
            .sum()
            .alias(f"{mode}_rewritten"),
            pl.col("kernel").filter(here).unique().sort().alias(f"{mode}_kernels"),
            pl.col("rewrite").filter(here).unique().sort().alias(f"{mode}_rewrites"),
            *(
                pl.col(f"{edge}_line")
                .filter(here & (pl.col("rewrite") != "none"))
                .sort(descending=edge == "last")
                .first()
                .alias(f"{mode}_rewritten_{edge}_line")
                for edge in ("first", "last")
            ),
        ]
    table = joined.group_by("op").agg(*columns)
    time = pl.col("eager_us").fill_null(0) + pl.col("graph_us").fill_null(0)
    runs = pl.col("eager_runs") + pl.col("graph_runs")
    return table.sort(time, runs, "op", descending=[True, True, False])


def function_facts(
    functions: pl.DataFrame, calls: pl.DataFrame, same: pl.DataFrame, executions: Executions
) -> pl.DataFrame:
    """The table `functions`, with the first call of each and the later ones.

    `first_us` is the time of the first call, which has the instantiation in it, `later_us` the mean
    of the later ones and `took_us` that of all, from entering to leaving (`calls.read_calls`).
    `xla_calls` ran code that XLA compiled. `made_by` is the file that makes the function, if it is
    TensorFlow's own (`same`: `Run.python_functions`).
    """
    compiled = compiled_runs(executions).filter(pl.col("dispatch").is_not_null())["call"].implode()
    per = calls.group_by("function", "function_uid").agg(
        took_us=pl.when(pl.col("took_us").count() > 0).then(pl.col("took_us").sum()),
        xla_calls=pl.col("call").is_in(compiled).sum(),
        first_us=pl.col("took_us").sort_by("call").first(),
        later_us=rounded(pl.col("took_us").sort_by("call").slice(1).mean()),
    )
    own = same.select("function", "function_uid", "made_by")
    keys = ["function", "function_uid"]
    table = functions.join(per, on=keys, how="left", nulls_equal=True)
    table = table.join(own.unique(keys), on=keys, how="left", nulls_equal=True)
    added = ("first_us", "later_us", "took_us", pl.col("xla_calls").fill_null(0), "made_by")
    return table.sort("first_line").select(*functions.columns, *added)


def nested_facts(executions: Executions, calls: pl.DataFrame) -> Nested:
    """What is in a sum twice, unless it is left out: calls in calls, eager ops in Python code."""
    outer = calls.filter(~pl.col("nested"))["took_us"]
    is_call = executions.dispatches.eager["is_call"]
    inside = executions.eager.filter(executions.calls_around.is_not_null() & ~is_call)
    return Nested(
        outer_us=int(outer.sum()) if outer.count() else None,
        ops=inside.height,
        ops_us=int(inside["duration_us"].sum()) if inside["duration_us"].count() else None,
    )


def story_facts(ops: pl.DataFrame, table: pl.DataFrame, functions: pl.DataFrame) -> list[Answer]:
    """Answers to what people ask of such a log, each with its evidence (line numbers).

    `ops` are those of `op_facts`, `functions` those of `function_facts`; `table` is the table of
    ops.
    """
    story = [_both_modes(ops, table, functions), _never_eager(ops), _rewritten_eagerly(ops)]
    return [entry for entry in story if entry is not None]


def _both_modes(ops: pl.DataFrame, table: pl.DataFrame, functions: pl.DataFrame) -> Answer | None:
    """Op types seen in both modes: where the eager ones stopped and the function began."""
    both = ops.filter((pl.col("eager_runs") > 0) & (pl.col("graph_runs") > 0))
    if both.is_empty():
        return None
    runs = pl.col("eager_runs") + pl.col("graph_runs")
    first = both.sort(runs, descending=True, maintain_order=True).head(_EVIDENCE).to_dicts()
    inside = table.filter((pl.col("mode") == "graph") & (pl.col("op") == first[0]["op"]))
    names = inside["functions"].drop_nulls().str.split(";").explode().drop_nulls()
    called = functions.filter(pl.col("function").is_in(names.implode()))
    time = pl.col("total_us").fill_null(0)
    busiest = called.sort(time, descending=True, maintain_order=True)["function"].head(1).to_list()
    examples = [_example(op, "eager_", op["graph_first_line"]) for op in first]
    return _answer("both-modes", examples, count=both.height, function=next(iter(busiest), None))


def _never_eager(ops: pl.DataFrame) -> Answer | None:
    """Ops that run as oneDNN kernels in graphs and were never asked for eagerly.

    A log without any eager dispatch, as sessions write it, does not say what would be eager.
    """
    if not ops["eager_runs"].sum():
        return None
    by_onednn = pl.element().is_in(["none", *ONEDNN_REWRITES])
    absent = ops.filter(
        (pl.col("graph_rewritten") > 0)
        & (pl.col("eager_runs") == 0)
        & pl.col("op").is_in(list(EAGER_OPS))
        # Plug-ins rewrite other eager ops, or none.
        & pl.col("graph_rewrites").list.eval(by_onednn).list.all()
    ).to_dicts()
    if not absent:
        return None
    examples = [_example(op, None, op["graph_first_line"]) for op in absent[:_EVIDENCE]]
    return _answer("never-eager", examples, ops=[op["op"] for op in absent])


def _rewritten_eagerly(ops: pl.DataFrame) -> Answer | None:
    rewritten = ops.filter(pl.col("eager_rewritten") > 0).to_dicts()
    if not rewritten:
        return None
    return _answer(
        "eager-rewritten",
        [_example(op, "eager_rewritten_", None) for op in rewritten[:_EVIDENCE]],
        count=sum(op["eager_rewritten"] for op in rewritten),
        whose=names_of(by for op in rewritten for by in op["eager_rewrites"]),
        ops=[op["op"] for op in rewritten],
    )


def _answer(id_: str, evidence: list[Example], **facts: Any) -> Answer:
    return Answer(id_, rows("answer")[id_].words(**facts), evidence)


def _example(op: dict[str, Any], eager: str | None, graph_line: int | None) -> Example:
    """An op with its first and last eager line, in the columns that begin so, if it has them."""
    lines = None if eager is None else (op[f"{eager}first_line"], op[f"{eager}last_line"])
    known = None if lines is None or None in lines else lines
    return Example(op["op"], op["source"], eager_lines=known, graph_line=graph_line)


def rewrite_facts(rewrites: pl.DataFrame) -> pl.DataFrame:
    """How many rewrites of each kind and target the log shows, and how many of them never ran.

    Columns: by, to_op, count, never_ran, first_line.
    """
    table = rewrites.group_by("by", "to_op").agg(
        count=pl.len(), never_ran=(~pl.col("ran")).sum(), first_line=pl.col("line").min()
    )
    return table.sort("by", "count", "to_op", descending=[False, True, False])


def reason_facts(nodes: pl.DataFrame) -> Eligible:
    """Nodes that ran and that oneDNN could run: how many did on it, how many not, and why."""
    eligible = nodes.filter(pl.col("eligible") & (pl.col("executions") > 0))
    by_op = eligible.group_by("reason", "op").agg(
        nodes=pl.len(),
        executions=pl.col("executions").sum(),
        us=pl.col("total_us").sum(),
        known=pl.col("total_us").count(),
        first_line=pl.col("line").min(),
    )
    by_op = by_op.sort("nodes", "op", descending=[True, False])
    table = by_op.group_by("reason").agg(
        pl.col("nodes", "executions").sum(),
        total_us=pl.when(pl.col("known").sum() > 0).then(pl.col("us").sum()),
        ops=pl.struct("op", "nodes"),
        first_line=pl.col("first_line").min(),
    )
    rewritten = table.filter(pl.col("reason").is_null())
    left = table.drop_nulls("reason").sort("nodes", "reason", descending=[True, False])
    return Eligible(
        nodes=eligible.height,
        rewritten=int(rewritten["nodes"].sum()),
        reasons=left,
    )
