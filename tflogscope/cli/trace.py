"""`tflogscope trace`: the run as a file for trace viewers."""

from __future__ import annotations

from typing import Annotated

import typer

from tflogscope.cli.inputs import named_inputs, opened
from tflogscope.cli.options import Force, Logs, Output, OwnGrammar, option
from tflogscope.cli.output import target
from tflogscope.exports.traces import TRACE_FORMATS, trace_format, write_trace
from tflogscope.version import MADE_BY


def trace(
    logs: Logs = None,
    *,
    output: Output = None,
    format_name: Annotated[
        str | None,
        option(
            f"--format {'|'.join(TRACE_FORMATS)}",
            "Output format. Default: by the file's suffix, else chrome.",
        ),
    ] = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write the run as a trace for Perfetto, speedscope and others.

    Has one track per thread or, if the log has no thread ids, per lane. Calls contain their ops,
    ops their oneDNN primitives. A flame graph file (.folded) has the time of each stack instead.

    \b
    Examples:
      tflogscope trace run.log -o trace.json.gz
      tflogscope trace run.log -o run.folded
    """
    inputs = named_inputs(logs)
    chosen = trace_format(None if output == "-" else output, format_name)
    place = target(output, force=force, inputs=inputs, file="trace.json.gz")
    with opened(inputs, grammar) as run:
        slices = run.slices
    with place.opened() as stream:
        write_trace(run, stream, chosen, MADE_BY, path=place.path)
    _say_what_is_not_true(slices.clock, slices.left_out)


def _say_what_is_not_true(clock: str, left_out: int) -> None:
    """Say on standard error what the picture can't show as it was."""
    if clock == "lines":
        typer.echo("The log has no timestamps; the trace counts a line as 1 µs.", err=True)
    if clock == "durations":
        text = "oneDNN's lines have no timestamps; in the trace they are back to back."
        typer.echo(text, err=True)
    if left_out:
        typer.echo(f"Omitted {left_out:,} executions whose records have no timestamp.", err=True)
