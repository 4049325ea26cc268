"""The columns of all tables: `grammars/tables.toml`, the page made from it, and the frames."""

from __future__ import annotations

import polars as pl

from tests.columns_table import PAGE, page_with_tables
from tests.samples import run_of
from tflogscope.exports.schema import TABLES
from tflogscope.grammar.tables import as_table, schema, tables


def test_the_page_has_the_columns_of_the_file() -> None:
    page = PAGE.read_text()
    assert page_with_tables(page) == page, "python -m tests.columns_table writes it anew"


def test_each_table_that_can_be_exported_is_in_the_file() -> None:
    assert [*TABLES, "runs"] == list(tables())


def test_a_frame_gets_the_order_and_the_types_of_the_file() -> None:
    named = run_of("function_mlp__tf2.13.1__vlog2").findings
    turned = named.select(reversed(named.columns)).with_columns(pl.col("count").cast(pl.Int64))
    assert dict(as_table("findings", turned).schema) == schema("findings") == dict(named.schema)
