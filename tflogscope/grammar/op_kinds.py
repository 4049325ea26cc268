"""Kinds of ops: `grammars/ops.toml`."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from tflogscope.grammar.load import packaged_toml

OF_OTHERS = ("collective", "remote")
"""Kinds that wait for another process."""


class OpKind(NamedTuple):
    """Ops of one kind.

    `ops` is a regular expression of their types; `tasks` are those that find the two tasks in a
    node's attributes, where the op waits for another process only if they differ.
    """

    ops: str
    tasks: tuple[str, str] | None


@cache
def op_kinds() -> dict[str, OpKind]:
    """The kinds by id: `collective`, `remote`, `python`."""
    return {
        entry["id"]: OpKind(entry["ops"], (entry["from"], entry["to"]) if "from" in entry else None)
        for entry in packaged_toml("ops.toml")["kind"]
    }


def ops_of(kind: str) -> str:
    """The regular expression of the ops of a kind."""
    return op_kinds()[kind].ops
