"""The graph of layers behind a functional model, in the order in which it is run.

Told about: `_map_graph_network` of `keras/src/engine/functional.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tflogscope.runtime import nest
from tflogscope.runtime.keras.keras_tensor import KerasTensor, Node

__all__ = ["Network"]


class Network:
    """`nodes`: the calls of layers, those that others need first. `layers`: each layer once, in
    that order.
    """

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        """Raises ValueError if an output depends on what is not among the inputs, and for two
        layers of one name, or a value that is none of Keras' tensors.
        """
        _check_tensors(inputs, outputs)
        found, layer_order = _reached(outputs)
        depths, layer_depths = _depths(found)
        _check_connected(sorted(found, key=lambda node: -depths[node]), inputs)
        for tensor in inputs:
            layer = tensor._keras_history.layer
            if layer not in layer_depths:  # an input that no output needs
                layer_depths[layer], layer_order[layer], depths[layer.inbound_nodes[0]] = 0, -1, 0
        names = Counter(layer.name for layer in layer_depths)
        for name, count in names.items():
            if count > 1:
                raise ValueError(
                    f'The name "{name}" is used {count} times in the model. All layer names should '
                    "be unique."
                )
        by_depth: dict[int, list[Node]] = defaultdict(list)
        for node, depth in depths.items():
            by_depth[depth].append(node)
        self.by_depth = dict(by_depth)
        self.nodes = [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]
        self.layers = sorted(
            layer_depths, key=lambda layer: (-layer_depths[layer], layer_order[layer])
        )


def _check_tensors(inputs: list[Any], outputs: list[Any]) -> None:
    for value in inputs:
        if not isinstance(value, KerasTensor):
            raise ValueError(
                "Found unexpected instance while processing input tensors for keras functional "
                "model. Expecting KerasTensor which is from tf.keras.Input() or output from keras "
                f"layer call(). Got: {value}"
            )
    for value in outputs:
        if not isinstance(value, KerasTensor):
            raise ValueError(
                "Output tensors of a Functional model must be the output of a TensorFlow `Layer` "
                f"(thus holding past layer metadata). Found: {value}"
            )


def _reached(outputs: list[Any]) -> tuple[list[Node], dict[Any, int]]:
    """The nodes that the outputs need, each behind those it needs itself; and layers in the order
    they were met.

    Raises ValueError for a cycle.
    """
    finished: dict[Node, None] = {}
    layer_order: dict[Any, int] = {}
    pending: set[Node] = set()

    def visit(node: Node) -> None:
        if node in finished:
            return
        if node in pending:
            raise ValueError(f"Tensor from layer '{node.layer.name}' is part of a cycle.")
        layer_order.setdefault(node.layer, len(layer_order))
        pending.add(node)
        for parent in node.parents:
            visit(parent)
        pending.discard(node)
        finished[node] = None

    for tensor in outputs:
        visit(tensor.node)
    return list(finished), layer_order


def _check_connected(nodes: list[Node], inputs: list[Any]) -> None:
    """`nodes` in the order in which they are run."""
    known = {id(tensor) for tensor in inputs}
    before: list[str] = []
    for node in nodes:
        for tensor in node.keras_inputs:
            if id(tensor) not in known:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {tensor} at layer "
                    f'"{node.layer.name}". The following previous layers were accessed without '
                    f"issue: {before}"
                )
        if not node.is_input:
            known.update(id(tensor) for tensor in nest.flatten(node.outputs))
            before.append(node.layer.name)


def _depths(nodes: list[Node]) -> tuple[dict[Node, int], dict[Any, int]]:
    """How many calls lie between a node, or a layer, and the outputs."""
    of_node: dict[Node, int] = {}
    of_layer: dict[Any, int] = {}
    for node in reversed(nodes):
        depth = max(of_node.setdefault(node, 0), of_layer.get(node.layer, 0))
        of_layer[node.layer] = of_node[node] = depth
        for parent in node.parents:
            of_node[parent] = max(depth + 1, of_node.get(parent, 0))
    return of_node, of_layer
