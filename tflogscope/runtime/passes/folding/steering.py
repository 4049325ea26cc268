"""Control flow with constants: loops that bring one in, branches that are known.

Told about: `MoveConstantsPastEnter`, `SimplifySwitch`, `SimplifyCase` and `SimplifySelect` of
`constant_folding.cc`.
"""

from __future__ import annotations

import numpy as np

from tflogscope.runtime.dtypes import bool_
from tflogscope.runtime.passes.constant_edges import control_anchor
from tflogscope.runtime.passes.folding.constants import (
    all_are,
    become_identity,
    new_constant,
    optimized_name,
    value_of,
)
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.shapes import Properties, same_shape

__all__ = ["case_of_one", "constant_past_enter", "select_known", "switch_on_itself"]


def constant_past_enter(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """A constant that enters a loop becomes a constant in the loop."""
    if node.type != "Enter" or not node.attributes.get("is_constant"):
        return False
    source = graph.source(node, 0)
    name = optimized_name(source, "_enter")
    readers = [each for each in graph.data_readers(node.name) if each[0].type != "Const"]
    if source.type != "Const" or name in graph or not readers:
        return False
    constant = source.copy(name)
    constant.controls, constant.device = [node.name], node.device
    graph.add(constant)
    for reader, at in readers:
        graph.set_input(reader, at, (name, 0))
    return True


def switch_on_itself(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """What comes out of the one side of a Switch on its own data is false, on the other true."""
    if node.type != "Switch" or node.inputs[0] != node.inputs[1]:
        return False
    names = [optimized_name(node, suffix) for suffix in ("_const_false", "_const_true")]
    readers = graph.readers(node.name)
    done = len(readers) != 2 or all(  # TensorFlow takes any other number for done, too
        reader.type == "Identity" and not graph.data_readers(reader.name) for reader in readers
    )
    if done or any(name in graph for name in names):
        return False
    for output, name in enumerate(names):
        anchor = control_anchor(graph, (node.name, output))
        new_constant(graph, name, np.array(bool(output)), bool_, node.device, anchor)
    for reader in readers:
        for at, endpoint in enumerate(list(reader.inputs)):
            if endpoint[0] == node.name:
                graph.set_input(reader, at, (names[endpoint[1]], 0))
    return True


def case_of_one(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """A choice among one function is a call of it."""
    branches = node.attributes.get("branches", ())
    if node.type not in {"Case", "StatelessCase"} or len(branches) != 1:
        return False
    index = node.inputs[0]
    graph.rewire(node, node.inputs[1:], [control_anchor(graph, index), *node.controls])
    attributes = {**node.attributes, "f": branches[0]}
    graph.retype(node, "PartitionedCall", attributes)
    return True


def select_known(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    """A choice by a predicate that is all true, or all false, takes the one of both."""
    if node.type not in {"Select", "SelectV2"} or value_of(graph.source(node, 0)) is None:
        return False
    predicate = graph.source(node, 0)
    true, false = all_are(graph, predicate, 1), all_are(graph, predicate, 0)
    if not (true or false):
        return False
    place = 1 if true else 2
    shapes = [properties.shape((node.name, 0)), properties.shape(node.inputs[place])]
    if not same_shape(shapes[0], shapes[1]):
        return False
    become_identity(graph, node, place)
    return True
