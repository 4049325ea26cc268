"""Workflow commands of GitHub Actions: a verdict as annotations of the run."""

from __future__ import annotations

from typing import Any

from tflogscope.escapes import safe
from tflogscope.exports.places import Place, noted, places

_SHOWN = 10  # GitHub shows so many errors of a step
_NOWHERE = Place(None, None)


def github_text(verdict: dict[str, Any]) -> str:
    """An `::error::` line for each violation of the checks that failed, as many as are shown."""
    errors = [
        (check, each)
        for check in verdict["checks"]
        if not check["passed"]
        for each in check["violations"] or [None]
    ]
    commands = [_command(check, violation) for check, violation in errors[:_SHOWN]]
    if len(errors) > _SHOWN:
        check, _ = errors[_SHOWN - 1]
        rest = errors[_SHOWN - 1 :]
        texts = " ".join(violation["text"] for _, violation in rest if violation)
        text = f"And {len(rest)} more: {texts}"
        commands[-1] = _error(check["name"], text)
    return "".join(f"{command}\n" for command in commands)


def _command(check: dict[str, Any], violation: dict[str, Any] | None) -> str:
    if violation is None:
        return _error(check["name"], check["text"])
    place, log = places(violation)
    text = f"{violation['text']} {violation['advice']}".rstrip()
    return _error(check["name"], noted(text, log), place)


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
