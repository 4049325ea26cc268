"""What no result needs is left out; what does nothing is left out too.

Trivial nodes are identities that no control edge touches, stopped gradients, constants and `NoOp`s
that nobody needs, and sums of one.

Told about: `core/grappler/optimizers/model_pruner.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.ops.references import GIVES_REFERENCE
from tflogscope.runtime.passes.graph import MutableGraph, Node

__all__ = ["prune"]


def prune(graph: MutableGraph) -> None:
    """Leave out what is not needed."""
    _keep_fanin(graph)
    if _split_identities(graph):
        _keep_fanin(graph)
    trivial = {
        node.name
        for node in graph
        if node.name not in graph.kept and _is_trivial(node, graph) and _can_go(node, graph)
    }
    forwarded: dict[str, tuple[list[Endpoint], list[str]]] = {}
    for node in graph:
        if node.name not in trivial:
            graph.rewire(node, *_forwarded(node, graph, trivial, forwarded))
    for name in trivial:
        graph.remove(name)


def _keep_fanin(graph: MutableGraph) -> None:
    """Keep what a result waits for. The order becomes nearly topological: `transitive_fanin.cc`."""
    kept: dict[str, None] = {}
    waiting = sorted(graph.kept)
    while waiting:
        name = waiting.pop()
        if name in kept:
            continue
        kept[name] = None
        node = graph[name]
        waiting += [source for source, _ in node.inputs]
        waiting += node.controls
    graph.keep_only(kept)
    graph.reorder(list(reversed(kept)))


def _is_trivial(node: Node, graph: MutableGraph) -> bool:
    if node.type == "StopGradient":
        return True
    if node.type == "Identity" or (node.type == "IdentityN" and len(node.inputs) == 1):
        return (
            not node.controls
            and graph.source(node, 0).type not in {"Switch", "_SwitchN"}
            and all(
                node.name not in reader.controls and reader.type != "Merge"
                for reader in graph.readers(node.name)
            )
        )
    if node.type == "NoOp":
        return not node.controls
    if node.type == "Const":
        return not node.controls and not graph.data_readers(node.name)
    return node.type == "AddN" and len(node.inputs) <= 1


def _can_go(node: Node, graph: MutableGraph) -> bool:
    """Does it have no more edges than those that would stand for them? What reads a reference has
    to stay: it makes a value of it.
    """
    if any(graph[name].type in GIVES_REFERENCE for name, _ in node.inputs):
        return False
    if node.type in {"NoOp", "Const"} and not node.controls:
        return True
    fanins = len(node.inputs) + len(node.controls)
    fanouts = len(graph.data_readers(node.name)) + len(graph.control_readers(node.name))
    return fanins * fanouts <= fanins + fanouts


def _forwarded(
    node: Node,
    graph: MutableGraph,
    gone: set[str],
    known: dict[str, tuple[list[Endpoint], list[str]]],
) -> tuple[list[Endpoint], list[str]]:
    """Its edges, with those of trivial nodes in their place."""
    if node.name in known:
        return known[node.name]
    inputs: list[Endpoint] = []
    controls: list[str] = []
    for endpoint in node.inputs:
        if endpoint[0] in gone:
            more, waits = _forwarded(graph[endpoint[0]], graph, gone, known)
            inputs += more
            controls += waits
        else:
            inputs.append(endpoint)
    for name in node.controls:
        if name in gone:
            more, waits = _forwarded(graph[name], graph, gone, known)
            controls += [*(source for source, _ in more), *waits]
        else:
            controls.append(name)
    sources = {name for name, _ in inputs}
    known[node.name] = inputs, [each for each in dict.fromkeys(controls) if each not in sources]
    return known[node.name]


def _split_identities(graph: MutableGraph) -> bool:
    """The inputs of an `IdentityN` that lead to no result get identities of their own."""
    needed: dict[str, set[int]] = {}
    visited = set(graph.kept)
    waiting: list[tuple[str, int | None]] = []
    for name in sorted(graph.kept):
        waiting += [*graph[name].inputs, *((each, None) for each in graph[name].controls)]
    while waiting:
        name, output = waiting.pop()
        node = graph[name]
        if name in visited or (node.type == "IdentityN" and output in needed.get(name, ())):
            continue
        if node.type == "IdentityN":
            if output is not None:
                needed.setdefault(name, set()).add(output)
                waiting.append(node.inputs[output])
        else:
            visited.add(name)
            waiting += node.inputs
        waiting += [(each, None) for each in node.controls if each not in visited]
    split = False
    for name, outputs in needed.items():
        if len(outputs) < len(graph[name].inputs):
            _split(graph, graph[name], outputs)
            split = True
    return split


def _split(graph: MutableGraph, node: Node, needed: set[int]) -> None:
    places: dict[int, Endpoint] = {}
    for place, endpoint in enumerate(node.inputs):
        if place in needed:
            places[place] = (node.name, len([each for each in needed if each < place]))
        else:
            dtype = node.dtypes[place]
            identity = Node(
                f"{node.name}-{place}-grappler-ModelPruner",
                "Identity",
                [endpoint],
                attributes={"T": dtype},
                device=node.device,
                dtypes=(dtype,),
            )
            places[place] = (graph.add(identity).name, 0)
    for reader in graph.readers(node.name):
        graph.rewire(
            reader,
            [
                places[output] if name == node.name else (name, output)
                for name, output in reader.inputs
            ],
        )
    kept = sorted(needed)
    graph.rewire(node, [node.inputs[place] for place in kept])
    node.dtypes = tuple(node.dtypes[place] for place in kept)
    node.attributes["T"] = node.dtypes
