"""What changed between two runs: modes, kernels, traces, times.

Rows are matched by names that stay the same from run to run: functions without their uid (which
counts all tensors of a program), nodes by function and name, ops by type. Counts and times of a
function's traces are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.grammar.rewriters import libraries_of
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.figures import known_sum, ranked_by, summed
from tflogscope.model.common.recorded import is_busy, why_not_timed
from tflogscope.model.overview.onednn_difference import problems_of
from tflogscope.model.overview.step_calls import later_steps

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables

Facts = dict[str, Any]
Sides = dict[str, pl.DataFrame]

RATIO = threshold("diff.ratio")
RATIO_ALONE = threshold("diff.ratio_alone")
_LEAST_RUNS = threshold("diff.least_runs")
_LEAST_SHARE = threshold("diff.least_share")
_LEAST_US = threshold("diff.least")
_BOTH = ("before", "after")
_FUNCTION = ["function", "flavour"]
TIMES = {"slower", "faster"}


def difference(before: Tables, after: Tables) -> Facts:
    """Return what changed from one run to another; durations in µs.

    `runs`: what each recorded. `busy`: the runs of which other processes used much of the machine,
    `simulated`: those that never ran on TensorFlow: then times are not compared. `loops`: how long
    what comes again and again took, in µs, without the log (table `repeated`). `step`: the step
    function (`step_calls`), with the median of its calls but the first of each trace, and the times
    that the middle half of them took; `alone`: its nodes and traces are the same.
    `modes`, `causes`: counts and times side by side, those that are equal included. `ops`,
    `functions`, `nodes`, `primitives`: those that changed, each with `changes` (`new`, `gone`,
    `mode`, `kernel`, `reason`, `traces`, `rewritten`, `runs`, `slower`, `faster`). `findings`:
    those that only one run has (`change`: `new`, `gone`), by id and subject. `problems`: of oneDNN,
    where no op is in either log (`onednn_difference`). Times are those
    without the log if both runs show what it cost, or else as printed.
    """
    runs = {"before": before, "after": after}
    # As printed if one of them doesn't show what its log cost.
    times = {ranked_by(run.ops) for run in runs.values()}
    steady = times == {"steady_us"}
    total_us = pl.col("steady_us" if steady else "total_us")
    of_one = "steady_us" if steady else "duration_us"
    recorded = {side: _recorded_facts(run) for side, run in runs.items()}
    untimed = any(map(why_not_timed, recorded.values()))
    step = None if untimed else _step(runs)

    def per(of: Callable[[Any, pl.Expr, str], pl.DataFrame]) -> Sides:
        return {side: of(run, total_us, of_one) for side, run in runs.items()}

    nodes = _changed(
        _common(per(_nodes)), ["function", "node"], {"kernel": "kernels", "reason": "reasons"}
    )
    functions = _changed(per(_functions), _FUNCTION, {"traces": "traces", "rewritten": "rewritten"})
    if step:
        step["alone"] = not any(
            row["function"] == step["function"] and {*row["changes"]} - TIMES
            for row in [*nodes, *functions]
        )
    facts: Facts = {
        "runs": {side: _recorded(run) for side, run in runs.items()},
        "busy": [side for side, of_it in recorded.items() if is_busy(of_it)],
        "simulated": [side for side, of_it in recorded.items() if of_it.get("simulated")],
        "loops": {side: None if untimed else _loops(run) for side, run in runs.items()},
        "step": step,
        "modes": _side_by_side(per(_modes), ["mode", "kind"]).sort("mode", "kind").to_dicts(),
        "causes": _side_by_side(per(_causes), ["cause"]).sort("cause").to_dicts(),
        "ops": _changed(per(_ops), ["op"], {"mode": "modes", "kernel": "kernels"}),
        "functions": functions,
        "nodes": nodes,
        "primitives": _changed(per(_primitives), ["primitive", "implementation"], {}),
        "problems": None if any(r.ops.height for r in runs.values()) else problems_of(runs),
        "findings": _findings(runs),
    }
    if untimed:  # times say nothing of the program
        for name in ("ops", "functions", "nodes", "primitives"):
            for row in facts[name]:
                row["changes"] = [change for change in row["changes"] if change not in TIMES]
            facts[name] = [row for row in facts[name] if row["changes"]]
    return facts


def _recorded_facts(run: Any) -> Entry:
    """Of a `Run`, whose module imports this one."""
    recorded: Entry = run.summary.recorded
    return recorded


def _recorded(run: Tables) -> Facts:
    coverage = run.coverage
    return {
        "source": coverage["source"][0],
        "lines": int(coverage["lines"].sum()),
        "wall_us": run.time["wall_us"].sum() if run.time["wall_us"].count() else None,
        "program_cpu_s": _recorded_facts(run).get("program_cpu_s"),  # older stores lack it
        "tensorflow_dialect": coverage["tensorflow_dialect"].drop_nulls().first(),
        "tensorflow_version": _recorded_facts(run).tensorflow_version,
        "onednn_version": coverage["onednn_version"].drop_nulls().first(),
        "vlog_level": coverage["vlog_level"].max(),
        "libraries": libraries_of(run.links.filter(run.primitives["event"] == "exec")["library"]),
    }


def _loops(run: Any) -> float | None:
    """Of a `Run`, whose module imports this one."""
    again = run.repeated["repeats_us"]
    return float(again.sum()) if again.count() else None


def _step(runs: dict[str, Tables]) -> Facts | None:
    """The step function of both: function, and of each side us_before, first_quartile_before, ….

    None where they differ or are not called again, or nothing is known of how long that took.
    """
    both = later_steps(runs).group_by("run", "function").agg(*_spread("us"))
    sides = {row["run"]: row for row in both.to_dicts()}
    if len(sides) < len(runs) or both["function"].n_unique() > 1:
        return None
    figures = {f"{name}_{side}": sides[side][name] for side in _BOTH for name in _SPREAD}
    return {"function": both["function"][0], **figures}


_SPREAD = ("us", "first_quartile", "third_quartile")


def _spread(time: str) -> list[pl.Expr]:
    """The median of times, and between which the middle half of them is."""
    quantiles = zip(_SPREAD, (0.5, 0.25, 0.75), strict=True)
    return [pl.col(time).quantile(at, "linear").alias(name) for name, at in quantiles]


def _with_spread(
    frame: pl.DataFrame, keys: list[str], executions: pl.DataFrame, time: str
) -> pl.DataFrame:
    """Put the spread of executions' times beside their sums."""
    ran = executions.filter(pl.col("status") != "dead").drop_nulls(time)
    spread = ran.group_by(keys).agg(*_spread(time)).cast({pl.Categorical: pl.String})
    return frame.join(spread, on=keys, how="left", nulls_equal=True)


