"""A function made ready to run: for each node its kernel, where its outputs go, and the frame it
is in. See `ImmutableExecutorState` of `core/common_runtime/immutable_executor_state.cc`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.registry import bind


@dataclass(slots=True, eq=False)
class Item:
    """A node, and what becomes of what it gives."""

    node: NodeDef
    kernel: Callable[..., Any]
    targets: list[list[tuple[Item, int]]]
    """For each output who takes it, and as which input."""
    controls: list[Item] = field(default_factory=list)
    scope: Scope | None = None
    index: int = 0
    """Its place among the nodes of its frame."""
    first: int = 0
    """The place of its first input among those of all nodes of the frame."""
    before: list[int] = field(default_factory=list)
    """The places of the nodes that give its inputs."""

    is_merge = property(lambda self: self.node.type == "Merge")
    """Does it go on with the first live input?"""

    @property
    def readers(self) -> list[Item]:
        """Those that take something, or wait for it."""
        return [target for targets in self.targets for target, _ in targets] + self.controls


@dataclass(slots=True, eq=False)
class Scope:
    """A frame as it is written in the graph: what is between the Enter and the Exit of a loop."""

    name: str
    parent: Scope | None
    inputs: int = 0
    enters: int = 0
    pending: list[int] = field(default_factory=list)
    """For how much each node waits when an iteration begins."""


@dataclass(slots=True, eq=False)
class Plan:
    """A function ready to run."""

    definition: FunctionDef
    items: list[Item]
    sources: list[Item]
    """Nodes that wait for nothing."""
    root: Scope


def make_plan(definition: FunctionDef) -> Plan:
    """The plan of a function whose graph passes have rewritten already."""
    items = {
        node.name: Item(node, bind(node.definition, node.attributes), [[] for _ in node.dtypes])
        for node in definition.nodes
    }
    before = {
        name: [
            source
            for source in (*dict(item.node.inputs), *dict.fromkeys(item.node.controls))
            if source in items
        ]
        for name, item in items.items()
    }
    root = _place(items, before)
    for item in items.values():
        for position, (source, output) in enumerate(item.node.inputs):
            items[source].targets[output].append((item, item.first + position))
            item.before.append(items[source].index)
        for source in dict.fromkeys(item.node.controls):
            if source in items:
                items[source].controls.append(item)
    sources = [item for name, item in items.items() if not before[name]]
    return Plan(definition, list(items.values()), sources, root)


def _place(items: Mapping[str, Item], before: Mapping[str, list[str]]) -> Scope:
    """Find the frame of each node: that of what it takes."""
    root = Scope("", None)
    below: dict[tuple[Scope, str], Scope] = {}
    after: dict[str, Scope] = {}  # the frame of what comes out of a node
    left = deque(items.values())
    while left:
        item = left.popleft()
        node, sources = item.node, before[item.node.name]
        known = [after[name] for name in sources if name in after]
        if sources and not known:
            left.append(item)
            continue
        item.scope = scope = known[0] if known else root
        if node.type == "Enter":
            name = node.attributes["frame_name"]
            scope = below.setdefault((scope, name), Scope(name, scope))
            scope.enters += 1
        elif node.type == "Exit":
            scope = scope.parent or root
        after[node.name] = scope
    for item in items.values():
        assert item.scope is not None
        item.index, item.first = len(item.scope.pending), item.scope.inputs
        count, controls = len(item.node.inputs), len(set(item.node.controls) & items.keys())
        # a merge waits for one live value, for which the lowest bit is; its controls count twice
        item.scope.pending.append(1 + 2 * controls if item.is_merge else count + controls)
        item.scope.inputs += count
    return root
