"""`tflogscope analyze`: the whole answer on one screen."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tflogscope.cli.inputs import Logs, named_inputs, opened
from tflogscope.cli.output import print_text


def analyze(
    logs: Logs = None,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the same facts as one JSON object.")
    ] = False,
) -> None:
    """Show the whole answer on one screen.

    What was recorded and what was not; eager and graph side by side; functions and how often they
    were traced; the share of oneDNN kernels; and what it means, with the lines that show it.

    \b
    Examples:
      tflogscope analyze run.log
      zcat run.log.gz | tflogscope analyze --json | jq .
    """
    with opened(named_inputs(logs)) as run:
        # Not before: polars is imported while the log is scanned.
        from tflogscope.exports.json_text import harmless
        from tflogscope.views.analyze import render, summary_json
        from tflogscope.views.text import make_console

        if as_json:
            text = harmless(json.dumps(summary_json(run), indent=2, allow_nan=False)) + "\n"
        else:
            console = make_console()
            with console.capture() as screen:  # printed after the progress bar is gone
                render(run, console)
            text = screen.get()
    print_text(text)
