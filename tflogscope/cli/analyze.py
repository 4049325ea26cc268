"""`tflogscope analyze`: the whole answer on one screen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tflogscope.cli.inputs import Logs, OwnGrammar, named_inputs, opened_each
from tflogscope.cli.output import print_text

if TYPE_CHECKING:
    from tflogscope.model.parts import Part
    from tflogscope.model.run import Run


def analyze(
    logs: Logs = None,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the same facts as one JSON object.")
    ] = False,
    grammar: OwnGrammar = None,
) -> None:
    """Show the whole answer on one screen.

    What was recorded and what was not; eager and graph side by side; functions and how often they
    were traced; the share of oneDNN kernels; and what it means, with the lines that show it.

    \b
    Examples:
      tflogscope analyze run.log
      zcat run.log.gz | tflogscope analyze --json | jq .
    """
    with opened_each(named_inputs(logs), grammar) as (parts, runs):
        # Not before: polars is imported while the log is scanned.
        from tflogscope.exports.json_text import harmless
        from tflogscope.views.analyze import render, summary_json
        from tflogscope.views.parts import parts_json, render_part
        from tflogscope.views.text import make_console

        if as_json:
            facts = [
                summary_json(run) | parts_json(part, len(parts))
                for part, run in zip(parts, runs, strict=True)
            ]
            shown = facts[0] if len(facts) == 1 else {"runs": facts}
            text = harmless(json.dumps(shown, indent=2, allow_nan=False)) + "\n"
        else:
            console = make_console()

            def screen(number: int, part: Part, run: Run) -> str:
                with console.capture() as shown:  # printed after the progress bar is gone
                    render_part(part, number, len(parts), console)
                    render(run, console)
                return shown.get()

            text = "".join(
                screen(number, part, run)
                for number, (part, run) in enumerate(zip(parts, runs, strict=True))
            )
    print_text(text)
