"""Models made again with new layers and new weights.

NB: Keras also compiles the clone of a compiled model.

Told about: `keras/src/models/cloning.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.core import Input, InputLayer
from tflogscope.runtime.keras3.models.model import Functional
from tflogscope.runtime.keras3.models.sequential import Sequential
from tflogscope.runtime.keras3.operation import Operation

__all__ = ["clone_model"]


def clone_model(model: Any, clone_function: Callable[[Any], Any] | None = None) -> Any:
    """The same model with new layers; a subclassed one by its configuration. Raises ValueError for
    such a one with a function that clones layers.
    """
    clone = clone_function or _cloned
    if isinstance(model, Sequential):
        start = [_new_input(each) for each in model._stack if isinstance(each, InputLayer)]
        layers = [*start, *(clone(each) for each in model.layers)]
        return Sequential(layers, trainable=model.trainable, name=model.name)
    if not isinstance(model, Functional):
        if clone_function:
            raise ValueError(
                "Arguments `clone_function` and `input_tensors` are only supported for Sequential "
                "models or Functional models. Received model of type "
                f"'{type(model).__name__}', with clone_function={clone_function} and "
                "input_tensors=None"
            )
        return type(model).from_config(model.get_config())
    values: dict[int, Any] = {}
    operations: dict[Any, Any] = {}
    for node in model._network.nodes:
        operation = node.layer
        if node.is_input:
            results = _new_input(operation)
        else:
            if operation not in operations:
                is_layer = isinstance(operation, Layer)
                operations[operation] = (
                    clone(operation) if is_layer else Operation(operation._function)
                )
            arguments, keywords = node.map_arguments(values)
            results = operations[operation](*arguments, **keywords)
        flat = zip(tf.nest.flatten(node.outputs), tf.nest.flatten(results), strict=True)
        values.update((id(each), value) for each, value in flat)
    inputs, outputs = (
        tf.nest.map_structure(lambda each: values[id(each)], nested)
        for nested in (model._inputs, model._outputs)
    )
    return Functional(inputs, outputs, name=model.name)


def _new_input(layer: InputLayer) -> Any:
    return Input(batch_shape=layer.batch_shape, dtype=layer.dtype, name=layer.name)


def _cloned(layer: Any) -> Any:
    """A layer of the user's by its configuration, another with the arguments it was made with."""
    if isinstance(layer, (Sequential, Functional)):
        return clone_model(layer)
    if not type(layer).__module__.startswith("tflogscope.runtime.keras3"):
        return type(layer).from_config(layer.get_config())
    inner = {
        id(each): _cloned(each)
        for each in tf.nest.flatten(layer._made_with)
        if isinstance(each, Layer)
    }
    return layer.copied(replaced=inner, name=layer.name)
