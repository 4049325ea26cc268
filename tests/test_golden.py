"""What `analyze` prints, to the letter. After a change that is meant: python -m tests.approve."""

from __future__ import annotations

import pytest

from tests.approve import GOLDEN, NAMES, analyzed, golden_of


@pytest.mark.parametrize("name", NAMES)
def test_analyze_prints_what_was_approved(name: str) -> None:
    assert analyzed(name) == golden_of(name).read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(
        golden_of(name).name for name in NAMES
    )
