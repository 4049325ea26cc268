"""The grammar as the scanner's tables: dialects, covered files, hot messages, markers.

What the tables mean is in `native/scanner.c`. Templates become steps that never go back: a field
of type `text` or `path` ends at the first place of the literal behind it, `longest` at the last,
`device` at the first character that no device has.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

from tflogscope.errors import GrammarError
from tflogscope.grammar.model import SEVERITY, SHAPE_DIGITS, Grammar, Hot, Prefix
from tflogscope.grammar.template import (
    Blank,
    Field,
    Literal,
    OptionalPart,
    Token,
    fields_of,
)
from tflogscope.native import library as c

#: What a device is made of (the field type `device` of the templates).
_DEVICE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/:.*-"
#: How a kept definition ends, see `events/pairing.py`.
_DEVICE_LAST = " device: ${device:device}"
_LINE_BEFORE = "(the line before a verbose line)"
_NUMBERS = {"step", "thread", "allocated_bytes"}
_SEARCHES = {"text": "find", "path": "find", "longest": "last"}


class CompiledGrammar(NamedTuple):
    """The tables, and what their numbers mean. The arrays have to live as long as `tables`."""

    tables: c.Tables
    dialects: tuple[Prefix, ...]
    files: tuple[str, ...]
    """By number; the first one, without a name, has the lines without a prefix."""
    messages: tuple[str, ...]
    """Ids of hot messages, and literals of markers, by number."""
    arrays: Sequence[object]


def compile_grammar(grammar: Grammar) -> CompiledGrammar:
    """The scanner's tables. Raises GrammarError if a template is not for the scanner."""
    return _Compiler(grammar).compiled


class _Step(NamedTuple):
    op: str
    literal: str = ""
    use: int = 0
    inside: int = 0


