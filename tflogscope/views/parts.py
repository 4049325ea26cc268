"""Which files `analyze` took as one run, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.views.text import print_paragraph

if TYPE_CHECKING:
    from rich.console import Console

    from tflogscope.model.parts import Part


def parts_json(part: Part, runs: int) -> dict[str, Any]:
    """Which files are taken as one run, and why; empty for one log."""
    if runs == 1 and len(part.sources) < 2:
        return {}
    taken_as = "parts of one run" if runs == 1 else f"one of {runs} runs"
    return {"taken_as": taken_as, "why": part.why}


def render_part(part: Part, number: int, runs: int, console: Console) -> None:
    """Say it above what is shown of a run; nothing for one log."""
    if runs > 1:
        if number:
            console.print()
        print_paragraph(f"Run {number + 1} of {runs} ({part.why}): {part.name}", console)
    elif len(part.sources) > 1:
        print_paragraph(f"{len(part.sources)} parts of one run ({part.why}): {part.name}", console)
