"""Numbers that decide something: `grammars/ledger.toml` has each with what it was measured on."""

from __future__ import annotations

from functools import cache
from typing import Any

from tflogscope.grammar.load import packaged_toml


def threshold(name: str) -> float:
    """The number of a `[thresholds.SECTION]`: `input-bound.least_wait_us`."""
    section, key = name.split(".")
    found: float = _thresholds()[section][key]["is"]
    return found


@cache
def _thresholds() -> dict[str, Any]:
    found: dict[str, Any] = packaged_toml("ledger.toml")["thresholds"]
    return found
