"""What changed in the time of primitives between two runs, where both ran the same problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables

Facts = dict[str, Any]
_KEYS = ["primitive", "prop_kind", "types", "attributes", "auxiliary", "problem"]
# Types of descriptors: src_f32::blocked:ab:f0 up to 3.5, src:f32::blocked:ab::f0 later.
_TYPES = r"(?:^| )[a-z_]+?[_:]((?:[a-z]+[0-9]+[a-z0-9_]*|undef|boolean)):"


def problems_of(runs: dict[str, Tables]) -> Facts | None:
    """The time of all primitives on both sides, and problems that both ran, the most changed first.

    A problem is the same whatever layouts and implementation oneDNN chose for it. None where one
    of the runs has no primitive.
    """
    per = {side: _by_problem(run.primitives) for side, run in runs.items()}
    if any(frame.is_empty() for frame in per.values()):
        return None
    before, after = per["before"], per["after"]
    both = before.join(after, on=_KEYS, how="inner", nulls_equal=True, suffix="_after")
    changes = both.select(
        *_KEYS,
        runs_before="runs",
        runs_after="runs_after",
        us_before="us",
        us_after="us_after",
        implementations_before="implementations",
        implementations_after="implementations_after",
    ).sort((pl.col("us_after") - pl.col("us_before")).abs(), descending=True)
    return {
        "us_before": float(before["us"].sum()),
        "us_after": float(after["us"].sum()),
        "before": before.height,
        "after": after.height,
        "runs_before": int(before["runs"].sum()),
        "runs_after": int(after["runs"].sum()),
        "both": changes.to_dicts(),
    }


def _by_problem(primitives: pl.DataFrame) -> pl.DataFrame:
    ran = primitives.filter(event="exec").drop_nulls("problem")
    types = (
        pl.col("memory_descriptors")
        .str.extract_all(_TYPES)
        .list.eval(pl.element().str.extract(_TYPES))
    )
    attributes = pl.col("attributes").str.replace_all(r"attr-scratchpad:\w+ ?", "")
    named = ran.with_columns(
        types=types.list.join(" "),
        attributes=attributes.str.strip_chars().replace("", None),
        primitive=pl.col("primitive").str.strip_suffix("_v2"),
    )
    return named.group_by(_KEYS, maintain_order=True).agg(
        runs=pl.len(),
        us=pl.col("duration_us").sum().round(3),
        implementations=pl.col("implementation").drop_nulls().unique().sort().str.join(";"),
    )
