"""The model pruner: nodes that nothing needs go. See `core/grappler/optimizers/model_pruner.cc`. NB:
identities that nobody misses go in the dependency optimizer.
"""

from __future__ import annotations

from tflogscope.runtime.passes.graph import Graph, fanin


def prune(graph: Graph) -> None:
    """Keep what is needed, in the reverse of the order in which it is met (`SetTransitiveFaninGraph`)."""
    met: dict[str, None] = {}
    waiting = sorted(graph.kept)
    while waiting:
        name = waiting.pop()
        if name not in met:
            met[name] = None
            waiting += fanin(graph[name])
    graph.keep_only(met)
    graph.reorder(list(reversed(met)))
