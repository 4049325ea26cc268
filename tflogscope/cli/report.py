"""`tflogscope report`: the run as one HTML page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import tflogscope
from tflogscope.cli.inputs import Logs, named_inputs, opened
from tflogscope.cli.output import Force, refuse_input, standard_output
from tflogscope.errors import UsageError
from tflogscope.exports.atomic import atomic_file, refuse_bad_target


def report(
    logs: Logs = None,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file. - is standard output."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Leave nothing out, however large the page becomes.")
    ] = False,
    force: Force = False,
) -> None:
    """Write the run as one HTML page that needs no network.

    Findings, an interactive timeline, tables of ops and functions, what oneDNN ran, memory, and
    what is not in the log. It is self-contained, so it can be mailed.

    \b
    Examples:
      tflogscope report run.log -o report.html
      tflogscope report run.log -o report.html --full --force
    """
    inputs = named_inputs(logs)
    path = None if output in (None, "-") else output
    if path is None:
        if sys.stdout.isatty():
            raise UsageError("a page is not for a terminal", None, "Name a file: -o report.html")
    else:
        refuse_input(path, inputs)
        refuse_bad_target(path, force=force)
    with opened(inputs) as run:
        from tflogscope.views.report.page import report_page

        page = report_page(run, f"tflogscope {tflogscope.__version__}", full=full)
    place = standard_output() if path is None else atomic_file(path, force=force)
    with place as stream:
        stream.write(page.encode())
