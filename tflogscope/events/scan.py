"""All blocks of all sources → columns: two threads scan blocks, which are settled in their order.

A block's first line and its last few may need lines of the blocks around it (torn records are
mended with what follows). So a thread scans what is between them; at the borders, the end of
one block and the beginning of the next are scanned together as a small text of their own.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from ctypes import byref
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

from tflogscope.events.store import BlockOutput, ScannedLog
from tflogscope.grammar.compiled import compile_grammar
from tflogscope.grammar.model import Grammar
from tflogscope.native import library as c
from tflogscope.sources.block import Block, SourceAccount
from tflogscope.sources.readers import read_ahead

WORKERS = 2
_TAIL = 1 << 16  # bytes of a source's end that are kept
# The first line of a block, those that a torn one there may need, and a last line.
_LEAST_LINES = 1 + 4 + 1
_PATIENCE_SECONDS = 0.1  # between two looks at the progress

Progress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the bytes in all (None: unknown)."""


@dataclass(eq=False, repr=False)
class SourceSpan:
    """One source in the numbering of all lines, and how its lines are classed.

    `classes` counts lines by class (see `native/scanner.c`), `dialects` records by prefix. `tail`
    is its last text, where a traceback is if the program ended by it.
    """

    name: str
    first: int
    account: SourceAccount
    classes: list[int]
    dialects: list[int] = field(default_factory=lambda: [0] * c.DIALECTS)
    lines: int = 0
    torn: int = 0
    tail: bytes = b""

    def count(self, output: BlockOutput) -> None:
        """Count the lines of what was scanned."""
        raw = output.raw
        self.lines += raw.lines
        self.torn += raw.torn
        self.classes = [a + b for a, b in zip(self.classes, output.classes, strict=True)]
        self.dialects = [a + b for a, b in zip(self.dialects, raw.dialects, strict=True)]


class Readable(Protocol):
    """What can be scanned: a `Source`, or one that still grows."""

    name: str
    size: int | None
    account: SourceAccount

    def blocks(self) -> Iterator[Block]:
        """See `Source`."""


class _Block(NamedTuple):
    """Whole lines of a source, by number in the order of the log.

    `last`: it ends here, or nothing follows for a while.
    """

    number: int
    source: Readable
    text: bytes
    position: int
    last: bool = False


