"""The memory of a scan: what a block gives (`BlockOutput`), and the log so far (`ScannedLog`).

The compiled scanner allocates nothing. Here its arrays are made, grown before it may need more
room, and read when the log is at its end.
"""

from __future__ import annotations

import copy
import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import suppress
from ctypes import POINTER, byref, c_int64, c_uint8, c_uint32, c_uint64, sizeof
from typing import TYPE_CHECKING, Any

from tflogscope.grammar.compiled import CompiledGrammar
from tflogscope.native import library as c

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

ROWS = 1 << 14
STRINGS = 1 << 14
_FIRST_SLOTS = 1 << 12
_FIRST_BYTES = 1 << 16  # of a column
_PART = 1 << 21  # bytes of strings that polars takes apart at once

#: The columns that each table has.
_TIMED = ("at", "clock", "micros", "site", "text")
COLUMNS: dict[str, tuple[str, ...]] = {
    "texts": _TIMED,
    "nodes": (*_TIMED, "number", "end_at", "end_clock", "end_micros", "end_site"),
    "tensors": ("at", "text", "number"),
    "verbose": ("at", "text", "number"),
    "failures": ("at", "text"),
    "before": ("at", "text"),
}
_WIDE = ("at", "end_at", "number")
# The same as `library.Entry` and `library.Odd`, for NumPy.
_ENTRY = [(name, "<u8") for name in ("mark", "mark_b", "hash", "at")]
_ENTRY += [(name, "<u4") for name in ("length", "table", "tag", "number")]
_ODD = [
    ("key", [("a", "<u8"), ("b", "<u8")]),
    ("at", "<i8"),
    ("run", "<i8"),
    ("clock", "<u4"),
    ("micros", "<u4"),
    ("site", "<u4"),
    ("", "<u4"),
]


class BlockOutput:
    """What the scanner writes for one block; reused for the next one of a `ScannedLog`."""

    def __init__(self, grammar: CompiledGrammar, rows: int = ROWS, strings: int = STRINGS) -> None:
        # Not touched yet: a small log needs little of it.
        entries, slots, out_rows, seen, fields, numbers = self._memory = [
            _Memory(kind, count)
            for kind, count in (
                (c.Entry, strings),
                (c_uint32, 2 * strings),
                (c.Row, rows),
                (c.Seen, 4 * strings),
                (c_uint32, rows * c.FIELDS),
                (c_uint32, strings),
            )
        ]
        self.classes = (c_uint64 * (c.HOT + grammar.tables.message_count))()
        self.raw = c.Output(
            strings=c.Dictionary(entries.place, slots.place, 0, strings, 2 * strings - 1),
            rows=out_rows.place,
            seen=seen.place,
            fields=fields.place,
            numbers=numbers.place,
            classes=self.classes,
            seen_mask=4 * strings - 1,
            row_capacity=rows,
            field_capacity=rows * c.FIELDS,
        )


class _Memory:
    """An array of C's that grows. Of what is not written to yet, nothing is in memory."""

    def __init__(self, kind: type[Any], count: int = 0) -> None:
        """`count`: room for so many items."""
        self.kind = kind
        self._take(_pages(count * sizeof(kind) or _FIRST_BYTES))

    def _take(self, raw: mmap.mmap) -> None:
        self.raw = raw
        self.place, self.capacity = _pointer(raw, self.kind), len(raw) // sizeof(self.kind)

    def room(self, count: int) -> tuple[Any, int]:
        """See that there is room for so many items; return where they are, and for how many."""
        if count > self.capacity:
            self._take(_grown(self.raw, max(count * sizeof(self.kind), 2 * len(self.raw))))
        return self.place, self.capacity

    def copied(self, count: int) -> _Memory:
        """The first items in memory of their own."""
        made = _Memory(self.kind)
        ctypes.memmove(made.room(count)[0], self.place, count * sizeof(self.kind))
        return made


