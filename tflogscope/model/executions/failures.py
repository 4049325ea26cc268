"""What failed in a run: each failure once, at the op that failed first.

A status that is not OK is printed by the node that failed (core/common_runtime/executor.cc,
ExecutorState::ProcessOutputs), then by all that waited for it: the component
(process_function_library_runtime.cc, RunMultiDevice), the iterator whose function it was, and the
call (eager/execute.cc, EagerExecute). Those ended because of the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES, Events
from tflogscope.model.common.frames import (
    among,
    first_after,
    first_of_each,
    holds,
    last_before,
    looked_up,
    only,
    rows,
)
from tflogscope.model.common.names import CALLING_OPS, PYTHON_OPS
from tflogscope.model.executions.executions import Executions, spelled
from tflogscope.model.executions.node_runs import FOLDING_STEP

_STATUS = r"^([A-Za-z][A-Za-z_ ]*): (.*)$"
# What those that waited put around the message: the function (core/framework/function.cc), and
# since 2.14 the data set (core/data/utils.cc, AddErrorContext).
_AROUND = (
    r"(?:\{\{function_node [^{}]*\}\} ?|\{\{node [^{}]*\}\} ?"
    r"|Error in user-defined function passed to .*? transformation with iterator: [^ ]*: )"
)
_NODE_BEHIND = r"\s*\[\[\{\{node .*$"
# The attributes in the name of an instantiated function (core/framework/function.cc, Canonicalize).
_ATTRIBUTES = r"(\b__\w+)\[[^\[\]]*=[^\[\]]*\]"
# A data set has no next element, or a generator none (python/lib/core/py_func.cc, DoCallPyFunc).
_END_OF_DATA = ("OUT_OF_RANGE", "Out of range")
END_OF_DATA = rf"^(?:{'|'.join(_END_OF_DATA)}): "
_CANCELLED = ("CANCELLED", "Cancelled")
# python/lib/core/py_func.cc, PyFuncOp: tf.data asks for Python code when the program has ended.
_AT_EXIT = "Python interpreter state is not initialized"
# core/kernels/constant_op.cc, PlaceholderOp. Only step -1 runs placeholders without feeding them.
NOT_FED = "You must feed a value for placeholder tensor"
_FAILURES: dict[str, pl.DataType | type[pl.DataType]] = {
    "at": pl.Int64,
    "row": pl.UInt32,
    **dict.fromkeys(("op", "function", "code", "message"), pl.String),
    "ended": pl.List(pl.String),
}
_STATUSES = {
    **dict.fromkeys(("at", "thread", "begin", "step"), pl.Int64),
    **dict.fromkeys(("row", "call"), pl.UInt32),
    **dict.fromkeys(("status", "op", "function", "flavour"), pl.String),
    "is_call": pl.Boolean,
}
_LINES_BETWEEN = 4  # from what a kernel said to its node's status, which is the next record
_DEPTH = 8  # of calls inside calls that are followed


def read_failures(statuses: pl.DataFrame) -> pl.DataFrame:
    """All failures of a run, in the order of the log. `statuses` are those of `read_statuses`.

    Columns: at (the record that says so), row (of `Executions.frame`; null: the log does not show
    which), op (of a call its function), function (in which; null: none), code
    (`INVALID_ARGUMENT`), message (its first line), ended (ops and functions that ended because of
    it). These are not failures: the end of a data set, what was cancelled because something else
    had failed, what grappler tried in step -1, and Python code asked for after Python's end.
    """
    if not statuses.is_empty():  # most logs have none
        statuses = _counted(statuses)
    if statuses.is_empty():
        return pl.DataFrame(schema=_FAILURES)
    statuses = statuses.with_columns(first=_first(statuses))
    waited = statuses.filter(pl.col("first") != pl.col("number"))
    ended = waited.group_by("first").agg(ended=pl.col("op").unique(maintain_order=True))
    roots = statuses.filter(pl.col("first") == pl.col("number"))
    # Cancelled without a failure before: somebody stopped it on purpose. A call says so to Python.
    roots = roots.filter(~pl.col("code").is_in(_CANCELLED) | pl.col("is_call"))
    return looked_up(roots, ended, "first").select(
        *(name for name in _FAILURES if name != "ended"), pl.col("ended").fill_null([])
    )


def _counted(statuses: pl.DataFrame) -> pl.DataFrame:
    """Those of `read_statuses` that count, with their `number`."""
    status = pl.col("status")
    message = pl.coalesce(status.str.extract(_STATUS, 2), status)
    told = statuses.with_columns(
        code=status.str.extract(_STATUS, 1).fill_null("UNKNOWN"),
        message=message.str.replace_all(_AROUND, "")
        .str.replace(_NODE_BEHIND, "")
        .str.replace_all(_ATTRIBUTES, "$1"),
        waits=pl.col("is_call") | pl.col("op").str.contains(CALLING_OPS),
    )
    data = pl.col("waits") | holds(pl.col("flavour") == "dataset")
    ends = pl.col("code").is_in(_END_OF_DATA) & data
    tried = pl.col("step").eq_missing(FOLDING_STEP) | (
        pl.col("row").is_null() & pl.col("message").str.starts_with(NOT_FED)
    )
    at_exit = pl.col("message").str.starts_with(_AT_EXIT)
    kept = told.filter(~ends & ~tried & ~at_exit)
    return kept.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64))


def read_statuses(events: Events, executions: Executions) -> pl.DataFrame:
    """All statuses that are not OK, in the order of the log: at, row (null: unknown), status."""
    parts = [*_of_nodes(executions), *_of_eager(events, executions), *_refused(events, executions)]
    if not parts:
        return pl.DataFrame(schema=_STATUSES)
    return pl.concat([pl.DataFrame(schema=_STATUSES), *parts], how="diagonal").sort(
        "at", maintain_order=True
    )


def _of_nodes(executions: Executions) -> Iterator[pl.DataFrame]:
    """Statuses of nodes; where the log does not show the node's run, its name is the op."""
    failed, frame = executions.failed_nodes, executions.frame
    if failed.is_empty():
        return
    start = failed["start_at"].fill_null(-1).to_numpy()
    row = np.where(start < 0, -1, np.searchsorted(frame["at"].to_numpy(), start))
    run = rows(frame[["signature", "step_row", "call", "thread"]], row)
    op = rows(executions.signatures["op"], run["signature"])
    steps = rows(executions.steps[["step", "function", "flavour"]], run["step_row"])
    yield failed.hstack([*run[["call", "thread"]], *steps]).select(
        pl.exclude("start_at", "node"),
        row=pl.Series(row, dtype=pl.UInt32, strict=False),
        begin="start_at",
        op=pl.coalesce(op, "node"),
        is_call=pl.lit(value=False),
    )


