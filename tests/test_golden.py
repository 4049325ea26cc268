"""What `analyze` and `timeline` print, to the letter.

After an intended change: python -m tests.approve.
"""

from __future__ import annotations

import pytest

from tests.approve import GOLDEN, SHOWN, golden_of, printed


@pytest.mark.parametrize(("command", "name"), SHOWN)
def test_a_command_prints_what_was_approved(command: str, name: str) -> None:
    approved = golden_of(command, name).read_text(encoding="utf-8")
    assert printed(command, name) == approved


def test_no_golden_file_is_left_over() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(
        golden_of(*shown).name for shown in SHOWN
    )
