"""Runs into a store: each is analyzed by itself, in any process of any machine."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, cast

from tflogscope.digits import whole
from tflogscope.errors import InputError, TflogscopeError
from tflogscope.events.onednn_header import header_facts
from tflogscope.exports.schema import SCHEMA_VERSION
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.model import Grammar
from tflogscope.model.calls.processes import worker_of
from tflogscope.model.common.origin import place_of, tensorflow_version
from tflogscope.model.log_run import LogRun
from tflogscope.model.opening import open_with
from tflogscope.model.run import Run
from tflogscope.sources.source import Source
from tflogscope.sources.streams import find_streams
from tflogscope.stores import layout
from tflogscope.stores.folder import Folder, file_system, folder_of, is_url
from tflogscope.stores.naming import OWN_FIELDS, Named, fit
from tflogscope.stores.pools import Pool
from tflogscope.stores.stored_run import kept

Progress = Callable[[int, int, int], object]
_LONGEST = 500  # characters of an error, which may quote a line


def collect(
    runs: Sequence[Named],
    store: str,
    pool: Pool,
    version: str,
    progress: Progress | None = None,
    *,
    grammar: str | None = None,
) -> tuple[list[layout.Row], int]:
    """Bring runs into a store, those that it has already left out.

    Returns the rows of all runs, by id, and how many of these were in the store already.

    Args:
        runs: what `name_runs` found.
        store: a directory or URL, which need not exist.
        pool: where the work is done.
        version: of tflogscope.
        progress: called with runs done, and bytes done of how many, when a run is done.
        grammar: a directory of the user's own grammar files, which each worker reads.

    Raises:
        InputError: the store can't be read, or is of another schema.
        OutputError: it can't be written.
    """
    folder = folder_of(store)
    # A store of another schema is refused before anything is done. A damaged row is written anew if
    # its run is among these; readers name it if not.
    layout.read_rows(folder, quiet=True)
    total, done, run_rows, there = sum(run.size for run in runs), 0, [], 0
    tasks = [(store, named, version, grammar) for named in runs]
    for (_, named, *_), result in pool.run(collect_run, tasks):
        if isinstance(result, str):  # its worker was lost
            row, was_there = failed(named, version, result), False
            _put_row(folder, row, layout.read_row(folder, named.run))
        else:
            row, was_there = result
        run_rows.append(row)
        there += was_there
        done += named.size
        if progress is not None:
            progress(len(run_rows), done, total)
    return sorted(run_rows, key=lambda row: str(row["run"])), there


def collect_run(
    store: str, named: Named, version: str, grammar: str | None = None
) -> tuple[layout.Row, bool]:
    """Analyze one run and put it into a store; return its row, and whether it was there.

    It is there if all its tables are, of the same log, tool and schema. Then nothing is done.
    """
    folder = folder_of(store)
    before = layout.read_row(folder, named.run)
    try:
        loaded = load_grammar(grammar)
        with _sources(named, loaded) as sources:
            row = _row(named, version, checksum=_checksum(sources))
            if before is not None and _is_whole(folder, before) and _same(before, row):
                return before, True
            row = _put_tables(folder, row, _open(sources, loaded), named)
    except InputError as error:
        where = f"{error.where}: " if error.where else ""
        row = failed(named, version, f"{where}{error.what}")
    except TflogscopeError:  # the store's fault, not the log's
        raise
    except Exception as error:  # noqa: BLE001  one bad log fails its run, not the others
        row = failed(named, version, f"internal error: {type(error).__name__}: {error}")
    _put_row(folder, row, before)
    return row, False


def keep_run(store: str, run: Run, version: str) -> None:
    """Put a process of a log that is open already into a store, by what the process is called."""
    log = cast("LogRun", run)
    [source] = log.sources
    folder = folder_of(store)
    named = Named(fit(source.process), {}, (source.path,), source.size or 0)
    row = _row(named, version, checksum=source.checksum())
    _put_row(folder, _put_tables(folder, row, log, named), None)


def _put_tables(folder: Folder, row: layout.Row, run: LogRun, named: Named) -> layout.Row:
    """Write all tables of a run; return its whole row."""
    row = row | _facts(run, named) | {"state": "done"}
    for table in layout.STORED:
        frame = kept(run) if table == layout.KEPT else getattr(run, table)
        folder.write(layout.table_file(row, table), layout.parquet(frame, table))
    return row


def _is_whole(folder: Folder, row: layout.Row) -> bool:
    """Whether a run was analyzed and its tables are all there."""
    files = (layout.table_file(row, table) for table in layout.STORED)
    return row["state"] == "done" and all(folder.holds(file, layout.PARQUET) for file in files)


def failed(named: Named, version: str, error: str) -> layout.Row:
    """The row of a run that could not be analyzed."""
    return _row(named, version, state="failed", error=error[:_LONGEST])


def _put_row(folder: Folder, row: layout.Row, before: layout.Row | None) -> None:
    """Write the row, and then remove what the row before it named."""
    folder.write(layout.row_file(row["run"]), layout.parquet(layout.row_frame(row), "runs"))
    if before is not None and before["state"] == "done" and not _same(before, row):
        for table in layout.STORED:
            folder.remove(layout.table_file(before, table))


def _same(one: layout.Row, other: layout.Row) -> bool:
    return all(one[key] == other[key] for key in ("checksum", "tool_version", "schema_version"))


def _row(named: Named, version: str, **facts: Any) -> layout.Row:
    reserved = {name: named.fields[name] for name in OWN_FIELDS if name in named.fields}
    numbers = {name: whole(text) for name, text in reserved.items()}
    fields = {name: text for name, text in named.fields.items() if name not in OWN_FIELDS}
    return {
        "run": named.run,
        **fields,
        **dict.fromkeys(layout.RUN_COLUMNS),
        "host": reserved.get("host"),
        "pid": numbers.get("pid"),
        "rank": numbers.get("rank"),
        "bytes": named.size,
        "tool_version": version,
        "schema_version": SCHEMA_VERSION,
        **facts,
    }


def _open(sources: Sequence[Source], grammar: Grammar) -> LogRun:
    # One thread: other processes have the other processors.
    run = open_with(1, *sources, grammar=grammar)
    if len(run.parts) > 1:
        raise InputError(f"its files belong to {len(run.parts)} runs: {run.parts[0].why}")
    return run


def _facts(run: LogRun, named: Named) -> layout.Row:
    """What the log says of the run as a whole; what the template says goes before it."""
    header = run.recorded_as or {}
    settings = header.get("environment")
    oneDNN = header_facts(run.events.primitives)  # noqa: N806  its name
    start, end = run.events.time_span()
    facts: layout.Row = {
        "start": start,
        "end": end,
        "tensorflow": tensorflow_version(header),
        "onednn": oneDNN.version,
        "build": oneDNN.isa,
        "settings": json.dumps(settings, sort_keys=True) if isinstance(settings, dict) else None,
        "rewriters": json.dumps(run.rewriters),
    }
    host, rank = place_of(settings)
    source = run.sources[0]
    rank = source.rank if rank is None else rank
    if rank is None and not source.process:  # that of one input is known by its name
        rank = worker_of(run.events)
    if "rank" not in named.fields:
        facts["rank"] = rank
    if "host" not in named.fields:
        facts["host"] = host
    return facts


def _checksum(sources: Sequence[Source]) -> str:
    """SHA-256 of the file as it came; of several files, of their checksums one below the other."""
    sums = [source.checksum() for source in sources]
    return sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode()).hexdigest()


@contextmanager
def _sources(named: Named, grammar: Grammar) -> Iterator[list[Source]]:
    """The files of a run; those at URLs are copied to this machine for as long as they are read."""
    with tempfile.TemporaryDirectory(prefix="tflogscope-") as directory:
        sources = []
        for number, file in enumerate(named.files):
            path = file
            if is_url(file):
                path = str(Path(directory) / f"{number}-{PurePosixPath(file).name}")
                _copy(file, path)
            for source in find_streams([path], grammar):
                source.name = file if is_url(file) else source.name
                sources.append(source)
        yield sources


def _copy(url: str, path: str) -> None:
    system, place = file_system(url)
    try:
        system.get_file(place, path)
    except OSError as error:
        raise InputError(str(error), url) from error
