"""The baseline: what breaks the policy already, so that only what is new fails.

A JSON file to be committed, one violation a line. It holds names and amounts, no lines of the log
and no uids of functions, so it stays right when the program is run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tflogscope.checks.files import read_whole
from tflogscope.checks.verdict import Check
from tflogscope.errors import UsageError

_VERSION = 1
_LARGEST = 16_000_000  # bytes
_MOST = 2**63  # of anything that is counted; neither NaN nor Infinity is below it
_MARK = "tflogscope_baseline"
_HINT = "Rewrite it with --write-baseline."

Key = tuple[str, tuple[tuple[str, str], ...]]


class Baseline:
    """How much of each violation is known."""

    def __init__(self, name: str | None = None, amounts: Mapping[Key, float] | None = None) -> None:
        self.name = name
        self._left = dict(amounts or {})
        self._met: set[Key] = set()

    def copy(self) -> Baseline:
        """The same, of which nothing is taken yet by whom it is given to."""
        return Baseline(self.name, self._left)

    def stale(self) -> list[str]:
        """Its violations that `take` was never asked for, in words."""
        return [
            " ".join((check, *(value for _, value in subject)))
            for check, subject in self._left
            if (check, subject) not in self._met
        ]

    def take(self, check: str, subject: Mapping[str, str | None], amount: float) -> float:
        """Return how much of an amount is known, and count it as found: it is not known twice."""
        key = _key(check, subject)
        allowed = min(self._left.get(key, 0), amount)
        self._met.add(key)
        self._left[key] = self._left.get(key, 0) - allowed
        return allowed


def _key(check: str, subject: Mapping[str, str | None]) -> Key:
    named = ((name, value) for name, value in subject.items() if value is not None)
    return check, tuple(sorted(named))


def baseline_text(checks: Iterable[Check]) -> str:
    """The baseline that knows all violations of the checks that failed: JSON, a line for each."""
    amounts: dict[Key, float] = {}
    for check in checks:
        if not check.passed:
            for violation in check.violations:
                key = _key(check.key, violation.subject)
                amounts[key] = amounts.get(key, 0) + violation.amount
    lines = [
        json.dumps({"check": check, **dict(subject), "amount": amount})
        for (check, subject), amount in sorted(amounts.items())
    ]
    inside = ",\n    ".join(lines)
    body = f"[\n    {inside}\n  ]" if lines else "[]"
    return f'{{\n  "{_MARK}": {_VERSION},\n  "violations": {body}\n}}\n'


def read_baseline(path: Path) -> Baseline:
    """Read what `baseline_text` wrote.

    Raises:
        InputError: can't be read.
        UsageError: it is not a baseline.
    """
    try:
        content = json.loads(read_whole(path, "Create it with --write-baseline.", _LARGEST))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}", str(path), _HINT) from error
    version = content.get(_MARK) if isinstance(content, dict) else None
    if version != _VERSION:
        raise UsageError("not a baseline of this version", str(path), _HINT)
    amounts: dict[Key, float] = {}
    for number, row in enumerate(_rows(content, path), start=1):
        amount, words = row.pop("amount", None), list(row.values())
        if not (_is_amount(amount) and all(isinstance(word, str) for word in words)):
            raise UsageError(f"violation {number} is invalid", str(path), _HINT)
        key = _key(row.pop("check", ""), row)
        amounts[key] = amounts.get(key, 0) + amount
    return Baseline(str(path), amounts)


def _rows(content: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    violations = content.get("violations")
    if not isinstance(violations, list) or not all(isinstance(row, dict) for row in violations):
        raise UsageError("it has no list of violations", str(path), _HINT)
    return violations


def _is_amount(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < _MOST
