"""The rules of causes: why an op ran eagerly, and why a graph row has no call.

They are in `grammars/causes.toml`, those of eager ops with the patterns that show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from tflogscope.grammar.load import packaged_toml
from tflogscope.model.causes.patterns import Vocabulary

UNKNOWN = "unknown"
RUN_EAGERLY = "functions-run-eagerly"
"""The last rule where TensorFlow warns that `run_functions_eagerly(True)` holds."""


class Shown(NamedTuple):
    """A pattern of ops that shows a rule, a real sample of it and a near miss.

    `grammars/causes.toml` says how they are written.
    """

    ops: str
    holds: str
    fails: str
    within: str | None = None


class CauseRule(NamedTuple):
    """One reason for an execution outside graph functions, or outside calls."""

    id: str
    cause: str
    why: str
    where: str
    """The place in TensorFlow or Keras that makes it true."""
    change: str
    shown: tuple[Shown, ...] = ()
    frames: tuple[str, ...] = ()
    """Frames of TensorFlow or Keras, one of which asked for such an op where its stack is known."""
    own: bool = False
    """Whether TensorFlow or a library asks for it itself, where no program can avoid it."""
    makes_variable: bool = False
    """Whether it makes a variable, which a program does once: models are built like that."""


class Cause(NamedTuple):
    """A cause of eager ops. `counts`: when an op with it is unexpected, as the file's head says."""

    id: str
    advice: str
    counts: str = "after the first call"


class CauseGrammar(NamedTuple):
    """What `grammars/causes.toml` says."""

    causes: dict[str, Cause]
    """By id."""
    rules: tuple[CauseRule, ...]
    graph_rules: tuple[CauseRule, ...]
    """Of graph rows that no call covers; `steps.read_steps` gives them."""
    words: Vocabulary
    variables: dict[str, str]
    """Tags of variables, each with the regular expression that their names match."""
    parts_of_programs: tuple[str, ...]
    """Modules of packages whose ops count as those of the program that calls them."""


@cache
def cause_grammar() -> CauseGrammar:
    """Read the rules; those of eager ops from the surest to what remains when no other fits."""
    content = packaged_toml("causes.toml")
    rules = tuple(_rule(**entry) for entry in content["rule"])
    shown = [proof for rule in rules for proof in rule.shown]
    patterns = {proof.ops for proof in shown} | {proof.within for proof in shown if proof.within}
    return CauseGrammar(
        {entry["id"]: Cause(**entry) for entry in content["cause"]},
        rules,
        tuple(_rule(**entry) for entry in content["graph-rule"]),
        Vocabulary(content["words"], patterns),
        content["variables"],
        tuple(content["parts_of_programs"]),
    )


def _rule(
    *, shown: Sequence[dict[str, str]] = (), frames: Sequence[str] = (), **entry: Any
) -> CauseRule:
    return CauseRule(**entry, shown=tuple(Shown(**row) for row in shown), frames=tuple(frames))


@cache
def causes_that_count(when: str) -> tuple[str, ...]:
    """The causes of ops that are never unexpected, or always: `Cause.counts`."""
    return tuple(cause.id for cause in cause_grammar().causes.values() if cause.counts == when)
