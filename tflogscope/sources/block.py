"""What this layer gives to the next one: blocks, and the account of what was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_SIZE = 2 << 20
"""Bytes of text in one block, about: several are in memory at a time, and a processor's cache holds
one while it is scanned."""

Numbers: TypeAlias = "int | NDArray[np.int64]"
"""Which lines of the input some lines are, from 0: the first if the others follow it, or each."""

LINE_CAP = 1 << 20
"""Most bytes of text in one line; the longest real line seen has 65,371."""


class Block(NamedTuple):
    """Some whole lines of one source."""

    text: bytes
    """Valid UTF-8, not empty; each line ends with one line feed, so the text does, too."""
    raw_bytes: int
    """Bytes of (decompressed) input read when this block was complete."""
    position: int
    """Bytes of the source on disk read when this block was complete, for a progress bar."""


@dataclass(repr=False)
class SourceAccount:
    """What one pass over a source has met. It is complete when the pass has run to its end."""

    bytes: int = 0
    """Input bytes, after decompression."""
    bad_bytes: int = 0
    """Bytes that were no text (invalid UTF-8, invalid UTF-16, NUL) and are shown as `\\xNN`."""
    cut_lines: int = 0
    """Lines longer than the cap."""
    cut_bytes: int = 0
    """Bytes of these lines that were left out (in UTF-8, also where the input is UTF-16)."""
    problem: str | None = None
    """Why some of the input is missing, or could not be read. What could be is in the blocks."""
    envelope: str | None = None
    """What was around each line, and is not in the blocks."""
    process: str = ""
    """Which of several processes of an input it is."""
    lines: int = 0
    """Lines of the input, where something was around them."""
    unowned: int = 0
    """Lines that go on somewhere, and nothing says in which of the others."""
    others: int = 0
    """How many of them are other processes', and not in the blocks."""
    _numbers: list[NDArray[np.int64]] = field(default_factory=list)
    _scanned: int = 0

    def report(self, problem: str) -> None:
        """Note a problem; the first one is kept, what follows is mostly its consequence."""
        if self.problem is None:
            self.problem = problem

    def add_lines(self, given: int, numbers: Numbers) -> None:
        """Note which lines of the input those of a block are, and how many the block has."""
        if not isinstance(numbers, int) or numbers != self._scanned or self._numbers:
            import numpy as np

            if not self._numbers:
                self._numbers.append(np.arange(self._scanned))
            self._numbers.append(numbers_at(numbers, np.arange(given)))
        self._scanned += given

    def numbers(self) -> NDArray[np.int64] | None:
        """Of each line of all blocks its number in the input, from 0; None: its own."""
        if len(self._numbers) > 1:
            import numpy as np

            self._numbers = [np.concatenate(self._numbers)]
        return self._numbers[0] if self._numbers else None


def numbers_at(numbers: Numbers, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of some of these lines."""
    return numbers + places if isinstance(numbers, int) else numbers[places]


class Chunk(NamedTuple):
    """Some input bytes on their way to becoming a block, cut anywhere."""

    data: bytes
    raw_bytes: int
    """Like `Block.raw_bytes`, at the end of this chunk."""
    position: int
    """Like `Block.position`, at the end of this chunk."""
