"""Kinds of ops by what their time is: `grammars/op_kinds.toml`."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from tflogscope.grammar.load import packaged_toml


class OpKind(NamedTuple):
    """Ops whose kernels wait for another process.

    `ops` is a regular expression of their types; `tasks` are those that find the two tasks in a
    node's attributes, where the op waits for another process only if they differ.
    """

    ops: str
    tasks: tuple[str, str] | None


@cache
def op_kinds() -> dict[str, OpKind]:
    """The kinds by id: `collective`, `remote`."""
    return {
        entry["id"]: OpKind(entry["ops"], (entry["from"], entry["to"]) if "from" in entry else None)
        for entry in packaged_toml("op_kinds.toml")["kind"]
    }
