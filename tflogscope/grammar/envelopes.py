"""Envelopes: what launchers, containers and CI put around each line, as rows of a grammar file."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from tflogscope.errors import GrammarError
from tflogscope.grammar.template import (
    Blank,
    Choice,
    Field,
    Literal,
    OptionalPart,
    Token,
    fields_of,
    require_known,
    tokens_of,
)

FIELD_TYPES = {
    "uint": "[0-9]+",
    # A date, a clock, or both, with a zone: no spaces.
    "time": r"[0-9T:.,+Z/-]+",
    # No spaces.
    "word": r"[^ \n]+",
    # No spaces, and nothing that comes around names. Digits at its end are a number's behind it.
    "name": r"[^][ \t\n(){}<>|,:=/]+",
    # A name and, behind a dot, a number: it tells Foreman's lines from those of containers.
    "numbered": r"[^][ \t\n(){}<>|,:=/.]++\.[0-9]+",
    # A file's name, which may have spaces.
    "file": r"[^:\t\n]+",
    # What a job of a shell is given: no times, and not a number alone, which may be that of a line.
    "argument": r"(?! *+[0-9]++\t)(?![^:\t\n]*+(?<= )\t)[^:\t\n]+",
    # Anything but a tab: a column of a table.
    "column": r"[^\t\n]+",
    # Numbers in an escape sequence that sets a colour.
    "code": r"[0-9;]+",
}
"""Types of the fields of a head, and their patterns.

They are possessive in a head: a field gives nothing back. Time is then linear in a line's bytes.
"""
_BEFORE_NUMBER = r"(?>[^][ \t\n(){}<>|,:=/]*[^][ \t\n(){}<>|,:=/0-9])"


class EnvelopeSample(NamedTuple):
    """A whole line, the text in it, and the fields that tell its process from others."""

    line: str
    text: str
    stream: tuple[str, ...]


@dataclass(frozen=True)
class Envelope:
    """How one program wraps each line.

    Either `head` is a template of what comes before the text, or the line is a JSON object and
    `text` names what is the text in it (`a.b`: in an object in it; `$`: the line is the string).
    All other names are fields of the head, or paths in the object.
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
    inside: str = ""
    """What is in each head, where one may be inside a line: the line before goes on later."""
    room: tuple[int, ...] = ()
    """Bytes that are read at once, and bytes that are written of them at most, with their heads."""
    tail: str = ""
    """What is behind a line that stands for several like it: a regular expression, with a group for
    how many these were."""
    keep: str = ""
    """What to set so that it leaves out no line."""
    part: tuple[str, ...] = ("", "")
    """Which field has which value where the line was cut, and goes on in the next one."""
    entries: bool = False
    """Whether an object is an entry of several lines, `NAME=value`, with a blank line behind it."""
    line_feed: bool = False
    """Whether a text ends with a line feed unless it was cut."""
    width: int = 0
    """Not a wrapper: lines of more characters go on in the next one, as a terminal shows them."""
    owners: Any = None
    """Not a wrapper: the process of the thread of each line (`sources.owners.ThreadOwners`)."""
    escapes: tuple[tuple[bytes, bytes], ...] = ()
    """Not a wrapper: what is written for some characters in all of the text, and these."""
    repairs: tuple[Any, ...] = ()
    """Not a wrapper: what is done to lines that people changed (`sources/repairs.py`)."""
    samples: tuple[EnvelopeSample, ...] = ()
    grammar_file: str = ""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The head in pieces. Raises GrammarError."""
        return tokens_of(self.head, self.place, FIELD_TYPES)

    @property
    def place(self) -> str:
        """Where it is described, for errors."""
        return f"{self.grammar_file}, envelope {self.id!r}"

    @property
    def asked(self) -> tuple[str, ...]:
        """The fields that are read: of the stream, the channel and the cut, as a line has them."""
        names = dict.fromkeys(filter(None, (*self.streams, self.channel, self.part[0])))
        if not self.head:
            return tuple(names)
        return tuple(name for name, _ in fields_of(self.tokens) if name in names)

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """The head, with a group for each field that is read; in an entry the text's name."""
        if self.entries:
            return re.compile(b" *%s=" % self.text.encode())
        return re.compile(_pattern(self.tokens, self.asked))

    def without_tails(self, text: bytes) -> tuple[bytes, int]:
        """Lines without what is behind them, and how many lines were left out for them."""
        if not self.tail:
            return text, 0
        tail = re.compile(self.tail.encode(), re.MULTILINE)
        counts = tail.findall(text)
        return (tail.sub(b"", text) if counts else text), sum(map(int, counts)) - len(counts)

    @property
    def is_object(self) -> bool:
        """Whether a line is a JSON object."""
        return bool(self.text) and not self.entries

    def read(self, line: str) -> tuple[str, tuple[str, ...]] | None:
        """The text in a line, and the fields that tell its process; None: it is another line."""
        if self.is_object:
            return self._read_object(line)
        if self.entries:
            fields = dict(re.findall(r"(?m)^ *(\w+)=(.*)", line))
            text = fields.get(self.text)
            return text and (text, tuple(fields.get(name, "") for name in self.streams))
        head = self.pattern.match(line.encode())
        if not head:
            return None
        groups = dict(zip(self.asked, head.groups(), strict=True))
        streams = tuple((groups[name] or b"").decode() for name in self.streams)
        text, _ = self.without_tails(line.encode()[head.end() :])
        return text.decode(), streams

    def _read_object(self, line: str) -> tuple[str, tuple[str, ...]] | None:
        try:
            whole = json.loads(line)
        except (ValueError, RecursionError):
            return None
        text, *rest = (in_object(whole, path) for path in (self.text, *self.streams))
        channel = in_object(whole, self.channel) if self.channel else ""
        if text is None or channel is None or None in rest:
            return None
        if self.line_feed and not text.endswith("\n"):
            return None
        return text.removesuffix("\n"), tuple(value or "" for value in rest)


