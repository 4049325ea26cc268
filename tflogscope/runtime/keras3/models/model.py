"""`Model`: a layer of layers that can be trained. Made from inputs and outputs (functional), or by
subclassing.

Told about: `keras/src/models/model.py`, `functional.py`, `keras/src/ops/function.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.models.network import Network
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.keras_tensor import KerasTensor
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.models.summary import print_summary
from tflogscope.runtime.keras3.models.training import Trainer

__all__ = ["Functional", "Model"]


class Model(Trainer):
    """Layers with an input and an output; `Model(inputs, outputs)` is a `Functional`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        functional = cls is Model and _is_functional(args, kwargs)
        return super().__new__(Functional if functional else cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if _is_functional(args, kwargs):  # a functional model of the user's subclass
            kind = type(self)
            self.__class__ = type(
                kind.__name__, (kind, Functional), {"__module__": kind.__module__}
            )
            Functional.__init__(self, *args, **kwargs)  # type: ignore[arg-type]
            return
        super().__init__(*args, **kwargs)

    @property
    def layers(self) -> list[Any]:
        """The layers right in it."""
        return self._sublayers()

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by name or by number. Raises ValueError if there is none."""
        if index is not None and index < len(self.layers):
            return self.layers[index]
        for layer in self.layers:
            if index is None and layer.name == name:
                return layer
        names = [layer.name for layer in self.layers]
        raise ValueError(f"No such layer: {name or index}. Existing layers are: {names}.")

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Any = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Print a table of the layers."""
        if positions is not None or layer_range is not None:
            raise NotInThisRuntime("Model.summary(positions=..., layer_range=...)")
        print_summary(
            self,
            line_length,
            print_fn or sys.stdout.write,
            expand_nested=expand_nested,
            show_trainable=show_trainable,
        )

    def save(self, *_: Any, **__: Any) -> None:
        """There are no files of models here."""
        raise NotInThisRuntime("Model.save")

    def save_weights(self, *_: Any, **__: Any) -> None:
        """There are no files of weights here; `get_weights` gives arrays."""
        raise NotInThisRuntime("Model.save_weights")

    def load_weights(self, *_: Any, **__: Any) -> None:
        """There are no files of weights here; `set_weights` takes arrays."""
        raise NotInThisRuntime("Model.load_weights")


class Functional(Model):
    """A model that knows how its outputs follow from its inputs."""

    def __init__(
        self, inputs: Any, outputs: Any, name: str | None = None, trainable: bool = True
    ) -> None:
        Layer.__init__(self, name=name, trainable=trainable)
        attributes = self.__dict__  # Keras tensors are not tracked; the layers are, below
        attributes["_inputs"], attributes["_outputs"] = inputs, outputs
        attributes["inputs"] = tf.nest.flatten(inputs)
        attributes["outputs"] = tf.nest.flatten(outputs)
        network = Network(attributes["inputs"], attributes["outputs"])
        attributes["_network"] = network
        self._layers = [each for each in network.layers if isinstance(each, Layer)]
        self.output_names = [each._keras_history.layer.name for each in attributes["outputs"]]
        self._convert_inputs = False
        self.built = True

    inputs: list[Any]
    outputs: list[Any]
    _inputs: Any
    _outputs: Any
    _network: Network

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call the layers one after the other, as they were called on Keras tensors."""
        flat = self._standardized(inputs)
        masks = [None] * len(flat) if mask is None else tf.nest.flatten(mask)
        values: dict[int, Any] = {}
        for tensor, value, its_mask in zip(self.inputs, flat, masks, strict=False):
            if its_mask is not None:
                value._keras_mask = its_mask
            values[id(tensor)] = value
        for node in self._network.nodes:
            if node.is_input or any(id(each) not in values for each in node.keras_inputs):
                continue
            arguments, keywords = node.map_arguments(values)
            if isinstance(node.layer, Layer) and training is not None:
                keywords = {**keywords, "training": training}
            results = node.layer(*arguments, **keywords)
            for tensor, value in zip(
                tf.nest.flatten(node.outputs), tf.nest.flatten(results), strict=True
            ):
                values[id(tensor)] = value
        found = [values[id(each)] for each in self.outputs]
        packed = tf.nest.pack_sequence_as(self._outputs, found)
        return packed[0] if isinstance(packed, list) and len(packed) == 1 else packed

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs are known; other shapes than the inputs' go through the layers."""
        flat = tf.nest.flatten(args[0])
        same = all(a.shape.as_list() == b.shape.as_list() for a, b in zip(flat, self.inputs))  # noqa: B905
        if not same:
            return super().compute_output_spec(*args, **kwargs)
        outputs = self._outputs
        if isinstance(outputs, list) and len(outputs) == 1:
            (outputs,) = outputs
        return tf.nest.map_structure(lambda each: KerasTensor(each.shape, each.dtype), outputs)

    def _standardized(self, inputs: Any) -> list[Any]:
        """The inputs in the model's order, with dtype and rank that it was made with."""
        if isinstance(inputs, Mapping) and not isinstance(self._inputs, Mapping):
            inputs = [inputs[each.name] for each in self.inputs]
        flat = [
            None if value is None else ops.convert_to_tensor(value, tensor.dtype)
            for value, tensor in zip(tf.nest.flatten(inputs), self.inputs, strict=True)
        ]
        return [_ranked(value, tensor) for value, tensor in zip(flat, self.inputs, strict=True)]

    @property
    def layers(self) -> list[Any]:
        """Each layer once, those that others need first."""
        return list(self._layers)

    @property
    def input(self) -> Any:
        """The Keras tensors it was made with."""
        return self._inputs

    @property
    def output(self) -> Any:
        """Those that it gives."""
        return self._outputs

    @property
    def input_shape(self) -> Any:
        """The shape of the input, or a list of them."""
        shapes = [tuple(each.shape) for each in self.inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self) -> Any:
        """The shape of the output, or a list of them."""
        shapes = [tuple(each.shape) for each in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes


def _is_functional(args: Any, kwargs: Any) -> bool:
    return (
        len(args) >= 2
        or (len(args) == 1 and "outputs" in kwargs)
        or ("inputs" in kwargs and "outputs" in kwargs)
    )


def _ranked(value: Any, to: Any) -> Any:
    """The value with the rank of the input. Raises ValueError if it can't have it."""
    if value is None or len(value.shape) == len(to.shape):
        return value
    if len(value.shape) == len(to.shape) + 1 and value.shape[-1] == 1:
        return ops.squeeze(value, axis=-1)
    if len(value.shape) == len(to.shape) - 1 and to.shape[-1] == 1:
        return ops.expand_dims(value, axis=-1)
    raise ValueError(
        f"Invalid input shape for input {value} with name '{to.name}'. Expected shape "
        f"{tuple(to.shape)}, but input has incompatible shape {tuple(value.shape)}"
    )
