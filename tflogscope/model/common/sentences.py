"""Sentences are rows of `grammars/sentences/`: when each is said, in which words, what to do.

Texts are templates in the language of the grammar's messages (`grammar/template.py`), which are
written here, not read. A rule gives the facts; what it knows nothing of is left out:

    ${name:type}        a fact; `TYPES` has the types
    ${name:(one|many)}  the first text where the fact is 1, or a list of one; else the second
    $[ ... $]           left out where one of the facts right inside it is not there
    $( ... $| ... $)    the first part whose facts are all there; without any, nothing
    ${name:if}          writes nothing; where a part has such facts, only these decide about it

A fact is not there if it is None, false, 0, or an empty text or list; 0 µs are a time all the same.
A fact may be a list of facts: `parts` of the file says how each is worded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.template import Blank, Field, Literal, OptionalPart, Token, tokens_of
from tflogscope.model.common.figures import percent, spoken

Facts = Mapping[str, Any]
_NAMED = 4  # of what a sentence lists


class Row(NamedTuple):
    """A row. `text` and `advice` are templates; `where` is the place in TensorFlow or oneDNN."""

    id: str
    text: str
    when: str
    """When it is said, for the docs."""
    title: str = ""
    lead: str = ""
    """How a verdict begins that is made of the row; `title: subject` where there is none."""
    message: str = ""
    """What the verdict quotes after that: what an error said."""
    severity: str = ""
    advice: str = ""
    where: str = ""
    set_by: Sequence[str] = ()
    """What a program calls the setting that a finding is about, to find the line to change."""
    parts: Mapping[str, str] = {}

    def words(self, **facts: Any) -> str:
        """The sentence."""
        return words(self.text, facts, self.parts)

    def leads(self, **facts: Any) -> tuple[str, str]:
        """The beginning of a verdict, and what it quotes."""
        lead = self.lead or f"{self.title}$[: ${{subject:text}}$]"
        return words(lead, facts, self.parts), words(self.message, facts, self.parts)

    def advised(self, **facts: Any) -> str:
        """What to do."""
        return words(self.advice, facts, self.parts)


@cache
def rows(kind: str) -> dict[str, Row]:
    """The rows of `grammars/sentences/KINDs.toml` by their ids, in the order of the file."""
    content = packaged_toml(f"sentences/{kind}s.toml")
    parts = content.get("parts", {})
    return {row["id"]: Row(**row, parts=parts) for row in content[kind]}


def words(template: str, facts: Facts, parts: Mapping[str, str] | None = None) -> str:
    """Put facts into a template.

    Raises:
        KeyError: a fact that is not in an optional part is missing.
    """
    return "".join(_written(token, facts, parts or {}) for token in _tokens(template))


@cache
def _tokens(template: str) -> tuple[Token, ...]:
    return tokens_of(template, TYPES)


def _written(token: Token, facts: Facts, parts: Mapping[str, str]) -> str:
    if isinstance(token, Literal):
        return token.text
    if isinstance(token, Field):
        return _fact(token, facts[token.name], parts)
    if isinstance(token, Blank):
        return " "
    choices = (token.tokens,) if isinstance(token, OptionalPart) else token.parts
    for choice in choices:
        fields = [each for each in choice if isinstance(each, Field)]
        deciding = [each for each in fields if each.type == "if"] or fields
        if all(_is_there(each, facts) for each in deciding):
            return "".join(_written(each, facts, parts) for each in choice)
    return ""


def _is_there(field: Field, facts: Facts) -> bool:
    value = facts.get(field.name)
    return value is not None if field.type == "time" else bool(value)


def _fact(field: Field, value: Any, parts: Mapping[str, str]) -> str:
    is_list = isinstance(value, list | tuple)
    if field.choices:
        return field.choices[(len(value) if is_list else value) != 1]
    if is_list and field.name in parts:
        value = [words(parts[field.name], each, parts) for each in value]
    return TYPES[field.type](value)


def listed(names: Sequence[object]) -> str:
    """Names as a sentence has them, the first of many: `MatMul, AddV2, Relu, Sum and 3 more`."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(str(name) for name in names[:_NAMED]) + more


def said_lines(lines: Sequence[int]) -> str:
    """`line 5`; `lines 5, 9`; `lines 5, 9, 12, … 1,040`."""
    if len(lines) == 1:
        return f"line {lines[0]:,}"
    shown = [f"{line:,}" for line in lines[:3]]
    if len(lines) > 3:
        shown.append(f"{lines[3]:,}" if len(lines) == 4 else f"… {lines[-1]:,}")
    return f"lines {', '.join(shown)}"


TYPES: dict[str, Callable[[Any], str]] = {
    "text": str,
    "number": "{:,}".format,
    "figures": "{:.3g}".format,
    "time": spoken,
    "percent": "{:.1%}".format,
    "share": lambda share: percent(share, 1),
    "hundredths": "{:.2%}".format,
    "lines": said_lines,
    "list": listed,
    "commas": ", ".join,
    "semicolons": "; ".join,
    "and": " and ".join,
    "or": " or ".join,
    "sentences": " ".join,
    "if": lambda _: "",
}
"""How facts are written; `list` has the first of many names."""
