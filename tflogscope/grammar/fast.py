"""The fast engine: polars expressions made from the grammar, for whole columns of messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.model import FileGrammar, Message

#: Field types that are not plain text, and the column type they become.
COLUMN_TYPES: dict[str, pl.DataType] = {
    "uint": pl.UInt64(),
    "int": pl.Int64(),
    "float": pl.Float64(),
    "flag": pl.Boolean(),
    "bool": pl.Boolean(),
}
_FEW = 1 << 11  # texts and messages that may be theirs
_AT_ONCE = 1 << 13  # texts that are matched; each has a row for every message of its file


def at_once(expressions: Iterable[pl.Expr]) -> list[pl.Series]:
    """What expressions of literal columns give, each of a length of its own, in one plan.

    A plan costs as much as a pattern on a hundred texts.
    """
    frame = pl.select(expr.implode().alias(str(n)) for n, expr in enumerate(expressions))
    return [column[0] for column in frame]


def match_messages(texts: pl.Series, file_grammar: FileGrammar) -> pl.Series:
    """The id of the first message that each text matches; null where none does.

    `texts` are messages of one source file without their prefix.
    """
    number = first_matches(texts, np.zeros(len(texts), np.intp), [file_grammar.messages])
    names = pl.Series("id", [*(message.id for message in file_grammar.messages), None], pl.String)
    return names[number]


def first_matches(
    texts: pl.Series, files: NDArray[np.intp], messages: Sequence[Sequence[Message]]
) -> NDArray[np.int16]:
    """The number of the first message that each text matches, -1: none.

    `files` says of each text in which place of `messages` those are that may match. These are
    numbered one file after the other. Each is tried only on what no earlier one took.
    """
    candidates = [message for some in messages for message in some]
    count = np.array([*map(len, messages)], np.intp)
    heads = pl.Series([message.head for message in candidates], dtype=pl.String)
    first = np.full(len(texts), -1, np.int16)
    for begin in range(0, len(texts), _AT_ONCE):
        chunk, file = texts[begin : begin + _AT_ONCE], files[begin : begin + _AT_ONCE]
        # Each text with each message of its file, in their order.
        row = np.repeat(np.arange(len(chunk), dtype=np.uint32), count[file])
        offset = np.cumsum(count)[file] - np.cumsum(count[file])
        number = (np.arange(len(row)) + np.repeat(offset, count[file])).astype(np.uint32)
        # Starting with the literal head alone is a fraction of the price of a pattern.
        text, head = pl.lit(chunk[pl.Series(row)]), pl.lit(heads[pl.Series(number)])
        near = at_once([text.str.starts_with(head).arg_true()])[0].to_numpy()
        _match(chunk, candidates, row[near], number[near], first[begin:])
    return first


def _match(
    texts: pl.Series,
    messages: Sequence[Message],
    row: NDArray[np.uint32],
    number: NDArray[np.uint32],
    first: NDArray[np.int16],
) -> None:
    """Put in `first` the number of the first message that each row is, of those that are near."""
    while len(row):
        # A round takes a plan, so that few are tried all at once.
        is_next = (np.diff(row, prepend=-1) > 0) | (len(row) < _FEW)
        now, which = row[is_next], number[is_next]
        tried = {index: now[which == index] for index in np.unique(which).tolist()}
        taken = at_once(
            _is(pl.lit(texts[pl.Series(places)]), messages[index]).arg_true()
            for index, places in tried.items()
        )
        for (index, places), where in reversed([*zip(tried.items(), taken, strict=True)]):
            first[places[where.to_numpy()]] = index
        left = ~is_next & (first[row] < 0)
        row, number = row[left], number[left]


def _is(text: pl.Expr, message: Message) -> pl.Expr:
    """Whether a text, which begins with the literal head, is this message as a whole."""
    is_literal = message.head == message.template
    return text == message.head if is_literal else text.str.contains(message.test_pattern)


def schema_of(message: Message) -> dict[str, pl.DataType]:
    """The columns of a message's fields."""
    return {name: COLUMN_TYPES.get(kind, pl.String()) for name, kind in message.fields.items()}


def extract(texts: pl.Series, message: Message) -> pl.DataFrame:
    """The fields of each text as typed columns; all null where a text does not match.

    uint → UInt64, int → Int64, float → Float64, flag → Boolean, else String. A number that
    does not fit is null; a uint has 63 bits, so that it can be compared with any other number.
    """
    types = schema_of(message)
    if not types:
        return pl.DataFrame(height=texts.len())
    fields = texts.str.extract_groups(f"(?P<_whole>{message.pattern})").struct.unnest()
    flags = [
        _flag(name, message.fields[name]) for name, kind in types.items() if kind == pl.Boolean()
    ]
    if flags:
        fields = fields.with_columns(flags)
    return fields.select(_typed(name, kind) for name, kind in types.items())


def _typed(name: str, kind: pl.DataType) -> pl.Expr:
    if kind == pl.UInt64():
        return pl.col(name).cast(pl.Int64, strict=False).cast(kind)
    return pl.col(name).cast(kind, strict=False)


def _flag(name: str, kind: str) -> pl.Expr:
    """Whether a part is there, or what a field of the type `bool` says."""
    column, whole = pl.col(name), pl.col("_whole")
    if kind == "flag":
        return pl.when(whole.is_not_null()).then(column.is_not_null()).alias(name)
    return pl.when(column.is_not_null()).then(column.is_in(["1", "true"])).alias(name)
