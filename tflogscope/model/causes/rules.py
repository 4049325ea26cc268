"""The rules of causes: why an op ran eagerly, and why a graph row has no call.

The rules are in `grammars/causes.toml`, those of eager ops with the patterns that show them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from tflogscope.grammar.load import packaged_file
from tflogscope.model.causes.patterns import Words

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Shown:
    """A pattern of ops that shows a rule, a real sample of it and a near miss.

    `grammars/causes.toml` says how they are written.
    """

    ops: str
    holds: str
    fails: str
    within: str | None = None


@dataclass(frozen=True)
class Rule:
    """One reason for an execution outside graph functions, or outside calls."""

    id: str
    cause: str
    why: str
    where: str
    """The place in TensorFlow or Keras that makes it true."""
    change: str
    shown: tuple[Shown, ...] = ()
    own: bool = False
    """Whether TensorFlow or Keras asks for it itself, where no program can avoid it."""


@dataclass(frozen=True)
class CauseGrammar:
    """What `grammars/causes.toml` says."""

    rules: tuple[Rule, ...]
    graph_rules: tuple[Rule, ...]
    """Of graph rows that no call covers; `steps.read_steps` gives them."""
    words: Words
    variables: dict[str, str]
    """Tags of variables, each with the regular expression that their names match."""


@cache
def cause_grammar() -> CauseGrammar:
    """Read the rules; those of eager ops from the surest to what remains when no other fits."""
    content = tomllib.loads(packaged_file("causes.toml").read_text(encoding="utf-8"))
    rules = tuple(_rule(entry) for entry in content["rule"])
    shown = [each for rule in rules for each in rule.shown]
    patterns = {each.ops for each in shown} | {each.within for each in shown if each.within}
    graph_rules = tuple(_rule(entry) for entry in content["graph-rule"])
    words = Words(content["words"], patterns)
    return CauseGrammar(rules, graph_rules, words, content["variables"])


def _rule(entry: dict[str, Any]) -> Rule:
    shown = tuple(Shown(**each) for each in entry.pop("shown", ()))
    return Rule(**entry, shown=shown)
