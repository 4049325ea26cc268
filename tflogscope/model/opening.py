"""Opening a log: the scan is under way while polars and the model are imported."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tflogscope.errors import NothingRecognised, UsageError
from tflogscope.events.scan import WORKERS, Scan
from tflogscope.grammar.load import load_grammar
from tflogscope.model.common.origin import KEPT_BACK, read_header, simulated_release
from tflogscope.sources.discover import file_and_process, find_sources
from tflogscope.sources.source import SeveralProcesses, Source
from tflogscope.sources.streams import find_streams, split_by_owner, split_by_process

if TYPE_CHECKING:
    from tflogscope.events.events import Events
    from tflogscope.grammar.model import Grammar
    from tflogscope.model.log_run import LogRun


def open_with(
    threads: int,
    *inputs: str | os.PathLike[str] | Source,
    progress: Callable[[int, int | None], None] | None = None,
    grammar: Grammar | None = None,
) -> LogRun:
    """The run of one log, or of several files as parts of one; see `read_log`."""
    log = read_log(threads, *inputs, progress=progress, grammar=grammar)
    from tflogscope.model.log_run import LogRun

    return LogRun(*log)


def find_runs(
    inputs: Sequence[str | os.PathLike[str] | Source],
    grammar: Grammar,
    *,
    again: bool = True,
    left: list[str] | None = None,
) -> list[Source]:
    """As `find_streams`; a process may also be named that only the threads of its lines show."""
    try:
        return find_streams(inputs, grammar, again=again, left=left)
    except UsageError:
        named = [
            not isinstance(given, Source) and file_and_process(os.fspath(given)) for given in inputs
        ]
        if not any(named):
            raise
        sources: list[Source] = []
        for source, chosen in zip(inputs, named, strict=True):
            streams = owned(find_sources([chosen[0]]), grammar) if chosen else []
            mine = [one for one in streams if chosen and one.name.endswith(f"#{chosen[1]}")]
            sources += mine or find_streams([source], grammar, again=again)
        return sources


def owned(sources: list[Source], grammar: Grammar, run: LogRun | None = None) -> list[Source]:
    """The processes of a source that only the threads of its lines tell apart; none: it is of one.

    `run`: what was read of it, if it was.
    """
    if len(sources) != 1:
        return []
    run = run or open_with(WORKERS, *sources, grammar=grammar)
    from tflogscope.model.calls.processes import read_owners

    owners = read_owners(run.events, run.stages.executions)
    return split_by_owner(sources[0], owners) if owners else []


def read_log(
    threads: int,
    *inputs: str | os.PathLike[str] | Source,
    progress: Callable[[int, int | None], None] | None = None,
    grammar: Grammar | None = None,
) -> tuple[Events, list[Source], Mapping[str, Any] | None]:
    """What is in one log: its events, its sources, and what `tflogscope record` wrote above it.

    Args:
        threads: how many of them scan.
        inputs: files, directories or "-" (standard input).
        progress: called with bytes read and bytes in all (None: unknown).
        grammar: the packaged one if not given.

    Raises:
        InputError: an input can't be read.
        NothingRecognised: nothing in it is known.
    """
    grammar = grammar or load_grammar()
    sources = find_runs(inputs, grammar)
    while True:
        try:
            header = read_header(sources)
            events = _scanned(sources, grammar, threads, progress)
            break
        except SeveralProcesses as several:  # not one line of the others is among the first
            sources = [
                stream
                for source in sources
                for stream in (
                    split_by_process(source, grammar) if source.name == several.where else [source]
                )
            ]
    try:
        events.require_usable()
    except NothingRecognised as error:
        if header is not None and simulated_release(header) is None:
            problem = "TensorFlow wrote no record, and oneDNN no line"
            raise NothingRecognised(problem, error.where, KEPT_BACK) from None
        raise _why(error, sources) from None
    return events, sources, header


def _scanned(
    sources: list[Source],
    grammar: Grammar,
    threads: int,
    progress: Callable[[int, int | None], None] | None,
) -> Events:
    with Scan(sources, grammar, threads) as scan:
        # On a thread of its own: where Python's stack is already deep, it can take a page of memory
        # for a call and give it back at each return, thousands of times.
        importing = threading.Thread(target=_import_model)
        importing.start()
        importing.join()
        from tflogscope.events.events import Events

        scan.wait(progress)
        return Events(scan, grammar)


def _import_model() -> None:
    with suppress(BaseException):  # what fails is imported again where it is used, and fails there
        import tflogscope.model.log_run  # noqa: F401


def _why(error: NothingRecognised, sources: list[Source]) -> NothingRecognised:
    """The same error, with the reason if nothing of a source could be read."""
    if any(source.account.bytes for source in sources):
        return error
    for source in sources:
        if problem := source.account.problem:
            hint = "None of it can be parsed."
            return NothingRecognised(problem, source.name, hint)
    hint = "Was the program's output sent there? python program.py > run.log 2>&1"
    return NothingRecognised("it is empty", error.where, hint)
