"""What a layer says of itself: name, dtype, shapes, size, configuration.

Told about: the properties of `keras/src/engine/base_layer.py`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.tracking import Tracked

__all__ = ["Described"]


class Described(Tracked):
    """The part of `Layer` that computes nothing."""

    _name: str
    _dtype: str
    _trainable: bool
    inbound_nodes: list[Any]
    built: bool
    weights: Any
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Note the arguments: copies are made with them."""
        made = super().__new__(cls)
        made.__dict__["_made_with"] = (args, kwargs)
        return made

    def get_config(self) -> dict[str, Any]:
        """What it was made with, as far as all layers have it.

        Raises NotInThisRuntime for Keras' own layers, which have more.
        """
        if type(self).__init__.__module__.startswith("tflogscope.runtime.keras") and (
            type(self).__name__ != "Layer" and type(self).__init__.__qualname__ != "Layer.__init__"
        ):
            raise NotInThisRuntime(f"{type(self).__name__}.get_config")
        return {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A new one, made with what `get_config` gave."""
        return cls(**config)

    def count_params(self) -> int:
        """How many numbers the weights hold. Raises ValueError before the layer is built."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer {self.name}, but the layer isn't "
                "built. You can build it manually via: `layer.build(batch_input_shape)`."
            )
        return sum(int(np.prod(variable.shape.as_list())) for variable in self.weights)

    @property
    def name(self) -> str:
        """Its name, the scope of its ops."""
        return str(self._name)

    @property
    def dtype(self) -> str:
        """The dtype of its weights."""
        return str(self._dtype)

    @property
    def compute_dtype(self) -> str:
        """The dtype of its computation: this runtime has no mixed precision."""
        return str(self._dtype)

    @property
    def trainable(self) -> bool:
        """Does training change its weights?"""
        return bool(self._trainable)

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._sublayers():
            layer.trainable = value

    @property
    def input(self) -> Any:
        """The Keras tensor that it was first called on."""
        arguments = self.inbound_nodes[0].arguments
        return arguments[0] if arguments else self.inbound_nodes[0].outputs

    @property
    def output(self) -> Any:
        """The Keras tensor that its first call gave."""
        return self.inbound_nodes[0].outputs

    @property
    def input_shape(self) -> Any:
        """The shape of `input`."""
        return _shapes(self.input)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`."""
        return _shapes(self.output)


def _shapes(tensors: Any) -> Any:
    return tf.nest.map_structure(lambda each: tuple(each.shape), tensors)
