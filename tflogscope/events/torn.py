"""Torn and glued records: lines in which two writers' texts met, taken apart and put together.

TensorFlow writes to standard error, oneDNN and the program's own prints to standard output; where
both end in one file, texts meet in mid-line (reference: which producer writes a record in how many
calls). What is found here, by what stands in the line:

    A  verbose line, its time run into the date of the record that follows: `0.01611332026-11-21 …`
    B  prefix | verbose line, and the message alone on a line after it (TF 2.20, over 1,024 bytes)
    C  whole record | verbose line
    D  verbose line cut at a block edge | record; its end comes much later
    E  a program's text without newline | record or verbose line

A piece is believed only if it is whole: it begins with a known prefix or marker, and a second scan
recognises it. So a program that prints something that looks like a record does not fool this.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.digits import Positions
from tflogscope.events.lines import FOLLOWING, RECORD_PREFIX, VERBOSE_MARKER

_CUT = "\x1d"  # a control character that a cleaned log hardly holds; a line that does is left whole
_PIECE = f"(?:{VERBOSE_MARKER}|{RECORD_PREFIX})"
_PREFIX_ALONE = rf"^(?:{RECORD_PREFIX}).*?\S+:\d+\] ?$"
_COLOUR_ENDS = r"(?:\x1b\[[\d;]*m)+$"  # what puts colour around a line closes it again
_MESSAGE_HEAD = r"^(?:Process node|Synchronous kernel done|Async kernel done): \d+ step "


def repair(suspects: pl.DataFrame) -> tuple[bytes, Positions, pl.DataFrame]:
    """Take suspects apart; return clean lines, the line number of each, and an account.

    `suspects` has `at`, `text` and `text_1` … `text_4`, the lines that follow. The account has one
    row per suspect: `at` and `pieces`, into how many parts its text fell.
    """
    cut = pl.col("text").str.replace_all(_PIECE, _CUT + "${0}").str.split(_CUT)
    pieces = (
        suspects.lazy()
        .with_columns(
            piece=pl.when(pl.col("text").str.contains(_CUT, literal=True))
            .then(pl.concat_list("text"))
            .otherwise(cut)
        )
        .explode("piece", empty_as_null=False)
        .with_columns(pl.col("piece").str.replace(_COLOUR_ENDS, ""))
        .filter(pl.col("piece") != "")
        .collect(engine="in-memory")
    )
    lines = pieces.with_columns(line=_with_message(pieces))
    account = pieces.group_by("at", maintain_order=True).agg(pieces=pl.len())
    text = "\n".join(lines["line"].to_list()) + "\n" if lines.height else ""
    return text.encode(), lines["at"].to_numpy().astype(np.int64), account


def _with_message(pieces: pl.DataFrame) -> pl.Series:
    """Return each piece; a prefix that stands alone gets its message from the lines after it."""
    following = [pl.col(f"text_{distance}") for distance in range(1, FOLLOWING + 1)]
    message = pl.coalesce(
        pl.when(line.str.contains(_MESSAGE_HEAD)).then(line) for line in following
    )
    other = pl.coalesce(
        pl.when((line != "") & ~line.str.contains(f"^{_PIECE}")).then(line) for line in following
    )
    alone = pl.col("piece").str.contains(_PREFIX_ALONE)
    executor = pl.col("piece").str.contains("executor.cc:", literal=True)
    rest = pl.when(executor).then(message).otherwise(other)
    return pieces.select(
        pl.when(alone & rest.is_not_null())
        .then(pl.concat_str(pl.col("piece").str.strip_chars_end(" "), pl.lit(" "), rest))
        .otherwise(pl.col("piece"))
    ).to_series()
