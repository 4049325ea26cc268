"""The template language of grammar files: a message text with typed fields → tokens → a pattern.

    literal text          stands for itself; `$$` is one dollar sign
    ${name:type}          a field; the types are the keys of `FIELD_TYPES`
    ${name:(a|b|c)}       a field that is one of these texts
    ${definition}         short for a node definition, see `ABBREVIATIONS`
    $[ ... $]             an optional part; it may hold fields and further optional parts
    $[?name: ... $]       the same, and the field `name` (a bool) says whether the part was there
    $( ... $| ... $)      one of several parts
    $_                    one or more spaces

Both engines start from the tokens made here: `pattern_of` gives the fast one its RE2 pattern,
`exact.py` builds a pyparsing parser. No look-around and no backreference is used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tflogscope.errors import GrammarError

#: The pattern of each field type, as RE2 and Python's `re` both read it.
FIELD_TYPES: dict[str, str] = {
    "uint": r"[0-9]+",
    "int": r"-?[0-9]+",
    "float": r"[-+]?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|inf|nan)",
    "bool": r"0|1|true|false",
    "hex": r"(?:0x)?[0-9a-fA-F]+",
    # No spaces; ends at the next literal.
    "word": r"[^ ]+?",
    # A node or function name: no spaces and no braces.
    "name": r"[^ {}]+?",
    # A path as the compiler knows it: no spaces.
    "path": r"[^ ]*?",
    # The shortest text up to the next literal; may be empty.
    "text": r".*?",
    # The longest text up to the last occurrence of the next literal; may be empty.
    "longest": r".*",
    # To the end of the line; may be empty.
    "rest": r".*",
    # A device as printed, `/job:localhost/replica:0/task:0/device:CPU:0`; may be empty. Text that
    # another writer glued to it does not fit.
    "device": r"[A-Za-z0-9_/:.*-]*",
    # The dimensions of a TensorShapeProto as text: `dim { size: 2 } dim { size: 3 } `.
    "dims": r"(?:dim \{[^{}]*\} |unknown_rank: true )*",
    # Between double quotes, with backslash escapes; the value is what is between the quotes.
    "quoted": r'(?:[^"\\]|\\.)*',
    # What is between the brackets of a node definition. Strings in it can hold anything, so
    # the fast engine takes the longest and the exact one reads the quotes and brackets.
    "attributes": r".*",
    # What is between the parentheses of a node definition.
    "inputs": r"[^()]*",
}

#: Types whose pattern says by itself where the field ends; all others end at literal text.
SELF_DELIMITING = frozenset(
    {"uint", "int", "float", "bool", "hex", "device", "dims", "quoted", "inputs", "choice", "rest"}
)

#: A node as TensorFlow's SummarizeNodeDef prints it.
NODE_DEFINITION = "{{node ${node:name}}} = ${op:word}[${attributes:attributes}](${inputs:inputs})"

#: What stands for a longer piece of template: `${definition}`, and `${debug_string}` for a node
#: as Node::DebugString prints it.
ABBREVIATIONS: dict[str, str] = {
    "${definition}": NODE_DEFINITION,
    "${debug_string}": "{name:'${name:text}' id:${id:uint} op device:{requested: "
    f"'${{requested:text}}', assigned: '${{assigned:text}}'}} def:{{{NODE_DEFINITION}}}}}",
}

_MARK = re.compile(r"\$(?:\{([^{}]*)\}|\[(?:\?(\w+):)?|\]|\(|\||\)|\$|_)")
_FIELD = re.compile(r"([a-z][a-z0-9_]*):(?:\((.+)\)|([a-z]+))")
_HEAD = re.compile(r"(?:[^$]|\$\$)*")
_DEEPEST = 32  # parts in parts
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


class Literal(NamedTuple):
    """Literal text."""

    text: str


class Blank(NamedTuple):
    """One or more spaces."""


class Field(NamedTuple):
    """A typed value. `choices` is set only where the type is `choice`."""

    name: str
    type: str
    choices: tuple[str, ...] = ()


class OptionalPart(NamedTuple):
    """A part that may be missing; `flag` names the bool field that says so."""

    tokens: tuple[Token, ...]
    flag: str | None = None


class Choice(NamedTuple):
    """One of several parts; the first that fits is taken."""

    parts: tuple[tuple[Token, ...], ...]


Token = Literal | Blank | Field | OptionalPart | Choice


class _TemplateError(ValueError):
    """A template is not well formed; the text says where and why."""


def require_known(entry: Mapping[str, Any], keys: Collection[str], place: str) -> None:
    """Raise GrammarError if a table of a grammar file has a key that says nothing."""
    if unknown := sorted(set(entry) - set(keys)):
        there = ", ".join(sorted(keys))
        raise GrammarError(f"unknown key `{unknown[0]}`; there are {there}", place)


def tokens_of(template: str, where: str, types: Collection[str] = FIELD_TYPES) -> tuple[Token, ...]:
    """The tokens of a template as they stand, with fields of these types. Raises GrammarError."""
    try:
        return _Reader(template, types).read()
    except _TemplateError as error:
        raise GrammarError(str(error), where) from error


def parse_template(template: str, where: str) -> tuple[Token, ...]:
    """The tokens of a template that both engines can read. Raises GrammarError."""
    tokens = tokens_of(template, where)
    seen: set[str] = set()
    for name, _ in fields_of(tokens):
        if name in seen:
            raise GrammarError(f"the field {name!r} occurs twice", where)
        seen.add(name)
    _check_neighbours(tokens, (), where)
    return tokens


class _Reader:
    """Reads one template from left to right; `$[` and `$(` nest by recursion."""

    def __init__(self, template: str, types: Collection[str]) -> None:
        self.types = types
        self.template = _spelled_out(template)
        self.marks = list(_MARK.finditer(self.template))
        self.next = self.depth = 0

    def read(self) -> tuple[Token, ...]:
        parts, end = self._parts(0, closers=())
        if end != len(self.template):
            raise _TemplateError(f"column {end + 1}: nothing to close here")
        return parts[0]

    def _parts(
        self, start: int, closers: Sequence[str]
    ) -> tuple[tuple[tuple[Token, ...], ...], int]:
        """The parts from `start` to one of `closers` (or the end), and where that ends."""
        parts: list[tuple[Token, ...]] = []
        tokens: list[Token] = []
        position = start
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _TemplateError(f"column {start + 1}: parts are nested deeper than {_DEEPEST}")
        while self.next < len(self.marks):
            mark = self.marks[self.next]
            _append_literal(tokens, self._plain(position, mark.start()))
            position = mark.end()
            self.next += 1
            if mark[0] not in closers:
                position = self._mark(mark, tokens)
                continue
            parts.append(tuple(tokens))
            if mark[0] != "$|":
                self.depth -= 1
                return tuple(parts), position
            tokens = []
        if closers:
            raise _TemplateError(f"column {start + 1}: {closers[-1]} is missing")
        _append_literal(tokens, self._plain(position, len(self.template)))
        return (tuple(tokens),), len(self.template)

    def _mark(self, mark: re.Match[str], tokens: list[Token]) -> int:
        """Adds what `mark` begins to `tokens`; the place behind it."""
        text, position = mark[0], mark.end()
        if text == "$$":
            _append_literal(tokens, "$")
        elif text == "$_":
            tokens.append(Blank())
        elif text.startswith("${"):
            tokens.append(_field(mark[1], mark.start(), self.types))
        elif text.startswith("$["):
            inner, position = self._parts(position, closers=("$]",))
            tokens.append(OptionalPart(inner[0], mark[2]))
        elif text == "$(":
            inner, position = self._parts(position, closers=("$|", "$)"))
            tokens.append(Choice(inner))
        else:
            raise _TemplateError(f"column {mark.start() + 1}: {text} closes nothing")
        return position

    def _plain(self, start: int, end: int) -> str:
        text = self.template[start:end]
        if "$" in text:
            column = start + text.index("$") + 1
            raise _TemplateError(
                f"column {column}: a $ without meaning; write $$ for a dollar sign"
            )
        return text


def _append_literal(tokens: list[Token], text: str) -> None:
    """Adds literal text, joined to literal text before it."""
    if text and tokens and isinstance(tokens[-1], Literal):
        tokens[-1] = Literal(tokens[-1].text + text)
    elif text:
        tokens.append(Literal(text))


def _field(text: str, position: int, types: Collection[str]) -> Field:
    match = _FIELD.fullmatch(text)
    if not match:
        raise _TemplateError(f"column {position + 1}: ${{{text}}} is not ${{name:type}}")
    name, choices, type_ = match.groups()
    if choices is not None:
        return Field(name, "choice", tuple(choices.split("|")))
    if type_ not in types:
        kinds = ", ".join(types)
        raise _TemplateError(f"column {position + 1}: no field type {type_!r}; there are {kinds}")
    return Field(name, type_)


def _check_neighbours(tokens: Sequence[Token], after: Sequence[Token], where: str) -> None:
    """Two fields side by side can't be separated; neither engine would know where to cut."""
    for index, token in enumerate(tokens):
        following = (*tokens[index + 1 :], *after)
        if isinstance(token, Field):
            if token.type not in SELF_DELIMITING and follow(following) is None:
                raise GrammarError(f"no literal text after the field {token.name!r}", where)
        elif isinstance(token, OptionalPart):
            _check_neighbours(token.tokens, following, where)
        elif isinstance(token, Choice):
            for part in token.parts:
                _check_neighbours(part, following, where)


