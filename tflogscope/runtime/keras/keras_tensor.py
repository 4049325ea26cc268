"""Values of models that are being put together: `Input` makes one, each call of a layer on it another.
A node is such a call; a model runs its nodes again on real values.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.shapes import as_shape
from tflogscope.runtime.function.func_graph import placeholder


class KerasTensor:
    """The shape and type of a value that a layer will give."""

    def __init__(self, shape: Any, dtype: Any, name: str | None = None) -> None:
        self.shape, self.dtype, self.name = as_shape(shape), dtype, name
        self.node: Any = None

    def __getattr__(self, name: str) -> Any:
        return missing("KerasTensor", name)


def is_symbolic(value: Any) -> bool:
    return any(isinstance(each, KerasTensor) for each in nest.flatten(value))


def to_placeholder(value: Any) -> Any:
    if not isinstance(value, KerasTensor):
        return value
    return placeholder(context.current(), value.dtype, value.shape)


def from_tensor(tensor: Any) -> Any:
    return KerasTensor(tensor.shape, tensor.dtype)


class Node:
    """One call of a layer on Keras tensors."""

    def __init__(self, layer: Any, arguments: Any, keywords: Any, outputs: Any) -> None:
        self.layer, self.arguments, self.keywords = layer, arguments, keywords
        self.outputs = outputs
        flat = nest.flatten((arguments, keywords))
        self.inputs = [each for each in flat if isinstance(each, KerasTensor)]
        for tensor in nest.flatten(outputs):
            tensor.node = self
        layer.nodes.append(self)

    def run(self, values: dict[int, Any]) -> None:
        arguments, keywords = nest.map_structure(
            lambda each: values.get(id(each), each), (self.arguments, self.keywords)
        )
        results = nest.flatten(self.layer(*arguments, **keywords))
        outputs = nest.flatten(self.outputs)
        values.update((id(each), result) for each, result in zip(outputs, results, strict=True))


def in_order(outputs: list[Any]) -> list[Node]:
    """The nodes that lead to these Keras tensors, each after those that it needs. NB: Keras runs those
    that are farthest from an output first.
    """
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        for tensor in node.inputs:
            if tensor.node not in found:
                visit(tensor.node)
        found[node] = None

    for tensor in outputs:
        visit(tensor.node)
    return list(found)
