"""`tflogscope record`: run a program with the settings that record most for least."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

import tflogscope
from tflogscope.cli.output import Force
from tflogscope.errors import UsageError

# What comes after the program's name belongs to the program, even without the `--`.
CONTEXT = {"allow_interspersed_args": False}


def record(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", show_default=False, help="The program, after `--`."),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            help="Where the log goes, compressed if it ends in .zst or .gz; "
            "without it, a file named after the time of day.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Run a program and record its log, in a few per cent of the size of a full one.

    The program's own output goes on to standard output, TensorFlow's warnings and errors go on to
    standard error; its exit status becomes that of this command. The log holds all of it.

    \b
    Examples:
      tflogscope record -o run.log.zst -- python train.py
      tflogscope analyze run.log.zst
    """
    from tflogscope.recording import header, recorder
    from tflogscope.recording.settings import exact_onednn, settings

    if not command:
        raise UsageError(
            "no program is named", "record", "Write it after `--`: record -- python train.py"
        )
    path = output or Path(time.strftime("tflogscope-%Y%m%d-%H%M%S.log.zst"))
    found = {"tflogscope": tflogscope.__version__, **header.versions(command)}
    tensorflow = header.tensorflow_version(found)
    environment = {**os.environ, **settings(tensorflow)}
    terminal = sys.stdout.isatty() or not exact_onednn(tensorflow)
    with recorder.log_file(path, force=force) as log:
        log.write(header.header_line(command, found, environment))
        recorded = recorder.record(command, environment, log, terminal=terminal)
    size = path.stat().st_size
    typer.echo(
        f"tflogscope: {recorded.lines:,} lines of {recorded.seconds:.1f} s are in {path} "
        f"({size / 1e6:.1f} MB, {recorded.bytes / 1e6:.1f} MB unpacked)",
        err=True,
    )
    raise typer.Exit(recorded.status)
