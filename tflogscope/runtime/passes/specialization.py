"""A function that is called and can't be inlined is made anew for the call: constants among the
arguments move into it, results that nobody reads are left out.

The new function's name says for which call it is. Told about: `FunctionOptimizer` of
`core/grappler/optimizers/function_optimizer.cc`. What can be inlined was inlined before
(`control_flow/lowering.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tflogscope.runtime.function.definition import FunctionDef, NodeDef
from tflogscope.runtime.function.graph_function import run
from tflogscope.runtime.operations import lookup
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.tensors import SymbolicTensor

__all__ = ["specialize_calls"]

_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_NEVER = ("_XlaMustCompile", "_nospecialize")


@dataclass(frozen=True, slots=True, eq=False)
class _Specialized:
    """A function made for a call; the value of the call's attribute `f`."""

    name: str
    definition: FunctionDef
    outputs: tuple[SymbolicTensor, ...]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs for these values of the inputs."""
        return run(self.definition, values)


def specialize_calls(graph: MutableGraph) -> None:
    """Let each call that has something to gain call a function of its own."""
    made: dict[Hashable, _Specialized] = {}
    for node in graph:
        if node.type not in _CALLS:
            continue
        function = node.attributes["f"]
        if any(function.definition.attributes.get(name) for name in _NEVER):
            continue
        constants = {
            place: graph[name]
            for place, (name, _) in enumerate(node.inputs)
            if graph[name].type == "Const"
        }
        read = sorted({reader.inputs[place][1] for reader, place in graph.data_readers(node.name)})
        if not constants and len(read) == len(node.dtypes):
            continue
        passed = tuple((place, constant.name) for place, constant in constants.items())
        same = (function.name, tuple(read), passed)
        if same not in made:
            where = node.name.replace("/", "_")
            name = f"{function.name}_specialized_for_{where}_at_{graph.name}"
            made[same] = _specialized(name, function, constants, read)
        _call(graph, node, made[same], constants, read)


def _specialized(
    name: str, function: Any, constants: dict[int, Node], read: Sequence[int]
) -> _Specialized:
    """The function with these of its arguments constant, and these of its results."""
    old: FunctionDef = function.definition
    kept = [place for place in range(len(old.arguments)) if place not in constants]
    inside = [_constant(old.arguments[place], node) for place, node in constants.items()]
    definition = replace(
        old,
        name=name,
        arguments=tuple(old.arguments[place] for place in kept),
        argument_types=tuple(old.argument_types[place] for place in kept),
        nodes=(*inside, *old.nodes),
        results=tuple(old.results[place] for place in read),
        result_names=tuple(old.result_names[place] for place in read),
        plan=None,
    )
    return _Specialized(name, definition, tuple(function.outputs[place] for place in read))


def _constant(argument: NodeDef, node: Node) -> NodeDef:
    """The caller's constant, under the name of the argument."""
    return NodeDef(
        argument.name, lookup("Const"), (), (), node.attributes, node.device, node.dtypes
    )


def _call(
    graph: MutableGraph,
    node: Node,
    function: _Specialized,
    constants: dict[int, Node],
    read: Sequence[int],
) -> None:
    """Let the node call that function: with fewer inputs, and outputs that moved together."""
    inputs = [each for place, each in enumerate(node.inputs) if place not in constants]
    waits = [name for constant in constants.values() for name in constant.controls]
    graph.rewire(node, inputs, [*node.controls, *waits])
    node.dtypes = tuple(node.dtypes[place] for place in read)
    definition = function.definition
    node.attributes |= {
        "f": function,
        "Tin": tuple(argument.dtypes[0] for argument in definition.arguments),
        "Tout": node.dtypes,
    }
    for new, old in enumerate(read):
        if new != old:
            graph.replace_output((node.name, old), (node.name, new))
