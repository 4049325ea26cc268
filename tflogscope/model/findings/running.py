"""What was under way when a signal ended a program: a node or an op, else the last primitive."""

from __future__ import annotations

import polars as pl

from tflogscope.model.common.frames import rows
from tflogscope.model.executions.executions import spelled
from tflogscope.model.pipeline import Evidence


def running_at(evidence: Evidence) -> dict[str, str]:
    """The node or op that began last and has no end (`running`), else the last primitive."""
    executions = evidence.executions
    left = executions.frame.with_row_index("row").filter(pl.col("status") == "unfinished")
    if left.height:
        node = spelled(evidence.timeline.columns("node", rows=left["row"].tail(1))).item()
        return {"running": node or rows(executions.signatures["op"], left["signature"].tail(1))[0]}
    ran = evidence.events.primitives.filter(event="exec")
    if ran.is_empty():
        return {}
    last = ran.row(-1, named=True)
    named = (last["primitive"], last["implementation"], last["problem"])
    return {"ran": " ".join(filter(None, named))}
