"""`Model`: a layer of layers that can be trained. Made from inputs and outputs (functional), or by
subclassing.

Told about: `Model` of `keras/src/engine/training.py`, `Functional` of `engine/functional.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.keras.configuring import custom_object_scope
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.core import InputLayer
from tflogscope.runtime.keras.layers.tracking import tracked_in, unique, variables_in
from tflogscope.runtime.keras.models.network import Network
from tflogscope.runtime.keras.models.training import Trainer

__all__ = ["Functional", "Model"]


class Model(Trainer, Layer):  # both have `losses` and `__call__`
    """Layers with an input and an output; `Model(inputs, outputs)` is a `Functional`."""

    _own_first = False
    inputs: list[Any] | None = None
    outputs: list[Any] | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Model and (len(args) >= 2 or "outputs" in kwargs):
            return super().__new__(Functional)
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or "outputs" in kwargs:  # a functional model of the user's subclass
            kind = type(self)
            self.__class__ = type(
                kind.__name__, (kind, Functional), {"__module__": kind.__module__}
            )
            Functional.__init__(self, *args, **kwargs)  # type: ignore[arg-type]
            return
        Layer.__init__(self, **kwargs)
        self._make_counters()

    @property
    def layers(self) -> list[Any]:
        """The layers right in it."""
        from tflogscope.runtime.keras.metrics import Metric

        return [
            layer
            for layer in self._sublayers()
            if isinstance(layer, Layer) and not isinstance(layer, Metric)
        ]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by name or by number. Raises ValueError if there is none."""
        if index is not None:
            if index >= len(self.layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"No such layer: {name}. Existing layers are: {[layer.name for layer in self.layers]}."
        )

    def _own_metrics(self) -> list[Any]:
        return Layer.metrics.fget(self)  # type: ignore[attr-defined, no-any-return]

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """What subclasses say. Raises NotImplementedError if they don't."""
        raise NotImplementedError(
            "Unimplemented `tf.keras.Model.call()`: if you intend to create a `Model` with the "
            "Functional API, please provide `inputs` and `outputs` arguments. Otherwise, subclass "
            "`Model` with an overridden `call()` method."
        )

    def build(self, input_shape: Any) -> None:
        """Make the weights by calling the model on placeholders of that shape."""
        if type(self).call is Model.call:
            return
        with FuncGraph("build_graph").as_default() as graph:
            shape = _as_shape(input_shape)
            inputs = tf.nest.map_structure(lambda each: placeholder(graph, tf.float32, each), shape)
            expects = "training" in inspect.signature(self.call).parameters
            self.call(inputs, **({"training": False} if expects else {}))
        self.built = True

    def _maybe_build(self, inputs: Any) -> None:
        """A subclassed model builds nothing but its layers, when they are called."""
        self.built = True

    def reset_states(self) -> None:
        """Its recurrent layers forget where the last batch ended."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and layer.stateful:
                layer.reset_states()

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Any = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Print a table of the layers. Raises ValueError before the model is built."""
        from tflogscope.runtime.keras.models.summary import print_summary

        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or "
                "by calling the model on a batch of data."
            )
        if positions is not None or layer_range is not None:
            raise NotInThisRuntime("Model.summary(positions=..., layer_range=...)")
        print_summary(
            self,
            line_length,
            print_fn or print,
            expand_nested=expand_nested,
            show_trainable=show_trainable,
        )

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A new one: a functional model if its layers are told, else one of the user's class."""
        told = cls is Model and "input_layers" in config
        return Functional.from_config(config, custom_objects) if told else cls(**config)

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer, then its own."""
        of_layers = [each for child in self._children for each in _weights(child)]
        return unique([*of_layers, *super().weights])

    def _weights_below(self, *, trainable: bool) -> list[Any]:
        """Those of what is in it, also of lists and dicts of variables, in the order in which they
        became its attributes. Told about: `Model.trainable_weights` of
        `keras/src/engine/training.py`.
        """
        return [each for child in self._children for each in _of_kind(child, trainable=trainable)]

    def save(self, *_: Any, **__: Any) -> None:
        """There are no files of models here."""
        raise NotInThisRuntime("Model.save")

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as text."""
        from tflogscope.runtime.keras.models.cloning import as_json

        return as_json(self, **kwargs)

    def save_weights(self, *_: Any, **__: Any) -> None:
        """There are no files of weights here; `get_weights` gives arrays."""
        raise NotInThisRuntime("Model.save_weights")

    def load_weights(self, *_: Any, **__: Any) -> None:
        """There are no files of weights here; `set_weights` takes arrays."""
        raise NotInThisRuntime("Model.load_weights")


