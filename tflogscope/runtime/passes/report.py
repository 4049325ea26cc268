"""What the passes did to a graph, as far as the log speaks of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tflogscope.runtime.core.definition import NodeDef


@dataclass
class Report:
    """One function made ready to run."""

    nodes: list[NodeDef] = field(default_factory=list)
    """What will run."""
    rewritten: dict[str, str] = field(default_factory=dict)
    """By name, the ops that nodes were which got a kernel of oneDNN's."""
    runs: list[list[NodeDef]] = field(default_factory=list)
    """The graphs of constants that the runtime ran at step −1."""
