"""Which nodes run: those that a result needs, or that must run for what they do. The rest is never
looked at again.

This is why a function does not raise the error of an op whose result nobody uses (*non-strict
execution*). Told about: `PruneFunctionGraph` of `core/common_runtime/function_utils.cc`; grappler's
`model_pruner` did most of it before.
"""

from __future__ import annotations

from collections.abc import Sequence

from tflogscope.runtime.function.definition import FunctionDef, NodeDef

__all__ = ["in_order", "needed"]


def needed(definition: FunctionDef) -> list[NodeDef]:
    """The nodes that the results and the control results need, in the order of the definition."""
    nodes = {node.name: node for node in definition.nodes}
    wanted: set[str] = set()
    open_ends = [*(name for name, _ in definition.results), *definition.control_results]
    while open_ends:
        name = open_ends.pop()
        if name in nodes and name not in wanted:
            wanted.add(name)
            open_ends += [source for source, _ in nodes[name].inputs]
            open_ends += nodes[name].control_inputs
    return [node for node in definition.nodes if node.name in wanted]


def in_order(nodes: Sequence[NodeDef]) -> list[NodeDef]:
    """The nodes such that each comes after those it waits for; otherwise as they were. Raises
    ValueError for a cycle.
    """
    waiting: dict[str, int] = {}
    consumers: dict[str, list[NodeDef]] = {node.name: [] for node in nodes}
    for node in nodes:
        sources = {name for name, _ in node.inputs}.union(node.control_inputs) & consumers.keys()
        waiting[node.name] = len(sources)
        for source in sources:
            consumers[source].append(node)
    position = {node.name: at for at, node in enumerate(nodes)}
    if all(
        position[node.name] < position[after.name]
        for node in nodes
        for after in consumers[node.name]
    ):
        return list(nodes)
    ready = [node for node in reversed(nodes) if not waiting[node.name]]
    ordered: list[NodeDef] = []
    while ready:
        node = ready.pop()
        ordered.append(node)
        free = []
        for consumer in consumers[node.name]:
            waiting[consumer.name] -= 1
            if not waiting[consumer.name]:
                free.append(consumer)
        ready += sorted(free, key=lambda each: -position[each.name])
    if len(ordered) < len(nodes):
        stuck = next(name for name, count in waiting.items() if count)
        raise ValueError(f"the graph has a cycle through {stuck}")
    return ordered
