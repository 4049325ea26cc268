"""What every command that reads logs has in common: the LOG argument and opening it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tflogscope.cli.libraries import share_a_heap
from tflogscope.cli.output import say
from tflogscope.cli.progress import progress_bar
from tflogscope.errors import UsageError
from tflogscope.events.scan import WORKERS
from tflogscope.grammar.load import load_grammar
from tflogscope.model.opening import find_runs, open_with, owned
from tflogscope.sources.streams import of_one_input
from tflogscope.stores.folder import store_and_run
from tflogscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from tflogscope.model.calls.parts import Part
    from tflogscope.model.log_run import LogRun
    from tflogscope.model.run import Run
    from tflogscope.stores.store import Store


def chosen(frame: pl.DataFrame, condition: str | None) -> pl.DataFrame:
    """The rows for which a condition holds; all of them if there is none.

    Raises:
        QueryError: the condition is wrong.
    """
    if condition is None:
        return frame
    from tflogscope.query.sql import where

    return where(frame, condition)


def named_inputs(logs: list[str] | None) -> list[str]:
    """The inputs to read: those named, or standard input where something is piped into it.

    Raises:
        UsageError: nothing is named, and standard input is a terminal.
    """
    if logs:
        return logs
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("no log given", hint="Pass a file or a directory, or pipe a log in.")
    return ["-"]


def opened_store(inputs: list[str]) -> Store | None:
    """The store that is named; None for logs, and for one run of a store.

    Raises:
        UsageError: other inputs are named beside it.
        InputError: it can't be read.
    """
    named = [store_and_run(name) for name in inputs]
    stores = [pair for pair in named if pair is not None]
    if stores and len(named) > 1:
        what = "a store can't be combined with other inputs"
        raise UsageError(what, stores[0][0], "Pass one store, or one run.")
    if not stores or stores[0][1] is not None:
        return None
    from tflogscope.stores.store import open_store

    return open_store(stores[0][0])


def table_of(
    inputs: list[str], store: Store | None, name: str, where: str | None, grammar: str | None
) -> pl.DataFrame:
    """A table of a log or of all runs of a store: the rows for which a condition holds.

    Raises what `opened` and `chosen` raise.
    """
    if store is not None:
        return chosen(getattr(store, name).collect(), where)
    with opened(inputs, grammar) as run:
        frame: pl.DataFrame = getattr(run, name)
        if name == "ops" and frame.is_empty():
            from tflogscope.model.overview.onednn_ops import primitive_ops

            frame = primitive_ops(run.primitives, frame)
        return chosen(frame, where)


@contextmanager
def opened(inputs: list[str], grammar: str | None = None, *, again: bool = False) -> Iterator[Run]:
    """Open the logs of one run, with a progress bar for as long as the block runs.

    Tables are made when first asked for, so ask for them inside the block and print after it.

    Args:
        inputs: as the user named them.
        grammar: a directory of the user's own grammar files.
        again: what is asked of the run may read the inputs once more.

    Raises:
        InputError: an input can't be read, or nothing in it is recognised.
        UsageError: they are the logs of several runs, or a store.
        GrammarError: a grammar file is wrong.
        TflogscopeError: there is not enough memory for any log.
    """
    with opened_each(inputs, grammar, again=again) as (parts, runs):
        require_one(inputs, parts)
        yield next(runs)


def require_one(inputs: list[str], parts: list[Part]) -> None:
    """Raise UsageError if inputs are several runs."""
    if len(parts) > 1:
        example = f" ({parts[0].name})" if len(inputs) < 2 else ""
        why = parts[1].why
        hint = f"Pass one{example}, or collect them into a store. They are separate: {why}."
        named = " and ".join(inputs[:2])
        raise UsageError(f"expected one run, found {len(parts)}", named, hint)


@contextmanager
def opened_each(
    inputs: list[str], grammar: str | None = None, *, again: bool = False
) -> Iterator[tuple[list[Part], Iterator[Run]]]:
    """As `opened`, for several runs: what each is, and the runs, opened one by one."""
    share_a_heap()
    if len(inputs) == 1 and (stored := store_and_run(inputs[0])):
        from tflogscope.model.calls.parts import Part
        from tflogscope.stores.store import open_store
        from tflogscope.stores.stored_run import StoredRun

        name, id_ = stored
        if id_ is None:
            hint = "Pass one run (STORE#ID); ops, query, export, check and report accept a store."
            raise UsageError("expected one run, found a store", name, hint)
        store = open_store(name)
        yield [Part((), "")], iter([StoredRun(store, store.row(id_))])
        return
    loaded = load_grammar(grammar)
    with progress_bar() as advance:
        opened_run = partial(open_with, WORKERS, progress=advance, grammar=loaded)
        # Several may be several runs, which are opened one by one then.
        left: list[str] = []
        sources = find_runs(inputs, loaded, again=again or len(inputs) > 1, left=left)
        say_what_is_left(left)
        run: LogRun | None = None
        if of_one_input(sources):
            from tflogscope.model.calls.parts import parts_of_one

            parts = parts_of_one(sources)
        else:
            run = opened_run(*sources)
            parts = list(run.parts)
            if processes := owned(sources, loaded, run):
                from tflogscope.model.calls.parts import parts_of_one

                run, parts = None, parts_of_one(processes)
        for order in filter(None, (part.in_order for part in parts)):
            lost = "executions that span two parts are lost unless the parts are passed in order"
            say(f"{lost}: {' '.join(order)}")
        if run is not None and len(parts) == 1:
            yield parts, iter([run])
        else:
            del run  # its tables would add up
            yield parts, (opened_run(*part.sources) for part in parts)


def are_together(parts: list[Part]) -> bool:
    """Whether the runs are processes of one input."""
    return of_one_input([source for part in parts for source in part.sources])


@contextmanager
def stored(runs: Iterable[Run]) -> Iterator[Store]:
    """The processes of one input as a store, for as long as the block runs."""
    from tflogscope.stores.collect import keep_run
    from tflogscope.stores.store import open_store

    with TemporaryDirectory(prefix="tflogscope-") as directory:
        for run in runs:
            keep_run(directory, run, __version__)
        yield open_store(directory, of_one_run=True)


def say_what_is_left(files: list[str]) -> None:
    """Say how many files of directories are not read."""
    if files:
        from tflogscope.model.common.figures import count_of

        what = f"skipped {count_of(len(files), 'file')} without records, such as {files[0]}"
        say(what)
