"""Figures of runs over time, and the points where they changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.checks.verdict import AGAINST, Check, Violation
from tflogscope.errors import UsageError
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import count_of
from tflogscope.model.common.recorded import why_not_timed
from tflogscope.model.reasons.rules import HAS_KERNEL, ON_KERNEL
from tflogscope.model.run import Run
from tflogscope.stores.figures import FIGURES, OneRun, RunFigure, read_figures
from tflogscope.stores.store import Store
from tflogscope.views.trend import value_text

Facts = dict[str, Any]
Numbers = NDArray[np.float64]
LAST = 10
"""So many of the last runs are compared with by `check --against`."""
_LEAST = int(threshold("trend.least_runs"))
_SPREADS = threshold("trend.spreads")
_LEAST_CHANGE = threshold("trend.least_change")
_LEAST_SHARE = threshold("trend.least_share")
_TO_SIGMA = 1.4826  # of a median of distances, where errors are normal
_OPS = 3  # named at a change


def trend_facts(store: Store) -> list[Facts]:
    """Each series of runs: `series`, `runs` with their figures, `changes`.

    Runs are of one series if their fields `job` and `rank` are equal; those without a job, if their
    step functions are. A change has the first run from which it holds, the medians before and after
    it, and what else changed there.
    """
    figures = read_figures(store).filter(pl.col("start").is_not_null())
    program = [name for name in ("job", "step_function") if name in figures.columns]
    keys = [pl.coalesce(program).alias("of a series"), "rank"]  # no field can have such a name
    series = []
    for (name, rank), part in figures.group_by(keys, maintain_order=True):
        names = [name, None if rank is None else f"rank {rank}"]
        series.append(
            {
                "series": ", ".join(filter(None, names)),
                "runs": part.to_dicts(),
                "changes": list(_changes(store, part)),
            }
        )
    return series


def trend_frame(series: list[Facts]) -> pl.DataFrame:
    """A row for each run: its figures, and in `changed` those that changed with it."""
    table = [
        {
            "series": entry["series"],
            **{name: run[name] for name in ("run", "start", "step_function")},
            **{figure.key: run[figure.key] for figure in FIGURES},
            "changed": ";".join(
                change["figure"] for change in entry["changes"] if change["since"] == run["run"]
            ),
        }
        for entry in series
        for run in entry["runs"]
    ]
    numbers = {figure.key: pl.Float64() for figure in FIGURES} | {
        "traces": pl.Int64(),
        "findings": pl.Int64(),
    }
    names = {"series": pl.String(), "run": pl.String(), "start": pl.Datetime("us")}
    schema = {**names, "step_function": pl.String(), **numbers, "changed": pl.String()}
    return pl.DataFrame(table, schema=schema).with_columns(
        pl.col("series", "changed").replace("", None)
    )


def _changes(store: Store, runs: pl.DataFrame) -> Iterator[Facts]:
    for figure in FIGURES:
        measured = runs.drop_nulls(figure.key)
        values = measured[figure.key].cast(pl.Float64).to_numpy()
        for place, before, after in change_points(values, figure):
            start, end = measured.row(place - 1, named=True), measured.row(place, named=True)
            yield {
                "figure": figure.key,
                "title": figure.title,
                "since": end["run"],
                "start": end["start"],
                "commit": end.get("commit"),  # a field of the template, if it has one
                "before": before,
                "after": after,
                "ops": _ops_changed(store, start["run"], end["run"], figure),
            }


def change_points(values: Numbers, figure: RunFigure) -> list[tuple[int, float, float]]:
    """Where a figure changed to stay: the first run after it, and the medians on both sides.

    The split that explains most is looked for, then those in both halves. A split counts if the
    medians differ by more than the spread around them allows.
    """
    size = len(values)
    if size < 2 * _LEAST:
        return []
    places = range(_LEAST, size - _LEAST + 1)

    def left(place: int) -> float:
        parts = values[:place], values[place:]
        return float(sum(np.abs(part - np.median(part)).sum() for part in parts))

    place = min(places, key=left)
    one, other = values[:place], values[place:]
    before, after = float(np.median(one)), float(np.median(other))
    # From one run to the next: further changes in a half hardly count.
    noise = np.abs(np.diff(values)) / np.sqrt(2)
    if abs(after - before) <= _tolerance(noise, before, figure):
        return []
    return [
        *change_points(one, figure),
        (place, before, after),
        *((place + more, left_, right) for more, left_, right in change_points(other, figure)),
    ]


def _tolerance(distances: Numbers, median: float, figure: RunFigure) -> float:
    """How far a value may be from the median: by the spread of the others, and by a least share."""
    spread = _SPREADS * _TO_SIGMA * float(np.median(np.abs(distances)))
    least = _LEAST_SHARE if figure.is_share else _LEAST_CHANGE * abs(median)
    return max(spread, least)


def _ops_changed(store: Store, before: str, after: str, figure: RunFigure) -> list[Facts]:
    """Which ops changed most from one run to the next: by oneDNN's share, or by eager runs."""
    runs = store.rows.filter(pl.col("run").is_in([before, after])).to_dicts()
    if figure.key == "onednn_share":
        nodes = store.table("nodes", runs).filter(HAS_KERNEL & (pl.col("executions") > 0))
        ran = pl.col("executions").filter(ON_KERNEL).sum()
        per = nodes.group_by("run", "op").agg(value=ran / pl.col("executions").sum())
    elif figure.key in ("eager_share", "eager_per_step"):
        ops = store.table("ops", runs).filter(
            (pl.col("mode") == "eager") & (pl.col("kind") == "op")
        )
        per = ops.group_by("run", "op").agg(value=pl.col("executions").sum().cast(pl.Float64))
    else:
        return []
    changes = per.collect()
    sides = [changes.filter(run=run).select("op", "value") for run in (before, after)]
    both = sides[0].join(sides[1], on="op", how="full", coalesce=True, suffix="_after")
    values = {"before": "value", "after": "value_after"}
    both = both.select("op", **{side: pl.col(name).fill_null(0) for side, name in values.items()})
    change = (pl.col("after") - pl.col("before")).abs()
    most = both.filter(change > 0).sort(change, "op", descending=[True, False])
    return most.head(_OPS).to_dicts()


