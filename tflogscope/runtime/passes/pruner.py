"""The model pruner: nodes that nothing needs go, and so do identities that nobody misses. See
`core/grappler/optimizers/model_pruner.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.passes.graph import Graph

_Edges = tuple[list[Endpoint], list[str]]


def prune(graph: Graph) -> None:
    """Remove what is not needed."""
    _keep_fanin(graph)
    trivial = {
        node.name
        for node in graph
        if node.name not in graph.kept and _is_trivial(node, graph) and _can_go(node, graph)
    }
    forwarded: dict[str, _Edges] = {}
    for node in graph:
        if node.name not in trivial:
            graph.rewire(node, *_forwarded(node, graph, trivial, forwarded))
    for name in trivial:
        graph.remove(name)


def _keep_fanin(graph: Graph) -> None:
    """`SetTransitiveFaninGraph`: what is needed, in the reverse of the order in which it is met."""
    met: dict[str, None] = {}
    waiting = sorted(graph.kept)
    while waiting:
        name = waiting.pop()
        if name not in met:
            met[name] = None
            waiting += [source for source, _ in graph[name].inputs] + graph[name].controls
    graph.keep_only(met)
    graph.reorder(list(reversed(met)))


def _is_trivial(node: NodeDef, graph: Graph) -> bool:
    readers = graph.readers(node.name)
    if node.type == "Identity" or (node.type == "IdentityN" and len(node.inputs) == 1):
        steers = graph.source(node, 0).type == "Switch"
        waited_for = any(node.name in each.controls or each.type == "Merge" for each in readers)
        return not (node.controls or steers or waited_for)
    if node.type == "Const":
        return not node.controls and not graph.data_readers(node.name)
    if node.type == "NoOp":
        return not node.controls
    return node.type == "StopGradient" or (node.type == "AddN" and len(node.inputs) <= 1)


def _can_go(node: NodeDef, graph: Graph) -> bool:
    if node.type in {"NoOp", "Const"} and not node.controls:
        return True
    fanins = len(node.inputs) + len(node.controls)
    fanouts = len(graph.data_readers(node.name)) + len(graph.control_readers(node.name))
    return fanins * fanouts <= fanins + fanouts  # no more edges than before


def _forwarded(node: NodeDef, graph: Graph, gone: set[str], known: dict[str, _Edges]) -> _Edges:
    """What the node reads and waits for without the nodes that go."""
    if node.name not in known:
        inputs: list[Endpoint] = []
        controls: list[str] = []
        for endpoint in node.inputs:
            more, waits = [endpoint], list[str]()
            if endpoint[0] in gone:
                more, waits = _forwarded(graph[endpoint[0]], graph, gone, known)
            inputs += more
            controls += waits
        for name in node.controls:
            more, waits = [], [name]
            if name in gone:
                more, waits = _forwarded(graph[name], graph, gone, known)
            controls += [*(source for source, _ in more), *waits]
        read = {name for name, _ in inputs}
        known[node.name] = inputs, [each for each in dict.fromkeys(controls) if each not in read]
    return known[node.name]
