"""The facts that `analyze` shows, as plain values: what was recorded, what ran, what is missing.

Everything is counted from the compact executions; the big timeline is not needed for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tflogscope.grammar.onednn_ops import EAGER_OPS
from tflogscope.grammar.rewriters import ONEDNN, ONEDNN_REWRITES, REWRITERS, names_of
from tflogscope.model.calls import read_calls
from tflogscope.model.executions import STATUSES, Executions, with_places
from tflogscope.model.failures import read_statuses
from tflogscope.model.figures import count_of, rounded
from tflogscope.model.links.linked import Linked
from tflogscope.model.origin import tensorflow_version
from tflogscope.model.reasons.plugins import plugins_of

Facts = dict[str, Any]

_DEAD = STATUSES.index("dead")
_EVIDENCE = 8  # entries for one answer
_NAMED = 4  # ops named in its text
ANSWERS = ("both-modes", "never-eager", "eager-rewritten")
"""Ids of what `story_facts` answers."""


def recorded_facts(coverage: pl.DataFrame, executions: Executions) -> Facts:
    """What was read: sources, lines by bucket, dialect, level, versions, the time it spans (µs)."""
    counts = coverage.select(
        pl.col("bytes", "lines", "records", "recognised", "ignored", "unknown").sum(),
        pl.col("continuation", "blank", "torn", "bad_bytes").sum(),
    ).to_dicts()[0]
    first, last = executions.events.time_span()
    return {
        "sources": coverage["source"].to_list(),
        **counts,
        "vlog_level": coverage["vlog_level"].max(),
        "tensorflow_dialect": _joined(coverage["tensorflow_dialect"]),
        "onednn_version": _joined(coverage["onednn_version"]),
        "onednn_verbose_lines": len(executions.events.verbose),
        "onednn_unread_lines": executions.events.primitives["reason"].count(),
        "has_thread_ids": executions.events.has_threads,
        "problems": executions.events.problems(),
        "first": first,
        "last": last,
        "span_us": None if first is None or last is None else max(last - first, 0),
    }


def _joined(values: pl.Series) -> str | None:
    return ", ".join(values.drop_nulls().unique(maintain_order=True).to_list()) or None


def rewriter_facts(executions: Executions, linked: Linked, rewrites: pl.DataFrame) -> Facts:
    """Whose `kernels` ops were rewritten to, whose `primitives` ran; oneDNN where nobody's.

    `knows`: in words, whose passes looked at the nodes.
    """
    working = plugins_of(executions.events).working
    kernels = names_of([*rewrites["by"], *(each.id for each in working)]) or [ONEDNN]
    onednn = ONEDNN in kernels or "onednn_on" in executions.events.seen
    passes = [each.name for each in working] + ["the layout pass"] * onednn
    libraries = linked.lines["library"].unique().to_list()
    names = [ONEDNN, *(each.name for each in REWRITERS)]
    return {
        "kernels": kernels,
        "primitives": [name for name in names if name in libraries],
        "knows": f"{' or '.join(passes)} know{'s' * (len(passes) == 1)}",
    }


def mode_facts(ops: pl.DataFrame) -> Facts:
    """Executions and summed time (µs, None: none is known) of each mode, by kind and rewrite.

    Sums of graph time add up what ran at the same time on several threads.
    """
    facts: Facts = {}
    for mode in ("eager", "graph"):
        here = ops.filter(pl.col("mode") == mode)
        known = pl.col("total_us").count() > 0
        kinds = here.group_by("kind").agg(
            pl.col("executions", "dead").sum(),
            total_us=pl.when(known).then(pl.col("total_us").sum()),
        )
        rewritten = here.filter((pl.col("kind") == "op") & (pl.col("rewrite") != "none"))
        facts[mode] = {
            "kinds": {row.pop("kind"): row for row in kinds.sort("kind").to_dicts()},
            "rewritten": {
                "executions": int(rewritten["executions"].sum()),
                "total_us": int(rewritten["total_us"].sum()),
            },
            "has_durations": bool(here["total_us"].count()),
        }
    return facts


def op_facts(executions: Executions) -> list[Facts]:
    """Eager against graph, one entry per op type, the most time (where none is known, runs) first.

    `source` has the op's first line; `kernels` are those that ran.
    """
    frame = executions.frame
    signatures = executions.signatures.select(
        "signature", "mode", "kind", "op", "kernel", "rewrite"
    )
    # Not all releases and levels print an end, and with it the status, of an eager op.
    failed = pl.int_range(pl.len()).is_in(read_statuses(executions)["row"].drop_nulls().implode())
    alive = frame.with_columns(failed=failed).filter(pl.col("status") != _DEAD)
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
        placed = with_places(executions.events, joined.select(at=edge))
        joined = joined.with_columns(placed["line"].alias(f"{edge}_line"))
    joined = joined.with_columns(
        with_places(executions.events, joined.select(at="first"))["source"]
    )
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
    return table.sort(time, runs, "op", descending=[True, True, False]).to_dicts()


def function_facts(
    functions: pl.DataFrame, executions: Executions, same: pl.DataFrame
) -> list[Facts]:
    """One entry per function that ran or was called, with its first call and the later ones.

    Calls count from entering to leaving (`calls.read_calls`). `same` (`Run.python_functions`) says
    which functions are TensorFlow's own: `made_by` is the file that makes them.
    """
    calls = read_calls(executions)
    per = calls.group_by("function", "function_uid").agg(
        first_us=pl.col("took_us").sort_by("call").first(),
        later_us=rounded(pl.col("took_us").sort_by("call").slice(1).mean()),
    )
    own = same.select("function", "function_uid", "made_by")
    keys = ["function", "function_uid"]
    table = functions.join(per, on=keys, how="left", nulls_equal=True)
    table = table.join(own.unique(keys), on=keys, how="left", nulls_equal=True)
    return table.sort("first_line").to_dicts()


def nested_facts(executions: Executions) -> Facts:
    """What is in a sum twice, unless it is left out: calls in calls, eager ops in Python code.

    outer_us: the time of calls that are not inside others, from entering to leaving (None: no end
    is known). ops, ops_us: eager ops that Python code ran inside calls (`py_function`).
    """
    calls = read_calls(executions)
    outer = calls.filter(~pl.col("nested"))["took_us"]
    inside = executions.eager.filter(
        pl.lit(executions.calls_around).gather(pl.col("dispatch")).is_not_null()
        & ~pl.lit(executions.dispatches.eager["is_call"]).gather(pl.col("dispatch"))
    )
    return {
        "outer_us": int(outer.sum()) if outer.count() else None,
        "ops": inside.height,
        "ops_us": int(inside["duration_us"].sum()) if inside["duration_us"].count() else None,
    }


def recorder_facts(header: Mapping[str, Any] | None) -> Facts:
    """What the line above a log says that `tflogscope record` wrote; None: there is none."""
    return {
        "recorded_by_tflogscope": header is not None,
        "tensorflow_version": tensorflow_version(header),
    }


def story_facts(ops: list[Facts], table: pl.DataFrame, functions: list[Facts]) -> list[Facts]:
    """Answers to what people ask of such a log, each with its evidence (line numbers).

    `ops` are those of `op_facts`, `functions` those of `function_facts`; `table` is the table of
    ops.
    """
    story = [_both_modes(ops, table, functions), _never_eager(ops), *_rewritten_eagerly(ops)]
    return [entry for entry in story if entry is not None]


def _both_modes(ops: list[Facts], table: pl.DataFrame, functions: list[Facts]) -> Facts | None:
    """Op types seen in both modes: where the eager ones stopped and the function began."""
    both = [op for op in ops if op["eager_runs"] and op["graph_runs"]]
    if not both:
        return None
    first = sorted(both, key=lambda op: -(op["eager_runs"] + op["graph_runs"]))[:_EVIDENCE]
    evidence = [
        {
            "op": op["op"],
            "source": op["source"],
            "eager_lines": [op["eager_first_line"], op["eager_last_line"]],
            "graph_line": op["graph_first_line"],
        }
        for op in first
    ]
    inside = table.filter((pl.col("mode") == "graph") & (pl.col("op") == first[0]["op"]))
    names = inside["functions"].drop_nulls().str.split(";").explode().drop_nulls()
    called = [entry for entry in functions if entry["function"] in names.to_list()]
    busiest = max(called, key=lambda entry: entry["total_us"] or 0, default=None)
    where = f", as in {busiest['function']}" if busiest else ""
    return {
        "id": "both-modes",
        "text": f"{count_of(len(both), 'op type')} ran both eagerly and in a graph. These are "
        "different executions; none moved from one mode to the other. Python decides for each call "
        "(is_eager in python/ops/gen_*_ops.py): while a function is being traced, an op "
        f"becomes a node{where}; elsewhere it runs at once.",
        "evidence": evidence,
    }


def _never_eager(ops: list[Facts]) -> Facts | None:
    """Ops that run as oneDNN kernels in graphs and were never asked for eagerly.

    A log without any eager dispatch, as sessions write it, does not say what would be eager.
    """
    if not any(op["eager_runs"] for op in ops):
        return None
    absent = [
        op
        for op in ops
        if op["graph_rewritten"]
        and not op["eager_runs"]
        and op["op"] in EAGER_OPS
        # Plug-ins rewrite other eager ops, or none.
        and set(op["graph_rewrites"]) <= {"none", *ONEDNN_REWRITES}
    ]
    if not absent:
        return None
    single = len(absent) == 1
    return {
        "id": "never-eager",
        "text": f"{_named(absent)} ran as {'a oneDNN kernel' if single else 'oneDNN kernels'} in "
        f"graphs only: nothing called {'it' if single else 'them'} eagerly. An eager call with "
        "such inputs would run the kernel too (common_runtime/eager/mkl_eager_op_rewrite.cc).",
        "evidence": [
            {
                "op": op["op"],
                "source": op["source"],
                "eager_lines": None,
                "graph_line": op["graph_first_line"],
            }
            for op in absent[:_EVIDENCE]
        ],
    }


def _rewritten_eagerly(ops: list[Facts]) -> list[Facts]:
    rewritten = [op for op in ops if op["eager_rewritten"]]
    if not rewritten:
        return []
    count = sum(op["eager_rewritten"] for op in rewritten)
    return [
        {
            "id": "eager-rewritten",
            "text": f"{count_of(count, 'eager dispatch', 'es')} ran {_whose(rewritten)} kernels: "
            f"{_named(rewritten)}.",
            "evidence": [
                {
                    "op": op["op"],
                    "source": op["source"],
                    "eager_lines": [
                        op["eager_rewritten_first_line"],
                        op["eager_rewritten_last_line"],
                    ],
                    "graph_line": None,
                }
                for op in rewritten[:_EVIDENCE]
            ],
        }
    ]


def _whose(rewritten: list[Facts]) -> str:
    """Whose kernels eager ops were rewritten to."""
    return " and ".join(names_of(by for op in rewritten for by in op["eager_rewrites"]))


def _named(ops: list[Facts]) -> str:
    more = f" and {len(ops) - _NAMED} more" if len(ops) > _NAMED else ""
    return ", ".join(op["op"] for op in ops[:_NAMED]) + more


def rewrite_facts(rewrites: pl.DataFrame) -> list[Facts]:
    """How many rewrites of each kind and target the log shows, and how many of them never ran."""
    table = rewrites.group_by("by", "to_op").agg(
        count=pl.len(), never_ran=(~pl.col("ran")).sum(), first_line=pl.col("line").min()
    )
    return table.sort("by", "count", "to_op", descending=[False, True, False]).to_dicts()


def reason_facts(nodes: pl.DataFrame) -> Facts:
    """Of the nodes that oneDNN could run and that ran: how many did on it, how many not, and why.

    `reasons` has the most frequent first; `ops` are op types with how many nodes of each.
    """
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
    return {
        "nodes": eligible.height,
        "rewritten": int(rewritten["nodes"].sum()),
        "reasons": left.to_dicts(),
    }
