"""The compiled scanner: its structures and functions, as `scanner.c` has them.

What the names mean is said there; `tests/test_native.py` holds the two files together.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    sizeof,
)
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from tflogscope.errors import TflogscopeError

NONE = 2**32 - 1
PLACES, FIELDS, DIALECTS, SHAPE = 16, 32, 8, 48
STEPS = ("literal", "uint", "int", "find", "last", "span", "keep", "kept", "optional", "end")
IS_NUMBER, IS_KEY, IS_PATH = 1, 2, 4
DIGIT, SEVERITY = 1, 2
TABLES = ("sites", "clocks", "texts", "nodes", "tensors", "verbose", "failures", "before")
IS_START, IS_END, TO_END = 1, 2, 4
BLANK, CONTINUATION, IGNORED, COLD, HOT = range(5)

NAME = "_scanner.dll" if sys.platform == "win32" else "_scanner.so"
"""The file of the compiled scanner, beside this one."""
SOURCE = "scanner.c"
KEYS = c_uint64 * 16
_KEYS = os.urandom(sizeof(KEYS))  # so that a log can't be made for what strings hash to
_INSTALL = "Reinstall tflogscope: pip install ."


def _all(kind: type, names: str) -> list[tuple[str, Any]]:
    """Fields of one type, as C lists them: `u32 table, file, flags;`."""
    return [(name, kind) for name in names.split()]


class Range(Structure):
    _fields_ = _all(c_uint32, "first count")


class Step(Structure):
    _fields_ = [*_all(c_uint8, "op use"), ("inside", c_uint16), *_all(c_uint32, "literal length")]


class Dialect(Structure):
    _fields_ = [*_all(c_uint32, "width fraction"), ("shape", c_uint8 * SHAPE), ("site", Range)]


class Message(Structure):
    _fields_ = [*_all(Range, "head rest"), *_all(c_uint32, "table file flags")]


class File(Structure):
    _fields_ = [*_all(c_uint32, "literal length"), ("messages", Range)]


class Needle(Structure):
    _fields_ = _all(c_uint32, "dialect literal length anchor")


class Anchor(Structure):
    _fields_ = [("bytes", c_uint8 * 4), *_all(c_uint32, "second third")]


class Tables(Structure):
    _fields_ = [
        ("literals", POINTER(c_uint8)),
        ("dialects", POINTER(Dialect)),
        ("files", POINTER(File)),
        ("messages", POINTER(Message)),
        ("steps", POINTER(Step)),
        ("needles", POINTER(Needle)),
        ("anchors", POINTER(Anchor)),
        *_all(c_uint32, "dialect_count file_count message_count needle_count anchor_count"),
    ]


class Wide(Structure):
    _fields_ = _all(c_uint64, "a b")


class Row(Structure):
    _fields_ = [
        ("number", c_int64),
        ("key", Wide),
        *_all(c_uint32, "line site clock micros text"),
        ("message", c_uint16),
        *_all(c_uint8, "table place"),
    ]


class Entry(Structure):
    _fields_ = [
        ("mark", Wide),
        *_all(c_uint64, "hash at"),
        *_all(c_uint32, "length table tag number"),
    ]


class Dictionary(Structure):
    _fields_ = [
        ("entries", POINTER(Entry)),
        ("slots", POINTER(c_uint32)),
        *_all(c_uint64, "count capacity mask"),
        ("bytes", c_uint64 * len(TABLES)),
        ("texts", POINTER(c_uint8) * len(TABLES)),
    ]


class Seen(Structure):
    _fields_ = [
        ("mark", Wide),
        ("hash", c_uint64),
        *_all(c_uint32, "check length number settled"),
    ]


class Output(Structure):
    _fields_ = [
        ("strings", Dictionary),
        ("rows", POINTER(Row)),
        ("seen", POINTER(Seen)),
        *_all(POINTER(c_uint32), "fields numbers"),
        ("classes", POINTER(c_uint64)),
        *_all(c_uint64, "seen_mask row_capacity field_capacity"),
        *_all(c_uint64, "row_count field_count lines torn"),
        ("table_rows", c_uint64 * len(TABLES)),
        ("dialects", c_uint64 * DIALECTS),
    ]


class Columns(Structure):
    _fields_ = [
        *_all(POINTER(c_int64), "at end_at number"),
        *_all(POINTER(c_uint32), "clock micros site end_clock end_micros end_site text"),
        *_all(c_uint64, "used capacity"),
    ]


class Opened(Structure):
    _fields_ = [("key", Wide), *_all(c_uint32, "run state")]


class Odd(Structure):
    _fields_ = [("key", Wide), *_all(c_int64, "at run"), *_all(c_uint32, "clock micros site")]


class Store(Structure):
    _fields_ = [
        ("strings", Dictionary),
        ("arenas", POINTER(c_uint8) * len(TABLES)),
        ("arena_capacity", c_uint64 * len(TABLES)),
        ("numbers", c_uint32 * len(TABLES)),
        ("columns", Columns * len(TABLES)),
        ("fields", POINTER(c_uint32)),
        ("open", POINTER(Opened)),
        ("odds", POINTER(Odd)),
        *_all(c_uint64, "field_used field_capacity open_used open_mask"),
        *_all(c_uint64, "odd_used odd_capacity lines"),
    ]


@cache
def library() -> ctypes.CDLL:
    """The compiled scanner, loaded once.

    Raises:
        TflogscopeError: it is not there, or was built from another `scanner.c` than this one.
    """
    here = Path(__file__).parent
    try:
        loaded = ctypes.CDLL(str(here / NAME))
    except OSError as error:
        raise TflogscopeError(
            "the compiled scanner is missing", str(here / NAME), _INSTALL
        ) from error
    if c_uint32.in_dll(loaded, "tflogscope_source").value != crc32((here / SOURCE).read_bytes()):
        raise TflogscopeError("it was built from another scanner.c", str(here / NAME), _INSTALL)
    ctypes.memmove(KEYS.in_dll(loaded, "tflogscope_keys"), _KEYS, sizeof(KEYS))
    loaded.tflogscope_scan.argtypes = [
        POINTER(Tables), c_char_p, c_uint64, c_uint64, c_uint64, c_int, POINTER(Output),
    ]  # fmt: skip
    loaded.tflogscope_scan.restype = c_uint64
    loaded.tflogscope_settle.argtypes = [
        POINTER(Tables), POINTER(Output), c_char_p, POINTER(Store),
    ]  # fmt: skip
    loaded.tflogscope_index.argtypes = [POINTER(Dictionary)]
    loaded.tflogscope_index.restype = None
    loaded.tflogscope_move.argtypes = [POINTER(Opened), c_uint64, POINTER(Opened), c_uint64]
    loaded.tflogscope_move.restype = None
    loaded.tflogscope_unwrap.argtypes = [
        c_char_p, c_uint64, c_char_p, c_uint64, c_char_p, c_char_p,
        POINTER(c_uint64), POINTER(c_uint64),
    ]  # fmt: skip
    loaded.tflogscope_unwrap.restype = c_uint64
    loaded.tflogscope_is_plain.argtypes = [c_char_p, c_uint64, c_uint64]
    return loaded
