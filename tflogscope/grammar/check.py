"""Holds grammar files to their own samples: both engines have to find what a sample promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from tflogscope.errors import GrammarError
from tflogscope.grammar import exact, fast
from tflogscope.grammar.model import Grammar, Message, Prefix, Sample


def check_messages(grammar: Grammar, messages: Iterable[Message]) -> None:
    """Raises GrammarError for the first message whose template or sample is wrong."""
    for message in messages:
        _ = message.tokens  # a template that is not well formed says so here
        for sample in message.samples:
            _check_sample(grammar, message, sample)


def sample_text(grammar: Grammar, message: Message, sample: Sample) -> str:
    """The sample line without its prefix. Raises GrammarError if it is of another file."""
    if message.file in {each.file for each in grammar.markers.markers if each.table == "texts"}:
        return sample.line  # it has no prefix
    pieces = grammar.split_prefix(sample.line)
    if pieces is None:
        raise _wrong(message, sample, "it has no known prefix")
    if pieces[0] != message.file:
        raise _wrong(message, sample, f"it is a line of {pieces[0]}, not of {message.file}")
    return pieces[1]


def _check_sample(grammar: Grammar, message: Message, sample: Sample) -> None:
    text = sample_text(grammar, message, sample)
    try:
        found = exact.parse(message, text)
    except exact.GrammarMismatch as mismatch:
        raise _wrong(message, sample, mismatch.what) from mismatch
    _same_fields(message, sample, present(message, found))
    column = pl.Series([text])
    claimed = fast.match_messages(column, grammar.files[message.file])[0]
    if claimed != message.id:
        raise _wrong(message, sample, f"the message {claimed!r} comes first and takes it")
    if message.fields:
        _same_fields(
            message, sample, present(message, fast.extract(column, message).row(0, named=True))
        )


def _same_fields(message: Message, sample: Sample, found: dict[str, object]) -> None:
    expected = dict(sample.fields)
    if unequal := [name for name in expected | found if expected.get(name) != found.get(name)]:
        name = unequal[0]
        raise _wrong(
            message,
            sample,
            f"the field {name!r} is {found.get(name)!r}, not {expected.get(name)!r}",
        )


def present(message: Message, fields: Mapping[str, object]) -> dict[str, object]:
    """Fields without those of missing parts (None), and without flags that are not set."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and not (value is False and message.fields[name] == "flag")
    }


def check_prefix(prefix: Prefix) -> None:
    """Raises GrammarError for a prefix whose sample does not give the promised pieces."""
    for sample in prefix.samples:
        found = prefix.pieces(sample.line)
        pieces = found[0] if found else {}
        if pieces != dict(sample.fields):
            raise GrammarError(f"a sample gives {pieces}", f"prefix {prefix.id!r}")


def _wrong(message: Message, sample: Sample, why: str) -> GrammarError:
    return GrammarError(
        f"a sample does not fit: {why}\n  {sample.line[:200]}",
        f"{message.grammar_file}, message {message.id!r}",
    )
