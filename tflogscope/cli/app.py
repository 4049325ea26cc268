"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from tflogscope.cli import (
    analyze,
    benchdnn,
    check,
    collect,
    diff,
    explain,
    export,
    grammar,
    ops,
    query,
    ranks,
    record,
    redact,
    report,
    simulate,
    timeline,
    trace,
    trend,
    watch,
)
from tflogscope.cli.options import option
from tflogscope.version import MADE_BY

# rich_markup_mode None: help is plain text, and typer does not import rich for it.
app = typer.Typer(
    name="tflogscope",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(MADE_BY)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  its callback does the work
        bool,
        option("--version", "Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Say what TensorFlow's verbose log shows about each op.

    Did it run eagerly or in a graph, when, and for how long; was it rewritten to a oneDNN kernel;
    which oneDNN primitives did it run, and what did they cost.

    \b
    Start here:
      TF_CPP_MAX_VLOG_LEVEL=2 ONEDNN_VERBOSE=1 python train.py > run.log 2>&1
      tflogscope analyze run.log          the whole answer on one screen
      tflogscope ops run.log -o ops.csv   a row per op, for a spreadsheet

    Logs may be compressed (gzip, zstd, xz, bzip2), be directories, or come from standard input.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


app.command("analyze")(analyze.analyze)
app.command("watch")(watch.watch)
app.command("ops")(ops.ops)
app.command("export")(export.export)
app.command("explain")(explain.explain)
app.command("diff")(diff.diff)
app.command("query")(query.query)
app.command("timeline")(timeline.timeline)
app.command("trace")(trace.trace)
app.command("benchdnn")(benchdnn.benchdnn)
app.command("report")(report.report)
app.command("check")(check.check)
app.command("redact")(redact.redact)
app.command("simulate", cls=simulate.Command, context_settings=simulate.CONTEXT)(simulate.simulate)
app.command("record", context_settings=record.CONTEXT)(record.record)
app.command("collect")(collect.collect)
app.command("ranks")(ranks.ranks)
app.command("trend")(trend.trend)
app.add_typer(grammar.app, name="grammar")
