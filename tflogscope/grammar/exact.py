"""The exact engine: a pyparsing parser per message, made from the tokens of its template.

It gives the fields that the fast engine gives, and where a text departs from the message it says
at which column, what was expected and what was found. It parses thousands of texts a second, not
millions: it is for the samples of grammar files (`check.py`) and for the tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pyparsing as pp

from tflogscope.errors import TflogscopeError
from tflogscope.grammar.model import Message
from tflogscope.grammar.template import (
    FIELD_TYPES,
    SELF_DELIMITING,
    Blank,
    Field,
    Literal,
    OptionalPart,
    Token,
    escape,
    follow,
)

#: A piece of what is between the brackets of a node definition, in one regular expression:
#: quoted strings whole, brackets nested up to four deep, tensors up to their `>`.
_STRING = r'"(?:[^"\\]|\\.)*"'
_TENSOR = r"Tensor<type: (?:[^>]|>(?!,|\]|>))*>+"


def _nested(depth: int) -> str:
    inner = rf"|\[{_nested(depth - 1)}\]" if depth else ""
    return rf"(?:{_STRING}|{_TENSOR}|[^\[\]\"]{inner})*?"


ATTRIBUTES = _nested(4)

_INT64 = range(-(2**63), 2**63)
_UINT = range(2**63)
_LONGEST = 4_300  # digits that `int` takes


class GrammarMismatch(TflogscopeError):
    """A text is not the message that it was parsed as. `column` is 1-based."""

    def __init__(self, message: Message, column: int, expected: str, excerpt: str) -> None:
        super().__init__(
            f"column {column}: expected {expected}, found {excerpt}", f"message {message.id!r}"
        )
        self.column = column
        self.expected = expected
        self.found = excerpt


def parse(message: Message, text: str) -> dict[str, object]:
    """The fields of `text` (without its prefix), typed; None for parts that are not there.

    Raises GrammarMismatch.
    """
    parser = _parser(message.tokens)
    parser.furthest = -1
    try:
        fields = parser.element.parse_string(text, parse_all=False).as_dict()
    except pp.ParseBaseException as error:
        place, expected = parser.furthest, parser.expected
        if place < error.loc:
            place, expected = error.loc, str(error.parser_element)
        raise GrammarMismatch(message, place + 1, expected, _excerpt(text, place)) from None
    return {name: _value(kind, fields.get(name)) for name, kind in message.fields.items()}


class _Parser:
    """A parser and the furthest place that any part of it failed at.

    pyparsing reports the last failure; inside an optional part that says nothing about the mistake.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.furthest = -1
        self.expected = ""
        end = pp.Regex(r"\Z").set_name("the end of the line")
        parts = [*self._elements(tokens, ()), self._watched(end)]
        self.element = pp.And(parts).leave_whitespace().parse_with_tabs()

    def _elements(self, tokens: Sequence[Token], after: Sequence[Token]) -> list[pp.ParserElement]:
        elements: list[pp.ParserElement] = []
        for index, token in enumerate(tokens):
            elements.append(self._element(token, (*tokens[index + 1 :], *after)))
        return elements

    def _element(self, token: Token, after: Sequence[Token]) -> pp.ParserElement:
        if isinstance(token, Literal):
            return self._watched(pp.Suppress(pp.Literal(token.text)).set_name(repr(token.text)))
        if isinstance(token, Blank):
            return self._watched(pp.Suppress(pp.Regex(" +")).set_name("spaces"))
        if isinstance(token, Field):
            return self._field(token, after)
        if isinstance(token, OptionalPart):
            inner: pp.ParserElement = pp.And(self._elements(token.tokens, after))
            if token.flag:
                inner = inner + pp.Empty().set_parse_action(lambda: True)(token.flag)
            return pp.Opt(inner)
        # What follows is looked at too, so that the part is taken with which the whole fits.
        return pp.MatchFirst([pp.And(self._elements(part, after)) for part in token.parts])

    def _field(self, field: Field, after: Sequence[Token]) -> pp.ParserElement:
        body = _field_pattern(field)
        if field.type == "quoted":
            pattern = f'"(?P<value>{body})"'
            name = f"{field.name} in double quotes"
        else:
            pattern = f"(?P<value>{body})"
            name = f"{field.name} ({field.type})"
            # A field that ends by itself says at the place behind it what is wrong there.
            ends = field.type in SELF_DELIMITING and field.type != "choice"
            if not ends and (stops := follow(after)):
                ahead = "|".join(escape(stop) if stop else r"\Z" for stop in stops)
                pattern += f"(?={ahead})"
                name += f" and then {_stop_names(stops)}"
        element = pp.Regex(pattern).set_name(name)
        element.set_parse_action(lambda match: match["value"])
        return self._watched(element)(field.name)

    def _watched(self, element: pp.ParserElement) -> pp.ParserElement:
        def fail(_text: str, place: int, expression: Any, _error: Exception) -> None:
            if place > self.furthest:
                self.furthest = place
                self.expected = str(expression)

        return element.set_fail_action(fail)


@cache
def _parser(tokens: tuple[Token, ...]) -> _Parser:
    return _Parser(tokens)


def _field_pattern(field: Field) -> str:
    if field.choices:
        return "|".join(escape(choice) for choice in field.choices)
    if field.type == "attributes":
        return ATTRIBUTES
    return FIELD_TYPES[field.type]


def _stop_names(stops: Sequence[str]) -> str:
    return " or ".join(repr(stop) if stop else "the end of the line" for stop in stops)


def _value(kind: str, text: Any) -> object:
    if kind == "flag":
        return text is not None
    if text is None:
        return None
    if kind == "bool":
        return text in ("1", "true")
    if kind in ("uint", "int"):
        # As in the fast engine, a number that does not fit is not a number.
        number = int(text) if len(text) < _LONGEST else None
        return number if number in (_UINT if kind == "uint" else _INT64) else None
    return float(text) if kind == "float" else text


def _excerpt(text: str, place: int) -> str:
    if place >= len(text):
        return "the end of the line"
    return repr(re.sub(r"(?s)(.{40}).+", r"\1…", text[place:]))
