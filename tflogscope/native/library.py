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
_INSTALL = "Install tflogscope again: pip install ."


class Range(Structure):
    _fields_ = [("first", c_uint32), ("count", c_uint32)]


class Step(Structure):
    _fields_ = [
        ("op", c_uint8),
        ("use", c_uint8),
        ("inside", c_uint16),
        ("literal", c_uint32),
        ("length", c_uint32),
    ]


class Dialect(Structure):
    _fields_ = [
        ("width", c_uint32),
        ("fraction", c_uint32),
        ("shape", c_uint8 * SHAPE),
        ("site", Range),
    ]


class Message(Structure):
    _fields_ = [
        ("head", Range),
        ("rest", Range),
        ("table", c_uint32),
        ("file", c_uint32),
        ("flags", c_uint32),
    ]


class File(Structure):
    _fields_ = [("literal", c_uint32), ("length", c_uint32), ("messages", Range)]


class Needle(Structure):
    _fields_ = [
        ("dialect", c_uint32),
        ("literal", c_uint32),
        ("length", c_uint32),
        ("anchor", c_uint32),
    ]


class Anchor(Structure):
    _fields_ = [("bytes", c_uint8 * 4), ("second", c_uint32), ("third", c_uint32)]


class Tables(Structure):
    _fields_ = [
        ("literals", POINTER(c_uint8)),
        ("dialects", POINTER(Dialect)),
        ("files", POINTER(File)),
        ("messages", POINTER(Message)),
        ("steps", POINTER(Step)),
        ("needles", POINTER(Needle)),
        ("anchors", POINTER(Anchor)),
        ("dialect_count", c_uint32),
        ("file_count", c_uint32),
        ("message_count", c_uint32),
        ("needle_count", c_uint32),
        ("anchor_count", c_uint32),
    ]


class Wide(Structure):
    _fields_ = [("a", c_uint64), ("b", c_uint64)]


class Row(Structure):
    _fields_ = [
        ("number", c_int64),
        ("key", Wide),
        ("line", c_uint32),
        ("site", c_uint32),
        ("clock", c_uint32),
        ("micros", c_uint32),
        ("text", c_uint32),
        ("message", c_uint16),
        ("table", c_uint8),
        ("place", c_uint8),
    ]


class Entry(Structure):
    _fields_ = [
        ("mark", Wide),
        ("hash", c_uint64),
        ("at", c_uint64),
        ("length", c_uint32),
        ("table", c_uint32),
        ("tag", c_uint32),
        ("number", c_uint32),
    ]


class Dictionary(Structure):
    _fields_ = [
        ("entries", POINTER(Entry)),
        ("slots", POINTER(c_uint32)),
        ("count", c_uint64),
        ("capacity", c_uint64),
        ("mask", c_uint64),
        ("bytes", c_uint64 * len(TABLES)),
        ("texts", POINTER(c_uint8) * len(TABLES)),
    ]


class Seen(Structure):
    _fields_ = [
        ("mark", Wide),
        ("hash", c_uint64),
        ("check", c_uint32),
        ("length", c_uint32),
        ("number", c_uint32),
        ("settled", c_uint32),
    ]


class Output(Structure):
    _fields_ = [
        ("strings", Dictionary),
        ("rows", POINTER(Row)),
        ("seen", POINTER(Seen)),
        ("fields", POINTER(c_uint32)),
        ("numbers", POINTER(c_uint32)),
        ("classes", POINTER(c_uint64)),
        ("seen_mask", c_uint64),
        ("row_capacity", c_uint64),
        ("field_capacity", c_uint64),
        ("row_count", c_uint64),
        ("field_count", c_uint64),
        ("lines", c_uint64),
        ("torn", c_uint64),
        ("table_rows", c_uint64 * len(TABLES)),
        ("dialects", c_uint64 * DIALECTS),
    ]


class Columns(Structure):
    _fields_ = [
        *((name, POINTER(c_int64)) for name in ("at", "end_at", "number")),
        *(
            (name, POINTER(c_uint32))
            for name in ("clock", "micros", "site", "end_clock", "end_micros", "end_site", "text")
        ),
        ("used", c_uint64),
        ("capacity", c_uint64),
    ]


class Opened(Structure):
    _fields_ = [("key", Wide), ("run", c_uint32), ("state", c_uint32)]


class Odd(Structure):
    _fields_ = [
        ("key", Wide),
        ("at", c_int64),
        ("run", c_int64),
        ("clock", c_uint32),
        ("micros", c_uint32),
        ("site", c_uint32),
    ]


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
        ("field_used", c_uint64),
        ("field_capacity", c_uint64),
        ("open_used", c_uint64),
        ("open_mask", c_uint64),
        ("odd_used", c_uint64),
        ("odd_capacity", c_uint64),
        ("lines", c_uint64),
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
