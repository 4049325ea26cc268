"""JUnit XML: a verdict as test results, as CI servers read them.

There is no one standard. This is what Ant's schema asks for, which Jenkins' schema allows too.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tflogscope.escapes import escape, safe
from tflogscope.exports.places import add_log_line, pair_with_advice, places

# What XML can't hold, not even escaped (XML 1.0, 2.2), and `safe` lets through: it shows nothing.
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
_NO_TIME = "1970-01-01T00:00:00"


def junit_text(verdict: dict[str, Any]) -> str:
    """A test suite with a test case for each check; a failed one names what it found.

    The verdict over a store has a suite for each run.
    """
    root = Element("testsuites")
    for number, run in enumerate(verdict.get("runs", [verdict])):
        _add_suite(root, number, run)
    indent(root)
    document: bytes = tostring(root, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii") + "\n"


def _add_suite(root: Element, number: int, verdict: dict[str, Any]) -> None:
    checks = verdict["checks"]
    failed = [check for check in checks if not check["passed"]]
    suite = SubElement(
        root,
        "testsuite",
        {
            "name": _xml(f"tflogscope check {verdict.get('run', '')}".rstrip()),
            "package": "tflogscope",
            "id": str(number),
            "timestamp": (verdict["recorded"] or _NO_TIME)[: len(_NO_TIME)],
            "hostname": "localhost",
            "tests": str(len(checks)),
            "failures": str(len(failed)),
            "errors": "0",
            "skipped": str(sum(check["skipped"] for check in checks)),
            "time": "0",
        },
    )
    properties = SubElement(suite, "properties")
    facts = {"policy": verdict["policy"], "baseline": verdict["baseline"]}
    facts["sources"] = "; ".join(verdict["sources"])
    for name, value in facts.items():
        if value is not None:
            SubElement(properties, "property", {"name": name, "value": _xml(value)})
    for check in checks:
        case = SubElement(
            suite,
            "testcase",
            {"classname": "tflogscope.check", "name": _xml(check["name"]), "time": "0"},
        )
        if check["skipped"]:
            SubElement(case, "skipped", {"message": _xml(check["text"])})
        if not check["passed"]:
            attributes = {"type": check["key"], "message": _xml(check["text"])}
            SubElement(case, "failure", attributes).text = _details(check)
    SubElement(suite, "system-out").text = "\n".join(map(_xml, verdict["notes"]))
    SubElement(suite, "system-err")


def _details(check: dict[str, Any]) -> str:
    lines = []
    for violation, text in pair_with_advice(check):
        place, log = places(violation)
        where = "" if place.line is None else f"{place.file}:{place.line}: "
        lines.append(add_log_line(f"{where}{text}", log))
    return "\n".join(map(_xml, lines))


def _xml(text: str) -> str:
    """Text without what XML can't hold, and without what a CI server would obey."""
    return _NO_CHARACTERS.sub(lambda match: escape(ord(match[0])), safe(text))
