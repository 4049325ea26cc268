"""`tflogscope query`: SQL over the tables."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Annotated, NoReturn

from tflogscope.cli.inputs import named_inputs, opened, opened_store
from tflogscope.cli.options import Force, FormatName, Output, OwnGrammar, argument, option
from tflogscope.cli.output import destination
from tflogscope.errors import UsageError


def query(
    words: Annotated[
        list[str] | None,
        argument(
            "[LOG...] SELECT", "Logs as for the other commands, and last the statement, in quotes."
        ),
    ] = None,
    *,
    timeout: Annotated[
        float,
        option("--timeout SECONDS", "End the command if it takes longer; 0: never.", min=0),
    ] = 600,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Answer a SELECT over the tables: timeline, ops, functions, nodes, and the others.

    The columns are those of `export`. Only the tables that the statement names are made.

    \b
    Examples:
      tflogscope query run.log "SELECT op, COUNT(*) AS runs FROM timeline GROUP BY op"
      tflogscope query STORE "SELECT run, start, state FROM runs ORDER BY start"
      tflogscope query run.log "SELECT * FROM nodes WHERE rewrite <> 'none'" -o nodes.csv
    """
    if not words or os.path.exists(words[-1]):  # noqa: PTH110  # false for names too long
        raise UsageError("no statement is given", "query", "Write it last, in quotes.")
    statement = words[-1]
    go_apart(timeout)
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


# ---- a process of its own, for work that can't be stopped or may end the process -----------------

_PATIENCE = 1.0  # seconds for the other process to end as it was asked to
_LOOK = 0.2  # seconds
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG
_HINT = "Ask for less: with WHERE, LIMIT, fewer JOINs, or shorter expressions."


def go_apart(seconds: float | None) -> None:
    """Return in a new process; the old one waits, says what ended the new one, and ends as it did.

    Without processes that can be forked (Windows, or threads that are running already) nothing
    happens.

    Raises:
        UsageError: in the old process, if the new one has taken so many seconds, or was ended.
    """
    if not hasattr(os, "fork") or "polars" in sys.modules:
        return
    seen, held = os.pipe()  # the end that is held closes with the new process
    child = os.fork()
    if child:
        os.close(held)
        _wait(child, seen, seconds)
    os.close(seen)
    os.setpgid(0, 0)  # Ctrl-C goes to the old process, which passes it on
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _wait(child: int, seen: int, seconds: float | None) -> NoReturn:
    asked: list[tuple[int, float]] = []

    def pass_on(number: int, _frame: object) -> None:
        asked.append((number, time.monotonic()))
        os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    end = time.monotonic() + (seconds or float("inf"))
    late = False
    while not select.select([seen], [], [], _LOOK)[0]:
        now = time.monotonic()
        late = now > end
        if late or (asked and now > asked[0][1] + _PATIENCE):
            os.kill(child, signal.SIGKILL)
            break
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        os._exit(code)  # it has said all there is to say
    if asked:
        if asked[0][0] == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(asked[0][0], signal.SIG_DFL)
        os.kill(os.getpid(), asked[0][0])
    if late:
        raise UsageError(f"no answer within {seconds:g} s", "query", f"{_HINT} Or see --timeout.")
    what = "depth" if -code in (signal.SIGSEGV, signal.SIGBUS) else "memory"
    raise UsageError(f"the statement needs more {what} than there is", "query", _HINT)


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
