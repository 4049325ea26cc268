"""The fast engine: polars expressions made from the grammar, for whole columns of messages."""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.grammar.model import FileGrammar, Message

#: Field types that are not plain text, and the column type they become.
COLUMN_TYPES: dict[str, pl.DataType] = {
    "uint": pl.UInt64(),
    "int": pl.Int64(),
    "float": pl.Float64(),
}


def match_messages(texts: pl.Series, file_grammar: FileGrammar) -> pl.Series:
    """The id of the first message that each text matches; null where none does.

    `texts` are messages of one source file without their prefix. Each message is tried only on
    what no earlier one took.
    """
    messages = file_grammar.messages
    ids = np.full(len(texts), -1, np.int64)
    # Starting with the literal head alone is a fraction of the price of a pattern.
    text = pl.col("text")
    begins = pl.DataFrame({"text": texts}).select(
        text.str.starts_with(message.head).alias(message.id) for message in messages
    )
    heads = (begins.fill_null(value=False) if texts.null_count() else begins).to_numpy()
    for index, message in enumerate(messages):
        near = np.flatnonzero(heads[:, index] & (ids < 0))
        if len(near):
            ids[near[_are(texts.gather(near), message).to_numpy()]] = index
    names = pl.Series("id", [message.id for message in messages], pl.String)
    return names.gather(pl.Series(ids).set(pl.Series(ids < 0), None))


def _are(texts: pl.Series, message: Message) -> pl.Series:
    """Whether each text, which begins with the literal head, is this message as a whole."""
    is_literal = message.head == message.template
    return texts == message.head if is_literal else texts.str.contains(message.test_pattern)


def extract(texts: pl.Series, message: Message) -> pl.DataFrame:
    """The fields of each text as typed columns; all null where a text does not match.

    uint → UInt64, int → Int64, float → Float64, flag → Boolean, else String. A number that
    does not fit is null.
    """
    fields = message.fields
    if not fields:
        return pl.DataFrame(height=texts.len())
    if texts.is_empty():
        return pl.DataFrame(schema=schema_of(message))
    groups = texts.str.extract_groups(f"(?P<_whole>{message.pattern})").struct.unnest()
    matched = pl.col("_whole").is_not_null()
    casts: list[pl.Expr] = []
    for name, kind in fields.items():
        column = pl.col(name)
        if kind == "flag":
            casts.append(pl.when(matched).then(column.is_not_null()).alias(name))
        elif kind == "bool":
            casts.append(
                pl.when(column.is_not_null()).then(column.is_in(["1", "true"])).alias(name)
            )
        elif kind in COLUMN_TYPES:
            casts.append(column.cast(COLUMN_TYPES[kind], strict=False))
        else:
            casts.append(column)
    return groups.select(casts)


def schema_of(message: Message) -> dict[str, pl.DataType]:
    """The columns that `extract` gives."""
    flags = dict.fromkeys(("flag", "bool"), pl.Boolean())
    types = COLUMN_TYPES | flags
    return {name: types.get(kind, pl.String()) for name, kind in message.fields.items()}
