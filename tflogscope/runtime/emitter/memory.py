"""A primitive on paper: kind, implementation, memory descriptors, problem."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase

__all__ = ["Memory", "Plan", "letters", "undefined"]


@dataclass(frozen=True, slots=True)
class Memory:
    """A tensor of a primitive: name, element type, format."""

    name: str
    dtype: str
    tag: str
    flags: str = ""
    """`a`: oneDNN chose the format; `p`: padded to whole blocks."""


def undefined(name: str) -> Memory:
    """A tensor that is not there."""
    return Memory(name, "undef", "")


@dataclass(slots=True)
class Plan:
    """A primitive that is to run; `size` and `work`: bytes and operations."""

    kind: str
    implementation: str
    prop: str
    memories: tuple[Memory, ...]
    attributes: str
    auxiliary: str
    problem: str
    size: int
    work: int


def letters(rank: int) -> str:
    """The plain format of that rank: `abcd`."""
    return ascii_lowercase[:rank]
