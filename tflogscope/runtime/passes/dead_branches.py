"""Branches that a constant rules out are taken away, with the Switch and the Merge around them.

Told about: `RemoveDeadBranches` of `core/grappler/optimizers/loop_optimizer.cc`. Its search for
loops that never run, and what else that optimizer does for stacks of old control flow, is left out.
"""

from __future__ import annotations

from contextlib import suppress

from tflogscope.runtime.passes.folding.constants import value_of
from tflogscope.runtime.passes.graph import MutableGraph, Node

__all__ = ["remove_dead_branches"]

_CONTROL = -1


class _Kept(Exception):
    """Something in the branch has to stay, and so all of it stays."""


def remove_dead_branches(graph: MutableGraph) -> None:
    """Follow what comes out of the dead side of each Switch, up to the Merge nodes."""
    dead: set[str] = set()
    merges: dict[str, set[int]] = {}
    switches = []
    for node in graph:
        side = _dead_side(graph, node)
        if side is not None:
            with suppress(_Kept):
                dead, merges = _spread(graph, node, side, dead, merges)
                switches.append(node.name)
    if any(graph[name].controls for name in merges):
        return  # NB: TensorFlow leaves all as it is then, and warns: `Skipping loop optimization`
    for name, places in merges.items():
        _become_identity(graph, graph[name], 1 - min(places))
    for name in switches:
        if name not in dead:
            _pass_on(graph, graph[name])
    if dead:
        graph.keep_only([name for name in graph.nodes if name not in dead])


def _dead_side(graph: MutableGraph, node: Node) -> int | None:
    """The output of a Switch at which nothing will ever come."""
    if node.type != "Switch" or node.name in graph.kept:
        return None
    predicate = value_of(graph.source(node, 1))
    return None if predicate is None else 1 - int(bool(predicate))


def _spread(
    graph: MutableGraph,
    switch: Node,
    side: int,
    dead: set[str],
    merges: dict[str, set[int]],
) -> tuple[set[str], dict[str, set[int]]]:
    """What is dead now, and which inputs of which Merge nodes. Raises _Kept."""
    dead, merges = set(dead), {name: set(places) for name, places in merges.items()}
    waiting = [
        (reader, place)
        for reader, place in graph.data_readers(switch.name)
        if reader.inputs[place] == (switch.name, side)
    ]
    while waiting:
        node, place = waiting.pop()
        if node.name in graph.kept:
            raise _Kept
        if node.name in dead:
            continue
        if node.type == "Merge":
            if len(node.inputs) > 2 or _index_is_read(graph, node):
                raise _Kept
            if place == _CONTROL:  # a Merge does not mind
                continue
            places = merges.setdefault(node.name, set())
            places.add(place)
            if len(places) < len(node.inputs):
                continue
            del merges[node.name]
        dead.add(node.name)
        waiting += graph.data_readers(node.name)
        waiting += [(reader, _CONTROL) for reader in graph.control_readers(node.name)]
    return dead, merges


def _index_is_read(graph: MutableGraph, node: Node) -> bool:
    return any(reader.inputs[place][1] == 1 for reader, place in graph.data_readers(node.name))


def _become_identity(graph: MutableGraph, merge: Node, place: int) -> None:
    graph.rewire(merge, [merge.inputs[place]])
    graph.retype(merge, "Identity", {"T": merge.dtypes[0]})
    merge.dtypes = merge.dtypes[:1]


def _pass_on(graph: MutableGraph, switch: Node) -> None:
    """The Switch whose one side is dead hands on what it gets, always."""
    predicate = graph.source(switch, 1)
    waits = [predicate.name] if predicate.controls else []
    graph.replace_output((switch.name, 1), (switch.name, 0))
    graph.rewire(switch, switch.inputs[:1], [*switch.controls, *waits])
    graph.retype(switch, "Identity", {"T": switch.dtypes[0]})
    switch.dtypes = switch.dtypes[:1]
