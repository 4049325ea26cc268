"""One input of the user: where its bytes come from, and one pass over them."""

from __future__ import annotations

import io
import os
import stat
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from tflogscope.errors import InputError
from tflogscope.grammar.envelopes import Envelope
from tflogscope.sources.block import Block, SourceAccount
from tflogscope.sources.decompress import MAGIC_SIZE, codec_of
from tflogscope.sources.envelopes import Chain, opened_blocks
from tflogscope.sources.lines import read_blocks, read_chunks
from tflogscope.sources.pieces import Key
from tflogscope.sources.readers import PlainFile, Reader, Spool, readable

STANDARD_INPUT = "-"
_CHECKSUM_READ = 1 << 22  # bytes
_HEAD = 1 << 16  # bytes
_SAME = 1 << 12  # bytes of the beginning that identify a text


class Source:
    """A file, a pipe or standard input; `find_sources` makes them."""

    name: str
    """As named by the user; bytes of a file name that are not UTF-8 are shown as `\\xNN`."""
    path: str
    """What the system knows it by; "-" for standard input."""
    size: int | None
    """Bytes on disk; None if nobody can say before the end (pipes)."""
    account: SourceAccount
    """Of the last pass that was begun: complete when that pass has run to its end."""
    envelopes: tuple[Envelope, ...] = ()
    """What is around each line, and is taken off, from the outside in; `find_streams` sets it."""
    is_known: bool = False
    """Whether `find_streams` has looked for these."""
    process: str = ""
    """Which of several processes of one input it is, by what is around its lines."""
    rank: int | None = None
    """Its rank, if that is around its lines."""
    again: bool = True
    """Whether it is read again after a pass over all of it; if not, a pipe is not kept."""

    def __init__(self, path: str) -> None:
        """`path` is "-" for standard input. Raises InputError if there is no such input."""
        self.name = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        self.account = SourceAccount()
        self.path = path
        self._start = 0
        self._spool: Spool | None = None
        self._first: tuple[int, int, bytes, int] | None = None  # what the first pass has met
        self.size = self._measure()

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    def blocks(self) -> Iterator[Block]:
        """Begin a pass: the blocks in order. Raises InputError if the system refuses to read.

        There can be any number of passes, one at a time.
        """
        self.account = account = SourceAccount()
        blocks = self._pass(account)
        return unwrapped(blocks, self.envelopes, account, self.name) if self.envelopes else blocks

    def head(self, size: int = _HEAD) -> bytes:
        """The first lines: clean text of some 64 kB. Raises InputError if the system refuses."""
        text = self.wrapped_head(size)
        if not self.envelopes or not text:
            return text
        return b"".join(batch.text for batch in Chain(self.envelopes).head(text))

    def wrapped_head(self, size: int = _HEAD) -> bytes:
        """The same with what is around each line."""
        reader = self._open()
        try:
            first = next(read_blocks(reader, SourceAccount(), block_size=size), None)
        finally:
            reader.close()
        return b"" if first is None else first.text

    def wrapped_blocks(self) -> Iterator[Block]:
        """As `blocks`, with what is around each line."""
        self.account = account = SourceAccount()
        return self._pass(account)

    def read_all(self) -> bytearray:
        """All of it at once, unpacked and in UTF-8. Raises InputError if the system refuses."""
        self.account = account = SourceAccount()
        reader = self._open()
        if isinstance(reader, Spool):
            reader.keep()
        try:
            data = bytearray()  # which grows in place: no second copy of all
            for chunk in read_chunks(reader, account):
                data += chunk.data
            return data
        finally:
            reader.close()

    def checksum(self) -> str:
        """SHA-256, in hexadecimal, of the bytes as they came: packed ones stay packed.

        Raises InputError if the system refuses to read.
        """
        import hashlib

        digest, position = hashlib.sha256(), 0
        reader = self._open()
        try:
            while data := reader.read_at(position, _CHECKSUM_READ):
                digest.update(data)
                position += len(data)
        finally:
            reader.close()
        return digest.hexdigest()

    def _pass(self, account: SourceAccount) -> Iterator[Block]:
        reader = self._open()
        if isinstance(reader, Spool):
            # A damaged archive, and lines of several processes, may be looked at again.
            head = reader.read_at(0, MAGIC_SIZE)
            if self.again or self.envelopes or codec_of(head):
                reader.keep()
            else:
                reader.let_go()
        try:
            yield from read_blocks(reader, account)
        except InputError as error:
            error.where = error.where or self.name
            raise
        finally:
            reader.close()

    def _measure(self) -> int | None:
        """The size on disk, and where a shell's `< run.log` is in its file."""
        if self.path == STANDARD_INPUT:
            descriptor = _standard_input_descriptor()
            if descriptor is None or not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            self._start = os.lseek(descriptor, 0, os.SEEK_CUR)
            return max(0, os.fstat(descriptor).st_size - self._start)
        with readable(self.name):
            status = os.stat(self.path)
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _open(self) -> Reader:
        if self.size is None:
            if self._spool is None:
                self._spool = self._open_spool()
                weakref.finalize(self, self._spool.discard)
            return self._spool
        with readable(self.name):
            if self.path == STANDARD_INPUT:
                descriptor = _standard_input_descriptor()
                file = io.FileIO(os.dup(0 if descriptor is None else descriptor))
            else:
                file = io.FileIO(self.path)
            reader = PlainFile(file, self.name, self._start, self.size)
            self._require_same(file, reader)
        return reader

    def _require_same(self, file: io.FileIO, reader: Reader) -> None:
        """See that a later pass reads what the first one read.

        What was appended since is left alone. Raises InputError if it is another file, or if
        another text is in it.
        """
        status = os.fstat(file.fileno())
        same = (
            status.st_dev,
            status.st_ino,
            reader.read_at(0, _SAME),
            reader.reach(self.size or 0),
        )
        if self._first is None:
            self._first = same
        elif self._first != same:
            reader.close()
            problem = "was replaced while it was being read"
            raise InputError(
                problem, self.name, "The two versions were not mixed. Run the command again."
            )

    def _open_spool(self) -> Spool:
        if self.path == STANDARD_INPUT:
            return Spool(_standard_input(), self.name, owned=False)
        with readable(self.name):
            return Spool(open(self.path, "rb", buffering=0), self.name, owned=True)


