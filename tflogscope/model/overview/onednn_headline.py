"""The verdict on a log without executions: what oneDNN ran, and oneMKL beside it."""

from __future__ import annotations

from typing import Any

from tflogscope.model.common.facts import Summary


def onednn_verdict(summary: Summary) -> dict[str, Any]:
    """The facts of its sentence; empty where the log has no verbose line."""
    onednn = summary.onednn
    if onednn is None:
        return {}
    verbose, ran = onednn.verbose, onednn.implementations.drop_nulls("primitive")
    first = ran.row(0, named=True) if ran.height and onednn.total_us else {}
    named = (first.get("primitive"), first.get("implementation"))
    facts = {
        "primitives": onednn.exec_lines,
        "time": onednn.total_us,
        "most": " ".join(filter(None, named)),
        "of_it": first["us"] / onednn.total_us if first else None,
        "partitions": int(verbose.partitions["count"].sum()),
        "partition_time": float(verbose.partitions["us"].sum()),
        "inside": verbose.primitive_us if verbose.inside else None,
        "calls": int(verbose.calls["count"].sum()),
        "call_time": float(verbose.calls["us"].sum()),
    }
    facts["any"] = facts["primitives"] or facts["partitions"]
    return facts | {"none": not facts["any"] and not facts["calls"]}
