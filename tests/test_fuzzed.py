"""What the fuzzer found, again: no such input may fail any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzzing import KEPT, TARGETS, seeds

pytestmark = pytest.mark.thorough

FOUND = sorted(path for path in KEPT.glob("*/*"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_is_mended(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_are_inputs_that_a_target_takes(target: str) -> None:
    inputs = seeds(target)
    for data in inputs[:: max(1, len(inputs) // 3)]:
        TARGETS[target](data)
