"""Sentences are rows of `grammars/sentences/`: when each is said, in which words, what to do.

A rule gives facts; the key of a row names those that have to be there, `always` none:

    advice.serial = "Pass num_parallel_calls=tf.data.AUTOTUNE to the map."
    advice."saved restored" = "Checkpoints were written {saved} and read {restored} times."

A fact is not there if it is None, false, 0, or empty; a time of 0 µs is there. Fields are written
as `str.format` writes them, or in a format of `FORMATS`; a list without one names its first four.
Integers have separators, and a plural: `{count:op|ops}` is `1 op` or `2,000 ops`. A fact that
consists of facts, or a list of such, is worded by the rows of its name in `[phrases]`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.figures import count_of, percent, spoken

Facts = Mapping[str, Any]
Sentences = str | Mapping[str, str]
"""Rows by the facts that they need; one alone is said always."""
_NAMED = 4  # of what a sentence lists


class Words(string.Formatter):
    """Puts facts into sentences."""

    def __init__(self, phrases: Mapping[str, Sentences]) -> None:
        self.phrases = phrases

    def first(self, sentences: Sentences, facts: Facts) -> str:
        """The first sentence whose facts are there; empty without any."""
        return next(self.every(sentences, facts), "")

    def every(self, sentences: Sentences, facts: Facts) -> Iterator[str]:
        """The sentences whose facts are there."""
        by_need = {"always": sentences} if isinstance(sentences, str) else sentences
        for needs, sentence in by_need.items():
            if needs == "always" or all(_is_there(facts.get(name)) for name in needs.split()):
                yield self.vformat(sentence, (), facts)

    def said(self, text: Sentences, more: Sentences, facts: Facts) -> str:
        """The first sentence of a text, and each of what is said after it."""
        return " ".join(filter(None, (self.first(text, facts), *self.every(more, facts))))

    def get_value(self, key: int | str, args: object, kwargs: Facts) -> Any:  # noqa: ARG002  # the base class gives it
        """A fact, in words."""
        return self._phrase(str(key), kwargs[str(key)])

    def _phrase(self, name: str, fact: Any) -> Any:
        if isinstance(fact, Mapping):
            return self.first(self.phrases[name], fact)
        return [self._phrase(name, part) for part in fact] if isinstance(fact, list) else fact

    def format_field(self, value: Any, format_spec: str) -> str:
        """A fact as its field writes it."""
        if "|" in format_spec:
            return f"{value:,} {format_spec.split('|')[value != 1]}"
        if format_spec in FORMATS:
            return FORMATS[format_spec](value)
        if isinstance(value, list):
            return listed(value)
        return format(value, format_spec or "," * isinstance(value, int))


class Row(NamedTuple):
    """A row: `where` is the place in TensorFlow or oneDNN that decides it."""

    id: str
    when: str
    """When it is said, for the docs."""
    say: Words
    text: Sentences = ""
    """The sentence: the first that fits."""
    more: Sentences = ""
    """What is said after it: each that fits."""
    title: str = ""
    lead: Sentences = ""
    """How a verdict begins that is made of the row; `title: subject` where there is none."""
    message: Sentences = ""
    """What the verdict quotes after that: what an error said."""
    severity: str = ""
    advice: Sentences = ""
    where: str = ""
    set_by: Sequence[str] = ()
    """What a program calls the setting that a finding is about, to find the line to change."""
    at_most: bool = False
    """Whether its time is all that it is about took, of which a change saves a part."""
    miscounts: bool = False
    """Whether counts of executions are wrong under a limit: the first screen has it, too."""

    def words(self, **facts: Any) -> str:
        """The sentences."""
        return self.say.said(self.text, self.more, facts)

    def leads(self, **facts: Any) -> tuple[str, str]:
        """The beginning of a verdict, and what it quotes."""
        lead = self.lead or {"subject": f"{self.title}: {{subject}}", "always": self.title}
        return self.say.first(lead, facts), self.say.said("", self.message, facts)

    def advised(self, **facts: Any) -> str:
        """What to do."""
        return self.say.first(self.advice, facts)


@cache
def rows(kind: str) -> dict[str, Row]:
    """The rows of `grammars/sentences/KINDs.toml` by their ids, in the order of the file."""
    content = packaged_toml(f"sentences/{kind}s.toml")
    say = Words(content.get("phrases", {}))
    return {row["id"]: Row(**row, say=say) for row in content[kind]}


def _is_there(fact: Any) -> bool:
    return isinstance(fact, float) or bool(fact)


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


def joined(names: Sequence[str], word: str) -> str:
    """`a`; `a and b`; `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


FORMATS: dict[str, Callable[[Any], str]] = {
    "time": spoken,
    "times": lambda times: count_of(times, "time"),
    "share": lambda share: percent(share, 1),
    "average": lambda average: f"{average:,.0f}" if average >= 100 else f"{average:.3g}",
    "lines": said_lines,
    "commas": ", ".join,
    "semicolons": "; ".join,
    "and": lambda names: joined(names, "and"),
    "or": lambda names: joined(names, "or"),
    "sentences": " ".join,
}
"""How facts are written, beside Python's own formats."""