def follow(tokens: Sequence[Token]) -> tuple[str, ...] | None:
    """The literals that may come first in `tokens`; "" stands for the end of the text.

    None if a field may come first.
    """
    if not tokens:
        return ("",)
    first, rest = tokens[0], tokens[1:]
    if isinstance(first, Blank):
        return (" ",)
    if isinstance(first, Field):
        return ('"',) if first.type == "quoted" else None
    if isinstance(first, Literal):
        # Two literals in a row (a part's last and what follows the part) are one for the reader.
        joined = rest[0].text if rest and isinstance(rest[0], Literal) else ""
        return (first.text + joined,)
    heads = [follow((*part, *rest)) for part in _parts_of(first)]
    if isinstance(first, OptionalPart):
        heads.append(follow(rest))
    if None in heads:
        return None
    return tuple(dict.fromkeys(text for head in heads if head for text in head))


def _parts_of(token: OptionalPart | Choice) -> tuple[tuple[Token, ...], ...]:
    return (token.tokens,) if isinstance(token, OptionalPart) else token.parts


def head_of(template: str) -> str:
    """The literal text that a template begins with; may be empty."""
    match = _HEAD.match(_spelled_out(template))
    return match[0].replace("$$", "$") if match else ""


def _spelled_out(template: str) -> str:
    for short, long in ABBREVIATIONS.items():
        template = template.replace(short, long)
    return template


