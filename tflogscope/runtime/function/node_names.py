"""The names in a function: those of its results and arguments come first, then those of its nodes.

A result is called after the node that gives it, an argument after its placeholder, both in small
letters (`identity`, `matmul_readvariableop_resource`). Names are unique across all three: a node
`add` whose value is a result is called `add_0`, as the result has the name.

Told about: `GraphToFunctionDef` and `NodeNameMapping` of `core/framework/graph_to_functiondef.cc`.
"""

from __future__ import annotations

from dataclasses import replace

from tflogscope.runtime.function.definition import FunctionDef, NodeDef

__all__ = ["normal", "renamed"]


def normal(name: str) -> str:
    """The name as one of an argument: small letters, digits and `_`, a letter first."""
    text = "".join(each if each.isalnum() and each.isascii() else "_" for each in name.lower())
    at = next((at for at, letter in enumerate(text) if letter.isalpha()), None)
    return "unknown" if at is None else text[at:]


class _Taken:
    """The names given so far."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """The name, with a number after it if it is taken."""
        unique = name
        while unique in self._next:
            unique = f"{name}_{self._next[name]}"
            self._next[name] += 1
        self._next[unique] = 0
        return unique


def renamed(definition: FunctionDef) -> FunctionDef:
    """The function with the names that TensorFlow gives when it makes one of a graph."""
    taken = _Taken()
    result_names = tuple(taken.unique(normal(name)) for name, _ in definition.results)
    new = {node.name: taken.unique(normal(node.name)) for node in definition.arguments}
    new |= {node.name: taken.unique(node.name) for node in definition.nodes}

    def follow(node: NodeDef) -> NodeDef:
        return replace(
            node,
            name=new[node.name],
            inputs=tuple((new[name], output) for name, output in node.inputs),
            control_inputs=tuple(new.get(name, name) for name in node.control_inputs),
        )

    return replace(
        definition,
        arguments=tuple(follow(node) for node in definition.arguments),
        nodes=tuple(follow(node) for node in definition.nodes),
        results=tuple((new[name], output) for name, output in definition.results),
        control_results=tuple(new.get(name, name) for name in definition.control_results),
        result_names=result_names,
    )