def _of_eager(events: Events, executions: Executions) -> Iterator[pl.DataFrame]:
    """Statuses of eager ops and of calls: each is in the record that ends it."""
    eager = executions.eager
    failed = only(eager, eager["status"] == "failed")
    if failed.is_empty():
        return
    ends = events.messages("component_failed", "component_failed_sync", "exiting_call")
    ended = first_of_each(ends.select(end_at="at", said="status"), "end_at")
    named = failed.hstack(spelled(executions.columns("op", "kind", "function", rows=failed["row"])))
    is_call = pl.col("kind") == "call"
    yield named.join(ended, on="end_at", maintain_order="left").select(
        "row",
        "call",
        "thread",
        at="end_at",
        begin="at",
        status="said",
        op=pl.when(is_call).then("function").otherwise("op"),
        is_call=is_call,
    )


def _refused(events: Events, executions: Executions) -> Iterator[pl.DataFrame]:
    """What kernels of eager ops said in releases before 2.10, which print no end for those.

    core/framework/op_kernel.cc, OpKernelContext::CtxFailure. A node's status follows it at once.
    """
    messages = events.messages("op_requires_failed")[["at", "thread", "status"]]
    if messages.is_empty():
        return
    signatures = executions.signatures[["op", "kind"]]
    ran = executions.eager
    ran = ran.hstack(rows(signatures, ran["signature"])).filter(pl.col("kind") == "op")
    if (ran["status"] != "unknown").any():
        return
    of_nodes = events.messages("compute_status")[["at", "status"]]
    after = rows(of_nodes["at"], first_after(messages[["at", "status"]], of_nodes))
    messages = messages.filter(holds(after - pl.col("at") <= _LINES_BETWEEN * PLACES).not_())
    op_runs = rows(ran, last_before(messages[["at", "thread"]], ran[["at", "thread"]]))
    begun = op_runs[["row", "call", "op"]].hstack([op_runs["at"].alias("begin")])
    yield messages.hstack(begun).drop_nulls("row").with_columns(is_call=pl.lit(value=False))


def _first(statuses: pl.DataFrame) -> pl.Series:
    """For each status the number of the one that it ended because of, or its own.

    Of all that failed in a call that failed, or in a step, the first one is the reason. A function
    of a data set has no call: what took its elements ends with the same message. What Python code
    asked for fails on the thread of its `EagerPyFunc`.
    """
    failed_calls = statuses.filter("is_call")["call"]
    together = (
        pl.when(among(pl.col("call"), failed_calls))
        .then(pl.format("call {}", "call"))
        .otherwise(pl.format("step {}", "step"))
    )
    of_all = pl.col("number").first().over(together)
    numbered = statuses.with_columns(
        first=pl.when(together.is_not_null()).then(of_all).otherwise("number")
    )
    waiting = numbered.filter(pl.col("waits") & (pl.col("first") == pl.col("number")))
    source = statuses.select("message", "thread", cause_at="at", cause="number")
    inside = _reached(waiting, source, by="message", strategy="forward")
    python = waiting.filter(pl.col("op").str.contains(PYTHON_OPS))
    on_thread = _reached(python, source, by="thread", strategy="forward")
    data = source.filter(statuses["flavour"] == "dataset")
    before = _reached(waiting, data, by="message", strategy="backward")
    causes = pl.concat([inside, on_thread, before]).unique("number", keep="first")
    first = looked_up(numbered, causes, "number").select(pl.coalesce("cause", "first")).to_series()
    for _ in range(_DEPTH):
        first = first[first]
    return first


def _reached(
    waiting: pl.DataFrame, source: pl.DataFrame, by: str, strategy: Literal["forward", "backward"]
) -> pl.DataFrame:
    """For each that waits the first status since it began, or the last before: number, cause."""
    begun = "begin" if strategy == "forward" else "at"
    reached = waiting.sort(begun).join_asof(
        source.sort("cause_at"),
        left_on=begun,
        right_on="cause_at",
        by=by,
        strategy=strategy,
        check_sortedness=False,
    )
    reached = reached.filter(pl.col("cause_at") < pl.col("at"), pl.col("cause") != pl.col("number"))
    return reached.select("number", "cause")