# ---- against the last good runs ------------------------------------------------------------------


def checks_against(store: Store, run: Run, name: str) -> tuple[Check, ...]:
    """A check for each figure of a run, against those of the last good runs of it before it.

    Those have the same step function, and no finding that is an error. Step times are compared
    without the log where that of the run is known, else as printed: never one with the other.

    Raises:
        UsageError: the store has too few runs to compare with.
    """
    figures = read_figures(OneRun(run, name)).row(0, named=True)
    earlier = read_figures(store).filter(pl.col("run") != name)
    earlier = earlier.filter(pl.col("step_function").eq_missing(figures["step_function"]))
    if run.start is not None:
        earlier = earlier.filter(pl.col("start") < pl.lit(run.start).cast(pl.Datetime("us")))
    bad = store.findings.filter(severity="error").select("run").collect()
    last = earlier.join(bad, on="run", how="anti", maintain_order="left").tail(LAST)
    if last.height < _LEAST:
        function = figures["step_function"] or "no step function"
        are = "is" if last.height == 1 else "are"
        hint = (
            f"{count_of(last.height, 'good run')} of {function} {are} earlier; {_LEAST} are needed."
        )
        raise UsageError("too few runs to compare with", store.name, hint)
    estimated = figures["step_estimated"]
    same = pl.when("step_estimated").then("step_us") if estimated else pl.col("duration_us")
    last = last.with_columns(step_us=same)
    why = why_not_timed(run.summary.recorded)
    of_times = " (estimated without logging)" if estimated else " (as printed)"
    return tuple(
        Check(f"{AGAINST}step_us", None, True, f"step time: not compared, {why}", skipped=True)
        if why and figure.key == "step_us"
        else _against(
            last, figure, figures[figure.key], of_times if figure.key == "step_us" else ""
        )
        for figure in FIGURES
    )


def _against(last: pl.DataFrame, figure: RunFigure, value: float | None, kind: str) -> Check:
    earlier = last[figure.key].cast(pl.Float64).drop_nulls().to_numpy()
    key = f"{AGAINST}{figure.key}"
    if value is None or len(earlier) < _LEAST:
        return Check(key, None, passed=True, text=f"{figure.title}: unknown")
    median = float(np.median(earlier))
    tolerance = _tolerance(earlier - median, median, figure)
    worse = value - median if figure.more_is_worse else median - value
    limit = median + (tolerance if figure.more_is_worse else -tolerance)
    said, usual, most = (value_text(figure.key, number) for number in (value, median, limit))
    text = f"{figure.title}{kind} is {said}; median of the last {len(earlier)} runs: {usual}"
    text += f", limit: {most}"
    if worse <= tolerance:
        return Check(key, None, passed=True, text=text, limit=limit, measured=value)
    violation = Violation({"figure": figure.key}, abs(value - median), f"{text}.")
    return Check(key, None, False, text, limit, value, (violation,))
