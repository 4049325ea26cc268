"""One input with the lines of several processes: each becomes a source of its own.

It is read once; the lines of each process go to a temporary file, without what was around them.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from tflogscope.errors import InputError, UsageError
from tflogscope.grammar.envelopes import Envelope
from tflogscope.grammar.model import Grammar
from tflogscope.sources.block import Block, SourceAccount, numbers_at
from tflogscope.sources.discover import file_and_process, find_sources, natural_key
from tflogscope.sources.envelopes import Chain, opened_blocks
from tflogscope.sources.notebook import may_be_notebook, outputs_of
from tflogscope.sources.owners import ThreadOwners
from tflogscope.sources.pieces import Key, Opened
from tflogscope.sources.readers import Reader, keepable, readable
from tflogscope.sources.recognise import recognise
from tflogscope.sources.repairs import records_of
from tflogscope.sources.source import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_FAR = 4 << 20  # bytes of the first lines to look at where the first few have no record
_IN_MEMORY = 1 << 20  # bytes of one process
_ANY = re.compile(b"")
_MOST = 4096  # processes with records in one input


def find_streams(
    inputs: Sequence[str | os.PathLike[str] | Source],
    grammar: Grammar,
    refused: dict[str, InputError] | None = None,
    *,
    again: bool = True,
    left: list[str] | None = None,
) -> list[Source]:
    """As `find_sources`, with what is around their lines taken off, and each process by itself.

    Files of a directory whose first lines have no record are left out, and added to `left`, unless
    all are like that.

    `FILE#0` is one process of a file: by its rank, its number, or a name that is around its lines.
    `again`: see `Source`.

    Raises:
        UsageError: nothing is named, or a process that is not there.
        InputError: an input can't be read, or not be kept in temporary files.
    """
    parts = {
        id(given): chosen
        for given in inputs
        if not isinstance(given, Source) and (chosen := file_and_process(os.fspath(given)))
    }
    plain = [given for given in inputs if id(given) not in parts]
    files = find_sources(plain, refused) if plain or not inputs else []
    named = {given.path if isinstance(given, Source) else os.fspath(given) for given in plain}
    others = (
        [] if named.issuperset(file.path for file in files) else _no_logs(files, named, grammar)
    )
    if left is not None:
        left += (file.path for file in others)
    sources: list[Source] = []
    for source in {id(file): file for file in files if file not in others}.values():
        source.again = source.again and again
        try:
            sources += _streams(source, grammar)
        except InputError as error:
            if refused is None:
                raise
            refused[source.path] = error
    return sources + [_one(*part, grammar) for part in parts.values()]


def split_by_owner(source: Source, owners: ThreadOwners) -> list[Source]:
    """The processes of a source, by the threads of its lines.

    Raises InputError as `split_by_process` does.
    """
    source.envelopes = (Envelope("owner", "", "", "", streams=("process",), owners=owners),)
    return split_by_process(source, owners.grammar)


def of_one_input(sources: Sequence[Source]) -> bool:
    """Whether these are several processes of one input, and nothing else."""
    inputs = {source.whole if isinstance(source, Stream) else None for source in sources}
    return len(sources) > 1 and len(inputs) == 1 and None not in inputs


def _one(file: str, process: str, grammar: Grammar) -> Source:
    [source] = find_sources([file])
    streams = _streams(source, grammar, part=True)
    for stream in streams:
        if process in (stream.names if isinstance(stream, Stream) else {"0"}):
            return stream
    there = ", ".join(other.name for other in streams)
    raise UsageError(f"no process {process!r}", file, f"Available: {there}")


def _streams(source: Source, grammar: Grammar, *, part: bool = False) -> list[Source]:
    """The processes of a source; itself if its first lines show one, unless it is to be parted."""
    if isinstance(source, Stream) or source.is_known:
        return [source]
    source.is_known = True
    head = source.wrapped_head()
    if may_be_notebook(head) and (texts := outputs_of(source.read_all())) is not None:
        return [_of_notebook(source, texts)]
    head, envelopes = _wrappers(source, head, grammar)
    if not envelopes:
        return [source]
    source.envelopes = envelopes
    wrappers = Chain(envelopes)
    keys = {batch.key for batch in wrappers.head(head)}
    if wrappers.tells_apart and (part or len(keys) > 1):
        return split_by_process(source, grammar)
    source.rank = wrappers.rank_of(keys.pop()) if keys else None
    return [source]


def _no_logs(sources: Sequence[Source], named: set[str], grammar: Grammar) -> list[Source]:
    """The sources without a record in their first lines that nobody named; none if all are so."""
    others = []
    for source in sources:
        with suppress(InputError):  # it is said where the source is read
            if source.path not in named and not _may_be_log(source, grammar):
                others.append(source)
    return others if len(others) < len(sources) else []


def _may_be_log(source: Source, grammar: Grammar) -> bool:
    """Whether it has a record, or is empty or a notebook. Raises InputError."""
    head = source.wrapped_head()
    is_log = not head or may_be_notebook(head)
    return is_log or _wrappers(source, head, grammar)[1] is not None


def _wrappers(
    source: Source, head: bytes, grammar: Grammar
) -> tuple[bytes, tuple[Envelope, ...] | None]:
    """See `recognise`; before it the lines that show it: more than `head` if no record is there."""
    envelopes = recognise(head, grammar)
    if envelopes is None and head and (source.size is None or source.size > len(head)):
        head = source.wrapped_head(_FAR)
        envelopes = recognise(head, grammar)
    return head, envelopes


def _of_notebook(source: Source, texts: list[bytes]) -> Source:
    """What the cells of a notebook have put out; lines are those of all outputs, from 1."""
    kept = _ProcessLines(source.name, sum(map(len, texts)))
    for text in texts:
        lines = text.count(b"\n")
        kept.add(Opened((), text, kept.lines, lines, lines), _ANY)
    return Stream(source, kept, "", "notebook")


def split_by_process(source: Source, grammar: Grammar) -> list[Source]:
    """The processes of a source whose lines have records; the source if there is none.

    Raises InputError if it can't be read, or not be kept in temporary files.
    """
    wrappers, records, total = Chain(source.envelopes), records_of(grammar), 0
    by_key: dict[Key, _ProcessLines] = {}
    with keepable(source.name):
        for opened, lines, _ in opened_blocks(source.wrapped_blocks(), wrappers):
            for batch in opened:
                if batch.key not in by_key:
                    by_key[batch.key] = _ProcessLines(source.name)
                by_key[batch.key].add(batch, records)
            total += lines
    if wrappers.problem:
        source.account.report(wrappers.problem)
    owned = any(envelope.owners for envelope in source.envelopes)
    running = {
        key: kept for key, kept in by_key.items() if kept.has_record and (any(key) or not owned)
    }
    keys = sorted(
        running, key=lambda key: (not any(key), [natural_key(field.decode()) for field in key])
    )
    if len(keys) > _MOST:
        what = f"it has lines from {len(keys):,} processes; the limit is {_MOST:,}"
        raise InputError(what, source.name, "Split it into files with fewer processes.")
    ranks = [wrappers.rank_of(key) for key in keys]
    labels: Sequence[object] = ranks if len({*ranks} - {None}) == len(keys) else range(len(keys))
    if owned:
        labels = [key[0].decode() for key in keys]
    made: list[Source] = []
    nobodys = by_key[(b"",)].lines if owned and (b"",) in by_key else 0
    for key, rank, label in zip(keys, ranks, labels, strict=True):
        kept, alone = running[key], len(keys) == 1
        stream = Stream(source, kept, "" if alone else f"#{label}")
        stream.others = total - kept.lines if alone else nobodys if key == keys[0] else 0
        stream.rank, stream.process = rank, wrappers.describe(key) or "lines without an envelope"
        stream.names = {str(label), *(field.decode() for field in key if field)}
        made.append(stream)
    if not made:
        source.envelopes = ()
    return made or [source]


def followed(
    blocks: Iterator[Block], grammar: Grammar, account: SourceAccount, name: str | None
) -> Iterator[Block]:
    """Blocks of a log that grows without what is around each line, and of one process.

    It is the one that is asked for, by its rank or a name around its lines, or the first one that
    has a record.
    """
    for block in blocks:
        envelopes = recognise(block.text, grammar)
        if envelopes:
            yield from _followed(chain([block], blocks), Chain(envelopes), grammar, account, name)
            return
        lines = block.text.count(b"\n")
        account.add_lines(lines, account.lines)
        account.lines += lines
        yield block
        if envelopes is not None:
            yield from blocks


def _followed(
    blocks: Iterable[Block],
    wrappers: Chain,
    grammar: Grammar,
    account: SourceAccount,
    name: str | None,
) -> Iterator[Block]:
    records, whose = records_of(grammar), None
    account.envelope = wrappers.name
    for opened, lines, block in opened_blocks(blocks, wrappers, account.lines):
        account.lines += lines
        for batch in opened:
            names = {*map(bytes.decode, batch.key), str(wrappers.rank_of(batch.key))}
            if whose is None and (records.search(batch.text) if name is None else name in names):
                whose, account.process = batch.key, wrappers.describe(batch.key)
            if batch.key == whose:
                account.add_lines(batch.given, batch.numbers)
                account.unowned += batch.unowned
                yield block._replace(text=batch.text)


class _ProcessLines:
    """The lines of one process; many of them in a temporary file. It is a `Reader`."""

    def __init__(self, name: str, in_memory: int = _IN_MEMORY) -> None:
        self._name = name
        self._file = tempfile.SpooledTemporaryFile(in_memory)  # noqa: SIM115  for many passes
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self.numbers: list[NDArray[np.int64]] = []
        """Of each line its number in the input."""
        self.size = self.lines = self.unowned = 0
        self.has_record = False

    def add(self, opened: Opened, records: re.Pattern[bytes]) -> None:
        """More lines. Raises OSError."""
        import numpy as np

        self.has_record = self.has_record or records.search(opened.text) is not None
        self._file.write(opened.text)
        self.numbers.append(numbers_at(opened.numbers, np.arange(opened.given)))
        self.size += len(opened.text)
        self.lines += opened.lines
        self.unowned += opened.unowned

    def read_at(self, position: int, count: int) -> bytes:
        """See `Reader`."""
        with self._lock, readable(self._name):
            self._file.seek(position)
            return self._file.read(count)

    def reach(self, position: int) -> int:
        """See `Reader`."""
        return min(position, self.size)

    def close(self) -> None:
        """Nothing: the next pass needs it. The file goes with the source."""


class Stream(Source):
    """One process of an input; its lines have the numbers that they have in there."""

    names: set[str]
    """What it can be asked for by."""
    others: int = 0
    """Lines of other processes, where this is the only one with records."""

    def __init__(self, whole: Source, kept: _ProcessLines, label: str, envelope: str = "") -> None:
        self.name, self.path = f"{whole.name}{label}", f"{whole.path}{label}"
        self.whole = whole.name
        self.account = SourceAccount()
        self.size = kept.size
        self._kept = kept
        self._envelope = envelope or Chain(whole.envelopes).name
        self._problem = whole.account.problem

    def blocks(self) -> Iterator[Block]:
        """See `Source`."""
        self.account = account = SourceAccount()
        import numpy as np

        account.envelope, account.process = self._envelope, self.process
        account.problem = self._problem
        numbers = np.concatenate(self._kept.numbers)
        account.lines, account.others = self._kept.lines + self.others, self.others
        account.add_lines(len(numbers), numbers)
        account.unowned = self._kept.unowned
        return self._pass(account)

    def _open(self) -> Reader:
        return self._kept