def fields_of(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """(name, type) of every field, in the order of the template; a flag has the type `flag`."""
    for token in tokens:
        if isinstance(token, Field):
            yield token.name, token.type
        elif isinstance(token, OptionalPart | Choice):
            if isinstance(token, OptionalPart) and token.flag:
                yield token.flag, "flag"
            for part in _parts_of(token):
                yield from fields_of(part)


def pattern_of(tokens: Sequence[Token], *, capture: bool = True) -> str:
    """The RE2 pattern of a whole message, anchored at both ends, with one named group a field."""
    return f"^{_pattern(tokens, capture)}$"


def _pattern(tokens: Sequence[Token], capture: bool) -> str:
    return "".join(_token_pattern(token, capture) for token in tokens)


def _token_pattern(token: Token, capture: bool) -> str:
    if isinstance(token, Literal):
        return escape(token.text)
    if isinstance(token, Blank):
        return " +"
    if isinstance(token, Field):
        body = (
            "|".join(escape(choice) for choice in token.choices)
            if token.choices
            else FIELD_TYPES[token.type]
        )
        group = _group(body, token.name if capture else None)
        return f'"{group}"' if token.type == "quoted" else group
    if isinstance(token, OptionalPart):
        return _group(_pattern(token.tokens, capture), token.flag if capture else None) + "?"
    return _group("|".join(_pattern(part, capture) for part in token.parts), None)


def _group(body: str, name: str | None) -> str:
    return f"(?P<{name}>{body})" if name else f"(?:{body})"


def escape(text: str) -> str:
    """`text` as a pattern that RE2 and Python's `re` read alike."""
    return _SPECIAL.sub(r"\\\g<0>", text)
