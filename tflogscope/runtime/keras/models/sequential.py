"""`Sequential`: layers one behind the other.

With a known input shape it is a functional model from the start; without one, it becomes one at the
first call.

Told about: `keras/src/engine/sequential.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.keras_tensor import Input, KerasTensor, is_keras_tensor
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.core import InputLayer
from tflogscope.runtime.keras.models.cloning import layer_config
from tflogscope.runtime.keras.models.model import Functional, Model

__all__ = ["Sequential"]


class Sequential(Functional):
    """A stack of layers, each with one input and one output."""

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        Model.__init__(self, name=name, autocast=False)
        self.supports_masking = True
        self._connected = False
        self._knows_its_input = False
        self._inferred_shape: Any = None
        self._never_connects = False
        for layer in layers if isinstance(layers, (list, tuple)) else [layers] if layers else []:
            self.add(layer)

    def add(self, layer: Any) -> None:
        """Put a layer at the end. Raises TypeError for what is no layer, ValueError for a name that
        is taken.
        """
        if is_keras_tensor(layer):
            layer = layer._keras_history.layer
        if not isinstance(layer, Layer):
            raise TypeError(
                f"The added layer must be an instance of class Layer. Received: layer={layer} of "
                f"type {type(layer)}."
            )
        if any(each.name == layer.name and each is not layer for each in self._children):
            raise ValueError(
                "All layers added to a Sequential model should have unique names. "
                f'Name "{layer.name}" is already the name of a layer in this model. '
                "Update the `name` argument to pass a unique name."
            )
        self.built = False
        if not self._children:
            self._start(layer)
        elif self.outputs:
            self._connect(self.inputs, [layer(self.outputs[0])])
        else:
            self._children.append(layer)

    def _start(self, layer: Any) -> None:
        """The first layer: an input, or one that says its input shape, or neither."""
        if isinstance(layer, InputLayer):
            tensor = layer.inbound_nodes[0].outputs
            self._knows_its_input = True
            self._connect([tensor], [tensor])
            return
        shape = getattr(layer, "_batch_input_shape", None)
        if shape is None and isinstance(layer, Functional) and layer.inputs:
            shape = tuple(layer.inputs[0].shape)
        if shape is None:
            self._children.append(layer)
            return
        dtype = (
            layer.inputs[0].dtype if isinstance(layer, Functional) and layer.inputs else layer.dtype
        )
        tensor = Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
        self._knows_its_input = True
        self._connect([tensor], [layer(tensor)])

    def _connect(self, inputs: Any, outputs: Any) -> None:
        self._set_network(inputs, outputs)
        self._connected = True

    def _specification(self) -> Any:
        return super()._specification() if self._knows_its_input else None

    def get_config(self) -> dict[str, Any]:
        """Its layers."""
        return {"name": self.name, "layers": [layer_config(each) for each in self._children]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A new one, made of what `get_config` gave."""
        from tflogscope.runtime.keras.layers import deserialize

        model = cls(name=config["name"])
        for each in config["layers"]:
            model.add(deserialize(each, custom_objects))
        return model

    @property
    def weights(self) -> list[Any]:
        """All variables. Raises ValueError before they are made."""
        if not self.built and self.layers:
            raise ValueError(
                f"Weights for model {self.name!r} have not yet been created. Weights are created "
                "when the model is first called on inputs or `build()` is called with an "
                "`input_shape`."
            )
        return super().weights

    def pop(self) -> None:
        """Remove the last layer. Raises TypeError if there is none."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        layer = self._children.pop()
        layer.inbound_nodes.clear()
        if self._connected and self._children:
            self._connect(self.inputs, [self._children[-1].output])
        else:
            self.__dict__.update(inputs=None, outputs=None, _connected=False, built=False)

    @property
    def layers(self) -> list[Any]:
        """The layers, without the input."""
        return [layer for layer in self._children if not isinstance(layer, InputLayer)]

    def build(self, input_shape: Any = None) -> None:
        """Make the weights for inputs of that shape. Raises ValueError if it isn't said and not
        known.
        """
        if not self._connected:
            if input_shape is None:
                raise ValueError("You must provide an `input_shape` argument.")
            self._infer(tf.TensorShape(input_shape), None)
        self.built = True

    def _maybe_build(self, inputs: Any) -> None:
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call the layers one after the other."""
        if not self._knows_its_input and isinstance(inputs, tf.Tensor):
            self._infer(inputs.shape, inputs.dtype)
        if self._connected:
            return super().call(inputs, training=training, mask=mask)
        outputs = inputs
        for layer in self.layers:
            outputs = layer(outputs)
        return outputs

    def _infer(self, shape: Any, dtype: Any) -> None:
        """Become a functional model for inputs of that shape; of a more general one if there were
        others before.
        """
        if shape.rank is None or not self.layers or self._never_connects:
            return
        known = self._inferred_shape
        new = shape if known is None else known.most_specific_compatible_shape(shape)
        if new == known or new.rank is None:
            return
        with tf.init_scope():
            tensor: KerasTensor = Input(
                batch_shape=tuple(new), dtype=dtype, name=f"{self.layers[0].name}_input"
            )
            layers = self.layers
            outputs: Any = tensor
            try:
                for layer in layers:
                    layer.inbound_nodes.clear()
                    outputs = layer(outputs)
            except NotInThisRuntime:
                raise
            except Exception:  # noqa: BLE001  it fails again, and says so, where values are there
                self._never_connects = True
                return
            self._connect([tensor], [outputs])
        self._inferred_shape = new