def _pattern(tokens: Sequence[Token], names: Collection[str]) -> bytes:
    pattern = b""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if isinstance(token, Literal):
            pattern += re.escape(token.text.encode())
        elif isinstance(token, Blank):
            pattern += b" ++"
        elif isinstance(token, OptionalPart):
            pattern += b"(?:%s)?" % _pattern(token.tokens, names)
        elif isinstance(token, Choice):
            pattern += b"(?:%s)" % b"|".join(_pattern(part, names) for part in token.parts)
        else:
            text = "|".join(map(re.escape, token.choices)) or FIELD_TYPES[token.type] + "+"
            if token.type == "name" and isinstance(following, Field) and following.type == "uint":
                text = _BEFORE_NUMBER
            pattern += (b"(%s)" if token.name in names else b"(?:%s)") % text.encode()
    return pattern


def in_object(whole: Any, path: str) -> str | None:
    """The text at a path (`a.b`; `$` is the whole) of an object; None: there is none."""
    for name in () if path == "$" else path.split("."):
        whole = whole.get(name) if isinstance(whole, dict) else None
    return whole if isinstance(whole, str) else None


_REQUIRED = ("id", "name", "meaning", "source")
_OPTIONAL = {
    str: ("head", "text", "rank", "channel", "inside", "tail", "keep"),
    tuple: ("streams", "part", "room"),
    bool: ("entries", "line_feed"),
}
_KEYS = {*_REQUIRED, *chain(*_OPTIONAL.values()), "sample"}
_SAMPLE_KEYS = {"line", "text", "stream"}


def read_envelope(entry: Mapping[str, Any], grammar_file: str) -> Envelope:
    """A row `[[envelope]]`. Raises GrammarError."""
    place = f"{grammar_file}, envelope {entry.get('id')!r}"
    require_known(entry, _KEYS, place)
    for sample in entry.get("sample", ()):
        require_known(sample, _SAMPLE_KEYS, place)
    try:
        facts: dict[str, Any] = {name: str(entry[name]) for name in _REQUIRED}
        for kind, names in _OPTIONAL.items():
            facts |= {name: kind(entry[name]) for name in names if name in entry}
        samples = tuple(
            EnvelopeSample(str(row["line"]), str(row["text"]), tuple(row.get("stream", ())))
            for row in entry["sample"]
        )
        made = Envelope(**facts, samples=samples, grammar_file=grammar_file)
    except KeyError as error:
        raise GrammarError(f"`{error.args[0]}` is missing", place) from error
    if bool(made.head) == bool(made.text):
        raise GrammarError("an envelope has either `head` or `text`", place)
    named = [name for name, _ in fields_of(made.tokens)]
    if len(set(named)) < len(named):
        raise GrammarError("a field occurs twice", place)
    wanted = {*made.streams, made.channel, made.part[0]} - {""}
    missing = wanted - {*named} if made.head else set()
    if made.rank and made.rank not in made.streams:
        missing.add(made.rank)
    if missing:
        raise GrammarError(f"no field {min(missing)!r}", place)
    return made
