"""`tflogscope collect`: many runs into one store."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tflogscope.cli.inputs import say_what_is_left
from tflogscope.cli.options import OwnGrammar, argument, option
from tflogscope.cli.output import say
from tflogscope.cli.progress import progress_bar
from tflogscope.errors import OutputError, UsageError
from tflogscope.escapes import safe
from tflogscope.grammar.load import load_grammar, own_files
from tflogscope.model.common.figures import count_of
from tflogscope.stores.folder import RUNS, folder_of, is_begun, is_store, is_url
from tflogscope.version import __version__

if TYPE_CHECKING:
    from tflogscope.stores.pools import Pool

FAILED = 1


def collect(
    inputs: Annotated[
        list[str], argument("INPUT...", "Log files, directories of logs, or their URLs.")
    ],
    *,
    store: Annotated[
        str, option("--output -o STORE", "The store, a directory or URL; created if needed.")
    ],
    template: Annotated[
        str | None,
        option(
            "--run TEMPLATE",
            "Group files into runs: '{job}/{date}/rank{rank}.log*'. Default: one run per file.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option("--workers N", "Number of local processes. Default: one per processor.", min=1),
    ] = None,
    scheduler: Annotated[
        str | None,
        option(
            "--scheduler URL",
            "Use a Dask cluster instead: tcp://host:8786. Its workers read the logs.",
            envvar="DASK_SCHEDULER_ADDRESS",
        ),
    ] = None,
    grammar: OwnGrammar = None,
) -> None:
    """Analyze many runs separately and keep their tables in a store.

    Skips runs that the store already has, from the same log and tflogscope version. The exit code
    is 1 if a run failed; the others are stored, and the table `runs` has the reason.

    \b
    Examples:
      tflogscope collect logs/ -o runs
      tflogscope collect logs/ -o runs --run '{job}/{date}/rank{rank}.log*' --workers 8
      tflogscope query runs "SELECT run, op, total_us FROM ops WHERE op = 'MatMul'"
    """
    from tflogscope.stores.collect import collect as collect_runs
    from tflogscope.stores.layout import RUN_COLUMNS
    from tflogscope.stores.naming import name_runs

    if workers is not None:  # of the two, the environment is the weaker
        if scheduler not in (None, os.environ.get(_ADDRESS)):
            raise UsageError("--workers and --scheduler can't be combined", None, "Use one.")
        scheduler = None
    if os.path.exists(store) and not _can_be_store(store):  # noqa: PTH110
        hint = "Pass a store, an empty directory, or a new path."
        raise UsageError("not a store of runs", store, hint)
    version = _version(grammar)
    pool = _pool(workers, scheduler)
    if scheduler is not None:  # the workers are elsewhere
        inputs, store = [_absolute(path) for path in inputs], _absolute(store)
        grammar = grammar and _absolute(grammar)
    left: list[str] = []
    runs = name_runs(inputs, template, ["run", *RUN_COLUMNS], load_grammar(grammar), left)
    say_what_is_left(left)
    with progress_bar() as advance:

        def show(done: int, size: int, total: int) -> None:
            if advance is not None:
                advance(size, total, f"{done:,} of {count_of(len(runs), 'run')}")

        try:
            collected, there = collect_runs(runs, store, pool, version, show, grammar=grammar)
        except OutputError as error:
            error.hint = _what_is_in(store)
            raise
    failed = [row for row in collected if row["state"] == "failed"]
    for row in failed:
        say(f"{row['run']}: {row['error']}")
    text = f"{count_of(len(collected) - len(failed), 'run')} in {store}"
    text += f" ({there:,} unchanged)" if there else ""
    text += f", {len(failed):,} failed" if failed else ""
    print(safe(text), file=sys.stderr)  # noqa: T201
    if failed:
        raise typer.Exit(FAILED)


_ADDRESS = "DASK_SCHEDULER_ADDRESS"


def _what_is_in(store: str) -> str:
    """Where a store can't be written: what is in it all the same."""
    if there := len(folder_of(store).files(RUNS)):
        count = count_of(there, "run")
        return f"{count} in {store}. Run collect again to continue."
    return f"No run in {store}. Collect into a writable directory with free space."


def _version(grammar: str | None) -> str:
    """The version of tflogscope; with grammar files of the user's own, a mark of what is in them.

    So runs that were collected with other files are collected again. Raises GrammarError.
    """
    if grammar is None:
        return __version__
    load_grammar(grammar)  # what is wrong in it is said before a log is read
    files = own_files(grammar)
    mark = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]
    return f"{__version__}+grammar.{mark}"


def _absolute(name: str) -> str:
    return name if is_url(name) else os.path.abspath(name)  # noqa: PTH100  links stay as named


def _can_be_store(name: str) -> bool:
    """Whether this is a store, or a directory with nothing in it but what a collector leaves."""
    return (os.path.isdir(name) and is_begun(name)) or is_store(name)  # noqa: PTH112


def _pool(workers: int | None, scheduler: str | None) -> Pool:
    from tflogscope.stores.pools import Cluster, Processes

    if scheduler is not None:
        cluster = Cluster(scheduler)
        if not cluster.workers:
            say(f"{scheduler}: waiting for a worker")
        return cluster
    return Processes(workers or os.cpu_count() or 1)
