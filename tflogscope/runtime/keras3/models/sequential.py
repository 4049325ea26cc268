"""`Sequential`: layers one behind the other. As soon as it knows its input it has a functional
model inside.

Told about: `keras/src/models/sequential.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.keras_tensor import is_keras_tensor
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.core import InputLayer
from tflogscope.runtime.keras3.models.model import Functional, Model
from tflogscope.runtime.keras3.reduction import mask_of

__all__ = ["Sequential"]


class Sequential(Model):
    """A stack of layers, each with one input and one output."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, layers: Any = None, trainable: bool = True, name: str | None = None) -> None:
        Layer.__init__(self, trainable=trainable, name=name)
        self.__dict__["_functional"] = None
        self._stack: list[Any] = []
        for layer in layers or []:
            self._append(layer)
        if self._stack:
            self._maybe_rebuild()

    _functional: Functional | None

    def add(self, layer: Any) -> None:
        """Put a layer at the end. Raises ValueError for what is no layer, or a name that is
        taken.
        """
        self._append(layer)
        self._maybe_rebuild()

    def _append(self, layer: Any) -> None:
        if is_keras_tensor(layer):
            layer = layer._keras_history.layer
        if not isinstance(layer, Layer):
            raise ValueError(
                "Only instances of `keras.Layer` can be added to a Sequential model. Received: "
                f"{layer} (of type {type(layer)})"
            )
        if not self._stack and layer._input_shape_arg is not None:
            self._stack.append(InputLayer(shape=layer._input_shape_arg))
        if any(each.name == layer.name and each is not layer for each in self._stack):
            raise ValueError(
                "All layers added to a Sequential model should have unique names. Name "
                f"'{layer.name}' is already the name of a layer in this model. Update the `name` "
                "argument to pass a unique name."
            )
        self._stack.append(layer)
        self.built = False

    def pop(self) -> Any:
        """Remove the last layer."""
        layer = self._stack.pop()
        self._maybe_rebuild()
        return layer

    def _maybe_rebuild(self) -> None:
        self.built = False
        self.__dict__["_functional"] = None
        if len(self._stack) > 1:
            first = self._stack[0]
            if isinstance(first, InputLayer):
                self.build(first.batch_shape)
            elif hasattr(first, "input_shape"):  # a model with a known input
                self.build(first.input_shape)

    def build(self, input_shape: Any = None) -> None:
        """Make the weights for inputs of that shape. Raises ValueError without layers."""
        if not self._stack:
            raise ValueError(f"Sequential model {self.name} cannot be built: it has no layers.")
        if not isinstance(self._stack[0], InputLayer):
            first = InputLayer(batch_shape=tuple(input_shape), dtype=self._stack[0].compute_dtype)
            self._stack.insert(0, first)
        inputs = outputs = self._stack[0].output
        for layer in self._stack[1:]:
            outputs = layer(outputs)
        self.__dict__["_functional"] = Functional(inputs, outputs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call the layers one after the other."""
        if self._functional is not None:
            return self._functional.call(inputs, training=training, mask=mask)
        for layer in self.layers:
            keywords: dict[str, Any] = {"mask": mask} if layer.takes("mask") else {}
            if layer.takes("training") and training is not None:
                keywords["training"] = training
            inputs = layer(inputs, **keywords)
            mask = tf.nest.map_structure(mask_of, inputs)
        return inputs

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """As the functional model in it knows."""
        if self._functional is None:
            return super().compute_output_spec(*args, **kwargs)
        return self._functional.compute_output_spec(*args, **kwargs)

    @property
    def layers(self) -> list[Any]:
        """The layers, without the input."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    @property
    def input_dtype(self) -> str:
        """That of its input layer, if there is one."""
        if self._stack and isinstance(self._stack[0], InputLayer):
            return str(self._stack[0].dtype)
        return super().input_dtype

    def _known(self) -> Functional:
        if self._functional is None:
            raise AttributeError(f"Sequential model '{self.name}' has no defined input yet.")
        return self._functional

    @property
    def inputs(self) -> list[Any]:
        """The Keras tensors of the model inside."""
        return self._known().inputs

    @property
    def outputs(self) -> list[Any]:
        """Those that it gives."""
        return self._known().outputs

    @property
    def input_shape(self) -> Any:
        """The shape of the input."""
        return self._known().input_shape

    @property
    def output_shape(self) -> Any:
        """The shape of the output."""
        return self._known().output_shape
