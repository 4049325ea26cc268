"""Frames and iterations: a node in a loop runs many times, each time with values of its own.

A run begins in the root frame, which has one iteration. `Enter` makes (or finds) a child frame of
the iteration it runs in, `NextIteration` carries a value to the next iteration of its frame, `Exit`
back to the iteration that the frame belongs to. Told about: `FrameState` and `IterationState` of
`core/common_runtime/propagator_state.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from tflogscope.runtime.executor.plan import Plan, Step

__all__ = ["DEAD", "Flow", "Frame", "Item", "Iteration", "Kind", "build_flow"]


class _Dead:
    """What flows along the branch that is not taken."""

    def __repr__(self) -> str:
        return "DEAD"


DEAD = _Dead()


class Kind(IntEnum):
    """What happens with the outputs of a node."""

    PLAIN = 0
    MERGE = 1
    ENTER = 2
    EXIT = 3
    NEXT_ITERATION = 4


_KINDS = {
    "Merge": Kind.MERGE,
    "Enter": Kind.ENTER,
    "Exit": Kind.EXIT,
    "NextIteration": Kind.NEXT_ITERATION,
}


@dataclass(slots=True, eq=False)
class Item:
    """A node as the executor sees it: how many inputs to wait for, whom its outputs go to."""

    step: Step
    kind: Kind
    index: int = 0
    """Which node it is among those of its frame."""
    first: int = 0
    """Where its inputs begin among those of its frame."""
    pending: int = 0
    targets: list[list[tuple[Item, int]]] = field(default_factory=list)
    """For each output the nodes it goes to, and as which of the frame's inputs."""
    controls: list[Item] = field(default_factory=list)
    """The nodes that wait for this one without taking a value."""
    scope: Scope | None = None

    @property
    def count(self) -> int:
        """How many inputs have a value."""
        return len(self.step.inputs)


@dataclass(slots=True, eq=False)
class Scope:
    """The nodes that run in the same frame: what is known of a frame before it exists."""

    name: str
    parent: Scope | None
    items: list[Item] = field(default_factory=list)
    inputs: int = 0
    """How many inputs the nodes have together."""
    enters: int = 0
    """How many `Enter` nodes lead into it."""
    pending: list[int] = field(default_factory=list)
    parallel_iterations: int = 1


@dataclass(slots=True, eq=False)
class Flow:
    """A plan as a graph."""

    root: Scope
    items: list[Item]
    sources: list[Item]
    """The nodes that wait for nothing."""
    arguments: list[list[tuple[Item, int]]]
    """For each argument the nodes it goes to."""
    results: dict[Item, list[tuple[int, int]]]
    """For nodes that make results: (which output, which result)."""


class Iteration:
    """One iteration of a frame: the inputs that have arrived, how many are missing, how many were
    dead.
    """

    __slots__ = (
        "children",
        "dead",
        "frame",
        "frames",
        "inputs",
        "number",
        "outstanding",
        "pending",
    )

    def __init__(self, frame: Frame, number: int) -> None:
        scope = frame.scope
        self.frame = frame
        self.number = number
        self.inputs: list[Any] = [DEAD] * scope.inputs
        self.pending = scope.pending.copy()
        self.dead = [0] * len(scope.items)
        self.outstanding = 0  # nodes that are ready or running
        self.children = 0  # frames that have not ended
        self.frames: dict[str, Frame] = {}


class Frame:
    """A loop that is running (or the whole function)."""

    __slots__ = (
        "constants",
        "dead_exits",
        "deferred",
        "iterations",
        "newest",
        "parent",
        "scope",
        "waiting",
    )

    def __init__(self, scope: Scope, parent: Iteration | None) -> None:
        self.scope = scope
        self.parent = parent
        self.waiting = scope.enters  # Enter nodes that have not run
        self.constants: list[
            tuple[Item, list[Any]]
        ] = []  # loop invariants: they enter each iteration
        self.dead_exits: list[Item] = []
        self.deferred: list[
            tuple[Item, list[Any]]
        ] = []  # values for an iteration that must not start yet
        self.newest = 0
        self.iterations: dict[int, Iteration] = {0: Iteration(self, 0)}


def build_flow(plan: Plan) -> Flow:
    """The graph of a plan, each node in its frame."""
    items = [Item(step, _KINDS.get(step.node.type, Kind.PLAIN)) for step in plan.steps]
    by_name = {item.step.node.name: item for item in items}
    producer: dict[int, tuple[Item, int]] = {}
    for item in items:
        item.targets = [[] for _ in item.step.dtypes]
        for output in range(len(item.step.dtypes)):
            producer[item.step.first + output] = (item, output)
    root = _place(items, by_name)
    arguments: list[list[tuple[Item, int]]] = [[] for _ in plan.definition.arguments]
    for item in items:
        for position, slot in enumerate(item.step.inputs):
            edge = (item, item.first + position)
            if slot in producer:
                source, output = producer[slot]
                source.targets[output].append(edge)
            else:
                arguments[slot].append(edge)
        for name in dict.fromkeys(item.step.node.control_inputs):
            if name in by_name:
                by_name[name].controls.append(item)
    results: dict[Item, list[tuple[int, int]]] = {}
    for which, slot in enumerate(plan.results):
        if slot in producer:
            source, output = producer[slot]
            results.setdefault(source, []).append((output, which))
    sources = [item for item in items if not item.step.inputs and not _awaited(item, by_name)]
    return Flow(root, items, sources, arguments, results)


def _awaited(item: Item, by_name: dict[str, Item]) -> int:
    """How many nodes it waits for without taking a value."""
    return sum(name in by_name for name in set(item.step.node.control_inputs))


def _place(items: list[Item], by_name: dict[str, Item]) -> Scope:
    """Finds the frame of each node: that of its inputs; `Enter` leads into a child of it, `Exit`
    out of it.

    Told about: `BuildControlFlowInfo` of `core/graph/control_flow.cc`.
    """
    root = Scope("", None)
    children: dict[tuple[Scope, str], Scope] = {}
    frame_of: dict[str, Scope] = {}  # of what comes out of a node

    def after(item: Item, scope: Scope) -> Scope:
        if item.kind is Kind.ENTER:
            name = item.step.node.attributes["frame_name"]
            return children.setdefault((scope, name), Scope(name, scope))
        return scope.parent or root if item.kind is Kind.EXIT else scope

    left = items
    while left:
        later = []
        for item in left:
            sources = [*(name for name, _ in item.step.node.inputs), *item.step.node.control_inputs]
            inside = [name for name in sources if name in by_name]
            known = [frame_of[name] for name in inside if name in frame_of]
            if inside and not known:
                later.append(item)
                continue
            item.scope = scope = known[0] if known else root
            frame_of[item.step.node.name] = target = after(item, scope)
            if item.kind is Kind.ENTER:
                target.enters += 1
                target.parallel_iterations = item.step.node.attributes.get(
                    "parallel_iterations", 10
                )
        if len(later) == len(left):
            raise ValueError(f"the graph has a cycle through {left[0].step.node.name}")
        left = later
    for item in items:
        assert item.scope is not None
        _number(item, item.scope, _awaited(item, by_name))
    return root


def _number(item: Item, scope: Scope, awaited: int) -> None:
    item.index, item.first = len(scope.items), scope.inputs
    # A merge waits for one live value, which the lowest bit stands for; its control inputs count
    # twice.
    item.pending = 1 + 2 * awaited if item.kind is Kind.MERGE else item.count + awaited
    scope.items.append(item)
    scope.pending.append(item.pending)
    scope.inputs += item.count
