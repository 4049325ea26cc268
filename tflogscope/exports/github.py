"""Workflow commands of GitHub Actions: a verdict as annotations of the run."""

from __future__ import annotations

from typing import Any

from tflogscope.escapes import safe
from tflogscope.exports.places import Place, add_log_line, pair_with_advice, places

_SHOWN = 10  # GitHub shows so many errors of a step
_NOWHERE = Place(None, None)


def github_text(verdict: dict[str, Any]) -> str:
    """An `::error::` line for each place where a check failed, as many as are shown."""
    errors = [
        (check["name"], place, texts)
        for check in verdict["checks"]
        if not check["passed"]
        for place, texts in _by_place(check).items()
    ]
    commands = [_error(name, " ".join(texts), place) for name, place, texts in errors[:_SHOWN]]
    if len(errors) > _SHOWN:
        rest = errors[_SHOWN - 1 :]
        texts = " ".join(text for _, _, texts in rest for text in texts)
        commands[-1] = _error(rest[0][0], f"And {len(rest)} more: {texts}")
    return "".join(f"{command}\n" for command in commands)


def _by_place(check: dict[str, Any]) -> dict[Place, list[str]]:
    """What is said at each place; the check's own text where the log can't tell."""
    texts: dict[Place, list[str]] = {}
    for violation, text in pair_with_advice(check):
        place, log = places(violation)
        texts.setdefault(place, []).append(add_log_line(text, log))
    return texts or {_NOWHERE: [check["text"]]}


def _error(name: str, text: str, place: Place = _NOWHERE) -> str:
    named = {"title": f"tflogscope check: {name}"}
    if place.file is not None:
        named["file"] = place.file
    if place.file is not None and place.line is not None:
        named["line"] = str(place.line)
    properties = ",".join(f"{key}={_property(value)}" for key, value in named.items())
    return f"::error {properties}::{_data(text)}"


# What the runner decodes, in the order in which it must be encoded (actions/toolkit, command.ts).
def _data(text: str) -> str:
    return safe(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
