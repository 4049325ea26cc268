"""Patterns of neighbouring ops, as `grammars/causes.toml` writes them, found in a text of op codes.

Each op is one character of a `Codes` text, so that a pattern of ops is a regular expression, and
polars' engine finds it in time that grows with the text alone, whatever the log holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.model.common.frames import Booleans, Integers, ranges

_TOKEN = re.compile(
    r"\s*(?:(?P<word>~?(?:\{[a-z-]+\}|/[^/]+/|[\w-]+)(?::[\w-]+)*)"
    r"|(?P<mark>[\[\]!])|(?P<rest>[()|?*+.]|\{\d+(?:,\d*)?\}))"
)
_NAMED = re.compile(r"(?<!~)\{([a-z-]+)\}")

END = 0x100  # the code between two threads, which no word allows
_MARKS = {"": 1, "[": 2, "]": 3, "!": 4}  # characters put into the text where a pattern matched


class Spans(NamedTuple):
    """Where a pattern matched: positions in the sequence; arrays of one length."""

    begin: Integers
    """The first op inside the brackets."""
    end: Integers
    """The op after the brackets."""
    proof: Integers
    """The op after `!`; else the first op of the match."""

    def spread(self, length: int) -> Integers:
        """Return the proof of the span around each of `length` positions; -1: in none."""
        size = self.end - self.begin
        span, where = ranges(self.begin, size)
        values = np.full(length, -1, np.int64)
        values[where] = self.proof[span]
        return values


_NOWHERE = Spans(*(np.zeros(0, np.int64) for _ in range(3)))


class Vocabulary:
    """The words of a set of patterns: ops, names for sets of them, and how they are written.

    Args:
        named: what `{name}` means: alternatives of ops, or a pattern.
        patterns: all patterns that will be looked for.
    """

    def __init__(self, named: Mapping[str, str], patterns: Iterable[str]) -> None:
        self._named = named
        self.patterns = {pattern: self._expanded(pattern) for pattern in patterns}
        words = {
            part
            for pattern in self.patterns.values()
            for token in _tokens(pattern)
            if token["word"]
            for part in self.alternatives(token["word"].removeprefix("~"))
        }
        self._plain: dict[str, list[tuple[str, set[str]]]] = {}
        for word in sorted(words):
            name, *tags = word.split(":")
            self._plain.setdefault(name, []).append((word, set(tags)))
        self._matching = [(word, re.compile(word[1:-1])) for word in sorted(words) if "/" in word]

    def allowing(self, op: str) -> frozenset[str]:
        """The single words that allow an op: with some of its tags, or none."""
        name, *tags = op.split(":")
        plain = {word for word, needed in self._plain.get(name, ()) if needed <= {*tags}}
        return frozenset(plain | {word for word, regex in self._matching if regex.fullmatch(name)})

    def alternatives(self, word: str) -> list[str]:
        """The ops that a word allows: `Cast` itself, or each of those that `{casts}` names."""
        if not word.startswith("{"):
            return [word]
        inside = self._named[word[1:-1]]
        return [part for option in inside.split("|") for part in self.alternatives(option.strip())]

    def _expanded(self, pattern: str) -> str:
        while (
            expanded := _NAMED.sub(lambda name: f"({self._named[name[1]]})", pattern)
        ) != pattern:
            pattern = expanded
        return pattern


@cache
def _tokens(pattern: str) -> list[re.Match[str]]:
    tokens = list(_TOKEN.finditer(pattern))
    if "".join(token[0] for token in tokens) != pattern.rstrip():
        raise ValueError(f"not a pattern of ops: {pattern!r}")
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token["rest"], 0)
        if token["rest"] == "|" and depth == 0:  # it would take the brackets apart
            raise ValueError(f"alternatives of ops need parentheses: {pattern!r}")
    return tokens


class Codes:
    """A sequence of ops as a text: ops that are alike to all patterns have the same character.

    Args:
        words: the words that patterns ask for.
        distinct: the distinct ops of the sequence, each with its tags: `VarHandleOp:scalar`.
        code: of each op of the sequence, its place in `distinct`; -1 between two threads.
    """

    def __init__(self, words: Vocabulary, distinct: pl.Series, code: Integers) -> None:
        self._words = words
        allowing = [words.allowing(op) for op in distinct]
        self._kinds = {kind: number for number, kind in enumerate(dict.fromkeys(allowing), start=1)}
        self._asked: dict[str, Booleans] = {}
        self._classes: dict[str, str] = {}
        kind = np.array([*(self._kinds[allowed] for allowed in allowing), 0], np.uint32)
        self._codes = kind[code] + np.uint32(END)

    def __len__(self) -> int:
        return len(self._codes)

    def find(self, patterns: Sequence[tuple[str, str | None]]) -> list[Spans]:
        """Return where patterns match, each within the brackets of another one if that is given."""
        matches = [_NOWHERE] * len(patterns)
        outer = list(dict.fromkeys(within for _, within in patterns if within is not None))
        texts = {"": _as_text(self._codes)}
        if outer:
            spans = self.find([(pattern, None) for pattern in outer])
            texts |= {within: self._inside(span) for within, span in zip(outer, spans, strict=True)}
        marked = []
        for number, (pattern, within) in enumerate(patterns):
            tokens = _tokens(self._words.patterns[pattern])
            if not self._can_match(tokens):
                continue
            if within is None and [token["mark"] for token in tokens] == ["[", None, "]"]:
                place = np.flatnonzero(self._allowed(tokens[1]["word"])[self._codes - END])
                matches[number] = Spans(place, place + 1, place)
                continue
            text = pl.col(within or "").str
            marked.append(text.replace_all(*self._compiled(tokens)).alias(str(number)))
        for column in pl.DataFrame(texts).select(marked):
            matches[int(column.name)] = self._spans(column.item(), patterns[int(column.name)][0])
        return matches

    def _spans(self, marked: str, pattern: str) -> Spans:
        """What a text says in which a pattern put its marks."""
        if len(marked) == len(self):
            return _NOWHERE
        codes = np.frombuffer(marked.encode("utf-32-le"), np.uint32)
        mark = np.flatnonzero(codes < END)
        place = mark - np.arange(len(mark))  # how many ops come before
        at = {number: place[codes[mark] == code] for number, code in _MARKS.items()}
        return Spans(at["["], at["]"], at["!" if "!" in pattern else ""])

    def _can_match(self, tokens: list[re.Match[str]]) -> bool:
        """Whether the log has all the ops that a pattern can't do without."""
        depth = 0
        for token, after in zip(tokens, [*tokens[1:], None], strict=True):
            depth += {"(": 1, ")": -1}.get(token["rest"], 0)
            optional = after is not None and str(after["rest"]).startswith(("?", "*", "{0"))
            needed = token["word"] and depth == 0 and not optional
            if needed and not self._allowed(token["word"]).any():
                return False
        return True

    def _inside(self, spans: Spans) -> pl.Series:
        """The text with all ops left out that are not inside of spans."""
        inside = spans.spread(len(self)) >= 0
        return _as_text(np.where(inside, self._codes, np.uint32(END)))

    def _compiled(self, tokens: list[re.Match[str]]) -> tuple[str, str]:
        """The regular expression with a group for each part between marks; what replaces it."""
        parts, template = [""], [_MARKS[""]]
        for token in tokens:
            if token["mark"]:
                if parts[-1].count("(") != parts[-1].count(")"):
                    raise ValueError(f"a mark is in parentheses: {tokens[0].string!r}")
                parts.append("")
                template.append(_MARKS[token["mark"]])
            elif token["word"]:
                parts[-1] += self._class(token["word"])
            else:
                parts[-1] += {"(": "(?:", ".": f"[^{chr(END)}]"}.get(token["rest"], token["rest"])
        expression = "".join(f"({part})" for part in parts)
        replaced = "".join(f"{chr(mark)}${{{n}}}" for n, mark in enumerate(template, start=1))
        return expression, replaced

    def _class(self, word: str) -> str:
        """The characters of the ops that a word allows."""
        if word not in self._classes:
            characters = "".join(map(chr, np.flatnonzero(self._allowed(word)) + END))
            self._classes[word] = f"[{characters}]" if characters else r"[^\s\S]"
        return self._classes[word]

    def _allowed(self, word: str) -> Booleans:
        """Which codes a word allows, less END; after `~`, all others but END itself."""
        if word not in self._asked:
            wanted = {*self._words.alternatives(word.removeprefix("~"))}
            other = word.startswith("~")
            allowed = [kind.isdisjoint(wanted) == other for kind in self._kinds]
            self._asked[word] = np.array([False, *allowed])
        return self._asked[word]


def _as_text(codes: NDArray[np.uint32]) -> pl.Series:
    return pl.Series([codes.tobytes().decode("utf-32-le")])
