"""Numbers that decide something: `grammars/ledger.toml` has each with what it was measured on."""

from __future__ import annotations

from functools import cache
from typing import Any

from tflogscope.grammar.load import packaged_toml


def threshold(name: str, shared: str | None = None) -> float:
    """The number of a `[thresholds.SECTION]`: `input-bound.least_wait`; without it the `shared`."""
    section, key = name.split(".")
    row = _thresholds().get(section, {}).get(key) if shared else _thresholds()[section][key]
    number: float = row["is"] if row else threshold(str(shared))
    return number


@cache
def _thresholds() -> dict[str, Any]:
    thresholds: dict[str, Any] = packaged_toml("ledger.toml")["thresholds"]
    return thresholds
