"""What every command that reads logs has in common: the LOG argument and opening it."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tflogscope.cli.progress import progress_bar
from tflogscope.errors import TflogscopeError, UsageError
from tflogscope.model.figures import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tflogscope.model.run import Run

_OBJECTS = 100_000  # made before Python looks for circles among them; a log makes few
LEAST_MEMORY = 10**9  # bytes of addresses: with less, threads may not find room for their stacks
Logs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LOG",
        show_default=False,
        help="Log files, compressed or not, directories of them, or - for standard input. "
        "Without any, standard input is read if it is not a terminal.",
    ),
]

Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        show_default=False,
        help="Only rows for which this holds: 'op == MatMul and mode == graph'.",
    ),
]


def chosen(frame: pl.DataFrame, condition: str | None) -> pl.DataFrame:
    """The rows for which a condition holds; all of them if there is none.

    Raises:
        QueryError: the condition is wrong.
    """
    if condition is None:
        return frame
    from tflogscope.query.where import where

    return where(frame, condition)


def named_inputs(logs: list[str] | None) -> list[str]:
    """The inputs to read: those named, or standard input where something is piped into it.

    Raises:
        UsageError: nothing is named, and standard input is a terminal.
    """
    if logs:
        return logs
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("no log is named", hint="Name a file or a directory, or pipe a log in.")
    return ["-"]


def _require_memory() -> None:
    """Say early that memory is limited too much: libraries that get none abort the process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_MEMORY:
        what = (
            f"memory is limited to {size_of(limit)}; a log takes {size_of(LEAST_MEMORY)} and more"
        )
        raise TflogscopeError(what, hint="Raise the limit: ulimit -v")


@contextmanager
def opened(inputs: list[str]) -> Iterator[Run]:
    """Open the logs, with a progress bar for as long as the block runs.

    Tables are made when first asked for, so ask for them inside the block and print after it.

    Raises:
        InputError: an input can't be read, or nothing in it is recognised.
        TflogscopeError: there is not enough memory for any log.
    """
    import tflogscope

    _require_memory()
    gc.set_threshold(_OBJECTS)
    with progress_bar() as advance:
        yield tflogscope.open_log(*inputs, progress=advance)
