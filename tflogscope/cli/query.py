"""`tflogscope query`: SQL over the tables."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Annotated

from tflogscope.cli.apart import go_apart
from tflogscope.cli.inputs import named_inputs, opened, opened_store
from tflogscope.cli.options import Force, FormatName, Output, OwnGrammar, argument, option
from tflogscope.cli.output import destination
from tflogscope.errors import UsageError


def query(
    words: Annotated[
        list[str] | None,
        argument(
            "[LOG...] SELECT", "Logs, as for the other commands, then the statement in quotes."
        ),
    ] = None,
    *,
    timeout: Annotated[
        float,
        option("--timeout SECONDS", "Stop after this time; 0 means never.", min=0),
    ] = 600,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Run a SELECT over the tables (timeline, ops and others).

    Columns are those of `export`. Only the tables that the statement names are built.

    \b
    Examples:
      tflogscope query run.log "SELECT op, COUNT(*) AS runs FROM timeline GROUP BY op"
      tflogscope query STORE "SELECT run, start, state FROM runs ORDER BY start"
      tflogscope query run.log "SELECT * FROM nodes WHERE rewrite <> 'none'" -o nodes.csv
    """
    if not words or os.path.exists(words[-1]):  # noqa: PTH110  # false for names too long
        raise UsageError("no statement given", "query", "Put it last, in quotes.")
    statement = words[-1]
    go_apart(_failed, timeout)
    from tflogscope.query.sql import require_select, select

    require_select(statement)
    inputs = named_inputs(words[:-1])
    place = destination(output, format_name, force=force, inputs=inputs)

    if store := opened_store(inputs):
        with silent():
            frame = select(store, statement)
    else:
        with opened(inputs, grammar) as run, silent():
            frame = select(run, statement)
    place.send(frame, "query")


def _failed(what: str) -> UsageError:
    hint = "Simplify the query: use WHERE or LIMIT, fewer JOINs, or shorter expressions."
    return UsageError(what, "query", hint)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Let nothing be said on standard error: polars writes there what ends the process."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
