"""The tables of columns in docs/tables.md, as they follow from `grammars/tables.toml`.

`python -m tests.columns_table` writes them into the page; a test holds the page to them.
"""

from __future__ import annotations

import re
from pathlib import Path

from tflogscope.grammar.tables import ColumnMeaning, tables

PAGE = Path(__file__).parent.parent / "docs" / "tables.md"
_HEAD = "| column | type | meaning | null | source of the fact |\n|---|---|---|---|---|\n"
_TABLE = re.compile(r"(?ms)^(## (\w+)\n.*?)^\| column \| type \|[^\n]*\n(?:\|[^\n]*\n)+")


def columns_table(columns: tuple[ColumnMeaning, ...]) -> str:
    rows = ((each.name, each.type, each.meaning, each.null, each.source) for each in columns)
    return _HEAD + "".join(
        "|".join(("", *(f" {cell} " if cell else " " for cell in row), "\n")) for row in rows
    )


def page_with_tables(page: str) -> str:
    return _TABLE.sub(lambda found: found[1] + columns_table(tables()[found[2]]), page)


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text()))
