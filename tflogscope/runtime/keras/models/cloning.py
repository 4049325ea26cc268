"""Models from configurations and from other models.

Told about: `get_network_config` and `reconstruct_from_config` of `keras/src/engine/functional.py`,
`keras/src/models/cloning.py`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.configuring import serialize
from tflogscope.runtime.keras.keras_tensor import is_keras_tensor
from tflogscope.runtime.keras.layers.core import InputLayer
from tflogscope.runtime.keras.layers.tf_op_layer import TFOpLambda

__all__ = ["as_json", "clone_model", "model_from_json", "network_config", "network_from_config"]


def network_config(model: Any) -> dict[str, Any]:
    """The layers of a functional model, and which of their outputs go where."""
    kept = set(model._network.nodes)

    def place(tensor: Any) -> list[Any]:
        layer, node, index = tensor._keras_history
        counted = [each for each in layer.inbound_nodes if each in kept]
        return [layer.name, counted.index(layer.inbound_nodes[node]), index]

    def inbound(node: Any) -> Any:
        keywords = tf.nest.map_structure(
            lambda each: place(each) if is_keras_tensor(each) else _number(each), node.keywords
        )
        first, *others = node.arguments
        others = [place(each) if is_keras_tensor(each) else _number(each) for each in others]
        keywords = dict(zip(_parameters(node.layer), others, strict=False)) | keywords
        places = [
            [*(place(each) if is_keras_tensor(each) else _constant(each)), keywords]
            for each in tf.nest.flatten(first)
        ]
        flat = type(node.layer).__name__.endswith("OpLambda") and not isinstance(
            first, (list, tuple)
        )
        return places[0] if flat else places

    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": [
            layer_config(layer)
            | {
                "name": layer.name,
                "inbound_nodes": [
                    inbound(each)
                    for each in layer.inbound_nodes
                    if each in kept and not each.is_input
                ],
            }
            for layer in model._network.layers
        ],
        "input_layers": _listed(model._nested_inputs, place),
        "output_layers": _listed(model._nested_outputs, place),
    }


def _listed(structure: Any, place: Any) -> Any:
    """The places of inputs or outputs, in their structure; of a single one, as a list."""
    places = tf.nest.map_structure(place, structure)
    return [places] if is_keras_tensor(structure) else places


def _parameters(layer: Any) -> list[str]:
    """The names of what is passed behind the first argument."""
    if isinstance(layer, TFOpLambda):
        parameters = inspect.signature(layer._function).parameters.values()
        names = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        return names[1:] or ["y"]
    return list(layer._call_parameters())[1:]


def _constant(value: Any) -> list[Any]:
    """What stands for an argument that is no Keras tensor."""
    return ["_CONSTANT_VALUE", -1, _number(value)]


def _number(value: Any) -> Any:
    return np.asarray(value).tolist() if isinstance(value, tf.Tensor) else value


def layer_config(layer: Any) -> dict[str, Any]:
    """What a layer is, with the shape it was built for."""
    built = layer.get_build_config()
    config: dict[str, Any] = serialize(layer)
    return config | ({"build_config": built} if built else {})


def network_from_config(kind: Any, config: dict[str, Any]) -> Any:
    """The functional model that a configuration describes."""
    from tflogscope.runtime.keras.layers import deserialize

    layers = {each["name"]: deserialize(each) for each in config["layers"]}
    waiting = [(each["name"], node) for each in config["layers"] for node in each["inbound_nodes"]]

    def ready(place: Any) -> Any:
        return place[0] == "_CONSTANT_VALUE" or len(layers[place[0]].inbound_nodes) > place[1]

    def tensor(place: Any) -> Any:
        if place[0] == "_CONSTANT_VALUE":
            return place[2]
        return tf.nest.flatten(layers[place[0]].inbound_nodes[place[1]].outputs)[place[2]]

    def is_place(value: Any) -> bool:
        return isinstance(value, list) and len(value) == 3 and value[0] in layers

    def nested(places: Any) -> Any:
        """The structure that the model was made with. A dict becomes JSON and back as one."""
        if isinstance(places, dict):
            return {name: nested(each) for name, each in places.items()}
        return tensor(places) if is_place(places) else [nested(each) for each in places]

    while waiting:
        for ready_call in waiting:
            node = ready_call[1]
            places = [node] if isinstance(node[0], str) else node
            keywords = places[0][3]
            given = [each for each in keywords.values() if is_place(each)]
            if all(map(ready, [*places, *given])):
                break
        waiting.remove(ready_call)
        inputs = [tensor(each) for each in places]
        keywords = {k: tensor(v) if is_place(v) else v for k, v in keywords.items()}
        layers[ready_call[0]](inputs[0] if len(inputs) == 1 else inputs, **keywords)
    inputs, outputs = (nested(config[side]) for side in ("input_layers", "output_layers"))
    return kind(inputs, outputs, name=config["name"])


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """The same model with new layers and new weights. Raises ValueError for a subclassed model."""
    from tflogscope.runtime.keras.models.model import Functional
    from tflogscope.runtime.keras.models.sequential import Sequential

    del input_tensors

    def clone(layer: Any) -> Any:
        if clone_function is not None and not isinstance(layer, InputLayer):
            return clone_function(layer)
        return type(layer).from_config(layer.get_config())

    if isinstance(model, Sequential):
        return Sequential([clone(layer) for layer in model._children], name=model.name)
    if not isinstance(model, Functional):
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclassed "
            f"model instead: {model}"
        )
    layers = {layer: clone(layer) for layer in model._network.layers}
    values: dict[int, Any] = {}
    for node in model._network.nodes:
        layer = layers[node.layer]
        if node.is_input:
            results = layer.inbound_nodes[0].outputs
        else:
            arguments, keywords = node.map_arguments(values)
            results = layer(*arguments, **keywords)
        flat = zip(tf.nest.flatten(node.outputs), tf.nest.flatten(results), strict=True)
        values.update((id(each), value) for each, value in flat)
    inputs, outputs = (
        tf.nest.map_structure(lambda each: values[id(each)], nested)
        for nested in (model._nested_inputs, model._nested_outputs)
    )
    return type(model)(inputs, outputs, name=model.name)


def as_json(model: Any, **options: Any) -> str:
    """The configuration as text."""

    def plain(value: Any) -> Any:
        return value.item() if isinstance(value, np.generic) else np.asarray(value).tolist()

    whole = {
        "class_name": type(model).__name__,
        "config": model.get_config(),
        "keras_version": "2.13.1",
        "backend": "tensorflow",
    }
    return json.dumps(whole, default=plain, **options)


def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """The model of `to_json`."""
    from tflogscope.runtime.keras.configuring import custom_object_scope
    from tflogscope.runtime.keras.layers import deserialize

    with custom_object_scope(custom_objects or {}):
        return deserialize(json.loads(json_string))
