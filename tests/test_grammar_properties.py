"""Fields written into a template come back from both engines."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import examples
from tflogscope.grammar import exact, fast
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.model import Message
from tflogscope.grammar.template import (
    SELF_DELIMITING,
    Blank,
    Choice,
    Field,
    Literal,
    OptionalPart,
    Token,
    fields_of,
    follow,
)

GRAMMAR = load_grammar()

WORDS = st.text("abzAZ019_/.-", min_size=1, max_size=12)
TEXTS = st.text("abzAZ019 _/.-%é\t", max_size=20)

DIMS = st.integers(-1, 99).map(lambda size: f"dim {{ size: {size} }} ")

VALUES: dict[str, st.SearchStrategy[str]] = {
    "uint": st.integers(0, 2**63 - 1).map(str),
    "int": st.integers(-(2**63), 2**63 - 1).map(str),
    "float": st.one_of(
        st.floats(0, 1e6).map(lambda value: f"{value:g}"),
        st.integers(0, 10**6).map(str),
    ),
    "bool": st.sampled_from(["0", "1", "true", "false"]),
    "hex": st.integers(0, 2**64 - 1).map(hex),
    "word": WORDS,
    "name": WORDS,
    "text": TEXTS,
    "longest": TEXTS,
    "rest": st.text("abzAZ019 _/.-%é\t{}[]()\"'<>:,", max_size=20),
    "device": st.sampled_from(["", "/device:CPU:0", "/job:w/replica:0/task:1/device:CPU:0"]),
    "dims": st.lists(DIMS).map("".join),
    "quoted": st.lists(st.sampled_from(["a", " ", '\\"', "\\\\", "{", "]", "é"])).map("".join),
    "attributes": st.lists(
        st.sampled_from(
            [
                "T=DT_FLOAT",
                "strides=[1, 2, 2, 1]",
                'text="](\\" device: ) {{node"',
                "f=g[T=[DT_INT32], h=i[]]",
                "value=Tensor<type: float shape: [] values: 1>",
                "shape=<unknown>",
            ]
        )
    ).map(", ".join),
    "inputs": st.lists(WORDS, max_size=3).map(", ".join),
}


def typed(kind: str, text: str) -> object:
    if kind in ("uint", "int"):
        return int(text)
    if kind == "float":
        return float(text)
    return text in ("1", "true") if kind == "bool" else text


class Writer:
    """Writes a message with drawn values; `fields` is what the engines have to find."""

    def __init__(self, data: st.DataObject, message: Message) -> None:
        self.data = data
        self.fields: dict[str, object] = {
            name: False if kind == "flag" else None for name, kind in fields_of(message.tokens)
        }
        self.before: type[Token] | None = None
        self.text = self.write(message.tokens, ())

    def write(self, tokens: Sequence[Token], after: Sequence[Token]) -> str:
        return "".join(
            self.one(token, (*tokens[index + 1 :], *after)) for index, token in enumerate(tokens)
        )

    def one(self, token: Token, after: Sequence[Token]) -> str:
        if isinstance(token, Field):
            return self.field(token, after)
        if isinstance(token, OptionalPart):
            if not self.data.draw(st.booleans()):
                return ""
            if token.flag:
                self.fields[token.flag] = True
            return self.write(token.tokens, after)
        if isinstance(token, Choice):
            return self.write(self.data.draw(st.sampled_from(token.parts)), after)
        self.before = type(token)
        if isinstance(token, Blank):
            return " " * self.data.draw(st.integers(1, 4))
        return token.text

    def field(self, field: Field, after: Sequence[Token]) -> str:
        strategy = st.sampled_from(field.choices) if field.choices else VALUES[field.type]
        if field.type not in SELF_DELIMITING or field.type == "rest":
            # Well formed: what ends a field is not in it.
            stops = [stop for stop in follow(after) or () if stop]
            strategy = strategy.filter(
                lambda text: not any((text + stop).index(stop) < len(text) for stop in stops)
            )
        text = self.data.draw(strategy)
        # Nor does a field begin with what the token before it would take.
        if self.before is Field and field.type == "rest":
            text = f" {text}"
        elif self.before is Blank:
            text = text.lstrip(" ")
        self.before = Field
        self.fields[field.name] = typed(field.type, text)
        return f'"{text}"' if field.type == "quoted" else text


@pytest.mark.thorough
@pytest.mark.parametrize("message", GRAMMAR.by_id.values(), ids=lambda message: message.id)
@given(data=st.data())
@settings(max_examples=examples(4))
def test_fields_written_into_a_template_come_back(message: Message, data: st.DataObject) -> None:
    written = Writer(data, message)
    assert exact.parse(message, written.text) == written.fields
    texts = pl.Series([written.text])
    assert texts.str.contains(message.test_pattern).item()
    if message.fields:
        assert fast.extract(texts, message).row(0, named=True) == written.fields


def test_the_writer_covers_every_kind_of_token() -> None:
    kinds = {type(token) for message in GRAMMAR.by_id.values() for token in message.tokens}
    assert kinds == {Literal, Blank, Field, OptionalPart, Choice}
