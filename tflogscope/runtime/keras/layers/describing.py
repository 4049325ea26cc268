"""What a layer says of itself: name, dtype, shapes, size, configuration.

Told about: the properties of `keras/src/engine/base_layer.py`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.tracking import Tracked
from tflogscope.runtime.keras.mixed_precision import Policy, policy_of

__all__ = ["Described"]


class Described(Tracked):
    """The part of `Layer` that computes nothing."""

    _name: str
    _dtype: str
    _policy: Policy
    _trainable: bool
    inbound_nodes: list[Any]
    built: bool
    _built_for: Any = None
    weights: Any
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Note the arguments: copies are made with them."""
        made = super().__new__(cls)
        made.__dict__["_made_with"] = (args, kwargs)
        return made

    def get_config(self) -> dict[str, Any]:
        """What it was made with. Raises NotInThisRuntime for layers of Keras of which that isn't
        noted, NotImplementedError for a user's layer that was made with other things than numbers
        and texts, and does not say itself what.
        """
        from tflogscope.runtime.keras.layers.configurations import configuration, told_by_itself

        own = configuration(self)
        if own is None:
            raise NotInThisRuntime(f"{type(self).__name__}.get_config")
        config = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": self._policy.serialized(),
        }
        shape = getattr(self, "_batch_input_shape", None)
        config |= {**({} if shape is None else {"batch_input_shape": shape}), **own}
        return told_by_itself(self, config)

    def get_build_config(self) -> dict[str, Any]:
        """The shapes of the input for which it was built."""
        return {} if self._built_for is None else {"input_shape": self._built_for}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A new one, made with what `get_config` gave."""
        from tflogscope.runtime.keras.layers.configurations import made_of

        return cls(**made_of(cls, config))

    def count_params(self) -> int:
        """How many numbers the weights hold. Raises ValueError before the layer is built."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer {self.name}, but the layer isn't "
                f"built. You can build it manually via: `{self.name}.build(batch_input_shape)`."
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
        """The dtype of its computation."""
        return self.dtype_policy.compute_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype of its weights, by another name."""
        return self.dtype

    @property
    def dtype_policy(self) -> Policy:
        """Which dtypes those are."""
        return self._policy

    def _set_policy(self, identifier: Any) -> None:
        self._policy = policy_of(identifier)
        self._dtype = self._policy.variable_dtype

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
        """The Keras tensor that it was first called on. Raises AttributeError if there is none."""
        if not self.inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        arguments = self.inbound_nodes[0].arguments
        return arguments[0] if arguments else self.inbound_nodes[0].outputs

    @property
    def output(self) -> Any:
        """The Keras tensor that its first call gave. Raises AttributeError if there is none."""
        if not self.inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self.inbound_nodes[0].outputs

    def _called_with(self, what: str) -> None:
        if not self.inbound_nodes and getattr(self, f"{what}s", None) is None:
            note = (
                " Note that the `input_shape` property is only available for Functional and "
                "Sequential models."
            )
            raise AttributeError(
                f'The layer "{self.name}" has never been called and thus has no defined {what} '
                f"shape.{note if what == 'input' else ''}"
            )

    @property
    def input_shape(self) -> Any:
        """The shape of `input`. Raises AttributeError if it was never called on a Keras tensor."""
        self._called_with("input")
        return _shapes(self.input)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`. Raises AttributeError if it was never called on one."""
        self._called_with("output")
        return _shapes(self.output)


def _shapes(tensors: Any) -> Any:
    return tf.nest.map_structure(lambda each: tuple(each.shape), tensors)
