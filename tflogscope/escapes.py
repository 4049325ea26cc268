r"""Log text is data: the characters that a terminal, a spreadsheet or a CI runner would obey.

A log can hold anything: escape sequences that rewrite the screen, marks that turn the reading
order around, `::error::` lines that a CI runner takes for commands. All of these are shown, never
sent: the escape character becomes the four characters `\x1b`. This is the one list of them.
"""

from __future__ import annotations

import re

# Inclusive ranges. All that Unicode calls control (Cc), format (Cf), surrogate (Cs), line separator
# (Zl) or paragraph separator (Zp): nothing in them has ink, all of them do something.
UNSAFE_RANGES: tuple[tuple[int, int], ...] = (
    (0x0000, 0x001F),  # C0
    (0x007F, 0x009F),  # DEL, C1
    (0x00AD, 0x00AD),  # soft hyphen
    (0x0600, 0x0605),  # Arabic number signs
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),  # zero width, left-to-right and right-to-left marks
    (0x2028, 0x202E),  # line and paragraph separators, embeddings and overrides
    (0x2060, 0x206F),  # word joiner, isolates, deprecated format characters
    (0xD800, 0xDFFF),  # lone surrogates: Python's stand-ins for undecodable bytes in file names
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFF9, 0xFFFB),  # interlinear annotation
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),  # tags
    (0xE0020, 0xE007F),
)

# CI runners obey `::command::` at the start of a line (GitHub) and `##[command]`, `##vso[…]`,
# `##teamcity[…]` anywhere in it. One character of the mark is shown by its code instead; after any
# blank, since a text may be wrapped there. C++ names like `tensorflow::Status` stay whole.
LINE_COMMAND = r"(^|\s):(:)"
HASH_COMMAND = r"#(#\w*\[)"


def escape(code: int) -> str:
    r"""Show a character by its code: `\x1b`, `\u202e`, `\U000e0041`."""
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unsafe_class(first: int = 0, last: int = 0x10FFFF) -> str:
    """A regular expression class of the unsafe characters from code `first` to code `last`.

    The syntax is one that Python and Rust (polars) share; Rust has no surrogates in its strings and
    takes none in a class.
    """
    inside = [(low, high) for low, high in UNSAFE_RANGES if low >= first and high <= last]
    return "[" + "".join(f"{escape(low)}-{escape(high)}" for low, high in inside) + "]"


_UNSAFE = re.compile(unsafe_class())
_LINE_COMMAND = re.compile(LINE_COMMAND)
_HASH_COMMAND = re.compile(HASH_COMMAND)


def safe(text: str) -> str:
    r"""Make text visible: one line, no character with an effect, no CI command.

    Backslashes that are in the text already stay as they are, so this can't always be undone;
    exports that need the exact text (JSON, Parquet, Arrow) do not use it.
    """
    text = _UNSAFE.sub(lambda match: escape(ord(match[0])), text)
    text = _LINE_COMMAND.sub(r"\1\\x3a\2", text)
    return _HASH_COMMAND.sub(r"\\x23\1", text)


def pointed(text: str, place: int, around: int = 60) -> str:
    """So many characters on each side of a place, made visible, and a caret below: two lines."""
    start = max(0, place - around)
    before, after = (
        safe(" ".join(part.splitlines())) for part in (text[start:place], text[place:])
    )
    return f"{before}{after[:around]}\n{' ' * len(before)}^"
