"""What a layer says of itself: its weights, the layers in it, its size.

Told about: the properties of `keras/src/layers/layer.py`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tflogscope.runtime import nest
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3.dtype_policies import DTypePolicy
from tflogscope.runtime.keras3.initializers import renewed
from tflogscope.runtime.keras3.layers.configurations import configuration, made_of
from tflogscope.runtime.keras3.layers.tracking import Tracked
from tflogscope.runtime.keras3.metrics_base import Metric
from tflogscope.runtime.keras3.random import SeedGenerator
from tflogscope.runtime.keras3.variables import Variable

__all__ = ["Described"]

_OURS = "tflogscope.runtime."


class Described(Tracked):
    """The part of `Layer` that computes nothing."""

    name: str
    dtype: str
    dtype_policy: DTypePolicy
    built: bool
    _trainable: bool
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Note the arguments: copies are made with them."""
        made = super().__new__(cls)
        made.__dict__["_made_with"] = (args, kwargs)
        return made

    def copied(self, replaced: dict[int, Any] | None = None, **changes: Any) -> Self:
        """A new layer made with the same arguments, but for these; initializers draw anew.
        `replaced`: what takes the place of objects, by their ids.
        """

        def new(value: Any) -> Any:
            return nest.map_structure(lambda each: (replaced or {}).get(id(each), each), value)

        args, kwargs = self._made_with
        named = {name: renewed(new(each)) for name, each in kwargs.items()}
        return type(self)(*new(args), **named | changes)

    def _sublayers(self) -> list[Any]:
        """The layers right in it."""
        return [each for each in self._parts(Described) if each is not self]

    def _flatten_layers(self) -> list[Any]:
        """It and all layers below it, each before those in it."""
        found: dict[int, Any] = {id(self): self}
        for layer in self._sublayers():
            found.update((id(each), each) for each in layer._flatten_layers())
        return list(found.values())

    def _own_weights(self) -> list[Any]:
        own = self._parts(Variable)
        return [
            *(each for each in own if each.trainable),
            *(each for each in own if not each.trainable),
        ]

    @property
    def weights(self) -> list[Any]:
        """All variables: its own, those to be trained first, then those of the layers in it."""
        found = {id(each): each for each in self._own_weights()}
        for layer in self._sublayers():
            found.update((id(each), each) for each in layer.weights)
        return list(found.values())

    @property
    def variables(self) -> list[Any]:
        """The same, and the states of seed generators."""
        found = {id(each): each for each in self._own_weights()}
        found.update((id(each.state), each.state) for each in self._parts(SeedGenerator))
        for layer in self._sublayers():
            found.update((id(each), each) for each in layer.variables)
        return list(found.values())

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes."""
        return [each for each in self.weights if each.trainable] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The others; all of them if the layer is not trainable."""
        return [each for each in self.weights if not (each.trainable and self.trainable)]

    @property
    def trainable_variables(self) -> list[Any]:
        """The same as `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """`non_trainable_weights`, and the states of seed generators."""
        return [each for each in self.variables if not (each.trainable and self.trainable)]

    @property
    def trainable(self) -> bool:
        """Does training change it?"""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        for variable in self._parts(Variable):
            variable.trainable = value
        for layer in self._sublayers():
            layer.trainable = value

    @property
    def metrics(self) -> list[Any]:
        """The metrics in it and in the layers in it."""
        found = self._parts(Metric)
        return found + [each for layer in self._sublayers() for each in layer.metrics]

    @property
    def compute_dtype(self) -> str:
        """The dtype of its computation."""
        return self.dtype_policy.compute_dtype

    @property
    def input_dtype(self) -> str:
        """The dtype that its inputs are cast to."""
        return self.compute_dtype

    def get_weights(self) -> list[Any]:
        """The values of the variables, as arrays."""
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights: list[Any]) -> None:
        """Assign each variable its value. Raises ValueError if number or shapes differ."""
        variables = self.weights
        if len(weights) != len(variables):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of "
                f"length {len(weights)}, but the layer was expecting {len(variables)} weights."
            )
        for variable, value in zip(variables, weights, strict=True):
            if tuple(variable.shape) != np.shape(value):
                raise ValueError(
                    f"Layer {self.name} weight shape {variable.shape} is not compatible with "
                    f"provided weight shape {np.shape(value)}."
                )
            variable.assign(value)

    def count_params(self) -> int:
        """How many numbers the weights hold. Raises ValueError before the layer is built."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't "
                "built. You can build it manually via: `layer.build(input_shape)`."
            )
        return sum(int(np.prod(variable.shape.as_list())) for variable in self.weights)

    @property
    def output(self) -> Any:
        """What its only call on Keras tensors gave."""
        return self._only_node().outputs

    @property
    def input(self) -> Any:
        """What it was called on."""
        arguments = self._only_node().arguments
        return arguments[0] if len(arguments) == 1 else arguments

    def _only_node(self) -> Any:
        nodes = self.__dict__["inbound_nodes"]
        if len(nodes) != 1:
            raise ValueError(
                f"The layer {self.name} has {len(nodes)} inbound nodes, so its input and output "
                "are not defined."
            )
        return nodes[0]

    def get_config(self) -> dict[str, Any]:
        """What a layer of the user's was made with; if its class says that, what all layers have.
        Raises NotInThisRuntime for Keras' own, NotImplementedError for arguments that are neither
        numbers nor texts.
        """
        users = [each for each in type(self).__mro__ if not each.__module__.startswith(_OURS)]
        first_of_keras = type(self).__mro__[len(users[:-1])]  # behind all is `object`
        if first_of_keras.__name__ not in ("Layer", "Model"):
            raise NotInThisRuntime(f"{first_of_keras.__name__}.get_config in Keras 3")
        by_itself = type(self).get_config is Described.get_config
        return configuration(self, by_itself=by_itself)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A new one, made with what `get_config` gave."""
        return cls(**made_of(config))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"
