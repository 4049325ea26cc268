"""What `analyze` and `timeline` print, to the letter, where lines of oneDNN are linked, and that no
column of any table of any kept log has changed, nor a fact of any sentence.

After an intended change: python -m tests.approve.
"""

from __future__ import annotations

import polars as pl
import pytest

from tests.approve import (
    ANSWERS,
    FACTS,
    GOLDEN,
    LINKS,
    SHOWN,
    answered,
    facts_of,
    golden_of,
    linked,
    printed,
)
from tests.deep import first_quick
from tests.samples import KEPT, NAMES

pytestmark = pytest.mark.filterwarnings("ignore:these are 2 runs")


@pytest.mark.parametrize(("command", "name"), SHOWN)
def test_a_command_prints_what_was_approved(command: str, name: str) -> None:
    approved = golden_of(command, name).read_text(encoding="utf-8")
    assert printed(command, name) == approved


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_linked_as_approved(name: str) -> None:
    approved = pl.read_csv(LINKS).filter(log=name)
    assert linked(name).rows() == approved.rows()


@pytest.mark.parametrize("name", first_quick((name,) for name in KEPT))
def test_tables_are_as_approved(name: str) -> None:
    found = {table: set(sums.split()) for _, table, sums in answered(name).rows()}
    rows = pl.read_csv(ANSWERS).filter(log=name).rows()
    approved = {table: set(sums.split()) for _, table, sums in rows}
    assert found == approved


@pytest.mark.parametrize("name", first_quick((name,) for name in KEPT))
def test_facts_are_as_approved(name: str) -> None:
    assert facts_of(name).rows() == pl.read_csv(FACTS).filter(log=name).rows()


def test_no_golden_file_is_left_over() -> None:
    assert {*GOLDEN.iterdir()} == {ANSWERS, FACTS, LINKS, *(golden_of(*shown) for shown in SHOWN)}
