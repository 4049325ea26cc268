"""Kinds of ops: each row of `grammars/ops.toml` on its own examples."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tflogscope.grammar.load import packaged_toml

ROWS = packaged_toml("ops.toml")["kind"]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_kind_has_its_ops_and_no_others(row: dict[str, Any]) -> None:
    ops = pl.Series([*row["holds"], *row["fails"]])
    kept = ops.filter(ops.str.contains(row["ops"]))
    assert kept.to_list() == row["holds"]