class _Compiler:
    """Gathers steps, literals and messages into arrays."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._literals = bytearray()
        self._steps: list[c.Step] = []
        self._messages = [c.Message(table=c.TABLES.index("before"))]
        self._names = [_LINE_BEFORE]

    @cached_property
    def compiled(self) -> CompiledGrammar:
        """All of it."""
        prefixes = tuple(self._grammar.prefixes.values())
        if len(prefixes) > c.DIALECTS:
            raise GrammarError(f"there is room for {c.DIALECTS} prefixes only", prefixes[-1].id)
        files = ("", *self._grammar.files)
        dialects = [self._dialect(prefix) for prefix in prefixes]
        entries = [self._file(name, files) for name in files]
        needles, anchors = self._needles(prefixes)
        literals = (ctypes.c_uint8 * len(self._literals)).from_buffer(self._literals)
        arrays = {
            "literals": literals,
            "dialects": _array(c.Dialect, dialects),
            "files": _array(c.File, entries),
            "messages": _array(c.Message, self._messages),
            "steps": _array(c.Step, self._steps),
            "needles": _array(c.Needle, needles),
            "anchors": _array(c.Anchor, anchors),
        }
        tables = c.Tables(
            **arrays,
            dialect_count=len(dialects),
            file_count=len(entries),
            message_count=len(self._messages),
            needle_count=len(needles),
            anchor_count=len(anchors),
        )
        return CompiledGrammar(tables, prefixes, files, tuple(self._names), tuple(arrays.values()))

    # ---- how a record begins -------------------------------------------------------------------

    def _dialect(self, prefix: Prefix) -> c.Dialect:
        shape = prefix.shape
        if len(shape) > c.SHAPE or ".ffffff" not in shape:
            raise GrammarError(
                f"the shape needs .ffffff and at most {c.SHAPE} characters", prefix.id
            )
        if not isinstance(prefix.tokens[-1], Literal):
            raise GrammarError("the site has to end with literal text", prefix.id)
        marks = dict.fromkeys(SHAPE_DIGITS, c.DIGIT) | {SEVERITY: c.SEVERITY}
        dialect = c.Dialect(width=len(shape), fraction=prefix.fraction)
        dialect.shape[: len(shape)] = [marks.get(letter, ord(letter)) for letter in shape]
        dialect.site = self._add(_steps(prefix.tokens, (), {}, prefix.id))
        return dialect

    def _needles(self, prefixes: Sequence[Prefix]) -> tuple[list[c.Needle], list[c.Anchor]]:
        """What begins other writers' text, and the bytes by which it is searched for."""
        letters = SHAPE_DIGITS + SEVERITY
        begins: list[tuple[int, c.Range, dict[int, str]]] = []
        for number, prefix in enumerate(prefixes):
            fixed = {at: byte for at, byte in enumerate(prefix.shape) if byte not in letters}
            begins.append((number, c.Range(0, len(prefix.shape)), fixed))
        for literal in self._grammar.markers.needles:
            first = literal[: literal.find(" ") + 1] or literal  # several share its bytes
            begins.append((c.NONE, self._literal(literal), dict(enumerate(first))))
        shared = Counter(triple for *_, fixed in begins for triple in _triples(fixed))
        chosen = [max(_triples(fixed), key=lambda triple: shared[triple]) for *_, fixed in begins]
        anchors = list(dict.fromkeys(chosen))
        needles = [
            c.Needle(dialect, literal.first, literal.count, anchors.index(anchor))
            for (dialect, literal, _), anchor in zip(begins, chosen, strict=True)
        ]
        return needles, [
            c.Anchor((*map(ord, text), 0), second, third) for text, second, third in anchors
        ]

    # ---- messages --------------------------------------------------------------------------------

    def _file(self, name: str, files: tuple[str, ...]) -> c.File:
        literal, first = self._literal(name), len(self._messages)
        if name:
            for message in self._grammar.files[name].messages:
                if message.hot:
                    self._hot(message.id, message.hot)
        else:
            for marker in self._grammar.markers.markers:
                head = self._add([_Step("literal", marker.literal)])
                number = files.index(marker.file) if marker.table == "texts" else 0
                self._message(marker.literal, marker.table, head=head, flags=0, file=number)
        count = len(self._messages) - first
        return c.File(literal.first, literal.count, c.Range(first, count))

    def _hot(self, id_: str, hot: Hot) -> None:
        place = f"message {id_!r}"
        if (hot.table == "nodes") != bool(hot.starts or hot.ends):
            raise GrammarError("`starts` or `ends` go with the table `nodes`", place)
        uses = dict.fromkeys((*hot.starts, *hot.ends), c.IS_KEY)
        role = c.IS_START if hot.starts else c.IS_END if hot.ends else 0
        for scan in hot.scans:
            head, kept, tail = hot.parts(scan, place)
            if hot.table == "nodes" and not scan.endswith(_DEVICE_LAST):
                what = f"`scan` ends with `{_DEVICE_LAST}` where the table is `nodes`"
                raise GrammarError(what, place, "events/pairing.py reads it there.")
            tokens = (*head, *(kept or ()), *(tail or ()))
            if missing := uses.keys() - dict(fields_of(tokens)).keys():
                raise GrammarError(f"`scan` has no field {min(missing)!r}", place)
            if [name for name in dict(fields_of(tokens)) if name in uses] != [*uses]:
                # The scanner makes the key of a run of its fields as they come.
                what = "`starts` and `ends` name fields in the order in which the text has them"
                raise GrammarError(what, place, "It is the same order in starts and in their ends.")
            end = [] if _is_open(tokens[-1]) else [_Step("end")]
            first, rest = _steps(head, tokens[len(head) :], uses, place), []
            if kept is None:
                first += end
            else:
                first.append(_Step("keep"))
                rest = _steps(kept, tail or (), uses, place)
                if tail is not None:
                    rest += [_Step("kept"), *_steps(tail, (), uses, place)]
                rest += end
            self._message(
                id_,
                hot.table if kept is not None else "",
                head=self._add(first),
                rest=self._add(rest),
                flags=role | (c.TO_END if kept is not None and tail is None else 0),
            )

    def _message(
        self, name: str, table: str, *, head: c.Range, rest: c.Range | None = None,
        flags: int, file: int = 0,
    ) -> None:  # fmt: skip
        if table and table not in c.TABLES:
            raise GrammarError(f"the scanner has no table {table!r}", name)
        number = c.TABLES.index(table) if table else 0
        self._messages.append(c.Message(head, rest or c.Range(0, 0), number, file, flags))
        self._names.append(name)

    # ---- steps and literals ----------------------------------------------------------------------

    def _add(self, steps: Iterable[_Step]) -> c.Range:
        first = len(self._steps)
        for step in steps:
            literal = self._literal(step.literal)
            op = c.STEPS.index(step.op)
            self._steps.append(c.Step(op, step.use, step.inside, literal.first, literal.count))
        return c.Range(first, len(self._steps) - first)

    def _literal(self, text: str) -> c.Range:
        raw = text.encode()
        first = self._literals.find(raw)
        if first < 0:
            first = len(self._literals)
            self._literals += raw
        return c.Range(first, len(raw))


