"""Opening a log: the scan is under way while polars and the model are imported."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from tflogscope.errors import NothingRecognised
from tflogscope.events.scan import WORKERS, Scan
from tflogscope.grammar.load import load_grammar
from tflogscope.model.origin import KEPT_BACK, read_header
from tflogscope.model.worker import Make, here
from tflogscope.sources import Source, find_sources

if TYPE_CHECKING:
    from tflogscope.model.run import Run


def open_log(
    *inputs: str | os.PathLike[str] | Source,
    progress: Callable[[int, int | None], None] | None = None,
) -> Run:
    """Read one log, or several files as parts of one, and return the run.

    `inputs` are files, directories or "-" (standard input); compression is known by content.
    If they are of several runs after all, these add up, and a warning says so: see `Run.parts`.
    `progress` is called with bytes read and bytes in all (None: unknown).

    Raises InputError if an input can't be read, NothingRecognised if nothing in it is known.
    """
    run = open_with(WORKERS, *inputs, progress=progress)
    if len(run.parts) > 1:
        said = f"these are {len(run.parts)} runs, which add up here: {run.parts[1].why}"
        warnings.warn(said, stacklevel=2)
    return run


def open_with(
    threads: int,
    *inputs: str | os.PathLike[str] | Source,
    progress: Callable[[int, int | None], None] | None = None,
    make: Make = here,
) -> Run:
    """As `open_log`, with so many threads that scan; `make` says where tables are made."""
    sources, grammar = find_sources(inputs), load_grammar()
    header = read_header(sources)
    scan = Scan(sources, grammar, threads)
    with scan:
        from tflogscope.events.events import Events
        from tflogscope.model.run import Run

        scan.wait(progress)
        events = make(lambda: Events(scan, grammar))
    try:
        make(events.require_recognised)
    except NothingRecognised as error:
        if header is not None:
            said = "TensorFlow wrote no record, and oneDNN no line"
            raise NothingRecognised(said, error.where, KEPT_BACK) from None
        raise _why(error, sources) from None
    return Run(events, sources, header, make)


def _why(error: NothingRecognised, sources: list[Source]) -> NothingRecognised:
    """The same error, with the reason if nothing of a source could be read."""
    if any(source.account.bytes for source in sources):
        return error
    for source in sources:
        if problem := source.account.problem:
            hint = "Nothing of it can be read."
            return NothingRecognised(problem, source.name, hint)
    hint = "Was the program's output sent there? python program.py > run.log 2>&1"
    return NothingRecognised("it is empty", error.where, hint)