class Scan:
    """A scan under way; it begins when this is made, and ends with the block it is used in."""

    def __init__(
        self,
        sources: Iterable[Readable],
        grammar: Grammar,
        threads: int = WORKERS,
        patience: float | None = None,
    ) -> None:
        """`patience`: after so many seconds without a line the last ones wait for no other."""
        self.grammar = compile_grammar(grammar)
        self.store = ScannedLog(self.grammar)
        self.spans: list[SourceSpan] = []
        self._sources = sources
        self._patience = patience
        self._blocks = self._all_blocks()
        self._reading, self._turn = threading.Lock(), threading.Condition()
        self._next = 0
        self._source: Readable | None = None
        self._border = _Border()
        self._outputs: list[BlockOutput] = []
        self._error: BaseException | None = None
        self._position = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"tflogscope-scan-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop(error[1] if isinstance(error[1], BaseException) else None)

    def wait(self, progress: Progress | None = None) -> Scan:
        """Wait for the end. Raises InputError where a source can't be read."""
        sizes = [source.size for source in self._sources] if progress else []
        total = None if None in sizes else sum(size or 0 for size in sizes)
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_PATIENCE_SECONDS)  # without an end it would keep Ctrl-C waiting
                if progress is not None:
                    progress(self._position, total)
        if self._error is not None:
            raise self._error
        return self

    @property
    def has_ended(self) -> bool:
        """Whether `wait` would not wait."""
        return not any(thread.is_alive() for thread in self._threads)

    def so_far(self) -> Scan:
        """All that was scanned until now; the scan goes on."""
        scan = copy.copy(self)
        with self._turn:  # nothing is added to `store` and `spans` meanwhile
            scan.store, scan.spans = self.store.so_far(), copy.deepcopy(self.spans)
        return scan

    # ---- blocks ---------------------------------------------------------------------------------

    def _all_blocks(self) -> Iterator[_Block]:
        """All blocks in order, none with too few lines but the last one of a source."""
        number = before = 0
        for source in self._sources:
            text, position = b"", 0
            for block in self._blocks_of(source):
                text = text + block.text if text else block.text
                position = block.position or position
                if block.text and _line_end(text, _LEAST_LINES) == 0:
                    continue
                yield _Block(number, source, text, before + position, last=not block.text)
                number += 1
                text = b""
            yield _Block(number, source, text, before + position, last=True)
            number += 1
            before += source.size or 0

    def _blocks_of(self, source: Readable) -> Iterator[Block]:
        """Its blocks, read by the threads that scan them, which have them in their caches then.

        What another process writes is read by a thread of its own, so that neither waits long.
        """
        if source.size is None:
            return read_ahead(source.blocks(), patience=self._patience, idle=_IDLE)
        return source.blocks()

    def _work(self) -> None:
        try:
            while self._error is None:
                with self._reading:
                    block = next(self._blocks, None)
                if block is None:
                    return
                outputs, end = self._scan_within(block)
                with self._turn:
                    while self._next != block.number and self._error is None:
                        self._turn.wait()
                    if self._error is None:
                        self._settle(block, outputs, end)
                        self._next += 1
                        self._turn.notify_all()
        except BaseException as error:  # noqa: BLE001 (raised again by `wait`)
            self._stop(error)

    def _stop(self, error: BaseException | None) -> None:
        with self._turn:
            self._error = self._error or error
            self._turn.notify_all()

    def _scan_within(self, block: _Block) -> tuple[list[BlockOutput], int]:
        """Scan all but the first and the last line; return where the lines begin that are left."""
        if block.last:
            return [], 0
        first, last = _line_end(block.text, 1), block.text.rindex(b"\n", 0, -1) + 1
        return self._scan(block.text, first, last, more=True)

    def _scan(
        self, text: bytes, begin: int, end: int, *, more: bool
    ) -> tuple[list[BlockOutput], int]:
        outputs: list[BlockOutput] = []
        while begin < end:
            output = self._outputs.pop() if self._outputs else BlockOutput(self.grammar)
            reached = c.library().tflogscope_scan(
                byref(self.grammar.tables), text, len(text), begin, end, more, byref(output.raw)
            )
            outputs.append(output)
            if reached == begin:  # a torn line whose rest is in the next block
                break
            begin = reached
        return outputs, begin

    # ---- in the order of the log ----------------------------------------------------------------

    def _settle(self, block: _Block, outputs: list[BlockOutput], end: int) -> None:
        if self._source is not block.source:
            self._source, self._border = block.source, _Border()
            source, count = block.source, c.HOT + len(self.grammar.messages)
            self.spans.append(
                SourceSpan(source.name, self.store.raw.lines, source.account, [0] * count)
            )
        span, border = self.spans[-1], self._border
        span.tail = (span.tail + block.text[-_TAIL:])[-_TAIL:]
        if block.last:
            text, begin, upto = border.text + block.text, border.begin, None
            before = text.rfind(b"\n", 0, -1) + 1
            self._border = _Border(text[before:], len(text) - before)
        else:
            text = border.text + block.text[: _line_end(block.text, _LEAST_LINES - 1)]
            begin, upto = border.begin, len(border.text) + _line_end(block.text, 1)
            before = block.text.rfind(b"\n", 0, end - 1) + 1
            self._border = _Border(block.text[before:], end - before)
        between, _ = self._scan(text, begin, len(text) if upto is None else upto, more=False)
        for output in between:
            self._count(output, text)
        for output in outputs:
            self._count(output, block.text)
        self._position = block.position

    def _count(self, output: BlockOutput, text: bytes) -> None:
        """Settle what was scanned and count its lines; the output can be used again."""
        self.store.settle(output, text)
        self.spans[-1].count(output)
        self._outputs.append(output)


_IDLE = Block(b"", 0, 0)


class _Border(NamedTuple):
    """Lines of a block that were left for the next one: from `begin` on, and the one before."""

    text: bytes = b""
    begin: int = 0


def _line_end(text: bytes, count: int) -> int:
    """Where the line with this number (from 1) ends, with its line feed; 0 if there is none."""
    end = 0
    for _ in range(count):
        end = text.find(b"\n", end) + 1
        if end == 0:
            break
    return end
