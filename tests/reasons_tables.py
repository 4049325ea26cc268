"""The tables of ops and of rules in docs/reasons.md, as they follow from `grammars/`.

`python -m tests.reasons_tables` writes them into the page; a test holds the page to them.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from tflogscope.grammar.onednn_ops import FAMILIES, Op
from tflogscope.model.reasons.rules import RULES, ReasonRule

PAGE = Path(__file__).parent.parent / "docs" / "reasons.md"
_TABLE = re.compile(r"(?m)^\| (?:rule|op) \|.*\n(?:\|.*\n)+")


def ops_table() -> str:
    rows = [["op", "eager", "layout pass", "types", "refused by", "primitives"]]
    for family in FAMILIES:
        known = (op for op in family.ops if op.eager or op.layout or op.remapper)
        for op, alike in groupby(known, key=lambda op: op._replace(name="")):
            names = [f"`{each.name}`" for each in alike]
            primitives = ", ".join(family.primitives) if op.has_kernel or op.remapper else ""
            rows.append([", ".join(names), *_facts(op), primitives])
    return _table(rows)


def _facts(op: Op) -> list[str]:
    return [
        "yes" if op.eager else "",
        f"from {op.layout}" if op.has_kernel else op.layout or ("remapper" if op.remapper else ""),
        ", ".join(name.removeprefix("DT_").lower() for name in op.types),
        ", ".join(op.refusals),
    ]


def places_of(rule: ReasonRule) -> str:
    """The places in TensorFlow for all ops of a rule."""
    return "; ".join(filter(None, dict.fromkeys([rule.where, *rule.places.values()])))


def rules_table() -> str:
    rules = [[rule.id, rule.reason, rule.why] for rule in RULES]
    return _table([["rule", "reason", "why"], *rules])


def _table(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    return "".join([lines[0], "|---" * len(rows[0]) + "|\n", *lines[1:]])


def tables_of_page() -> list[str]:
    return _TABLE.findall(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    tables = iter([ops_table(), rules_table()])
    page = _TABLE.sub(lambda _: next(tables), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
