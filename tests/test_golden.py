"""What `analyze` and `timeline` print, to the letter, and where lines of oneDNN are linked.

After an intended change: python -m tests.approve.
"""

from __future__ import annotations

import polars as pl
import pytest

from tests.approve import GOLDEN, LINKS, SHOWN, golden_of, linked, printed
from tests.samples import NAMES


@pytest.mark.parametrize(("command", "name"), SHOWN)
def test_a_command_prints_what_was_approved(command: str, name: str) -> None:
    approved = golden_of(command, name).read_text(encoding="utf-8")
    assert printed(command, name) == approved


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_linked_as_approved(name: str) -> None:
    approved = pl.read_csv(LINKS).filter(log=name)
    assert linked(name).rows() == approved.rows()


def test_no_golden_file_is_left_over() -> None:
    assert {*GOLDEN.iterdir()} == {LINKS, *(golden_of(*shown) for shown in SHOWN)}
