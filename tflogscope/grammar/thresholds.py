"""Numbers that decide something: `grammars/ledger.toml` has each with what it was measured on."""

from __future__ import annotations

from functools import cache
from typing import Any

from tflogscope.grammar.load import packaged_toml


def threshold(name: str) -> float:
    """The number of a `[thresholds.SECTION]`: `input-bound.least_wait`."""
    section, key = name.split(".")
    number: float = _thresholds()[section][key]["is"]
    return number


@cache
def _thresholds() -> dict[str, Any]:
    thresholds: dict[str, Any] = packaged_toml("ledger.toml")["thresholds"]
    return thresholds