def _steps(
    tokens: Sequence[Token], after: Sequence[Token], uses: dict[str, int], place: str
) -> list[_Step]:
    """The steps of tokens; `after`: those that come after them."""
    steps: list[_Step] = []
    for index, token in enumerate(tokens):
        following = (*tokens[index + 1 :], *after)
        if isinstance(token, Literal):
            steps.append(_Step("literal", token.text))
        elif isinstance(token, Blank):
            steps += [_Step("literal", " "), _Step("span", " ")]
        elif isinstance(token, OptionalPart):
            inner = _steps(token.tokens, following, uses, place)
            if token.flag and token.flag in uses:
                inner[0] = inner[0]._replace(use=uses[token.flag])
            steps += [_Step("optional", inside=len(inner)), *inner]
        elif isinstance(token, Field):
            steps += _field(token, following, uses.get(token.name, 0), place)
        else:
            raise GrammarError("the scanner knows no choices", place)
    return steps


def _is_open(last: Token) -> bool:
    """Whether a template ends with a field that takes all that is left of the line."""
    return isinstance(last, Field) and last.type in _SEARCHES


def _field(token: Field, after: Sequence[Token], use: int, place: str) -> list[_Step]:
    """The step of a field; none if it is all that is left of the line."""
    use |= c.IS_NUMBER if token.name in _NUMBERS else 0
    if token.type in ("uint", "int"):
        return [_Step(token.type, use=use)]
    if token.type == "device":
        return [_Step("span", _DEVICE, use)]
    if token.type in _SEARCHES and not after:
        return []
    if token.type in _SEARCHES and isinstance(after[0], Literal):
        use |= c.IS_PATH if token.type == "path" else 0
        return [_Step(_SEARCHES[token.type], after[0].text, use)]
    raise GrammarError(f"the scanner can't read the field {token.name!r}", place)


_LETTERS = "qjzxkvwbygpfmcuhldrsnioate0123456789 "
"""What words are made of, the rarest first."""


def _triples(fixed: dict[int, str]) -> list[tuple[str, int, int]]:
    """Three bytes of a needle, and how far the others are from the first; the rarest first.

    Where the three are in a log's common words (`shape {`), each needle is looked for at each byte.
    """
    pool = sorted(fixed, key=lambda at: (_LETTERS.find(fixed[at].lower()), -at))[:5]
    return [
        (fixed[a] + fixed[b] + fixed[c_], b - a, c_ - a)
        for a, b, c_ in map(sorted, combinations(pool, 3))
    ]


def _array(kind: type[ctypes.Structure], items: Sequence[ctypes.Structure]) -> ctypes.Array[Any]:
    return (kind * len(items))(*items)
