"""A run in a few figures that can be compared with those of other runs."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tflogscope.model.overview.step_calls import step_calls
from tflogscope.model.reasons.rules import HAS_KERNEL, ON_KERNEL
from tflogscope.model.run import Run
from tflogscope.stores.store import Store


@dataclass(frozen=True)
class RunFigure:
    """A figure: its column, its name for people, and what it is."""

    key: str
    title: str
    is_share: bool = False
    more_is_worse: bool = True


FIGURES = (
    RunFigure("step_us", "step time"),
    RunFigure("eager_share", "eager share", is_share=True),
    RunFigure("onednn_share", "oneDNN share", is_share=True, more_is_worse=False),
    RunFigure("eager_per_step", "eager ops per step"),
    RunFigure("traces", "called traces"),
    RunFigure("findings", "findings"),
)


@dataclass(frozen=True)
class OneRun:
    """A run as if it was the only one of a store."""

    run: Run
    name: str

    @property
    def done(self) -> pl.DataFrame:
        """See `Store.done`."""
        return pl.DataFrame({"run": [self.name]})

    def __getattr__(self, table: str) -> pl.LazyFrame:
        frame: pl.DataFrame = getattr(self.run, table)
        return frame.lazy().select(pl.lit(self.name).alias("run"), pl.all())


def read_figures(store: Store | OneRun) -> pl.DataFrame:
    """The rows of the runs that could be read, in the order of their start, with the figures.

    step_function: see `step_calls`. step_us: the median of its calls but the first of each trace,
    without the log (`work_us`) if step_estimated, else as printed; duration_us: as printed.
    eager_share: of the runs of ops, those that were eager. onednn_share: of the runs of nodes for
    which a oneDNN kernel exists (HAS_KERNEL), those on it. eager_per_step: eager ops after the
    first call, for each further call. traces: functions that were called. findings: how many.
    """
    step_function, steps = _steps(store)
    ops = store.ops.filter(pl.col("kind") == "op").group_by("run")
    eager = pl.col("executions").filter(pl.col("mode") == "eager").sum()
    nodes = store.nodes.filter(HAS_KERNEL).group_by("run")
    ran = pl.col("executions").filter(ON_KERNEL).sum()
    functions = store.functions.filter(pl.col("calls") > 0).group_by("run")
    frames = [
        step_function,
        steps,
        ops.agg(eager_share=eager / pl.col("executions").sum()).collect(),
        nodes.agg(onednn_share=ran / pl.col("executions").sum()).collect(),
        functions.agg(traces=pl.len()).collect(),
        store.findings.group_by("run").agg(findings=pl.len()).collect(),
    ]
    figures = store.done
    for frame in frames:
        figures = figures.join(frame, on="run", how="left", maintain_order="left")
    return figures.with_columns(
        pl.col("traces", "findings").fill_null(0), pl.selectors.float().fill_nan(None)
    )


def _steps(store: Store | OneRun) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The step function of each run, and its figures."""
    timeline = store.timeline.select(
        *("run", "line", "mode", "kind", "function", "function_uid", "work_us", "duration_us")
    )
    calls = timeline.filter(pl.col("kind") == "call").collect()
    of_steps = step_calls(calls, store.nodes).sort("run", "line")
    function = of_steps.group_by("run", maintain_order=True).agg(step_function=pl.first("function"))
    later = pl.int_range(pl.len()).over("run", "function_uid") > 0
    first = of_steps.group_by("run").agg(first=pl.col("line").min(), steps=pl.len() - 1)
    eager = timeline.filter((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
    after = eager.join(first.lazy(), on="run").filter(pl.col("line") > pl.col("first"))
    figures = first.join(
        of_steps.filter(later)
        .group_by("run")
        .agg(
            step_us=pl.coalesce(pl.median("work_us"), pl.median("duration_us")),
            step_estimated=pl.col("work_us").count() > 0,
            duration_us=pl.median("duration_us"),
        ),
        on="run",
    ).join(after.group_by("run").agg(eager=pl.len()).collect(), on="run", how="left")
    per_step = pl.col("eager").fill_null(0) / pl.col("steps")
    times = "step_us", "step_estimated", "duration_us"
    return function, figures.select("run", *times, eager_per_step=per_step)
