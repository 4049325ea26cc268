"""The table of rules in docs/causes.md, as it follows from `model/causes/rules.py`.

`python -m tests.causes_table` writes it into the page; a test holds the page to it.
"""

from __future__ import annotations

import re
from pathlib import Path

from tflogscope.model.causes.rules import RULES

PAGE = Path(__file__).parent.parent / "docs" / "causes.md"
_HEAD = "| rule | cause | ops | shown by | where TensorFlow decides it |\n|---|---|---|---|---|\n"
_TABLE = re.compile(r"(?m)^\| rule \| cause \|.*\n(?:\|.*\n)+")
_MOST_SHOWN = 60  # longer lists of ops are left to the code


def rules_table() -> str:
    rows = []
    for rule in RULES:
        ops = "any" if rule.ops == ".+" else f"`{rule.ops.replace('|', '`, `')}`"
        ops = ops if len(ops) <= _MOST_SHOWN else "see `DATASET_OP`"
        cells = (f"`{rule.id}`", f"`{rule.cause}`", ops, rule.why, rule.where)
        rows.append(f"| {' | '.join(cells)} |\n")
    return _HEAD + "".join(rows)


def table_of_page() -> str:
    found = _TABLE.search(PAGE.read_text())
    return found[0] if found else ""


if __name__ == "__main__":
    page = PAGE.read_text()
    PAGE.write_text(_TABLE.sub(lambda _: rules_table(), page))
