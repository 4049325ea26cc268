"""A verdict: what holds, what fails, which ops, which lines, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tflogscope.model.common.figures import count_of
from tflogscope.views import document as doc
from tflogscope.views.document import Column
from tflogscope.views.findings import at

_ROWS = 100  # violations of one check
_OPS = 8  # of a line of the program
# Checks whose violations are counted, and what is counted; others have sentences.
_COUNTED = {
    "unexpected_eager": "executions",
    "max_retraces": "retraces",
    "forbid_implementations": "runs",
}


def verdict_document(verdict: dict[str, Any]) -> doc.Document:
    """What `Verdict.facts` holds; of the runs of a store those that fail, at length."""
    return [*(_runs(verdict) if "runs" in verdict else _verdict(verdict))]


def _verdict(verdict: dict[str, Any]) -> Iterator[doc.Node]:
    yield from map(_check, verdict["checks"])
    yield from (doc.Fact("note", note) for note in verdict["notes"])
    failed = [check["name"] for check in verdict["checks"] if not check["passed"]]
    default = verdict["policy"] == "default policy"
    against = f"{'' if default else 'policy: '}{verdict['policy']}"
    if verdict["baseline"]:
        against += f"; baseline: {verdict['baseline']}"
    if not failed:
        yield doc.Paragraph(f"Check passed ({against})", "passed")
        return
    yield doc.Paragraph(f"Check failed: {', '.join(failed)} ({against})", "failed")
    if any(check["violations"] for check in verdict["checks"]):
        hint = "To accept current violations and fail only on new ones: --write-baseline FILE"
        yield doc.Paragraph(hint)


def _runs(verdict: dict[str, Any]) -> Iterator[doc.Node]:
    failed = [run for run in verdict["runs"] if not run["passed"]]
    yield from (doc.Fact("ok", doc.Code(run["run"])) for run in verdict["runs"] if run["passed"])
    yield from (doc.Section(run["run"], [*_verdict(run)]) for run in failed)
    title = f"{len(failed):,} of {count_of(len(verdict['runs']), 'run')} fail"
    yield doc.Section(title, (), tone="failed" if failed else "passed")


def _check(check: dict[str, Any]) -> doc.Fact:
    text = f"{check['name']}: {check['text']}"
    if check["passed"]:
        return doc.Fact("skip" if check["skipped"] else "ok", text)
    violations = check["violations"]
    children: list[doc.Node] = []
    if check["key"] == "unexpected_eager" and any(violation["python"] for violation in violations):
        children = [*_by_line(violations)]
    elif check["key"] in _COUNTED and violations:
        children = [*_table(violations, _COUNTED[check["key"]])]
    else:
        children = [doc.Item(violation["text"], [*_program(violation)]) for violation in violations]
    for cause, advice in _advice(violations).items():
        children.append(doc.Paragraph(f"{cause}: {advice}" if cause else advice))
    return doc.Fact("FAILED", text, tone="error", children=children)


def _program(violation: dict[str, Any]) -> Iterator[doc.Node]:
    if violation["python"]:
        yield doc.Fact("at", at(violation["python"], violation["code"]))


def _by_line(violations: Sequence[dict[str, Any]]) -> Iterator[doc.Node]:
    """Lines of the program, the most executions first: what each asked for, and what it says."""
    by_line: dict[str | None, list[dict[str, Any]]] = {}
    for violation in violations:
        by_line.setdefault(violation["python"], []).append(violation)
    ranked = sorted(by_line.items(), key=lambda line: -sum(case["amount"] for case in line[1]))
    for python, of_line in ranked[:_ROWS]:
        total, baselined = (sum(entry[key] for entry in of_line) for key in ("amount", "known"))
        causes = ", ".join(dict.fromkeys(entry["subject"]["cause"] for entry in of_line))
        ops = [f"{entry['subject']['op'] or '?'} {entry['amount']:,}" for entry in of_line]
        count = count_of(total, "unexpected execution")
        text = f"{count}, {causes}: {doc.first(ops, _OPS)}; log line"
        lines = sorted({line for entry in of_line for line in entry["lines"]})
        left = f"; {baselined:,} in the baseline" if baselined else ""
        head = at(python, of_line[0]["code"]) if python else "not attributed to a line"
        yield doc.Item(
            head, [doc.Paragraph((text + "s" * (len(lines) > 1), " ", _lines(lines), left))]
        )
    if rest := [python or "?" for python, _ in ranked[_ROWS:]]:
        yield doc.Paragraph(f"and {len(rest)} more: {', '.join(rest)}")
    yield doc.Paragraph("To allow an intentionally eager line, add a comment: # tflogscope: eager")


def _table(violations: Sequence[dict[str, Any]], unit: str) -> Iterator[doc.Node]:
    shown = violations[:_ROWS]
    sources = {violation["source"] for violation in shown}
    columns = [
        *(Column(name, name, "name") for name in shown[0]["subject"]),
        Column("amount", unit, "count"),
        Column("first", "log lines"),
        Column("python", "mostly at", "name"),
        Column("baseline", "in baseline", "count"),
        *([Column("source", "log", "name")] if len(sources) > 1 else ()),
    ]
    cells: list[doc.Row] = [
        {
            **violation["subject"],
            "amount": violation["amount"],
            "first": _lines(violation["lines"]),
            "python": violation["python"],
            "baseline": violation["known"] or None,
            "source": violation["source"],
        }
        for violation in shown
    ]
    yield doc.Table(columns, cells)
    if rest := violations[_ROWS:]:
        names = ", ".join(next(iter(violation["subject"].values())) or "?" for violation in rest)
        yield doc.Paragraph(f"and {len(rest)} more: {names}")


def _lines(lines: Sequence[int]) -> doc.Text:
    """The first three lines, and the last."""
    if len(lines) > 4:
        return (*doc.lines(lines[:3]), ", … ", doc.Line(lines[-1]))
    return tuple(doc.lines(lines))


def _advice(violations: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What to do, once for each cause."""
    return {
        violation["subject"].get("cause") or "": violation["advice"]
        for violation in violations
        if violation["advice"]
    }
