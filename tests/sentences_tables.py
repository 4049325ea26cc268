"""The tables in docs/findings.md, as they follow from `grammars/sentences/`.

`python -m tests.sentences_tables` writes them into the page; a test holds the page to them.
"""

from __future__ import annotations

import re
from pathlib import Path

from tflogscope.model.common.sentences import rows

PAGE = Path(__file__).parent.parent / "docs" / "findings.md"
_TABLE = re.compile(r"(?m)^\| (\w+) \| reported when \|.*\n(?:\|.*\n)+")


def table_of(kind: str) -> str:
    table = [f"| {kind} | reported when |\n|---|---|\n"]
    table += [f"| `{row.id}` | {row.when} |\n" for row in rows(kind).values()]
    return "".join(table)


def page_with_tables(page: str) -> str:
    return _TABLE.sub(lambda found: table_of(found[1]), page)


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
