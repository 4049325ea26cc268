"""SARIF 2.1.0: a verdict as static analysis results, for GitHub code scanning and editors."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from tflogscope.escapes import safe
from tflogscope.exports.json_text import json_object
from tflogscope.exports.places import Place, pair_with_advice, places

_PRINT = "tflogscope/v1"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(verdict: dict[str, Any]) -> str:
    """One run with a result for each violation of the checks that failed."""
    checks = verdict["checks"]
    rules = {check["key"]: check["about"] for check in checks}
    numbers = {key: number for number, key in enumerate(rules)}
    driver = {
        "name": "tflogscope",
        "version": verdict["tflogscope"],
        "rules": [{"id": key, "shortDescription": {"text": rules[key]}} for key in rules],
    }
    results: list[dict[str, Any]] = [
        {"ruleId": check["key"], "ruleIndex": numbers[check["key"]], "level": "error", **result}
        for check in checks
        if not check["passed"]
        for result in _results(check, verdict["sources"])
    ]
    _number(results)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_object(document)


def _number(results: list[dict[str, Any]]) -> None:
    """Tell results of one subject apart: they are of several lines of the program."""
    counts = Counter[str]()
    for result in results:
        prints = result["partialFingerprints"]
        counts[prints[_PRINT]] += 1
        if (count := counts[prints[_PRINT]]) > 1:
            prints[_PRINT] += f":{count}"


def _results(check: dict[str, Any], sources: list[str]) -> list[dict[str, Any]]:
    if not check["violations"]:  # the log can't tell, and that is the result
        nowhere: dict[str, Any] = {"source": sources[0], "lines": [], "python": None, "subject": {}}
        return [_result(check["name"], check["text"], nowhere)]
    return [
        _result(check["name"], text, {**violation, "source": violation["source"] or sources[0]})
        for violation, text in pair_with_advice(check)
    ]


def _result(name: str, text: str, violation: dict[str, Any]) -> dict[str, Any]:
    subject, lines = violation["subject"], violation["lines"]
    identity = json.dumps([name, subject], sort_keys=True)
    place, log = places(violation)
    shown = {"message": {"text": "The log shows it here."}}
    return {
        "message": {"text": _message(text)},
        "locations": [_location(place)],
        **({"relatedLocations": [{**_location(log), **shown}]} if log else {}),
        # The same from run to run, as long as the violation is: no lines, no counts.
        "partialFingerprints": {
            _PRINT: hashlib.sha256(identity.encode()).hexdigest(),
        },
        "properties": {"subject": subject, "lines": lines},
    }


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file or "")}}
    if place.line is not None:
        physical["region"] = {"startLine": place.line}
    return {"physicalLocation": physical}


def _message(text: str) -> str:
    r"""A message that says just this text.

    In messages `{0}` is a placeholder (SARIF 3.11.5) and `[text](target)` a link (3.11.6).
    """
    text = safe(text).replace("{", "{{").replace("}", "}}")
    return text.replace("[", "\\[") if "](" in text else text


def _uri(source: str) -> str:
    """A file name as a URI: relative where the name is, so that a repository's files are found."""
    path = PurePath(source)
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix(), safe="/", errors="surrogateescape")
