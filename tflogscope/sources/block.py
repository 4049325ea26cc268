"""What this layer gives to the next one: blocks, and the account of what was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

BLOCK_SIZE = 2 << 20
"""Bytes of text in one block, about: several are in memory at a time, and a processor's cache holds
one while it is scanned."""

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


@dataclass(slots=True)
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
    """Why the input could not be read to its end. What could be read is in the blocks."""

    def report(self, problem: str) -> None:
        """Note a problem; the first one is kept, what follows is mostly its consequence."""
        if self.problem is None:
            self.problem = problem


class Chunk(NamedTuple):
    """Some input bytes on their way to becoming a block, cut anywhere."""

    data: bytes
    raw_bytes: int
    """Like `Block.raw_bytes`, at the end of this chunk."""
    position: int
    """Like `Block.position`, at the end of this chunk."""