# ---- what one run has: sums of a column of time, and the spread of `one` execution's time --------


def _modes(run: Any, time: pl.Expr, _one: str) -> pl.DataFrame:
    """Of calls the time of this run, first calls included, as `analyze` says it."""
    ops: pl.DataFrame = run.ops
    sums = ops.group_by("mode", "kind").agg(pl.col("executions").sum(), time_us=known_sum(time))
    of_calls = pl.lit(run.summary.nested.steady_us, pl.Float64)
    is_call = pl.col("kind") == "call"
    return sums.with_columns(time_us=pl.when(is_call).then(of_calls).otherwise("time_us"))


def _causes(run: Tables, _time: pl.Expr, one: str) -> pl.DataFrame:
    eager = run.executions.filter(mode="eager", kind="op").cast({"cause": pl.String})
    return eager.group_by("cause").agg(executions=pl.len(), time_us=known_sum(pl.col(one)))


def _ops(run: Tables, time: pl.Expr, one: str) -> pl.DataFrame:
    ops = run.ops.filter((pl.col("kind") == "op") & (pl.col("executions") > 0))
    ran = ops.group_by("op").agg(
        pl.col("executions").sum(),
        known_sum(time).alias("time_us"),
        modes=_joined("mode"),
        kernels=_joined("kernel"),
        eager=pl.col("executions").filter(pl.col("mode") == "eager").sum(),
        graph=pl.col("executions").filter(pl.col("mode") == "graph").sum(),
    )
    return _with_spread(ran, ["op"], run.executions.filter(kind="op"), one)


def _functions(run: Tables, time: pl.Expr, one: str) -> pl.DataFrame:
    functions = run.functions.filter(pl.col("function").is_not_null())
    called = functions.group_by(_FUNCTION).agg(
        known_sum(time).alias("time_us"),
        executions=pl.col("calls").sum(),
        traces=pl.len(),
        rewritten=pl.col("rewritten_nodes").sum(),
    )
    return _with_spread(called, _FUNCTION, run.executions.filter(kind="call"), one)


