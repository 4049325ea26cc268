"""What the passes did to a graph, as far as the log speaks of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tflogscope.runtime.core.definition import NodeDef


class Rewrite(NamedTuple):
    """A node that got a kernel of oneDNN's."""

    node: str
    old: str
    new: str
    attributes: dict[str, Any]


@dataclass
class Report:
    """One function made ready to run."""

    nodes: list[NodeDef] = field(default_factory=list)
    """What will run."""
    rewritten: list[Rewrite] = field(default_factory=list)
    runs: list[list[NodeDef]] = field(default_factory=list)
    """The graphs of constants that the runtime ran at step −1."""
