"""The table of rules in docs/causes.md, as it follows from `grammars/causes.toml`.

`python -m tests.causes_table` writes it into the page; a test holds the page to it.
"""

from __future__ import annotations

import re
from pathlib import Path

from tflogscope.model.causes.rules import cause_grammar

PAGE = Path(__file__).parent.parent / "docs" / "causes.md"
_HEAD = "| rule | cause | shown by |\n|---|---|---|\n"
_TABLE = re.compile(r"(?m)^\| rule \| cause \|.*\n(?:\|.*\n)+")


def rules_table() -> str:
    return _HEAD + "".join(
        f"| `{rule.id}` | `{rule.cause}` | {rule.why} |\n" for rule in cause_grammar().rules
    )


def table_of_page() -> str:
    found = _TABLE.search(PAGE.read_text())
    return found[0] if found else ""


if __name__ == "__main__":
    page = PAGE.read_text()
    PAGE.write_text(_TABLE.sub(lambda _: rules_table(), page))
