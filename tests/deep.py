"""How much is tried: by a quick run, a thorough one, and with TFLOGSCOPE_DEEP=1, as each night."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

DEEP = bool(os.environ.get("TFLOGSCOPE_DEEP"))
_TIMES = 50


def examples(quick: int) -> int:
    """The number of examples of a property, of which all but the deep runs try `quick`."""
    return quick * _TIMES if DEEP else quick


def first_quick(
    cases: Iterable[tuple[Any, ...]], of: Callable[[tuple[Any, ...]], Hashable] = lambda _: None
) -> list[Any]:
    """Cases for `parametrize`: the first one (of each kind) is quick, the others are thorough."""
    found, kinds = [], set()
    for case in cases:
        marks = [pytest.mark.thorough] if of(case) in kinds else []
        found.append(pytest.param(*case, marks=marks))
        kinds.add(of(case))
    return found


# How long an example takes, or takes to be made, depends more on the machine than on the code. All
# runs try the same examples, so a test fails for a change and not by chance; deep runs try others.
settings.register_profile(
    "ours",
    deadline=None,
    derandomize=not DEEP,
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