class SeveralProcesses(InputError):
    """An input has lines of several processes; `find_streams` parts it."""


def unwrapped(
    blocks: Iterable[Block], envelopes: Sequence[Envelope], account: SourceAccount, name: str
) -> Iterator[Block]:
    """Blocks without what is around each line. Raises SeveralProcesses."""
    chain = Chain(envelopes)
    account.envelope = chain.name
    whose: set[Key] = set()
    for opened, lines, block in opened_blocks(blocks, chain):
        account.lines += lines
        for batch in opened:
            whose.add(batch.key)
            if len(whose) > 1:
                hint = f"Pick one: {name}#0"
                raise SeveralProcesses("it has lines from several processes", name, hint)
            account.process = chain.describe(batch.key)
            account.add_lines(batch.given, batch.numbers)
            account.unowned += batch.unowned
            yield block._replace(text=batch.text)
    if chain.problem:
        account.report(chain.problem)


def _standard_input() -> io.RawIOBase:
    if sys.stdin is None:
        raise InputError("standard input is closed", STANDARD_INPUT, "Pass a file, or pipe a log.")
    # The buffer has a lock, and a thread that still waits for input at the end holds it: Python
    # ends in SIGABRT then. What is below the buffer has none.
    return cast("io.RawIOBase", getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))


def _standard_input_descriptor() -> int | None:
    """The descriptor of standard input; None if a Python object has been put in its place."""
    try:
        return _standard_input().fileno()
    except OSError:
        return None
