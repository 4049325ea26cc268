"""What the screen of a growing log shows of its run: figures from the run's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tflogscope.events.times import SECOND
from tflogscope.grammar.rewriters import ONEDNN, names_of
from tflogscope.model.figures import ranked_by
from tflogscope.model.names import function_columns, wrapped_op

if TYPE_CHECKING:
    from tflogscope.model.log_run import LogRun

Since = tuple[str, int | None]
"""What goes on, and since when by the log's clock: µs since the epoch, None: not known."""
Row = dict[str, Any]

MODES = ("eager", "graph")
_NEEDED = (
    "mode",
    "kind",
    "op",
    "kernel",
    "status",
    "thread",
    "call",
    "start",
    "work_us",
    "duration_us",
)
_SECONDS = 60
_LAST_CALLS = 30


class Figures(NamedTuple):
    """The figures of the first `lines` of a log; rows of frames as dicts, durations in µs."""

    lines: int = 0
    ops: Sequence[Row] = ()
    """Each op that ran: op; of each mode executions and time (`eager`, `eager_us`), and those on
    kernels of a rewrite (`eager_rewritten`, `eager_rewritten_us`); of both modes runs and us."""
    functions: Sequence[Row] = ()
    """Each function that was called, by first call: name, calls, mean_us, last_us (a list of the
    last calls), last_call (the number of the last one among all calls)."""
    primitives: Sequence[Row] = ()
    """Each kind of primitive, the most time first: primitive, runs, us."""
    whose: str = ONEDNN
    """Whose kernels nodes were rewritten to."""
    per_second: Mapping[str, Sequence[int]] = dict.fromkeys(MODES, (0,) * _SECONDS)
    """Ops that began in each of the last seconds, by mode."""
    running: Sequence[Since] = ()
    """Eager ops that have not ended."""


def read_figures(run: LogRun) -> Figures:
    """The figures of a run."""
    # Only what is needed: in a large log a copy of all of it takes as much memory as the rest.
    executions, last = run.executions.select(*_NEEDED), run.events.time_span()[1]
    ran = executions.filter(pl.col("kind") == "op", pl.col("status") != "dead")
    return Figures(
        lines=sum(span.lines for span in run.events.spans),
        ops=_ops(run.ops.filter(kind="op")),
        functions=_functions(executions.filter(kind="call")),
        primitives=_primitives(run.primitives.filter(event="exec")),
        whose=" and ".join(names_of(run.ops["rewrite"].unique())) or ONEDNN,
        per_second={mode: _per_second(ran.filter(mode=mode), last) for mode in MODES},
        running=_running(executions.filter(mode="eager")),
    )


def short_name(full: pl.Expr) -> pl.Expr:
    """`train_step 809`, or the op of an eager op that is wrapped in a function."""
    names = function_columns(full)
    parts = names["function"], names["function_uid"]
    return pl.coalesce(wrapped_op(full), pl.concat_str(parts, separator=" ", ignore_nulls=True))


def _ops(ops: pl.DataFrame) -> list[Row]:
    is_rewritten, time = pl.col("rewrite") != "none", ranked_by(ops)
    sums = {}
    for mode in MODES:
        mine = pl.col("mode") == mode
        for name, rows in ((mode, mine), (f"{mode}_rewritten", mine & is_rewritten)):
            sums[name] = pl.col("executions").filter(rows).sum()
            sums[f"{name}_us"] = pl.col(time).filter(rows).sum()
    found = ops.group_by("op").agg(runs=pl.col("executions").sum(), us=pl.col(time).sum(), **sums)
    return found.filter(pl.col("runs") > 0).with_columns(pl.col("op").fill_null("?")).to_dicts()


def _functions(calls: pl.DataFrame) -> list[Row]:
    us = pl.col(ranked_by(calls))
    found = calls.group_by(name="op", maintain_order=True)
    each = found.agg(
        calls=pl.len(),
        mean_us=us.mean(),
        last_us=us.drop_nulls().tail(_LAST_CALLS),
        last_call=pl.col("call").last(),
    )
    return each.with_columns(short_name(pl.col("name").cast(pl.String))).to_dicts()


def _primitives(ran: pl.DataFrame) -> list[Row]:
    found = ran.drop_nulls("primitive").group_by("primitive")
    kinds = found.agg(runs=pl.len(), us=pl.col("duration_us").sum())
    return kinds.sort("us", "primitive", descending=True).to_dicts()


def _per_second(ran: pl.DataFrame, last: int | None) -> list[int]:
    """Ops that began in each second up to that of the last record."""
    second = ran["start"].drop_nulls().dt.epoch("s").to_numpy()
    place = second - (last or 0) // SECOND + _SECONDS - 1
    inside = (place >= 0) & (place < _SECONDS)
    counts: list[int] = np.bincount(place[inside], minlength=_SECONDS).tolist()
    return counts


def _running(eager: pl.DataFrame) -> list[Since]:
    """The last that each thread dispatched, if that is an op that has not ended."""
    last = eager.unique("thread", keep="last", maintain_order=True)
    ops = last.filter(kind="op", status="unfinished")
    return list(ops.select("kernel", pl.col("start").dt.epoch("us")).iter_rows())
