"""Before a function runs the runtime folds constants once more: it runs them as a graph, at step −1,
which the log shows. See `core/common_runtime/constant_folding.cc`, `graph_optimizer.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.dtypes import resource
from tflogscope.runtime.ops.flow import LOWERED
from tflogscope.runtime.passes.duplicates import merge_duplicates
from tflogscope.runtime.passes.folding import computed
from tflogscope.runtime.passes.graph import Graph, is_stateful, topological
from tflogscope.runtime.passes.report import Report

_ROUNDS = 10
_NEVER = LOWERED | {"Placeholder", "NoOp", "_Arg", "_Retval"}


def optimize_at_runtime(graph: Graph, report: Report) -> None:
    """Fold and merge until nothing changes."""
    _drop_unneeded(graph)
    numbers = count()  # of new nodes: `Graph::NewName`
    for _ in range(_ROUNDS):
        folded = _fold(graph, numbers, report)
        if folded:
            _drop_unneeded(graph)
        if not (merge_duplicates(graph) or folded):
            return


def _fold(graph: Graph, numbers: Iterator[int], report: Report) -> bool:
    values: dict[str, list[Any]] = {}
    for name in topological(graph):
        found = _values(graph[name], values)
        if found is not None:
            values[name] = found
    # a NoOp counts as something to compute: it has no inputs that are not constant
    idle = all(graph[name].type == "Const" for name in values)
    if idle and not any(node.type == "NoOp" for node in graph):
        return False
    readers = {
        name: [reader for reader, _ in graph.data_readers(name) if reader.name not in values]
        for name in values
    }
    _note_run(graph, values, readers, report)
    waits: dict[str, dict[str, None]] = {}
    for name in values:  # inputs come before what reads them
        node = graph[name]
        before = [wait for source, _ in node.inputs for wait in waits[source]]
        waits[name] = dict.fromkeys((*before, *node.controls))
    replaced, constants = False, count()
    for node in sorted(graph, key=lambda node: node.name):
        if readers.get(node.name) and node.type != "Const":
            replaced = True
            for place, (value, dtype) in enumerate(
                zip(values[node.name], node.dtypes, strict=True)
            ):
                endpoint = (node.name, place)
                reading = [each for each in readers[node.name] if endpoint in each.inputs]
                if not reading:
                    continue
                name = f"{node.name}/_{next(numbers)}__cf__{next(constants)}"
                graph.constant(name, value, dtype, node.device, waits[node.name])
                for each in reading:
                    inputs = [(name, 0) if e == endpoint else e for e in each.inputs]
                    graph.rewire(each, inputs)
    return replaced


def _values(node: NodeDef, known: dict[str, list[Any]]) -> list[Any] | None:
    if node.type == "Const":
        return [node.attributes["value"]]
    if node.type in _NEVER or is_stateful(node.type) or not node.inputs:
        return None
    if resource in node.dtypes or "f" in node.attributes:
        return None
    if any(source not in known for source, _ in node.inputs):
        return None
    return computed(node, [known[source][output] for source, output in node.inputs])


def _note_run(
    graph: Graph, values: dict[str, list[Any]], readers: dict[str, list[NodeDef]], report: Report
) -> None:
    """The graph of constants that is run, and what is fetched from it."""
    wanted = [
        endpoint
        for name in values
        for reader in readers[name]
        for endpoint in reader.inputs
        if endpoint[0] == name
    ]
    if not wanted:
        return
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
            for source, output in dict.fromkeys(each for each in wanted if each[0] == name):
                facts = {"T": node.dtypes[output], "tensor_name": f"{source}:{output}"}
                label = f"_send_{source}_{output}"
                nodes.append(NodeDef(label, "_Send", [(source, output)], [], facts))
    report.runs.append(nodes)


def _drop_unneeded(graph: Graph) -> None:
    waiting = [
        node.name
        for node in graph
        if node.type in LOWERED
        or (node.type != "_Arg" and (node.name in graph.kept or is_stateful(node.type)))
    ]
    needed: set[str] = {node.name for node in graph if node.type == "_Arg"}
    while waiting:
        name = waiting.pop()
        if name not in needed or graph[name].type == "_Arg":
            needed.add(name)
            waiting += [source for source, _ in graph[name].inputs] + graph[name].controls
    graph.keep_only(needed)
