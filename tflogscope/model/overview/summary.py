"""The facts of `run.summary`: what was recorded, what ran, what it means.

Everything is counted from the compact executions; the big timeline is not needed for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.onednn_ops import EAGER_OPS
from tflogscope.grammar.rewriters import ONEDNN, ONEDNN_REWRITES, libraries_of, names_of
from tflogscope.model.common import sentences
from tflogscope.model.common.facts import Entry, Mode
from tflogscope.model.common.figures import known_sum, ranked_by, rounded, sum_known, summed
from tflogscope.model.common.frames import among, is_among, only, row_with, rows
from tflogscope.model.common.names import ONEDNN_ON
from tflogscope.model.costs.costs import Costs
from tflogscope.model.executions.executions import Executions, with_places
from tflogscope.model.ledger.services import (
    quantiles,
    service_facts,
    serving_threads,
    time_of_service,
)
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.links.linked import Linked
from tflogscope.model.reasons.plugins import plugins_of
from tflogscope.model.reasons.rules import HAS_KERNEL, ON_KERNEL

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables
    from tflogscope.model.pipeline import Evidence

_Ops = list[dict[str, Any]]  # rows of `op_facts`
_EVIDENCE = 8  # entries for one answer


def rewriter_facts(events: Events, linked: Linked, rewrites: pl.DataFrame) -> Entry:
    """Whose `kernels` ops were rewritten to, and whose `primitives` ran.

    `kernels` is oneDNN where no op was rewritten. `knows` says in words whose passes looked at the
    nodes: `ITEX or the layout pass know`.
    """
    working = plugins_of(events).working
    kernels = names_of([*rewrites["by"], *(plugin.id for plugin in working)]) or [ONEDNN]
    onednn = ONEDNN in kernels or not events.seen.isdisjoint(ONEDNN_ON)
    passes = [plugin.name for plugin in working] + ["the layout pass"] * onednn
    return Entry(
        kernels=kernels,
        primitives=libraries_of(linked.lines["library"].unique()),
        knows=f"{' or '.join(passes)} know{'s' * (len(passes) == 1)}",
    )


def mode_facts(ops: pl.DataFrame, mode: Mode) -> Entry:
    """Executions and summed time of one mode by kind, and of ops that were rewritten.

    `ops` is the table of ops. `dead` executions, on a branch not taken, are not in the others. Time
    in graphs adds up what ran at once on several threads.
    """
    here = ops.filter(pl.col("mode") == mode)
    of_ops = here.filter(pl.col("kind") == "op")
    rewritten = of_ops.filter(pl.col("rewrite") != "none")
    return Entry(
        kinds={
            str(kind): Entry(
                executions=int(alike["executions"].sum()),
                dead=int(alike["dead"].sum()),
                steady_us=sum_known(alike["steady_us"]),
                total_us=sum_known(alike["total_us"]),
            )
            for (kind,), alike in sorted(here.partition_by("kind", as_dict=True).items())
        },
        rewritten=Entry(
            executions=int(rewritten["executions"].sum()),
            steady_us=sum_known(rewritten["steady_us"]),
            total_us=sum_known(rewritten["total_us"]) or 0,
        ),
        has_durations=bool(here["total_us"].count()),
    )


def op_facts(executions: Executions, statuses: pl.DataFrame, costs: Costs) -> pl.DataFrame:
    """Eager against graph, one row per op type, the most time (where none is known, runs) first.

    Columns: op, source (of its first line), and of each mode `eager_runs`, `_us`, `_first_line`,
    `_last_line`, `_rewritten` (runs of rewritten ops that did not fail), `_kernels` (that ran),
    `_rewrites`, `_rewritten_first_line`, `_rewritten_last_line`. Lines are null where it never ran.
    """
    frame = executions.frame[["at", "signature", "status"]]
    frame = frame.hstack([costs.known("steady_us")])
    # Not all releases and levels print an end, and with it the status, of an eager op.
    failed = is_among(pl.int_range(frame.height, eager=True), statuses["row"])
    alive = frame.hstack([failed.alias("failed")]).filter(pl.col("status") != "dead")
    grouped = alive.group_by("signature").agg(
        runs=pl.len(),
        ran=(~pl.col("failed")).sum(),
        us=known_sum(pl.col("steady_us")),
        first=pl.col("at").min(),
        last=pl.col("at").max(),
    )
    signatures = executions.signatures[["mode", "kind", "op", "kernel", "rewrite"]]
    joined = grouped.hstack(rows(signatures, grouped["signature"]))
    joined = only(joined, joined["kind"] == "op")
    first, last = (
        with_places(executions.spans, pl.DataFrame({"at": joined[edge]}))
        for edge in ("first", "last")
    )
    lines = [first["line"].alias("first_line"), last["line"].alias("last_line")]
    columns = {"source": pl.col("source").sort_by("first").first()}
    for mode in ("eager", "graph"):
        here = pl.col("mode") == mode
        rewritten = here & (pl.col("rewrite") != "none")
        of_mode = {
            "runs": pl.col("runs").filter(here).sum(),
            "us": rounded(known_sum(pl.col("us").filter(here))),
            "first_line": pl.col("first_line").filter(here).min(),
            "last_line": pl.col("last_line").filter(here).max(),
            "rewritten": pl.col("ran").filter(rewritten).sum(),
            "kernels": pl.col("kernel").filter(here).unique().sort(),
            "rewrites": pl.col("rewrite").filter(here).unique().sort(),
            "rewritten_first_line": pl.col("first_line").filter(rewritten).min(),
            "rewritten_last_line": pl.col("last_line").filter(rewritten).max(),
        }
        columns |= {f"{mode}_{name}": column for name, column in of_mode.items()}
    table = joined.hstack([first["source"], *lines]).group_by("op").agg(**columns)
    time = pl.col("eager_us").fill_null(0) + pl.col("graph_us").fill_null(0)
    runs = pl.col("eager_runs") + pl.col("graph_runs")
    return table.sort(time, runs, "op", descending=[True, True, False])


def function_facts(functions: pl.DataFrame, same: pl.DataFrame, of: Evidence) -> pl.DataFrame:
    """The table `functions`, with the first call of each and the later ones.

    `first_us` is the time of the first call from entering to leaving, which has the instantiation
    in it; `later_us` the median of `work_us` of the later ones. `p50_us` to `p99_us` are of these:
    so many of a hundred took no longer; `service` has that of all calls of threads that serve
    (`service_facts`). `xla_calls` ran code that XLA compiled. `made_by` is the file that makes the
    function, if it is TensorFlow's own (`same`: `Run.python_functions`).
    """
    calls, compiled = of.calls, compiled_runs(of.executions)
    compiled_calls = compiled["call"].filter(compiled["dispatch"] >= 0)
    first, work = (pl.col(name).sort_by("call") for name in ("wall_us", "work_us"))
    keys = ["function", "function_uid"]
    per = (
        calls.lazy()
        .group_by(keys)
        .agg(
            first_us=rounded(first.first()),
            later_us=rounded(work.slice(1).median()),
            xla_calls=among(pl.col("call"), compiled_calls).sum(),
        )
    )
    again = ~pl.struct(keys).is_first_distinct()
    later = calls.lazy().sort("call").filter(again).drop_nulls("work_us")
    spread = later.group_by(keys).agg(**quantiles("work_us"))
    timed = per.join(spread, on=keys, how="left", nulls_equal=True).collect()
    added = rows(timed, row_with(functions[keys], timed[keys]))[:, len(keys) :]
    made_by = rows(same["made_by"], row_with(functions[keys], same[keys]))
    service = service_facts(of)
    served = rows(service["service"], row_with(functions[keys], service[keys]))
    table = functions.hstack([*added, made_by, served])
    return table.with_columns(pl.col("xla_calls").fill_null(0)).sort("first_line")


def nested_facts(executions: Executions, calls: pl.DataFrame, costs: Costs) -> Entry:
    """What is in a sum twice, unless it is left out: calls in calls, eager ops in Python code.

    `steady_us` is that of the calls that are not inside others, `ops` the executions and
    `steady_us` of the eager ops that Python code ran inside calls (`py_function`).
    """
    outer = costs.known("steady_us")[calls["row"].filter(~calls["nested"])]
    is_call = executions.dispatches.eager["is_call"]
    row = executions.eager["row"].filter((executions.calls_around >= 0) & ~is_call)
    inside = costs.known("steady_us")[row]
    return Entry(
        steady_us=sum_known(outer),
        ops=Entry(
            executions=len(inside),
            steady_us=sum_known(inside),
        ),
    )


def slowed_facts(of: Evidence, run: Tables) -> Entry | None:
    """How much the log slowed the run; None where it doesn't say what its records cost.

    `function` is the one of whose traces one took longest, None: none was called twice; `later_us`
    and `duration_us` are the medians of its later calls without the log and as printed. `logged_us`
    is what writing the log took of `wall_us`, the whole run (`time`, the table), or the time of so
    many `threads` that serve (0: none does). `calibrated`: its times are those of a run without a
    log (`record --calibrate`).
    """
    threads = serving_threads(of)
    time = time_of_service(run, threads) if threads else run.time
    logged = float(time["wall_us"].filter(time["phase"] == "logging").sum())
    if not logged:
        return None
    of_run = {"logged_us": logged, "wall_us": round(time["wall_us"].sum()), "threads": len(threads)}
    again = (
        ~pl.col("name").is_first_distinct() & ~pl.col("nested") & pl.col("work_us").is_not_null()
    )
    later = of.calls.filter(again)
    if later.is_empty():
        names = ("function", "later_us", "duration_us")
        return Entry(dict.fromkeys(names), **of_run, calibrated=False)
    printed = pl.col("work_us") + pl.col("log")
    per = (
        later.lazy()
        .group_by("name")
        .agg(
            pl.col("function").first(),
            printed=printed.sum(),
            later_us=rounded(pl.col("work_us").median()),
            duration_us=rounded(printed.median()),
        )
        .with_columns(clock=of.costs.clock("name"))
    )
    per = per.sort("printed", "name", descending=[True, False])
    most = per.head(1).collect().row(0, named=True)
    return Entry(
        function=most["function"],
        later_us=most["later_us"],
        duration_us=most["duration_us"],
        **of_run,
        calibrated=most["clock"] is not None,
    )


def story_facts(ops: pl.DataFrame) -> list[Entry]:
    """Answers to what people ask of such a log, each with its evidence (line numbers).

    `ops` are those of `op_facts`.
    """
    # Few ops run in both modes or are rewritten; no other is looked at by itself.
    both = (pl.col("eager_runs") > 0) & (pl.col("graph_runs") > 0)
    is_rewritten = (pl.col("eager_rewritten") > 0) | (pl.col("graph_rewritten") > 0)
    every = ops.filter(both | is_rewritten).to_dicts()
    never = _never_eager(every) if (ops["eager_runs"] > 0).any() else None
    story = [_both_modes(every), never, _rewritten_eagerly(every)]
    return [entry for entry in story if entry is not None]


def _both_modes(ops: _Ops) -> Entry | None:
    """Op types seen in both modes: where the eager ones stopped and the function began."""
    both = [op for op in ops if op["eager_runs"] and op["graph_runs"]]
    if not both:
        return None
    first = sorted(both, key=lambda op: -op["eager_runs"] - op["graph_runs"])[:_EVIDENCE]
    examples = [_example(op, "eager_", op["graph_first_line"]) for op in first]
    return _answer("both-modes", examples, count=len(both))


def _never_eager(ops: _Ops) -> Entry | None:
    """Ops that run as oneDNN kernels in graphs and were never asked for eagerly.

    A log without any eager dispatch, as sessions write it, does not say what would be eager, and is
    not asked.
    """
    absent = [
        op
        for op in ops
        if op["graph_rewritten"]
        and not op["eager_runs"]
        and op["op"] in EAGER_OPS
        # Plug-ins rewrite other eager ops, or none.
        and {"none", *ONEDNN_REWRITES}.issuperset(op["graph_rewrites"])
    ]
    if not absent:
        return None
    examples = [_example(op, None, op["graph_first_line"]) for op in absent[:_EVIDENCE]]
    return _answer("never-eager", examples, ops=[op["op"] for op in absent])


def _rewritten_eagerly(ops: _Ops) -> Entry | None:
    rewritten = [op for op in ops if op["eager_rewritten"]]
    if not rewritten:
        return None
    return _answer(
        "eager-rewritten",
        [_example(op, "eager_rewritten_", None) for op in rewritten[:_EVIDENCE]],
        count=sum(op["eager_rewritten"] for op in rewritten),
        whose=names_of(by for op in rewritten for by in op["eager_rewrites"]),
        ops=[op["op"] for op in rewritten],
    )


def _answer(id_: str, evidence: list[Entry], **facts: Any) -> Entry:
    text = sentences.rows("answer")[id_].words(**facts)
    return Entry(id=id_, text=text, evidence=evidence)


def _example(op: dict[str, Any], eager: str | None, graph_line: int | None) -> Entry:
    """An op with its first and last eager line, in the columns that begin so, if it has them."""
    lines = None if eager is None else [op[f"{eager}first_line"], op[f"{eager}last_line"]]
    pair = None if lines is None or None in lines else lines
    return Entry(op=op["op"], source=op["source"], eager_lines=pair, graph_line=graph_line)


def rewrite_facts(rewrites: pl.DataFrame) -> pl.DataFrame:
    """How many rewrites of each kind and target the log shows, and how many of them never ran.

    Columns: by, to_op, count, never_ran, first_line.
    """
    table = (
        rewrites.lazy()
        .group_by("by", "to_op")
        .agg(count=pl.len(), never_ran=(~pl.col("ran")).sum(), first_line=pl.col("line").min())
    )
    return table.sort("by", "count", "to_op", descending=[False, True, False]).collect()


def reason_facts(nodes: pl.DataFrame) -> Entry:
    """Nodes that ran and that oneDNN could run: how many did on it, how many not, and why.

    `on_kernels` of the `runs` were on its kernels; `rewritten`: nodes. `reasons` has a row for each
    reason (as in the table `nodes`) that kept some as they were, the most frequent first.
    """
    eligible = nodes.filter(pl.col("eligible") & (pl.col("executions") > 0))
    has_kernel = eligible.filter(HAS_KERNEL)
    on_kernel = has_kernel.filter(ON_KERNEL)
    kept = only(eligible, eligible["reason"].is_not_null())
    time = ranked_by(nodes)
    by_op = (
        kept.lazy()
        .group_by("reason", "op")
        .agg(
            nodes=pl.len(),
            executions=pl.col("executions").sum(),
            time_us=known_sum(pl.col(time)),
            first_line=pl.col("line").min(),
        )
    )
    by_op = by_op.sort("nodes", "op", descending=[True, False])
    table = by_op.group_by("reason").agg(
        pl.col("nodes", "executions").sum(),
        time_us=summed("time_us"),
        ops=pl.struct("op", "nodes"),
        first_line=pl.col("first_line").min(),
    )
    return Entry(
        nodes=has_kernel.height,
        rewritten=on_kernel.height,
        runs=int(has_kernel["executions"].sum()),
        on_kernels=int(on_kernel["executions"].sum()),
        reasons=table.sort("nodes", "reason", descending=[True, False]).collect(),
    )
