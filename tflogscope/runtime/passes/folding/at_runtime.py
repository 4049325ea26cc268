"""What the function runtime does to a graph that grappler has left: constants, equal nodes.

It folds what grappler does not touch, such as empty lists, and all of a graph that was too small
for grappler; and it merges nodes that are the same, among them the entries of a loop.

Told about: `GraphOptimizer` of `core/common_runtime/graph_optimizer.cc`, `constant_folding.cc`,
`core/graph/optimizer_cse.cc`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from tflogscope.runtime import telling
from tflogscope.runtime.dtypes import resource
from tflogscope.runtime.eager import output_values
from tflogscope.runtime.errors import NotInThisRuntime, OpError
from tflogscope.runtime.function.definition import Endpoint, NodeDef
from tflogscope.runtime.graph_runner import tell_run
from tflogscope.runtime.operations import bind, lookup
from tflogscope.runtime.passes.common_subexpressions import frozen
from tflogscope.runtime.passes.facts import COMMUTATIVE, has_outputs, is_stateful
from tflogscope.runtime.passes.graph import MutableGraph, Node, topological

__all__ = ["optimize_at_runtime"]

_ROUNDS = 10
_CONTROL_FLOW = frozenset(
    {"Switch", "_SwitchN", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}
)
_NEVER = _CONTROL_FLOW | {"FakeParam", "Placeholder", "NoOp", "_Arg", "_Retval"}


def optimize_at_runtime(graph: MutableGraph) -> None:
    """Fold and merge until nothing changes."""
    _drop_unneeded(graph)
    names = count()  # of new nodes: `Graph::NewName`
    for _ in range(_ROUNDS):
        folded = _fold(graph, names)
        if folded:
            _drop_unneeded(graph)
        if not (_merge(graph) or folded):
            return


def _fold(graph: MutableGraph, names: count[int]) -> bool:
    """Replace what constants are read through other nodes by what those compute."""
    values: dict[str, list[Any] | None] = {}
    for name in topological(graph) or ():
        values[name] = _values(graph[name], values)
    known = {name: each for name, each in values.items() if each is not None}
    # a NoOp counts as something to compute: it has no inputs that are not constant
    if all(graph[name].type == "Const" for name in known) and not any(
        node.type == "NoOp" for node in graph
    ):
        return False
    readers = {
        name: [reader for reader, _ in graph.data_readers(name) if reader.name not in known]
        for name in known
    }
    _tell(graph, known, readers)
    waits: dict[str, dict[str, None]] = {}
    for name in known:  # inputs come before what reads them
        node = graph[name]
        sources = [wait for source, _ in node.inputs for wait in waits[source]]
        waits[name] = dict.fromkeys((*sources, *node.controls))
    replaced = False
    constants = count()
    for node in sorted(graph, key=lambda node: node.name):
        if readers.get(node.name) and node.type != "Const":
            ids = zip(names, constants, strict=False)
            after = list(waits[node.name])
            replaced |= _replace(graph, node, known[node.name], after, readers[node.name], ids)
    return replaced


def _tell(
    graph: MutableGraph, known: Mapping[str, list[Any]], readers: Mapping[str, list[Node]]
) -> None:
    """All that is read from outside is computed in one run, constants among it."""
    if telling.listener is None:
        return
    wanted = list(
        dict.fromkeys(
            endpoint
            for name in known
            for reader in readers[name]
            for endpoint in reader.inputs
            if endpoint[0] == name
        )
    )
    if not wanted:
        return
    needed = {name for name, _ in wanted}
    for name in reversed(list(known)):  # inputs come before what reads them
        if name in needed:
            needed.update(source for source, _ in graph[name].inputs)
    run = [_copied(graph[name]) for name in known if name in needed]
    tell_run(graph.name, (), run, known, wanted)


def _copied(node: Node) -> NodeDef:
    inputs = tuple(node.inputs)
    return NodeDef(
        node.name, lookup(node.type), inputs, (), node.attributes, node.device, node.dtypes
    )


def _values(node: Node, known: dict[str, list[Any] | None]) -> list[Any] | None:
    """What a node computes, if that follows from constants."""
    if node.type == "Const":
        return [node.attributes["value"]]
    if node.type in _NEVER or is_stateful(node.type) or not has_outputs(node.type):
        return None
    if not node.inputs or resource in node.dtypes or node.attributes.get("f") is not None:
        return None
    inputs = []
    for source, output in node.inputs:
        values = known.get(source)
        if values is None:
            return None
        inputs.append(values[output])
    try:
        with np.errstate(all="ignore"):
            result = bind(lookup(node.type), node.attributes)(*inputs)
        return output_values(result, node.dtypes)
    except (OpError, NotInThisRuntime, ValueError, TypeError):
        return None


def _replace(
    graph: MutableGraph,
    node: Node,
    values: list[Any],
    waits: list[str],
    readers: list[Node],
    ids: Iterator[tuple[int, int]],
) -> bool:
    for place, (value, dtype) in enumerate(zip(values, node.dtypes, strict=True)):
        reading = [each for each in readers if (node.name, place) in each.inputs]
        if not reading:
            continue
        number, constant = next(ids)
        name = f"{node.name}/_{number}__cf__{constant}"
        attributes = {"value": value, "dtype": dtype}
        graph.add(Node(name, "Const", [], list(waits), attributes, node.device, (dtype,)))
        if telling.listener is not None:
            telling.listener.constant_replaced(node.name, place, name)
        for reader in reading:
            endpoint: Endpoint = (node.name, place)
            inputs = [(name, 0) if each == endpoint else each for each in reader.inputs]
            graph.rewire(reader, inputs)
    return True


def _drop_unneeded(graph: MutableGraph) -> None:
    """Keep what is needed for the results, and what must not be dropped; arguments that nobody
    reads need not be there. Told about: `PruneFunctionGraph`.
    """
    waiting = [
        node.name
        for node in graph
        if node.type in _CONTROL_FLOW
        or (node.type != "_Arg" and (node.name in graph.kept or is_stateful(node.type)))
    ]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [source for source, _ in graph[name].inputs]
            waiting += graph[name].controls
    graph.keep_only(needed)


def _merge(graph: MutableGraph) -> bool:
    """Let the first of equal nodes stand for all, inputs first."""
    first: dict[Hashable, Node] = {}
    merged = False
    for name in topological(graph) or ():
        node = graph[name]
        if is_stateful(node.type) or node.type.startswith("Placeholder") or name in graph.kept:
            continue
        inputs = sorted(node.inputs) if node.type in COMMUTATIVE else node.inputs
        same = (
            node.type,
            tuple(inputs),
            tuple(sorted(node.controls)),
            frozen(node.attributes),
            node.dtypes,
        )
        other = first.setdefault(same, node)
        if other is node:
            continue
        for reader in graph.readers(name):
            graph.rewire(
                reader,
                [(other.name if source == name else source, at) for source, at in reader.inputs],
                [other.name if control == name else control for control in reader.controls],
            )
        graph.remove(name)
        merged = True
    return merged
