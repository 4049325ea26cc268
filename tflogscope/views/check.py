"""A verdict on the screen: what holds, what fails, which ops, which lines, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.views.grid import Column, draw_grid
from tflogscope.views.pieces import ERROR
from tflogscope.views.text import print_paragraph, text

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 100  # violations of one check
_LEAST = 12  # cells of a name
# Checks whose violations are counted, and what is counted; others have sentences.
_COUNTED = {
    "unexpected_eager": "executions",
    "max_retraces": "retraces",
    "forbid_implementations": "runs",
}


def render_verdict(verdict: dict[str, Any], console: Console) -> None:
    """Print what `Verdict.facts` holds; of the runs of a store those that fail, at length."""
    if "runs" in verdict:
        _render_runs(verdict, console)
        return
    for check in verdict["checks"]:
        _render_check(check, console)
    for note in verdict["notes"]:
        print_paragraph(note, console, "note    ")
    failed = [check["name"] for check in verdict["checks"] if not check["passed"]]
    against = f"policy: {verdict['policy']}"
    if verdict["baseline"]:
        against += f"; baseline: {verdict['baseline']}"
    if not failed:
        console.print(text(f"Check passed ({against})", "bold green"), soft_wrap=True)
        return
    console.print(
        text(f"Check failed: {', '.join(failed)} ({against})", "bold red"), soft_wrap=True
    )
    if any(check["violations"] for check in verdict["checks"]):
        hint = "To let pass what is there now, and fail on what is new: --write-baseline FILE"
        print_paragraph(hint, console)


def _render_runs(verdict: dict[str, Any], console: Console) -> None:
    failed = [run for run in verdict["runs"] if not run["passed"]]
    for run in verdict["runs"]:
        if run["passed"]:
            print_paragraph(run["run"], console, "ok      ")
    for run in failed:
        console.print()
        console.print(text(run["run"], "bold"), soft_wrap=True)
        render_verdict(run, console)
    console.print()
    said = f"{len(failed):,} of {len(verdict['runs']):,} runs fail"
    console.print(text(said, "bold red" if failed else "bold green"), soft_wrap=True)


def _render_check(check: dict[str, Any], console: Console) -> None:
    said = f"{check['name']}: {check['text']}"
    if check["passed"]:
        print_paragraph(said, console, "ok      ")
        return
    print_paragraph(said, console, "FAILED  ", ERROR)
    violations = check["violations"]
    if check["key"] in _COUNTED and violations:
        console.print()
        _render_table(violations, _COUNTED[check["key"]], console)
        console.print()
    else:
        for each in violations:
            print_paragraph(each["text"], console, "        ")
    for label, advice in _advice(violations).items():
        print_paragraph(advice, console, f"  {label}: " if label else "  ")
    if violations:
        console.print()


def _render_table(violations: list[dict[str, Any]], unit: str, console: Console) -> None:
    shown = violations[:_ROWS]
    columns = []
    for name in shown[0]["subject"]:
        cells = [each["subject"][name] or "" for each in shown]
        if any(cells):
            columns.append(Column(name, cells, least=_LEAST))
    amounts = [f"{each['amount']:,}" for each in shown]
    columns.append(Column(unit, amounts, is_number=True))
    columns.append(Column("lines", [_lines(each["lines"]) for each in shown]))
    if any(each["python"] for each in shown):
        columns.append(Column("mostly at", [each["python"] or "" for each in shown], least=_LEAST))
    if any(each["known"] for each in shown):
        known = [f"{each['known']:,}" for each in shown]
        columns.append(Column("in baseline", known, is_number=True))
    if len({each["source"] for each in shown}) > 1:
        columns.append(Column("log", [each["source"] or "" for each in shown], least=_LEAST))
    draw_grid(columns, console, indent=2)
    if rest := violations[_ROWS:]:
        names = ", ".join(next(iter(each["subject"].values())) or "?" for each in rest)
        print_paragraph(f"and {len(rest)} more: {names}", console, "  ")


def _lines(lines: list[int]) -> str:
    first = " ".join(f"{line:,}" for line in lines[:3])
    if len(lines) <= 3:
        return first
    return f"{first} {'' if len(lines) == 4 else '… '}{lines[-1]:,}"


def _advice(violations: list[dict[str, Any]]) -> dict[str, str]:
    """What to do, once for each cause."""
    return {
        each["subject"].get("cause") or "": each["advice"] for each in violations if each["advice"]
    }
