"""`tflogscope record`: run a program with the settings that record most for least."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tflogscope.cli.libraries import given_environment
from tflogscope.cli.options import Force, argument, option
from tflogscope.cli.output import say
from tflogscope.errors import UsageError
from tflogscope.escapes import safe
from tflogscope.model.common.figures import count_of, size_of
from tflogscope.model.common.origin import KEPT_BACK, tensorflow_version
from tflogscope.version import __version__

if TYPE_CHECKING:
    from tflogscope.recording.log_file import LogFile
    from tflogscope.recording.recorder import Recorded

# What comes after the program's name belongs to the program, even without the `--`.
CONTEXT = {"allow_interspersed_args": False}


def record(
    command: Annotated[list[str] | None, argument("COMMAND", "The program, after `--`.")] = None,
    *,
    output: Annotated[
        Path | None,
        option(
            "-o --output FILE",
            "Write the log to this file, compressed if it ends in .zst or .gz; "
            "{rank}, {host} and {pid} are filled in. "
            "Default: a file named after the current time.",
        ),
    ] = None,
    lines: Annotated[
        bool,
        option(
            "--lines/--no-lines",
            "Log the line of the program that called each eager op or created each graph node.",
        ),
    ] = True,
    calibrate: Annotated[
        bool,
        option(
            "--calibrate",
            "Run once without logging first, to measure true call times.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Run a program and record its log.

    The log is a few percent of the size of a full VLOG level 2 log.

    The program's output still goes to standard output. What Python writes to standard error, and
    TensorFlow's warnings and errors, still go to standard error. The log contains all of this. The
    exit status is passed on.

    \b
    Examples:
      tflogscope record -o run.log.zst -- python train.py
      mpirun -n 4 tflogscope record -o run.{rank}.log.zst -- python train.py
      tflogscope analyze run.log.zst
    """
    from tflogscope.recording import header, recorder
    from tflogscope.recording.header import log_path, rank_of
    from tflogscope.recording.log_file import LogFile
    from tflogscope.recording.settings import (
        exact_onednn,
        installed,
        least_severity,
        settings,
        uncaptured,
        with_lines,
    )

    if not command:
        raise UsageError(
            "no program given", "record", "Write it after `--`: record -- python train.py"
        )
    given = given_environment()
    rank = rank_of(given)
    name = "tflogscope-%Y%m%d-%H%M%S" + ("" if rank is None else f".{rank}")
    path = log_path(output or Path(time.strftime(f"{name}.log.zst")), given)
    releases = {"tflogscope": __version__, **header.versions(command)}
    tensorflow = tensorflow_version({"versions": releases})
    environment = {**given, **settings(tensorflow, releases), **uncaptured(given)}
    if lines:
        environment |= with_lines(given)
    log = LogFile(
        path,
        force=force,
        hint=None if rank is None else "Use one file per rank: -o run.{rank}.log.zst",
    )
    taken = _calibrated(command, given, log) if calibrate else {}
    recorded = recorder.record(
        command,
        environment,
        log,
        header.header_line(command, releases, environment, taken),
        terminal=(sys.stdout is not None and sys.stdout.isatty())
        or not (exact_onednn(tensorflow) or (lines and tensorflow)),
        least=least_severity(given),
        begins=[text.encode() for plugin in installed(releases) for text in plugin.begins],
    )
    for line in _said(recorded, path):
        say(line)
    if recorded.has_records and recorded.lost is None:
        typer.echo(f"tflogscope analyze {safe(shlex.quote(str(path)))}", err=True)
    raise typer.Exit(recorded.status)


def _calibrated(command: list[str], given: dict[str, str], log: LogFile) -> dict[str, float]:
    """See `header.calibrated`; the log is left as it was if that is interrupted."""
    from tflogscope.recording.header import calibrated

    try:
        taken = calibrated(command, given)
    except BaseException:
        log.close()
        raise
    if not taken:
        say("not calibrated: the run without logging called no tf.function twice")
    return taken


def _said(recorded: Recorded, path: Path) -> Iterator[str]:
    """What became of the recording, a line for each thing."""
    packed, whole = size_of(path.stat().st_size), size_of(recorded.bytes)
    if recorded.lost is not None:
        reason = recorded.lost.strerror or recorded.lost
        yield f"{path}: can't write: {reason}. The program continued; its log ends after {packed}."
    else:
        sizes = f"{packed}, {whole} uncompressed" if path.suffix in {".zst", ".gz"} else packed
        lines = count_of(recorded.lines, "line")
        yield f"recorded {lines} to {path} ({sizes})"
        if not recorded.has_records:
            yield "TensorFlow wrote no records." + ("" if recorded.status else f" {KEPT_BACK}")
    if recorded.unseen is not None and not isinstance(recorded.unseen, BrokenPipeError):
        reason = recorded.unseen.strerror or recorded.unseen
        yield f"standard output: can't write: {reason}. The log has the program's output."
    if recorded.goes_on:
        yield "processes that the program started are still running; their output is not recorded"
