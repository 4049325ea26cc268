"""Envelopes: what launchers, containers and CI put around each line, as rows of a grammar file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tflogscope.errors import GrammarError
from tflogscope.grammar.template import (
    Blank,
    Choice,
    Field,
    Literal,
    OptionalPart,
    TemplateError,
    Token,
    fields_of,
    tokens_of,
)

FIELD_TYPES = {
    "uint": "[0-9]+",
    # A date, a clock, or both, with a zone: no spaces.
    "time": r"[0-9T:.,+Z/-]+",
    # No spaces.
    "word": r"[^ \n]+",
    # No spaces, and nothing that comes around names.
    "name": r"[^][ \t\n(){}<>|,:=/]+",
    # A file's name, which may have spaces.
    "file": r"[^:\t\n]+",
    # Anything but a tab: a column of a table.
    "column": r"[^\t\n]+",
    # Numbers in an escape sequence that sets a colour.
    "code": r"[0-9;]+",
}
"""Types of the fields of a head, and their patterns."""


class EnvelopeSample(NamedTuple):
    """A whole line, the text in it, and the fields that tell its process from others."""

    line: str
    text: str
    stream: tuple[str, ...]


@dataclass(frozen=True)
class Envelope:
    """How one program wraps each line.

    Either `head` is a template of what comes before the text, or the line is a JSON object and
    `text` names what is the text in it (`a.b`: in an object in it). All other names are fields of
    the head, or paths in the object.
    """

    id: str
    name: str
    meaning: str
    source: str
    head: str = ""
    text: str = ""
    streams: tuple[str, ...] = ()
    """Which fields tell processes apart."""
    rank: str = ""
    """Which of them is the rank."""
    channel: str = ""
    """Which field tells standard output from standard error."""
    part: tuple[str, str] = ("", "")
    """Which field has which value where the line was cut, and goes on in the next one."""
    line_feed: bool = False
    """Whether a text ends with a line feed unless it was cut."""
    samples: tuple[EnvelopeSample, ...] = ()
    grammar_file: str = ""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The head in pieces. Raises GrammarError."""
        try:
            return tokens_of(self.head, FIELD_TYPES)
        except TemplateError as error:
            raise GrammarError(str(error), self.place) from error

    @property
    def place(self) -> str:
        """Where it is described, for errors."""
        return f"{self.grammar_file}, envelope {self.id!r}"

    @property
    def asked(self) -> tuple[str, ...]:
        """The fields that are read of a line: those of the stream, the channel, the cut."""
        return tuple(dict.fromkeys(filter(None, (*self.streams, self.channel, self.part[0]))))

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """The head, with a group for each field that is read."""
        return re.compile(_pattern(self.tokens, dict.fromkeys(self.asked)))

    def pattern_of(self, values: Mapping[str, bytes | None]) -> bytes:
        """The head, without groups, where these fields have these values, and no line is cut."""
        return _pattern(self.tokens, dict(values), self.part, capture=False)


def _pattern(
    tokens: Sequence[Token],
    asked: Mapping[str, bytes | None],
    part: tuple[str, str] = ("", ""),
    *,
    capture: bool = True,
) -> bytes:
    found = b""
    for token in tokens:
        if isinstance(token, Literal):
            found += re.escape(token.text.encode())
        elif isinstance(token, Blank):
            found += b" +"
        elif isinstance(token, OptionalPart):
            # A field that is empty is in a part that is missing.
            if not any(asked.get(name) == b"" for name, _ in fields_of(token.tokens)):
                found += b"(?:%s)?" % _pattern(token.tokens, asked, part, capture=capture)
        elif isinstance(token, Choice):
            parts = (_pattern(each, asked, part, capture=capture) for each in token.parts)
            found += b"(?:%s)" % b"|".join(parts)
        else:
            found += _field(token, asked, part, capture=capture)
    return found


def _field(
    token: Field, asked: Mapping[str, bytes | None], part: tuple[str, str], *, capture: bool
) -> bytes:
    value = asked.get(token.name)
    if value is not None:
        return re.escape(value)
    if token.type == "choice":
        left = (each for each in token.choices if (token.name, each) != part)
        text = b"|".join(re.escape(each.encode()) for each in left)
    else:
        text = FIELD_TYPES[token.type].encode()
    return b"(%s)" % text if capture and token.name in asked else b"(?:%s)" % text


_KEYS = {
    "id", "name", "meaning", "source", "head", "text", "streams", "rank", "channel", "part",
    "line_feed", "sample",
}  # fmt: skip
_SAMPLE_KEYS = {"line", "text", "stream"}


def read_envelope(entry: Mapping[str, Any], grammar_file: str) -> Envelope:
    """A row `[[envelope]]`. Raises GrammarError."""
    place = f"{grammar_file}, envelope {entry.get('id')!r}"
    for given, known in (
        (entry, _KEYS),
        *((each, _SAMPLE_KEYS) for each in entry.get("sample", ())),
    ):
        if unknown := sorted(given.keys() - known):
            there = ", ".join(sorted(known))
            raise GrammarError(f"unknown key `{unknown[0]}`; there are {there}", place)
    try:
        made = Envelope(
            **{name: str(entry[name]) for name in ("id", "name", "meaning", "source")},
            **{name: str(entry.get(name, "")) for name in ("head", "text", "rank", "channel")},
            streams=tuple(entry.get("streams", ())),
            part=tuple(entry.get("part", ("", ""))),
            line_feed=bool(entry.get("line_feed", False)),
            samples=tuple(
                EnvelopeSample(each["line"], each["text"], tuple(each.get("stream", ())))
                for each in entry["sample"]
            ),
            grammar_file=grammar_file,
        )
    except KeyError as error:
        raise GrammarError(f"`{error.args[0]}` is missing", place) from error
    if bool(made.head) == bool(made.text):
        raise GrammarError("an envelope has either `head` or `text`", place)
    missing = set(made.asked) - set(dict(fields_of(made.tokens))) if made.head else set()
    if made.rank and made.rank not in made.streams:
        missing.add(made.rank)
    if missing:
        raise GrammarError(f"there is no field {min(missing)!r}", place)
    return made
