"""What oneDNN does with TensorFlow's ops: grammars/onednn/ops.toml, whose head describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tflogscope.grammar.load import frozen, packaged_toml

_FILE = "onednn/ops.toml"
_NEVER = "never"


class Op(NamedTuple):
    """One op of a [[family.op]]."""

    name: str
    eager: bool = False
    layout: str | None = None
    onednn: tuple[tuple[int, ...], ...] = ()
    types: tuple[str, ...] = ()
    remapper: bool = False
    refusals: Mapping[str, str] = {}

    @property
    def has_kernel(self) -> bool:
        """Whether the layout pass replaces it, in some release."""
        return self.layout not in {None, _NEVER}


class Family(NamedTuple):
    """One [[family]]."""

    name: str
    source: str
    primitives: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    many: bool = False
    src: int | None = None
    wei: int | None = None
    dst: int | None = None
    product: str | None = None
    blocks: bool = False
    direction: str = ""
    kernels: str = ""
    ops: tuple[Op, ...] = ()


def _family(*, op: Sequence[Mapping[str, Any]] = (), **entry: Any) -> Family:
    return Family(**entry, ops=tuple(op_ for row in op for op_ in _ops(**row)))


def _ops(*, names: Sequence[str], onednn: Sequence[str] = (), **row: Any) -> list[Op]:
    versions = tuple(tuple(int(part) for part in text.split(".")) for text in onednn)
    return [Op(name, onednn=versions, **row) for name in names]


FAMILIES = tuple(_family(**entry) for entry in frozen(packaged_toml(_FILE)["family"]))
OPS = {op.name: op for family in FAMILIES for op in family.ops}
EAGER_OPS = frozenset(op.name for op in OPS.values() if op.eager)


def refused_by(rule: str) -> dict[str, str]:
    """The ops that a rule of docs/reasons.md may keep as they are, each with the place."""
    return {op.name: op.refusals[rule] for op in OPS.values() if rule in op.refusals}
