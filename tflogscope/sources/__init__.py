"""The first layer: what the user named becomes blocks of clean text.

This layer owns the bytes. It finds the files (`discover`), reads them or spools pipes
(`readers`), unpacks what is compressed (`decompress`), makes valid UTF-8 of what is not (`text`),
cuts it at line ends (`lines`), sees by the first lines what launchers and containers put around
each (`recognise`), takes it off (`envelopes`), and parts an input with lines of several processes
(`streams`). `source` ties these together. Nothing here knows what records say.
"""

from __future__ import annotations

from tflogscope.sources.block import BLOCK_SIZE, LINE_CAP, Block, SourceAccount
from tflogscope.sources.discover import find_sources
from tflogscope.sources.readers import read_ahead
from tflogscope.sources.source import Source

__all__ = [
    "BLOCK_SIZE",
    "LINE_CAP",
    "Block",
    "Source",
    "SourceAccount",
    "find_sources",
    "read_ahead",
]
