"""Executions that differ in nothing but when they ran: what is said of them in words, once."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.executions import spelled
from tflogscope.model.frames import Integers
from tflogscope.model.pairing import mixed_keys

_WORDS = (
    *("mode", "kind", "op", "kernel", "rewrite", "node", "status", "function", "function_uid"),
    *("flavour", "device", "cause", "python", "stack", "source"),
)


def alike(executions: pl.DataFrame) -> tuple[Integers, pl.DataFrame]:
    """Number the distinct descriptions of executions.

    Args:
        executions: the `timeline` table with texts as categories, and stack (row of `stacks`).

    Returns:
        Per execution the number of its description; and these: the columns of the timeline that
        are texts, function_uid, and stack.
    """
    words = executions.select(_WORDS)
    codes = words.select(pl.all().to_physical().cast(pl.Int64).fill_null(-1))
    key = mixed_keys(*(column.to_numpy() for column in codes))
    _, example, number = np.unique(key, return_index=True, return_inverse=True)
    texts = words[example]
    return number, spelled(texts)