def _pages(size: int) -> mmap.mmap:
    """Memory of this process alone, which takes the system less time than what could be shared."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _grown(raw: mmap.mmap, size: int) -> mmap.mmap:
    """The same memory with more behind it: Linux moves pages, unless somebody looks at them."""
    if sys.platform == "linux":
        with suppress(BufferError):
            raw.resize(size)
            return raw
    more = _pages(size)
    ctypes.memmove(_pointer(more, c_uint8), _pointer(raw, c_uint8), len(raw))
    return more


def _pointer(raw: mmap.mmap, kind: type[Any]) -> Any:
    return ctypes.cast(ctypes.addressof(ctypes.c_char.from_buffer(raw)), POINTER(kind))


class ScannedLog:
    """The log so far: columns, distinct strings, and runs that have begun and not ended."""

    def __init__(self, grammar: CompiledGrammar) -> None:
        self._grammar = grammar
        self._entries, self._fields, self._odds = map(_Memory, (c.Entry, c_uint32, c.Odd))
        self._arenas = [_Memory(c_uint8) for _ in c.TABLES]
        self._columns = {
            name: {column: _Memory(c_int64 if column in _WIDE else c_uint32) for column in columns}
            for name, columns in COLUMNS.items()
        }
        self.raw = c.Store()
        self._slots, self.raw.strings.mask = _slots(c_uint32, 0)
        self.raw.strings.slots = _pointer(self._slots, c_uint32)
        self._open, self.raw.open_mask = _slots(c.Opened, 0)
        self.raw.open = _pointer(self._open, c.Opened)

    def settle(self, output: BlockOutput, text: bytes) -> None:
        """Append what the scan of a block gave."""
        self._make_room(output.raw)
        done = c.library().tflogscope_settle(
            byref(self._grammar.tables), byref(output.raw), text, byref(self.raw)
        )
        if done != 0:
            raise MemoryError("the scanner has not enough room")

    def _make_room(self, out: c.Output) -> None:
        raw, strings = self.raw, self.raw.strings
        count = strings.count + out.strings.count
        strings.entries, strings.capacity = self._entries.room(count)
        raw.fields, raw.field_capacity = self._fields.room(raw.field_used + out.field_count)
        starts = out.table_rows[c.TABLES.index("nodes")]
        raw.odds, raw.odd_capacity = self._odds.room(raw.odd_used + 2 * starts)
        for number, arena in enumerate(self._arenas):
            place, capacity = arena.room(strings.bytes[number] + out.strings.bytes[number])
            raw.arenas[number] = strings.texts[number] = place
            raw.arena_capacity[number] = capacity
            self._make_columns(number, out.table_rows[number])
        if 2 * count > strings.mask + 1:
            self._slots, strings.mask = _slots(c_uint32, count)
            strings.slots = _pointer(self._slots, c_uint32)
            c.library().tflogscope_index(byref(strings))
        if 2 * (raw.open_used + starts) > raw.open_mask + 1:
            old, count = self._open, raw.open_mask + 1
            self._open, raw.open_mask = _slots(c.Opened, raw.open_used + starts)
            raw.open = _pointer(self._open, c.Opened)
            c.library().tflogscope_move(_pointer(old, c.Opened), count, raw.open, raw.open_mask)

    def _make_columns(self, number: int, row_count: int) -> None:
        columns = self.raw.columns[number]
        for name, memory in self._columns.get(c.TABLES[number], {}).items():
            place, columns.capacity = memory.room(columns.used + row_count)
            setattr(columns, name, place)

    def so_far(self) -> ScannedLog:
        """The log so far, to read it while the scan goes on with this one.

        Both have the same memory, as rows and strings that are there stay as they are. Only the
        ends of runs are copied: later records are put there, and `Events` pairs the odd ones.
        """
        log = copy.copy(self)
        runs = self.raw.columns[c.TABLES.index("nodes")].used
        columns = {
            table: {
                name: memory.copied(runs) if name.startswith("end_") else copy.copy(memory)
                for name, memory in columns.items()
            }
            for table, columns in self._columns.items()
        }
        arenas = [copy.copy(arena) for arena in self._arenas]
        vars(log).update(_columns=columns, _arenas=arenas)
        for name in ("_entries", "_fields", "_odds"):
            setattr(log, name, copy.copy(vars(self)[name]))
        log.raw = c.Store.from_buffer_copy(self.raw)
        return log

    # ---- what it holds --------------------------------------------------------------------------

    def column(self, table: str, name: str) -> NDArray[np.integer]:
        """A column of a table, without a copy."""
        import numpy as np

        used = self.raw.columns[c.TABLES.index(table)].used
        kind = np.int64 if name in _WIDE else np.uint32
        return np.frombuffer(self._columns[table][name].raw, kind, used)

    def release(self, table: str) -> None:
        """Give the memory of a table's columns back; they are not asked for again."""
        del self._columns[table]

    def entries(self, table: str) -> NDArray[np.void]:
        """What is known of each distinct string of a table, by number: tag and mark."""
        import numpy as np

        entries = np.frombuffer(self._entries.raw, _ENTRY, self.raw.strings.count)
        mine: NDArray[np.void] = entries[entries["table"] == c.TABLES.index(table)]
        return mine

    def fields(self) -> NDArray[np.integer]:
        """The fields of all verbose lines, one after the other."""
        import numpy as np

        return np.frombuffer(self._fields.raw, np.uint32, self.raw.field_used)

    def odds(self) -> NDArray[np.void]:
        """Records of keys of which runs are not simply a start and then its end."""
        import numpy as np

        return np.frombuffer(self._odds.raw, _ODD, self.raw.odd_used)

    def parts(self, table: str) -> Iterator[bytes]:
        """The distinct strings of a table by number, a line each; some MB at once."""
        number, begin = c.TABLES.index(table), 0
        memory, size = self._arenas[number].raw, int(self.raw.strings.bytes[number])
        while begin < size:
            end = memory.find(b"\n", min(begin + _PART, size - 1), size) + 1
            yield memory[begin:end]
            begin = end


def texts_of(store: ScannedLog, table: str) -> pl.Series:
    """The distinct strings of a table, by number."""
    import polars as pl

    def taken_apart(part: bytes) -> pl.Series:
        pieces = pl.Series("text", [part.decode()]).str.split("\n")[0]
        # It has room for as many strings as there are bytes; what is taken of it has not.
        strings: pl.Series = pieces.gather(pl.int_range(len(pieces) - 1, eager=True))
        return strings

    # polars takes them apart quicker than Python makes its strings; a part at a time, as it copies.
    none = pl.Series("text", [], pl.String)
    texts: pl.Series = pl.concat([none, *map(taken_apart, store.parts(table))], rechunk=True)
    return texts


def _slots(kind: type[Any], count: int) -> tuple[mmap.mmap, int]:
    size = max(_FIRST_SLOTS, 1 << (4 * count).bit_length())
    return _pages(size * sizeof(kind)), size - 1
