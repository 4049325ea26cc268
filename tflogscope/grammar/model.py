"""What grammar files say, as plain data: messages, the files they come from, prefixes, markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tflogscope.errors import GrammarError
from tflogscope.grammar.envelopes import Envelope
from tflogscope.grammar.template import (
    Token,
    escape,
    fields_of,
    head_of,
    parse_template,
    pattern_of,
    tokens_of,
)
from tflogscope.grammar.verbose import VerboseGrammar


class Sample(NamedTuple):
    """A whole log line with its prefix, and the fields that both engines must find in it."""

    line: str
    fields: Mapping[str, object]


class Hot(NamedTuple):
    """How the scanner itself reads a message of which a log has very many.

    `scans` are templates of its own; the first that fits is taken. What is between `$<` and `$>`
    (without it, the end of the line) is kept in `table` (`nodes`, `tensors`); where nothing is, the
    record is counted only. `starts` and `ends` name the fields that a start and its end share.
    """

    scans: tuple[str, ...]
    table: str = ""
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    @staticmethod
    def parts(
        scan: str, where: str
    ) -> tuple[tuple[Token, ...], tuple[Token, ...] | None, tuple[Token, ...] | None]:
        """A template before what is kept, inside, and after it; None: nothing is, to the end.

        Raises GrammarError.
        """
        head, keeps, rest = scan.partition("$<")
        kept, ends, tail = rest.partition("$>")
        return (
            tokens_of(head, where),
            tokens_of(kept, where) if keeps else None,
            tokens_of(tail, where) if ends else None,
        )


@dataclass(frozen=True)
class Message:
    """One log statement of one source file. `level` is its VLOG level, 0 for LOG."""

    id: str
    file: str
    level: int
    template: str
    meaning: str
    #: How the scanner reads it, if it is one of the hot messages (see `compiled`).
    hot: Hot | None = None
    #: The grammar file it was read from, for error messages.
    grammar_file: str = field(default="", compare=False)
    #: Lines that hold both engines to this description.
    samples: tuple[Sample, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The template in pieces. Raises GrammarError."""
        return parse_template(self.template, f"{self.grammar_file}, message {self.id!r}")

    @cached_property
    def pattern(self) -> str:
        """RE2 pattern of the message without its prefix, anchored, one named group a field."""
        return pattern_of(self.tokens)

    @cached_property
    def test_pattern(self) -> str:
        """`pattern` without capture groups: to ask whether, not what."""
        return pattern_of(self.tokens, capture=False)

    @cached_property
    def head(self) -> str:
        """The literal text that the message starts with; may be empty."""
        return head_of(self.template)

    @cached_property
    def fields(self) -> dict[str, str]:
        """Field name → type, in the order of the template."""
        return dict(fields_of(self.tokens))


class FileGrammar(NamedTuple):
    """All messages of the source file with the basename `file`, in the order they are tried."""

    file: str
    source: str
    messages: tuple[Message, ...]


#: Letters of a shape that match digits: of the date, the clock, the fraction of the second, and
#: of seconds since 1970. S is a severity; all else stands for itself.
SHAPE_DIGITS = "YMDhmsfE"
SEVERITY, SEVERITIES = "S", "[IWEF]"


@dataclass(frozen=True)
class Prefix:
    """One way in which a record begins: a `shape` of fixed width, then `site`, a template."""

    id: str
    shape: str
    site: str
    meaning: str
    samples: tuple[Sample, ...] = ()
    """Their fields are the pieces of the prefix."""

    @property
    def fraction(self) -> int:
        """Where the fraction of the second begins, with its dot."""
        return self.shape.index(".f")

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The site in pieces. Raises GrammarError."""
        return parse_template(self.site, f"prefix {self.id!r}")

    @cached_property
    def pattern(self) -> str:
        """RE2, anchored at the start. Groups: time (as printed), severity, thread, path, line."""
        letters = [
            "[0-9]" if letter in SHAPE_DIGITS else f"(?P<severity>{SEVERITIES})"
            if letter == SEVERITY else escape(letter)
            for letter in self.shape
        ]  # fmt: skip
        first = self.shape.startswith(SEVERITY)
        last = self.shape.rindex("f") + 1
        time = "".join(letters[first:last])
        shape = f"{''.join(letters[:first])}(?P<time>{time}){''.join(letters[last:])}"
        return f"^{shape}{pattern_of(self.tokens)[1:-1]}"

    def pieces(self, line: str) -> tuple[dict[str, str], str] | None:
        """What the prefix of a line says, and the message after it; None if it has another one."""
        match = re.match(self.pattern, line)
        return (_pieces(match), line[match.end() :]) if match else None


def _pieces(match: re.Match[str]) -> dict[str, str]:
    pieces = {name: value for name, value in match.groupdict().items() if value is not None}
    pieces["file"] = re.split(r"[/\\]", pieces["path"])[-1]
    return pieces


class Marker(NamedTuple):
    """The text that begins a line without a prefix that is kept, and what becomes of the line.

    `table` is `verbose` (lines of oneDNN and oneMKL; a marker in mid-line says that two writers met
    there), `texts` (a record of `file`) or `failures`.
    """

    literal: str
    meaning: str
    samples: tuple[str, ...] = ()
    table: str = "verbose"
    file: str = ""
    inside: bool = False
    """Whether a record of the table `texts` may also begin in the middle of a line."""


class Markers(NamedTuple):
    """How lines without a prefix are recognised."""

    markers: tuple[Marker, ...] = ()

    @property
    def literals(self) -> tuple[str, ...]:
        """The texts that begin a verbose line."""
        return tuple(marker.literal for marker in self.markers if marker.table == "verbose")

    @property
    def needles(self) -> tuple[str, ...]:
        """The texts that begin another writer's record in the middle of a line."""
        inside = (marker.literal for marker in self.markers if marker.inside)
        return (*self.literals, *inside)


class Grammar(NamedTuple):
    """Everything that is known about log texts. `files` is keyed by basename (`executor.cc`)."""

    files: dict[str, FileGrammar]
    by_id: dict[str, Message]
    prefixes: dict[str, Prefix]
    markers: Markers
    verbose: VerboseGrammar = VerboseGrammar()
    read_envelopes: Callable[[], Mapping[str, Envelope]] = dict
    #: Reads what may be around each line, in the order it is tried; few logs need it.

    @property
    def envelopes(self) -> Mapping[str, Envelope]:
        """What may be around each line, by id. Raises GrammarError."""
        return self.read_envelopes()

    def message(self, id_: str) -> Message:
        """The message with this id. Raises GrammarError if there is none."""
        try:
            return self.by_id[id_]
        except KeyError:
            raise GrammarError(f"the grammar has no message {id_!r}") from None

    def split_prefix(self, line: str) -> tuple[str, str] | None:
        """(basename, message) of one line, or None if unknown prefix."""
        for prefix in self.prefixes.values():
            if split := prefix.pieces(line):
                pieces, message = split
                return pieces["file"], message
        return None
