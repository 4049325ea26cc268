"""Executions that differ in nothing but when they ran: what is said of them in words, once."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES
from tflogscope.model.executions import STATUSES, Executions, with_places
from tflogscope.model.pairing import mixed_keys
from tflogscope.model.python_lines import PythonLines

Integers = NDArray[np.int64]


def alike(
    executions: Executions, causes: pl.Series, lines: PythonLines
) -> tuple[Integers, pl.DataFrame]:
    """Number the distinct descriptions of executions.

    Args:
        executions: the run.
        causes: the cause of each row of `Executions.frame`.
        lines: which stack of the program asked for each.

    Returns:
        Per row of `Executions.frame` the number of its description; and these, with the columns of
        the `timeline` table that are texts, function_uid, and stack (row of the `stacks` table).
    """
    frame, spans = executions.frame, executions.spans
    definitions, eager = executions.runs.definitions, executions.dispatches.eager
    devices = pl.concat([definitions["device"], eager["device"]])
    device = frame.select(
        device=pl.coalesce("definition", pl.col("dispatch") + definitions.height)
    ).to_series()
    first = np.array([span.first for span in spans] or [0])
    stack = lines.of_executions
    key = mixed_keys(
        frame["signature"].to_numpy(),
        frame["definition"].fill_null(-1).to_numpy(),
        _codes(devices).gather(device).to_numpy(),
        _codes(executions.functions()["name"]).to_numpy(),
        _codes(causes).to_numpy(),
        frame["status"].to_numpy(),
        np.searchsorted(first, frame["at"].to_numpy() // PLACES, side="right"),
        *([] if lines.stacks.is_empty() else [stack.cast(pl.Int64).fill_null(-1).to_numpy()]),
    )
    _, example, number = np.unique(key, return_index=True, return_inverse=True)
    one = frame.select(pl.all().gather(example))
    signatures = executions.signatures.select("mode", "kind", "op", "kernel", "rewrite")
    texts = pl.concat(
        [
            signatures.select(pl.all().gather(one["signature"])),
            one.select(
                node=pl.lit(definitions["node"]).gather(pl.col("definition")),
                status=pl.lit(pl.Series(STATUSES)).gather(pl.col("status")),
            ),
            executions.functions(pl.Series(example)).drop("name"),
            pl.DataFrame(
                {
                    "device": devices.gather(device.gather(example)),
                    "cause": causes.gather(example),
                    "python": lines.named(stack.gather(example)),
                    "stack": stack.gather(example),
                }
            ),
            with_places(spans, one.select("at")).select("source"),
        ],
        how="horizontal",
    )
    return number, texts


def _codes(texts: pl.Series) -> pl.Series:
    """Texts as numbers, null as −1."""
    codes = texts.cast(pl.Categorical).to_physical().cast(pl.Int64)
    return codes.fill_null(-1)
