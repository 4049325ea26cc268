"""Functions of `tf` on Keras tensors: `a + b` is the layer `tf.__operators__.add`, and
`tf.reduce_mean(a, axis=1)` the layer `tf.math.reduce_mean`.

Told about: `TFOpLambda` of `keras/src/layers/core/tf_op_layer.py`, and the dispatch that calls it.
NB: TensorFlow asks on every call of an API function whether an argument wants to do it itself. Here
the functions are made to ask when the first Keras tensor is made; others never pay for it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.keras_tensor import is_keras_tensor
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["TFOpLambda", "make_functions_ask", "operator_layer"]


class TFOpLambda(Layer):
    """One call of a function."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        super().__init__(name=backend.unique_name(name), autocast=False)
        self._function = function
        self.function_name = name.removeprefix("tf.")
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """The function by its name below `tf`."""
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        return {**config, "function": self.function_name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer of that function."""
        made = operator_layer(config["function"])
        made._name = config["name"]
        return made

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


class SlicingOpLambda(TFOpLambda):
    """One `x[...]`."""


def _add(x: Any, y: Any) -> Any:
    return tf.raw_ops.AddV2(x=x, y=y)


def operator_layer(name: str) -> TFOpLambda:
    """The layer for an operator: `math.multiply` for `*`."""
    if name == "__operators__.getitem":
        return SlicingOpLambda(operator.getitem, f"tf.{name}")
    function = _add if name == "__operators__.add" else operator.attrgetter(name)(tf)
    return TFOpLambda(getattr(function, "__wrapped__", function), f"tf.{name}")


@functools.cache
def make_functions_ask() -> None:
    """Make the public functions that consist of ops layers for Keras tensors. Done once."""
    names: dict[Any, str] = {}
    for prefix, module in (("math.", tf.math), ("linalg.", tf.linalg), ("nn.", tf.nn), ("", tf)):
        for attribute, function in list(_functions(module)):
            name = names.setdefault(function, f"tf.{prefix}{attribute}")
            setattr(module, attribute, _asking(function, name))


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for attribute, value in vars(module).items():
        if isinstance(value, FunctionType) and not attribute.startswith("_"):
            chapter = value.__module__.removeprefix("tflogscope.runtime.")
            if chapter.startswith(("library.", "ops.")) and chapter != "library.graphs":
                yield attribute, value


def _asking(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for each in (*args, *kwargs.values()):
            if is_keras_tensor(each) or (
                isinstance(each, (list, tuple)) and any(map(is_keras_tensor, each))
            ):
                return TFOpLambda(function, name)(*args, **kwargs)
        return function(*args, **kwargs)

    return call
