"""Holds grammar files to their own samples: both engines have to find what a sample promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from tflogscope.errors import GrammarError
from tflogscope.grammar import exact, fast
from tflogscope.grammar.envelopes import Envelope
from tflogscope.grammar.model import Grammar, Message, Prefix, Sample


class Misfit(GrammarError):
    """A sample is not what its message or prefix says.

    `why`, `line` (the sample) and `place`: where in the line it departs; None: at no one place.
    """

    def __init__(self, where: str, line: str, why: str, place: int | None = None) -> None:
        super().__init__(f"a sample does not match: {why}\n  {line[:200]}", where)
        self.why = why
        self.line = line
        self.place = place


def misfits(
    grammar: Grammar,
    messages: Iterable[Message],
    prefixes: Iterable[Prefix] = (),
    envelopes: Iterable[Envelope] = (),
) -> Iterator[Misfit]:
    """The samples that don't fit, in their order.

    Raises GrammarError for a template that is not well formed.
    """
    for prefix in prefixes:
        yield from _misfits_of_prefix(prefix)
    for envelope in envelopes:
        yield from _misfits_of_envelope(envelope)
    for message in messages:
        _ = message.tokens  # a template that is not well formed says so here
        for sample in message.samples:
            try:
                _check_sample(grammar, message, sample)
            except Misfit as misfit:
                yield misfit


def _misfits_of_prefix(prefix: Prefix) -> Iterator[Misfit]:
    for sample in prefix.samples:
        split = prefix.pieces(sample.line)
        pieces = split[0] if split else {}
        if pieces != dict(sample.fields):
            yield Misfit(f"prefix {prefix.id!r}", sample.line, f"it gives {pieces}")


def _misfits_of_envelope(envelope: Envelope) -> Iterator[Misfit]:
    for sample in envelope.samples:
        reading = envelope.read(sample.line)
        if reading != (sample.text, sample.stream):
            yield Misfit(envelope.place, sample.line, f"it gives {reading}")


def _check_sample(grammar: Grammar, message: Message, sample: Sample) -> None:
    """Raises Misfit."""
    text = _text(grammar, message, sample)
    before = len(sample.line) - len(text)  # the prefix
    try:
        fields = exact.parse(message, text)
    except exact.GrammarMismatch as mismatch:
        why = f"expected {mismatch.expected}, found {mismatch.found}"
        place = before + mismatch.column - 1
        raise _wrong(message, sample, why, place) from mismatch
    _same_fields(message, sample, _present(message, fields))
    column = pl.Series([text])
    claimed = fast.match_messages(column, grammar.files[message.file])[0]
    if claimed != message.id:
        raise _wrong(message, sample, f"the message {claimed!r} comes first and takes it", before)
    if message.fields:
        row = fast.extract(column, message).row(0, named=True)
        _same_fields(message, sample, _present(message, row))


def _text(grammar: Grammar, message: Message, sample: Sample) -> str:
    """The sample line without its prefix. Raises Misfit if it is of another file."""
    pieces = grammar.split_prefix(sample.line)
    if pieces is None:
        if message.file in {marker.file for marker in grammar.markers.markers}:
            return sample.line  # it needs none
        raise _wrong(message, sample, "unknown prefix", 0)
    if pieces[0] != message.file:
        raise _wrong(message, sample, f"it is a line of {pieces[0]}, not of {message.file}", 0)
    return pieces[1]


def _same_fields(message: Message, sample: Sample, fields: dict[str, object]) -> None:
    expected = dict(sample.fields)
    if unequal := [name for name in expected | fields if expected.get(name) != fields.get(name)]:
        name = unequal[0]
        why = f"the field {name!r} is {fields.get(name)!r}, not {expected.get(name)!r}"
        raise _wrong(message, sample, why)


def _present(message: Message, fields: Mapping[str, object]) -> dict[str, object]:
    """Fields without those of missing parts (None), and without flags that are not set."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and not (value is False and message.fields[name] == "flag")
    }


def _wrong(message: Message, sample: Sample, why: str, place: int | None = None) -> Misfit:
    return Misfit(f"{message.grammar_file}, message {message.id!r}", sample.line, why, place)
