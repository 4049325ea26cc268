"""What the passes did to a graph, in order: where the log speaks of it."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core.definition import NodeDef


class Report:
    """One function made ready to run. `events` are tuples; the first item says what happened.

    optimizer   name, how many nodes before it and after it (Grappler's)
    folded      node, op, attributes (constant folding computed it)
    fused       node, op, new op, names of the nodes that went into it (the remapper)
    merged      node, other node, the op that they became (the oneDNN pass)
    rewritten   node, op, new op, attributes (the oneDNN pass)
    run         nodes (a graph of constants that the runtime ran at step −1)
    replaced    node, which output, name of the constant in its place
    """

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.nodes: list[NodeDef] = []
        """What will run."""

    def note(self, what: str, *facts: Any) -> None:
        """This happened."""
        self.events.append((what, *facts))