def _nodes(run: Tables, time: pl.Expr, one: str) -> pl.DataFrame:
    ran = (
        run.nodes.filter(pl.col("executions") > 0)
        .group_by("function", "node")
        .agg(
            pl.col("executions").sum(),
            known_sum(time).alias("time_us"),
            op=pl.col("op").first(),
            kernels=_joined("kernel"),
            reasons=_joined("reason"),
        )
    )
    return _with_spread(ran, ["function", "node"], run.executions.drop_nulls("node"), one)


def _common(per: Sides) -> Sides:
    """The nodes of functions that both runs have: any other is one change, not one of each node."""
    before, after = (frame["function"].unique() for frame in per.values())
    common = before.filter(before.is_in(after.implode(), nulls_equal=True))
    shared = pl.col("function").is_in(common.implode(), nulls_equal=True)
    return {side: frame.filter(shared) for side, frame in per.items()}


def _primitives(run: Tables, _time: pl.Expr, _one: str) -> pl.DataFrame:
    lines = run.primitives.filter(event="exec")
    return lines.group_by("primitive", "implementation").agg(
        *_spread("duration_us"), executions=pl.len(), time_us=summed("duration_us")
    )


def _findings(runs: dict[str, Tables]) -> list[Facts]:
    keys, findings = ["id", "subject"], []
    for change, side, other in (("new", "after", "before"), ("gone", "before", "after")):
        left = runs[side].findings.join(
            runs[other].findings, on=keys, how="anti", maintain_order="left"
        )
        findings += left.select(*keys, "time_us", "text", change=pl.lit(change)).to_dicts()
    return findings


def _joined(column: str) -> pl.Expr:
    return pl.col(column).drop_nulls().unique().sort().str.join(";")


def _side_by_side(per: Sides, keys: list[str]) -> pl.DataFrame:
    """Join two frames by `keys`; other columns get the side as their suffix."""
    sides = [
        frame.rename({name: f"{name}_{side}" for name in frame.columns if name not in keys})
        for side, frame in per.items()
    ]
    return sides[0].join(sides[1], on=keys, how="full", coalesce=True, nulls_equal=True)


def _changed(per: Sides, keys: list[str], watched: dict[str, str]) -> list[Facts]:
    """Rows in which something changed, the largest change of time first.

    `watched` are columns by the change that a difference in them is.
    """
    table = _side_by_side(per, keys)
    here = {side: pl.col(f"executions_{side}").is_not_null() for side in _BOTH}
    both = here["before"] & here["after"]
    time = {side: pl.col(f"time_us_{side}").fill_null(0) for side in _BOTH}
    total = max(float(frame["time_us"].sum() or 0) for frame in per.values())
    usual = {side: pl.col(f"us_{side}") for side in _BOTH}
    change = (usual["after"] - usual["before"]).abs()
    runs = pl.min_horizontal("executions_before", "executions_after")
    enough = both & (runs >= _LEAST_RUNS) & (change >= _LEAST_US)
    enough &= change * pl.col("executions_after") >= _LEAST_SHARE * total
    other = {
        change: both & pl.col(f"{column}_before").ne_missing(pl.col(f"{column}_after"))
        for change, column in watched.items()
    }
    ratio = pl.when(pl.any_horizontal(False, *other.values())).then(RATIO).otherwise(RATIO_ALONE)
    slower = (usual["after"] > ratio * usual["before"]) & (
        pl.col("first_quartile_after") > pl.col("third_quartile_before")
    )
    faster = (usual["before"] > ratio * usual["after"]) & (
        pl.col("first_quartile_before") > pl.col("third_quartile_after")
    )
    differs = {
        "new": ~here["before"],
        "gone": ~here["after"],
        **other,
        "runs": both & (pl.col("executions_before") != pl.col("executions_after")),
        "slower": enough & slower,
        "faster": enough & faster,
    }
    changes = pl.concat_list(
        [pl.when(flag.fill_null(False)).then(pl.lit(name)) for name, flag in differs.items()]
    ).list.drop_nulls()
    changed = table.with_columns(changes=changes, time_us_change=time["after"] - time["before"])
    changed = changed.filter(pl.col("changes").list.len() > 0)
    return changed.sort(
        pl.col("time_us_change").abs(), *keys, descending=[True, *[False] * len(keys)]
    ).to_dicts()
