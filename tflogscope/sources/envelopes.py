"""Take what launchers, containers and CI put around each line off again, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from tflogscope.digits import whole
from tflogscope.grammar.envelopes import Envelope
from tflogscope.sources.block import Block, Numbers
from tflogscope.sources.entries import Entries
from tflogscope.sources.heads import FoldedLines, Heads, Restored
from tflogscope.sources.objects import Objects
from tflogscope.sources.owners import ByOwner
from tflogscope.sources.pieces import Key, Opened


class Layer(Protocol):
    """One wrapper of one input, which is opened in order."""

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """Whole lines without it, for each process; `numbers` are those of the lines given.

        Lines that have not ended wait for the next text.
        """

    def rest(self) -> list[Opened]:
        """The lines that have not ended, at the end of the input."""


class Chain:
    """The wrappers of one input, from the outside in, as they are met on its way."""

    def __init__(self, envelopes: Sequence[Envelope]) -> None:
        self.envelopes = tuple(envelopes)
        self._layer = _layer(envelopes[0])
        self._inner: dict[Key, Chain] = {}

    @property
    def name(self) -> str:
        """The wrappers, for people."""
        return ", ".join(envelope.name for envelope in self.envelopes)

    @property
    def tells_apart(self) -> bool:
        """Whether something in them tells processes apart."""
        return any(envelope.streams for envelope in self.envelopes)

    @property
    def problem(self) -> str | None:
        """What a wrapper has left out of the lines so far, for people."""
        count = getattr(self._layer, "left_out", 0)
        if count:
            outer = self.envelopes[0]
            whose = " of all processes" if outer.streams else ""
            return f"{outer.name} dropped {count:,} repeated lines{whose}; {outer.keep}"
        return next(filter(None, (chain.problem for chain in self._inner.values())), None)

    def describe(self, key: Key) -> str:
        """What tells a process from others, for people: `rank 1`."""
        names = [name for envelope in self.envelopes for name in envelope.streams]
        return ", ".join(
            f"{name.rpartition('.')[2].strip('_').lower().replace('_', ' ')} {value.decode()}"
            for name, value in zip(names, key, strict=True)
            if value
        )

    def rank_of(self, key: Key) -> int | None:
        """The rank in a key, if a wrapper says it."""
        names = [(wrapper, name) for wrapper in self.envelopes for name in wrapper.streams]
        for (envelope, name), value in zip(names, key, strict=False):
            if name == envelope.rank:
                return whole(value)
        return None

    def open(self, text: bytes, numbers: Numbers = 0) -> list[Opened]:
        """Whole lines of each process without their wrappers, put together where they were cut.

        `numbers` are those of the lines in the input. Lines that go on wait for the next text.
        """
        return self._through(self._layer.open(text, numbers))

    def rest(self) -> list[Opened]:
        """The lines that have not ended, at the end of the input."""
        batches = self._through(self._layer.rest())
        return batches + [
            batch._replace(key=key + batch.key)
            for key, inner in self._inner.items()
            for batch in inner.rest()
        ]

    def head(self, text: bytes) -> list[Opened]:
        """The first lines of an input, all of them."""
        return self.open(text) + self.rest()

    def _through(self, opened: list[Opened]) -> list[Opened]:
        if len(self.envelopes) == 1:
            return opened
        for key in {batch.key for batch in opened} - self._inner.keys():
            self._inner[key] = Chain(self.envelopes[1:])
        return [
            inner._replace(key=outer.key + inner.key, unowned=outer.unowned + inner.unowned)
            for outer in opened
            for inner in self._inner[outer.key].open(outer.text, outer.numbers)
        ]


def _layer(envelope: Envelope) -> Layer:
    if envelope.owners:
        return ByOwner(envelope.owners)
    if envelope.width:
        return FoldedLines(envelope.width)
    if envelope.repairs or envelope.escapes:
        return Restored(envelope)
    return (Entries if envelope.entries else Objects if envelope.text else Heads)(envelope)


def opened_blocks(
    blocks: Iterable[Block], chain: Chain, first: int = 0
) -> Iterator[tuple[list[Opened], int, Block]]:
    """Each block opened, its lines in the input, and itself; at last the lines that don't end.

    `first` is the number of the first line.
    """
    block, inside = Block(b"", 0, 0), any(envelope.inside for envelope in chain.envelopes)
    for block in blocks:
        opened = chain.open(block.text, first)
        all_of_it = len(opened) == 1 and isinstance(opened[0].numbers, int)
        lines = opened[0].given if all_of_it else block.text.count(b"\n")
        first += lines
        # Where heads are inside lines, the lines are those of the processes.
        yield opened, sum(batch.lines for batch in opened) if inside else lines, block
    if opened := chain.rest():
        yield opened, sum(batch.lines for batch in opened) if inside else 0, block
