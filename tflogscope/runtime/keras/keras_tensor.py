"""Values of models that are being put together: `Input` makes one, each call of a layer on it another.
A node is such a call; a model runs its nodes again on real values, in the order of their depth.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.shapes import as_shape
from tflogscope.runtime.function.func_graph import placeholder
from tflogscope.runtime.keras.state import mask_of


class KerasTensor:
    """The shape and type of a value that a layer will give."""

    def __init__(self, shape: Any, dtype: Any, name: str | None = None) -> None:
        self.shape, self.dtype, self.name = as_shape(shape), dtype, name
        self.node: Any = None
        self._keras_mask: Any = None

    def __getattr__(self, name: str) -> Any:
        return missing("KerasTensor", name)


def is_symbolic(value: Any) -> bool:
    return any(isinstance(each, KerasTensor) for each in nest.flatten(value))


def to_placeholder(value: Any) -> Any:
    if not isinstance(value, KerasTensor):
        return value
    made = placeholder(context.current(), value.dtype, value.shape)
    if value._keras_mask is not None:
        made._keras_mask = to_placeholder(value._keras_mask)
    return made


def from_tensor(tensor: Any) -> Any:
    made = KerasTensor(tensor.shape, tensor.dtype)
    mask = mask_of(tensor)
    made._keras_mask = None if mask is None else from_tensor(mask)
    return made


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


def in_order(inputs: list[Any], outputs: list[Any]) -> tuple[list[Node], list[Any]]:
    """The nodes between these Keras tensors as they are run, and their layers: those of the largest
    depth, the longest way to an output, first (`_map_graph_network` of Keras' functional.py).
    """
    finished: dict[Node, None] = {}
    order: dict[Any, int] = {}

    def visit(node: Node) -> None:
        if node not in finished:
            order.setdefault(node.layer, len(order))
            for parent in node.inputs:
                visit(parent.node)
            finished[node] = None

    for tensor in outputs:
        visit(tensor.node)
    for tensor in inputs:
        visit(tensor.node)
    depths: dict[Node, int] = defaultdict(int)
    of_layer: dict[Any, int] = defaultdict(int)
    for node in reversed(finished):
        depth = depths[node] = max(depths[node], of_layer[node.layer])
        of_layer[node.layer] = depth
        for tensor in node.inputs:
            depths[tensor.node] = max(depths[tensor.node], depth + 1)
    nodes = sorted(depths, key=lambda node: -depths[node])
    layers = sorted(of_layer, key=lambda layer: (-of_layer[layer], order[layer]))
    return [node for node in nodes if node.inputs], layers
