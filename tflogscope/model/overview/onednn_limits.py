"""What verbose lines leave out: a filter in force, lines that came when all ops had run."""

from __future__ import annotations

from typing import Any

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.common.frames import is_among
from tflogscope.model.common.verbose import filters_of
from tflogscope.model.executions.executions import Executions

_COMPONENTS = r"hit components: *(.+)$"


def onednn_limits(events: Events, executions: Executions) -> dict[str, dict[str, Any]]:
    """Ids of limits with the facts of their texts; facts are empty where one doesn't hold."""
    return {"filter": _filter(events), "late-lines": _late(events, executions)}


def _filter(events: Events) -> dict[str, Any]:
    filters = filters_of(events.primitives)
    if not filters:
        return {}
    hit = pl.Series(filters).str.extract(_COMPONENTS, 1).drop_nulls()
    return {"message": filters[-1], "components": hit[-1] if len(hit) else None}


def _late(events: Events, executions: Executions) -> dict[str, Any]:
    """All lines come behind all ops, though several ran on oneDNN: its output was held back."""
    lines, frame = events.primitives, executions.frame
    ran = lines.filter(event="exec")["at"]
    kernels = executions.signatures["kernel"].str.starts_with("_Mkl").fill_null(value=False)
    of_onednn = is_among(frame["signature"], kernels.arg_true())
    if ran.is_empty() or of_onednn.sum() < 2 or len(events.spans) != 1:
        return {}
    last = frame.select(pl.max_horizontal("at", "end_at").max()).item()
    return {"line": int(ran.min()) // 16 + 1} if ran.min() > last else {}  # type: ignore[arg-type]
