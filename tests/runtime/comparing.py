"""Whether two programs have printed the same, but for times and the last digits of numbers."""

from __future__ import annotations

import re

_TIMES = re.compile(r" (?:- )?\d+(?:ms|us|s)(?:/(?:epoch|step))?\b| - ETA: \S+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def difference(ours: str, theirs: str, tolerance: float = 1e-3) -> str | None:
    """The first place where they differ, None if nowhere."""
    one, other = _words(ours), _words(theirs)
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b and not _close(a, b, tolerance):
            ours_here, theirs_here = (
                " ".join(each[max(0, index - 8) : index + 4]) for each in (one, other)
            )
            return f"{ours_here!r} instead of {theirs_here!r}"
    if len(one) != len(other):
        return f"{len(one)} words instead of {len(other)}"
    return None


def _words(text: str) -> list[str]:
    """Numbers, and what is between them, without blanks."""
    text = _TIMES.sub("", text)
    words = []
    at = 0
    for number in _NUMBER.finditer(text):
        words += text[at : number.start()].split()
        words.append(number.group())
        at = number.end()
    return words + text[at:].split()


def _close(a: str, b: str, tolerance: float) -> bool:
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= tolerance * max(1.0, abs(y))
