"""Before a function runs the runtime folds constants once more: it runs them as a graph, at step −1,
which the log shows. See `core/common_runtime/constant_folding.cc`, `graph_optimizer.cc`. NB: once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.core.dtypes import resource
from tflogscope.runtime.ops.flow import LOWERED
from tflogscope.runtime.passes.duplicates import merge_duplicates
from tflogscope.runtime.passes.folding import computed
from tflogscope.runtime.passes.graph import Graph, Place, is_stateful, prune, topological
from tflogscope.runtime.passes.onednn import Report

_NEVER = LOWERED | {"Placeholder", "NoOp", "_Arg", "_Retval"}


def optimize_at_runtime(graph: Graph, report: Report) -> None:
    """Fold and merge."""
    prune(graph)
    _fold(graph, report)
    prune(graph)
    merge_duplicates(graph)


def _fold(graph: Graph, report: Report) -> None:
    values: dict[str, list[Any]] = {}
    for name in topological(graph):
        found = _values(graph[name], values)
        if found is not None:
            values[name] = found
    # a NoOp counts as something to compute: it has no inputs that are not constant
    types = {node.type for node in graph if node.type == "NoOp" or node.name in values}
    if types <= {"Const"}:
        return
    wanted: dict[Endpoint, list[Place]] = {}
    for name in values:
        for reader, place in graph.data_readers(name):
            if reader.name not in values:
                wanted.setdefault(reader.inputs[place], []).append((reader, place))
    if wanted:
        report.runs.append(_constants(graph, values, wanted))
    computes = [endpoint for endpoint in wanted if graph[endpoint[0]].type != "Const"]
    for number, endpoint in enumerate(sorted(computes)):
        (name, output), node = endpoint, graph[endpoint[0]]
        label, waits = f"{name}/_{number}__cf__{number}", _waits(graph, node)
        graph.constant(label, values[name][output], node.dtypes[output], node.device, waits)
        for reader, place in wanted[endpoint]:
            graph.set_input(reader, place, (label, 0))


def _waits(graph: Graph, node: NodeDef) -> dict[str, None]:
    """What a constant and all that it is made of wait for."""
    before = [wait for name, _ in node.inputs for wait in _waits(graph, graph[name])]
    return dict.fromkeys((*before, *node.controls))


def _values(node: NodeDef, known: Mapping[str, list[Any]]) -> list[Any] | None:
    if node.type == "Const":
        return [node.attributes["value"]]
    if node.type in _NEVER or is_stateful(node.type) or not node.inputs:
        return None
    if resource in node.dtypes or "f" in node.attributes:
        return None
    if any(source not in known for source, _ in node.inputs):
        return None
    return computed(node, [known[source][output] for source, output in node.inputs])


def _constants(graph: Graph, values: Iterable[str], wanted: Iterable[Endpoint]) -> list[NodeDef]:
    """The graph that is run, with what is fetched from it."""
    needed = {name for name, _ in wanted}
    for name in reversed(list(values)):
        if name in needed:
            needed.update(source for source, _ in graph[name].inputs)
    nodes = [NodeDef("_SOURCE", "NoOp")]
    for name in values:
        if name in needed:
            node = graph[name].copy(name)
            node.controls = []
            nodes.append(node)
            for source, output in wanted:
                if source == name:
                    facts = {"T": node.dtypes[output], "tensor_name": f"{source}:{output}"}
                    label = f"_send_{source}_{output}"
                    nodes.append(NodeDef(label, "_Send", [(source, output)], [], facts))
    return nodes
