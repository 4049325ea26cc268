"""Constants among the inputs of sums and concatenations are put together.

Told about: `PartialConstPropThroughIdentityN`, `PartialAssocOpConstFolding`,
`PartialConcatConstFolding` and `MergeConcat` of `constant_folding.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.passes.folding.constants import optimized_name, value_of
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.shapes import Properties

__all__ = [
    "constants_among_addends",
    "constants_among_parts",
    "constants_through_identities",
    "merge_concatenations",
]


def constants_through_identities(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """Who reads a constant through an `IdentityN` reads it directly, and waits."""
    if node.type != "IdentityN":
        return False
    changed = False
    for place, endpoint in enumerate(list(node.inputs)):
        if graph[endpoint[0]].type != "Const":
            continue
        readers = [
            each
            for each in graph.data_readers(node.name)
            if each[0].inputs[each[1]] == (node.name, place)
        ]
        for reader, at in readers:
            graph.set_input(reader, at, endpoint)
            graph.rewire(reader, reader.inputs, [*reader.controls, node.name])
            changed = True
    return changed


def constants_among_addends(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """Of a sum of more than two, the constants are added first."""
    if node.type not in {"AddN", "AccumulateNV2"} or len(node.inputs) <= 2:
        return False
    known = [at for at, (name, _) in enumerate(node.inputs) if graph[name].type == "Const"]
    name = optimized_name(node, f"_partial_split_{len(known)}")
    if not 1 < len(known) < len(node.inputs) or name in graph:
        return False
    part = node.copy(name)
    part.type, part.controls = "AddN", []
    part.inputs = [node.inputs[at] for at in known]
    part.attributes["N"] = len(known)
    graph.add(part)
    inputs = [
        (name, 0) if at == known[0] else endpoint
        for at, endpoint in enumerate(node.inputs)
        if at == known[0] or at not in known
    ]
    graph.rewire(node, inputs)
    node.attributes["N"] = len(inputs)
    return True


def constants_among_parts(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """Constants next to each other in a concatenation are concatenated first."""
    if node.type != "ConcatV2" or len(node.inputs) <= 3 or "_partial_split_" in node.name:
        return False
    parts, axis = node.inputs[:-1], node.inputs[-1]
    if graph[axis[0]].type != "Const":
        return False
    known = [graph[name].type == "Const" for name, _ in parts]
    runs = [run for run in _runs(known) if run[1] - run[0] > 1]
    if not runs or runs == [(0, len(parts))]:
        return False
    inputs = list(parts)
    for first, last in reversed(runs):
        name = optimized_name(node, f"_partial_split_{first}")
        if name in graph:
            return False
        part = node.copy(name)
        part.inputs, part.controls = [*parts[first:last], axis], []
        part.attributes["N"] = last - first
        graph.add(part)
        inputs[first:last] = [(name, 0)]
    graph.rewire(node, [*inputs, axis])
    node.attributes["N"] = len(inputs)
    return True


def _runs(flags: list[bool]) -> list[tuple[int, int]]:
    """Where the flags are set: from, to."""
    runs: list[tuple[int, int]] = []
    for at, flag in enumerate(flags):
        if flag and runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        elif flag:
            runs.append((at, at + 1))
    return runs


def merge_concatenations(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    """A concatenation that is only read by another along the same axis becomes part of it."""
    del properties
    if node.type != "ConcatV2" or node.name in graph.kept:
        return False
    readers = graph.readers(node.name)
    if len(readers) != 1 or readers[0].type != "ConcatV2":
        return False
    outer = readers[0]
    axes = [value_of(graph[each.inputs[-1][0]]) for each in (node, outer)]
    if axes[0] is None or axes[1] is None or int(axes[0]) != int(axes[1]):
        return False
    inputs = []
    for endpoint in outer.inputs:
        inputs += node.inputs[:-1] if endpoint[0] == node.name else [endpoint]
    controls = [each for each in (*outer.controls, *node.controls) if each != node.name]
    graph.rewire(outer, inputs, controls)
    outer.attributes["N"] = len(inputs) - 1
    graph.rewire(node, [], [])
    graph.retype(node, "NoOp", {})
    node.dtypes = ()
    return True