class Functional(Model):
    """A model that knows how its outputs follow from its inputs."""

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        name: str | None = None,
        trainable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._set_network(inputs, outputs)

    def _default_name(self) -> str:
        from tflogscope.runtime.keras import backend

        return backend.unique_name(
            "model" if type(self) is Functional else backend.to_snake_case(type(self).__name__)
        )

    def _set_network(self, inputs: Any, outputs: Any) -> None:
        attributes = self.__dict__  # Keras tensors are not tracked; the layers are, below
        attributes["_nested_inputs"] = (
            inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
        )
        attributes["_nested_outputs"] = (
            outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
        )
        attributes["inputs"], attributes["outputs"] = (
            tf.nest.flatten(inputs),
            tf.nest.flatten(outputs),
        )
        network = Network(attributes["inputs"], attributes["outputs"])
        attributes["_network"] = network
        attributes["_children"] = list(network.layers)
        attributes["output_names"] = _numbered(
            [each._keras_history.layer.name for each in attributes["outputs"]]
        )
        attributes["input_names"] = [
            each._keras_history.layer.name for each in attributes["inputs"]
        ]
        self.built = True
        self._autocast = False
        self.supports_masking = True
        self.input_spec = self._specification()

    def _specification(self) -> Any:
        """What it may be called on: a last dimension of 1 may be there or not."""
        assert self.inputs is not None
        nested = self._nested_inputs
        if isinstance(nested, (list, tuple)) and len(nested) != len(self.inputs):
            return None
        names = sorted(nested) if isinstance(nested, Mapping) else self.input_names
        if isinstance(nested, Mapping) and len(names) != len(self.inputs):
            return None
        return [
            InputSpec(shape=each.shape, allow_last_axis_squeeze=True, name=name)
            for name, each in zip(names, self.inputs, strict=True)
        ]

    def get_config(self) -> dict[str, Any]:
        """The layers, and how they are connected."""
        from tflogscope.runtime.keras.models.cloning import network_config

        return network_config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A new one, made of what `get_config` gave."""
        from tflogscope.runtime.keras.models.cloning import network_from_config

        with custom_object_scope(custom_objects or {}):
            return network_from_config(cls, config)

    input_names: list[str]
    _nested_inputs: Any
    _nested_outputs: Any
    _network: Network

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call the layers one after the other, as they were called on Keras tensors."""
        del training  # layers learn it from the context of the call
        flat = self._in_order(inputs) if isinstance(inputs, Mapping) else tf.nest.flatten(inputs)
        masks = [None] * len(flat) if mask is None else tf.nest.flatten(mask)
        values: dict[int, Any] = {}
        assert self.inputs is not None
        assert self.outputs is not None
        for tensor, value, its_mask in zip(self.inputs, flat, masks, strict=False):
            if isinstance(value, tf.Tensor):
                value._keras_mask = its_mask
            values[id(tensor)] = _conformed(value, tensor)
        for node in self._network.nodes:
            if node.is_input or any(id(each) not in values for each in node.keras_inputs):
                continue
            arguments, keywords = node.map_arguments(values)
            results = node.layer(*arguments, **keywords)
            for tensor, value in zip(
                tf.nest.flatten(node.outputs), tf.nest.flatten(results), strict=True
            ):
                values[id(tensor)] = value
        return tf.nest.pack_sequence_as(
            self._nested_outputs, [values[id(each)] for each in self.outputs]
        )

    def _in_order(self, inputs: Any) -> list[Any]:
        """A dict of inputs in the order of the model's."""
        if isinstance(self._nested_inputs, Mapping):
            names = sorted(self._nested_inputs)
        else:
            names = self.input_names
        return (
            [inputs[name] for name in names]
            if set(names) <= set(inputs)
            else tf.nest.flatten(inputs)
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The layers have left it on the outputs."""
        del inputs, mask

    @property
    def input(self) -> Any:
        return self._nested_inputs

    @property
    def output(self) -> Any:
        return self._nested_outputs


def _as_shape(shape: Any) -> Any:
    if isinstance(shape, list) and not all(each is None or isinstance(each, int) for each in shape):
        return [tf.TensorShape(each) for each in shape]
    if isinstance(shape, Mapping):
        return {name: tf.TensorShape(each) for name, each in shape.items()}
    return tf.TensorShape(shape)


def _numbered(names: list[str]) -> list[str]:
    """Names made different: a layer may give several outputs."""
    counts: dict[str, int] = {}
    result = []
    for name in names:
        number = counts.get(name, 0)
        counts[name] = number + 1
        result.append(f"{name}_{number}" if number else name)
    return result


def _conformed(value: Any, to: Any) -> Any:
    """The value with the rank and dtype of the input that the model was made with."""
    if isinstance(value, (np.ndarray, float, int)):
        value = tf.convert_to_tensor(value)
    if not isinstance(value, tf.Tensor):
        return value
    rank, wanted = value.shape.rank, to.shape.rank
    if rank is not None and wanted is not None:
        if rank == wanted + 1 and value.shape[-1] == 1:
            value = tf.squeeze(value, axis=-1)
        elif rank == wanted - 1 and to.shape[-1] == 1:
            value = tf.expand_dims(value, axis=-1)
    return tf.cast(value, dtype=to.dtype)


def input_layer_of(tensor: Any) -> Any:
    """The input layer that gave this Keras tensor, or None."""
    layer = tensor._keras_history.layer
    return layer if isinstance(layer, InputLayer) else None


def _weights(child: Any) -> list[Any]:
    """Those of a layer, or of a list of layers and variables as if it were one.

    Told about: `TrackableDataStructure.trainable_weights` and `non_trainable_weights` of
    `tensorflow/python/trackable/data_structures.py`.
    """
    if isinstance(child, Layer):
        return child.weights
    return _of_kind(child, trainable=True) + _of_kind(child, trainable=False)


def _of_kind(child: Any, *, trainable: bool) -> list[Any]:
    """Of layers first, then what is a variable itself."""
    kind = "trainable_weights" if trainable else "non_trainable_weights"
    of_layers = [each for layer in tracked_in(child) for each in getattr(layer, kind)]
    return of_layers + [each for each in variables_in(child) if each.trainable is trainable]
