"""Dispatches of eager ops and of graph functions, wherever TensorFlow printed them.

core/common_runtime/eager/execute.cc, EagerLocalExecute and EagerRemoteExecute. Where a listener of
Python's is registered, as in notebooks (python/ops/logging_ops.py), Python prints the text of
EagerLocalExecute, without a prefix, into the cell; the log that the process writes has none of it.
"""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.names import WRAPPED, wrapped_op
from tflogscope.model.common.once import once

(_UNDATED,) = (
    row["name"] for row in packaged_toml("repairs.toml")["repair"] if row["id"] == "no-dates"
)
_COLUMNS = ("at", "time", "thread", "name", "device", "remote")


@once
def read_executing(events: Events) -> pl.DataFrame:
    """One row per dispatch: at, time, thread, name, device, remote (another task runs it)."""
    here = events.messages("executing_op").select(
        "at", "time", "thread", "device", name="op", remote=pl.lit(value=False)
    )
    there = events.messages("executing_op_on_task").select(
        "at", "time", "thread", device="task", name="op", remote=pl.lit(value=True)
    )
    if printed_by_python(events):
        ran = _by_runs(events)
        here = ran if ran.height >= here.height else here
    return pl.concat(frame.select(_COLUMNS) for frame in (here, there)).sort("at")


def printed_by_python(events: Events) -> bool:
    """Whether no dispatch has a prefix: Python printed them, or nothing is known of them.

    Where records have a prefix without a date, nothing follows.
    """
    undated = any(_UNDATED in (span.account.envelope or "") for span in events.spans)
    return not undated and events.messages("executing_op")["time"].count() == 0


def _by_runs(events: Events) -> pl.DataFrame:
    """What was dispatched by what it ran: from 2.10 on an op is the only one of a function.

    The function runs on the device in its name; what it gets from other devices is run there.
    """
    ran = events.messages("running_component").filter(pl.col("function").str.contains(WRAPPED))
    ran = ran.filter(pl.col("function").str.ends_with("_device_" + pl.col("device")))
    ops = ran.select("at", "time", "thread", "device", name=wrapped_op(pl.col("function")))
    local = events.messages("entering_call").filter(where="local")
    calls = local.select("at", "time", "thread", name="op", device=pl.lit(None, pl.String))
    both = pl.concat([ops, calls.select(ops.columns)])
    return both.with_columns(remote=pl.lit(value=False))
