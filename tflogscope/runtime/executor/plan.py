"""A function made ready to run: for each node its kernel, where its outputs go, and the frame it
is in. See `ImmutableExecutorState` of `core/common_runtime/immutable_executor_state.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.registry import bind
from tflogscope.runtime.ops.flow import LOWERED


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
    pending: int = 0
    """For how much it waits."""

    is_merge = property(lambda self: self.node.type == "Merge")
    """Does it go on with the first live input?"""
    steers = property(lambda self: self.node.type in LOWERED)
    """Does it say which branch, or which iteration?"""


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


def needed(definition: FunctionDef) -> list[NodeDef]:
    """The nodes that a result needs, or that have side effects."""
    nodes = {node.name: node for node in definition.nodes}
    wanted: set[str] = set()
    left = [node.name for node in definition.nodes if node.type in {"_Retval", "_Arg", "_Send"}]
    left += definition.must_run
    while left:
        name = left.pop()
        if name in nodes and name not in wanted:
            wanted.add(name)
            left += [source for source, _ in nodes[name].inputs] + nodes[name].controls
    return [node for node in definition.nodes if node.name in wanted]


def make_plan(definition: FunctionDef) -> Plan:
    """The plan of a function whose graph passes have rewritten already."""
    nodes = needed(definition)
    items = {
        node.name: Item(node, bind(node.definition, node.attributes), [[] for _ in node.dtypes])
        for node in nodes
    }
    root = _place(list(items.values()), items)
    for item in items.values():
        for position, (source, output) in enumerate(item.node.inputs):
            items[source].targets[output].append((item, item.first + position))
        for source in dict.fromkeys(item.node.controls):
            if source in items:
                items[source].controls.append(item)
    sources = [item for item in items.values() if not _before(item.node, items)]
    return Plan(definition, list(items.values()), sources, root)


def _before(node: NodeDef, items: dict[str, Item]) -> list[str]:
    return [
        name for name in (*(source for source, _ in node.inputs), *node.controls) if name in items
    ]


def _place(items: Sequence[Item], by_name: dict[str, Item]) -> Scope:
    """Find the frame of each node: that of what it takes."""
    root = Scope("", None)
    below: dict[tuple[Scope, str], Scope] = {}
    after: dict[str, Scope] = {}  # the frame of what comes out of a node
    left = list(items)
    while left:
        later = []
        for item in left:
            sources = _before(item.node, by_name)
            known = [after[name] for name in sources if name in after]
            if sources and not known:
                later.append(item)
                continue
            item.scope = scope = known[0] if known else root
            if item.node.type == "Enter":
                name = item.node.attributes["frame_name"]
                scope = below.setdefault((scope, name), Scope(name, scope))
                scope.enters += 1
            elif item.node.type == "Exit":
                scope = scope.parent or root
            after[item.node.name] = scope
        if len(later) == len(left):
            raise ValueError(f"the graph has a cycle through {left[0].node.name}")
        left = later
    for item in items:
        assert item.scope is not None
        _number(item, item.scope, sum(name in by_name for name in set(item.node.controls)))
    return root


def _number(item: Item, scope: Scope, controls: int) -> None:
    item.index, item.first = len(scope.pending), scope.inputs
    count = len(item.node.inputs)
    # A merge waits for one live value, which the lowest bit is for; its control inputs count twice.
    item.pending = 1 + 2 * controls if item.is_merge else count + controls
    scope.pending.append(item.pending)
    scope.inputs += count
