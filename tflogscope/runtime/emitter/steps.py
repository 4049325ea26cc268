"""A step: one run of a function's graph, node by node.

The runtime runs the nodes one after another. Here they are dealt out to the threads of a pool as
TensorFlow's executor would: a node that is ready goes to the thread that is free first. So the same
run can be shown on any number of threads, and always in the same way.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.emitter.records import Execution, Strand
from tflogscope.runtime.executor.frames import DEAD
from tflogscope.runtime.function.definition import NodeDef

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.functions import Instance

__all__ = ["Item", "Step", "deal"]


@dataclass(slots=True, eq=False)
class Item:
    """One node that ran once in a step."""

    node: NodeDef
    strand: Strand
    execution: Execution
    waits: Sequence[int]
    """The items that had to be done before."""


@dataclass(slots=True, eq=False)
class Step:
    """A run of a function."""

    number: int
    instance: Instance
    name: str
    call: Execution | None
    data: bool
    """A dataset runs it, on a thread of its own."""
    items: list[Item] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    """By node, its latest item."""
    outputs: dict[str, list[Any]] = field(default_factory=dict)
    """By node, shapes of its latest outputs."""
    values: dict[tuple[str, int], Any] = field(default_factory=dict)
    """Small outputs: what a kernel does can depend on them."""

    def knows(self, name: str, outputs: Sequence[Any], shapes: list[Any]) -> None:
        """Note the shapes of a node's outputs; of a dead one that of the iteration before, for
        nodes of that iteration may still be on their way.
        """
        before = self.outputs.get(name, shapes)
        self.outputs[name] = [
            old if value is DEAD else new
            for value, old, new in zip(outputs, before, shapes, strict=True)
        ]

    def waits(self, node: NodeDef) -> list[int]:
        """The items whose outputs it takes, or after which it runs."""
        names = {name for name, _ in node.inputs}
        names.update(node.control_inputs)
        found = {self.last[name] for name in names if name in self.last}
        if not found and self.items:
            found = {0}  # all wait for _SOURCE
        return sorted(found)


def deal(step: Step, into: Strand, at: int, threads: Sequence[int]) -> int:
    """Give the items to threads, and put what they wrote into a strand; how long it all took."""
    items = step.items
    readers: list[list[int]] = [[] for _ in items]
    missing = [len(item.waits) for item in items]
    for index, item in enumerate(items):
        for other in item.waits:
            readers[other].append(index)
    ready = [(0, index) for index, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    free = [(0, place) for place in range(len(threads))]
    ends = [0] * len(items)
    latest = 0
    while ready:
        since, index = heapq.heappop(ready)
        idle, place = heapq.heappop(free)
        start = max(since, idle)
        item = items[index]
        into.take(item.strand, at + start, threads[place])
        end = ends[index] = start + item.strand.now
        latest = max(latest, end)
        heapq.heappush(free, (end + 1, place))
        for reader in readers[index]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (max(ends[each] for each in items[reader].waits), reader))
    return latest
