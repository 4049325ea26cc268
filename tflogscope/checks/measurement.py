"""What a rule of a check is asked, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from tflogscope.checks.evidence import CheckedRun, lines_of
from tflogscope.checks.policy import Policy, PolicySection


class PolicyKey(NamedTuple):
    """A key of a policy, as one of its sections names it."""

    evidence: CheckedRun
    policy: Policy
    key: str
    section: PolicySection

    @property
    def limit(self) -> Any:
        """What the section allows."""
        return self.section.named[self.key]

    def mine(self, frame: pl.DataFrame, function: str) -> pl.DataFrame:
        """The rows whose function, a column, the section says the key for."""
        return frame.filter(self.policy.belong(self.key, self.section, frame[function]))


class Broken(NamedTuple):
    """One thing that breaks a policy, see `Violation`, with more facts of its sentences."""

    subject: Mapping[str, str | None]
    amount: float
    source: str | None = None
    lines: tuple[int, ...] = ()
    python: str | None = None
    facts: Mapping[str, Any] = {}


class Measurement(NamedTuple):
    """What a rule found. `may_be`: how much may break the policy and is not in the baseline."""

    measured: float | None
    broken: list[Broken]
    facts: Mapping[str, Any] = {}
    may_be: float = 0


def broken_group(row: dict[str, Any], *subject: str, **facts: Any) -> Broken:
    """A row of a group that was made with `evidence_columns`."""
    named = {name: row[name] for name in subject}
    return Broken(named, row["amount"], row["source"], lines_of(row), row["python"], facts)
