"""What changed between two runs: modes, kernels, traces, times.

Rows are matched by names that stay the same from run to run: functions without their uid (which
counts all tensors of a program), nodes by function and name, ops by type. Counts and times of a
function's traces are added up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.grammar.rewriters import libraries_of
from tflogscope.model.figures import ranked_by, summed

if TYPE_CHECKING:
    from tflogscope.model.tables import Tables

Facts = dict[str, Any]

# A mean has changed where it did by a quarter, in at least so many runs on either side, and the
# change makes up at least a hundredth of the time of all ops.
_RATIO = 1.25
_LEAST_RUNS = 3
_LEAST_SHARE = 0.01
_BOTH = ("before", "after")


def difference(before: Tables, after: Tables) -> Facts:
    """Return what changed from one run to another; durations in µs.

    `runs`: what each recorded. `step`: the function that both call most of the time, with the
    median of its calls but the first. `modes`, `causes`: counts and times side by side, those that
    are equal included. `ops`, `functions`, `nodes`, `primitives`: those that changed, each with
    `changes` (`new`, `gone`, `mode`, `kernel`, `reason`, `traces`, `rewritten`, `runs`, `slower`,
    `faster`). `findings`: those that only one run has (`change`: `new`, `gone`), by id and subject.
    Times are those without the log if both runs show what it cost, or else as printed.
    """
    runs = {"before": before, "after": after}
    # As printed if one of them doesn't show what its log cost.
    times = {ranked_by(run.ops) for run in runs.values()}
    known = times == {"work_us"}
    total_us = pl.col("work_us" if known else "total_us")
    return {
        "runs": {side: _recorded(run) for side, run in runs.items()},
        "step": _step(runs, "work_us" if known else "duration_us"),
        "modes": _modes(runs, total_us),
        "causes": _causes(runs, pl.col("work_us" if known else "duration_us")),
        "ops": _ops(runs, total_us),
        "functions": _functions(runs, total_us),
        "nodes": _nodes(runs, total_us),
        "primitives": _primitives(runs),
        "findings": _findings(runs),
    }


def _recorded(run: Tables) -> Facts:
    coverage = run.coverage
    return {
        "source": coverage["source"][0],
        "lines": int(coverage["lines"].sum()),
        "tensorflow_dialect": coverage["tensorflow_dialect"].drop_nulls().first(),
        "onednn_version": coverage["onednn_version"].drop_nulls().first(),
        "vlog_level": coverage["vlog_level"].max(),
        "libraries": libraries_of(run.links.filter(run.primitives["event"] == "exec")["library"]),
    }


def _step(runs: dict[str, Tables], time: str) -> Facts | None:
    """The function with the most time in calls that both make: function, before_us, after_us.

    None where no function is called again in both, or nothing is known of how long that took.
    """
    per = {}
    for side, run in runs.items():
        calls = run.executions.filter((pl.col("kind") == "call") & (pl.col("status") == "done"))
        calls = calls.select(pl.col("function").cast(pl.String), us=time).drop_nulls("function")
        later = calls.filter(pl.int_range(pl.len()).over("function") > 0)
        per[side] = later.group_by("function").agg(pl.median("us"), total=pl.sum("us"))
    both = per["before"].join(per["after"], on="function", suffix="_after").drop_nulls()
    if both.is_empty():
        return None
    ranked = both.sort(
        pl.col("total") + pl.col("total_after"), "function", descending=[True, False]
    )
    function, before, _, after, _ = ranked.row(0)
    return {"function": function, "before_us": before, "after_us": after}


def _modes(runs: dict[str, Tables], time: pl.Expr) -> list[Facts]:
    per = {
        side: run.ops.group_by("mode", "kind").agg(pl.col("executions").sum(), time_us=time.sum())
        for side, run in runs.items()
    }
    return _side_by_side(per, ["mode", "kind"]).sort("mode", "kind").to_dicts()


def _causes(runs: dict[str, Tables], time: pl.Expr) -> list[Facts]:
    per = {}
    for side, run in runs.items():
        eager = run.executions.filter((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
        eager = eager.with_columns(pl.col("cause").cast(pl.String))
        per[side] = eager.group_by("cause").agg(executions=pl.len(), time_us=time.sum())
    return _side_by_side(per, ["cause"]).sort("cause").to_dicts()


def _ops(runs: dict[str, Tables], time: pl.Expr) -> list[Facts]:
    per = {}
    for side, run in runs.items():
        rows = run.ops.filter((pl.col("kind") == "op") & (pl.col("executions") > 0))
        per[side] = rows.group_by("op").agg(
            pl.col("executions").sum(),
            time.sum().alias("time_us"),
            modes=_joined("mode"),
            kernels=_joined("kernel"),
            eager=pl.col("executions").filter(pl.col("mode") == "eager").sum(),
            graph=pl.col("executions").filter(pl.col("mode") == "graph").sum(),
        )
    return _changed(per, ["op"], {"mode": "modes", "kernel": "kernels"})


def _functions(runs: dict[str, Tables], time: pl.Expr) -> list[Facts]:
    per = {}
    for side, run in runs.items():
        rows = run.functions.filter(pl.col("function").is_not_null())
        per[side] = rows.group_by("function", "flavour").agg(
            time.sum().alias("time_us"),
            executions=pl.col("calls").sum(),
            traces=pl.len(),
            rewritten=pl.col("rewritten_nodes").sum(),
        )
    return _changed(per, ["function", "flavour"], {"traces": "traces", "rewritten": "rewritten"})


def _nodes(runs: dict[str, Tables], time: pl.Expr) -> list[Facts]:
    per = {}
    for side, run in runs.items():
        rows = run.nodes.filter(pl.col("executions") > 0)
        per[side] = rows.group_by("function", "node").agg(
            pl.col("executions").sum(),
            time.sum().alias("time_us"),
            op=pl.col("op").first(),
            kernels=_joined("kernel"),
            reasons=_joined("reason"),
        )
    common = per["before"]["function"].unique()
    common = common.filter(
        common.is_in(per["after"]["function"].unique().implode(), nulls_equal=True)
    )
    # A function that only one run has is one change, not one for each of its nodes.
    shared = pl.col("function").is_in(common.implode(), nulls_equal=True)
    inside = {side: frame.filter(shared) for side, frame in per.items()}
    return _changed(inside, ["function", "node"], {"kernel": "kernels", "reason": "reasons"})


def _primitives(runs: dict[str, Tables]) -> list[Facts]:
    per = {}
    for side, run in runs.items():
        rows = run.primitives.filter(pl.col("event") == "exec")
        per[side] = rows.group_by("primitive", "implementation").agg(
            executions=pl.len(), time_us=summed("duration_us")
        )
    return _changed(per, ["primitive", "implementation"], {})


def _findings(runs: dict[str, Tables]) -> list[Facts]:
    keys, found = ["id", "subject"], []
    for change, side, other in (("new", "after", "before"), ("gone", "before", "after")):
        left = runs[side].findings.join(
            runs[other].findings, on=keys, how="anti", maintain_order="left"
        )
        found += left.select(*keys, "time_us", "text", change=pl.lit(change)).to_dicts()
    return found


def _joined(column: str) -> pl.Expr:
    return pl.col(column).drop_nulls().unique().sort().str.join(";")


def _side_by_side(per: dict[str, pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    """Join two frames by `keys`; other columns get the side as their suffix."""
    sides = [
        frame.rename({name: f"{name}_{side}" for name in frame.columns if name not in keys})
        for side, frame in per.items()
    ]
    return sides[0].join(sides[1], on=keys, how="full", coalesce=True, nulls_equal=True)


def _changed(per: dict[str, pl.DataFrame], keys: list[str], watched: dict[str, str]) -> list[Facts]:
    """Rows in which something changed, the largest change of time first.

    `watched` are columns by the change that a difference in them is.
    """
    table = _side_by_side(per, keys)
    here = {side: pl.col(f"executions_{side}").is_not_null() for side in _BOTH}
    both = here["before"] & here["after"]
    time = {side: pl.col(f"time_us_{side}").fill_null(0) for side in _BOTH}
    mean = {side: pl.col(f"time_us_{side}") / pl.col(f"executions_{side}") for side in _BOTH}
    total = max(float(frame["time_us"].sum() or 0) for frame in per.values())
    enough = (
        both
        & (pl.min_horizontal("executions_before", "executions_after") >= _LEAST_RUNS)
        & (
            (mean["after"] - mean["before"]).abs() * pl.col("executions_after")
            >= _LEAST_SHARE * total
        )
    )
    differs = {
        "new": ~here["before"],
        "gone": ~here["after"],
        **{
            change: both & pl.col(f"{column}_before").ne_missing(pl.col(f"{column}_after"))
            for change, column in watched.items()
        },
        "runs": both & (pl.col("executions_before") != pl.col("executions_after")),
        "slower": enough & (mean["after"] > _RATIO * mean["before"]),
        "faster": enough & (mean["before"] > _RATIO * mean["after"]),
    }
    changes = pl.concat_list(
        [pl.when(flag.fill_null(False)).then(pl.lit(name)) for name, flag in differs.items()]
    ).list.drop_nulls()
    changed = table.with_columns(changes=changes, change_us=time["after"] - time["before"])
    changed = changed.filter(pl.col("changes").list.len() > 0)
    return changed.sort(
        pl.col("change_us").abs(), *keys, descending=[True, *[False] * len(keys)]
    ).to_dicts()
