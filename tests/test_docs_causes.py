"""docs/causes.md describes each cause, and its table of rules is made of the grammar."""

from __future__ import annotations

import re

import pytest

from tests.causes_table import PAGE, rules_table, table_of_page
from tflogscope.model.causes.rules import UNKNOWN, cause_grammar

TEXT = PAGE.read_text()
RULES, GRAPH_RULES = cause_grammar().rules, cause_grammar().graph_rules
EAGER_CAUSES = tuple(cause_grammar().causes)
GRAPH_CAUSES = tuple(rule.cause for rule in GRAPH_RULES)


def section(cause: str) -> str:
    found = re.search(rf"(?ms)^##+ {cause}\n(.*?)(?=^#|\Z)", TEXT)
    assert found, f"docs/causes.md has no section {cause!r}"
    return found[1]


def test_rules_give_the_causes_that_policies_know() -> None:
    assert {rule.cause for rule in RULES} | {UNKNOWN} == set(EAGER_CAUSES)


@pytest.mark.parametrize("cause", EAGER_CAUSES)
def test_each_cause_of_eager_ops_has_a_section(cause: str) -> None:
    assert section(cause).strip()
    if cause != UNKNOWN:
        for part in ("**How it looks:**", "**What to do:**", "**Where:**"):
            assert part in section(cause), part


@pytest.mark.parametrize("cause", GRAPH_CAUSES)
def test_each_cause_of_graph_rows_has_a_section(cause: str) -> None:
    assert "**Where:**" in section(cause)


def test_no_section_is_of_a_cause_that_is_not_there() -> None:
    headings = re.findall(r"(?m)^##+ ([a-z-]+)$", TEXT)
    assert sorted(headings) == sorted((*EAGER_CAUSES, *GRAPH_CAUSES))


def test_the_table_of_rules_is_that_of_the_code() -> None:
    assert table_of_page() == rules_table(), "python -m tests.causes_table writes it anew"


@pytest.mark.parametrize("rule", [*RULES, *GRAPH_RULES], ids=lambda rule: rule.id)
def test_each_rule_says_why_where_and_what_would_change_it(rule) -> None:  # type: ignore[no-untyped-def]
    for text in (rule.why, rule.where, rule.change):
        assert len(text) > 10
        assert text == text.strip()
    assert ".py" in rule.where or ".cc" in rule.where or "python/" in rule.where
