"""`tflogscope trace`: the run as a file for trace viewers."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tflogscope.cli.inputs import Logs, OwnGrammar, named_inputs, opened
from tflogscope.cli.output import Force, Output, refuse_input, standard_output
from tflogscope.errors import UsageError
from tflogscope.exports.atomic import atomic_file, refuse_bad_target
from tflogscope.exports.traces import TRACE_FORMATS, trace_format, write_trace
from tflogscope.version import MADE_BY


def trace(
    logs: Logs = None,
    *,
    output: Output = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(TRACE_FORMATS),
            help="The format. By default what the file's suffix says, else chrome.",
        ),
    ] = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write the run as a trace, for Perfetto, chrome://tracing, speedscope or flame graphs.

    A track for each thread, or, where the log has no threads, lanes in which nothing overlaps.
    Calls are above their ops, ops above their oneDNN primitives. A file for flame graphs (.folded)
    has the time of each stack instead.

    \b
    Examples:
      tflogscope trace run.log -o trace.json.gz
      tflogscope trace run.log -o run.folded
    """
    inputs = named_inputs(logs)
    path = None if output in (None, "-") else output
    chosen = trace_format(path, format_name)
    if path is not None:
        refuse_input(path, inputs)
        refuse_bad_target(path, force=force)
    elif sys.stdout.isatty():
        raise UsageError("a trace is not for reading", None, "Name a file: -o trace.json.gz")
    with opened(inputs, grammar) as run:
        slices = run.slices
    place = standard_output() if path is None else atomic_file(path, force=force)
    with place as stream:
        write_trace(run, stream, chosen, MADE_BY, path=path)
    _say_what_is_not_true(slices.clock, slices.left_out)


def _say_what_is_not_true(clock: str, left_out: int) -> None:
    """Say on standard error what the picture can't show as it was."""
    if clock == "lines":
        typer.echo("The log has no times: in the trace a line counts as 1 µs.", err=True)
    if clock == "durations":
        said = "oneDNN's lines have no times: in the trace they are back to back."
        typer.echo(said, err=True)
    if left_out:
        typer.echo(f"Left out, for their records have no time: {left_out:,} executions.", err=True)
