"""What a check finds: violations, checks that hold or fail, and the verdict over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tflogscope.checks.values import KEYS

Facts = dict[str, Any]
AGAINST = "against_"
"""The keys of checks against the runs of a store begin so; no policy names them."""
COLLECTED = "collected"
"""The key of a check that only a run fails that could not be read."""
READ = "read"
"""The key of a check that only a run fails of which records can't be read that may say what ran."""
_ABOUT = {COLLECTED: "the run could be read", READ: "the execution records can be read"}
_ABOUT_AGAINST = "A figure of the run, compared with earlier runs in a store"
VERDICT_VERSION = 1  # changing the meaning of a key of `Verdict.facts` raises it


class Violation(NamedTuple):
    """One thing that breaks a policy.

    `subject` names it in words that stay the same from run to run: op, cause, function without
    uid; no lines, no counts. `amount` is how much of it there is, more being worse.
    """

    subject: Mapping[str, str | None]
    amount: float
    text: str
    source: str | None = None
    lines: tuple[int, ...] = ()  # evidence: the first lines, then the last
    advice: str = ""
    known: float = 0  # how much of it the baseline holds
    python: str | None = None  # the line of the program that asked for most of it
    code: str | None = None  # what that line says

    @property
    def new(self) -> float:
        """How much of it the baseline does not hold."""
        return max(self.amount - self.known, 0)


class Check(NamedTuple):
    """One key of the policy, as it came out for the functions of one section."""

    key: str
    functions: str | None  # pattern of the section; None: the policy's own table
    passed: bool
    text: str  # what was found, and what is allowed
    limit: Any = None
    measured: float | None = None  # None: the log can't tell
    violations: tuple[Violation, ...] = ()
    skipped: bool = False  # the log has nothing for it to check

    @property
    def name(self) -> str:
        """The key, with the pattern behind it where it is of a section."""
        return self.key if self.functions is None else f"{self.key}[{self.functions}]"


class Verdict(NamedTuple):
    """All checks of a run."""

    policy: str
    baseline: str | None
    sources: tuple[str, ...]
    recorded: str | None  # time of the first execution, ISO 8601, as the log prints it
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the run keeps to the policy."""
        return all(check.passed for check in self.checks)

    def facts(self) -> Facts:
        """Return the verdict as plain values; all output formats are made of them."""
        return {
            "schema_version": VERDICT_VERSION,
            "passed": self.passed,
            "policy": self.policy,
            "baseline": self.baseline,
            "sources": list(self.sources),
            "recorded": self.recorded,
            "checks": [_check_facts(check) for check in self.checks],
            "notes": list(self.notes),
        }


def _check_facts(check: Check) -> Facts:
    against = check.key.startswith(AGAINST)
    return {
        "name": check.name,
        "about": _ABOUT_AGAINST if against else _ABOUT.get(check.key) or KEYS[check.key].about,
        **check._asdict(),
        "violations": [violation._asdict() for violation in check.violations],
    }
