"""The arguments of a layer's call, by name: which are tensors, and which shapes `build` gets.

Told about: `CallSpec`, `get_shapes_dict` of `keras/src/layers/layer.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.keras_tensor import is_keras_tensor
from tflogscope.runtime.keras3 import ops

__all__ = ["CallArguments", "is_tensor_or_symbolic", "parameters_of"]


def is_tensor_or_symbolic(value: Any) -> bool:
    """A tensor, or a Keras tensor."""
    return is_keras_tensor(value) or ops.is_tensor(value)


@functools.cache
def parameters_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a method, without `self`."""
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


class CallArguments:
    """`given`: as the caller said them; `all`: with defaults; `tensors`: those that are tensors, or
    structures of them.
    """

    def __init__(self, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
        """Takes `training` out of `kwargs` if the call has no such parameter."""
        signature = parameters_of(call)
        self.given: dict[str, Any] = {}
        if "training" in kwargs and "training" not in signature.parameters:
            self.given["training"] = kwargs.pop("training")
        bound = signature.bind(*args, **kwargs)
        self.given |= bound.arguments
        bound.apply_defaults()
        self.all = dict(bound.arguments)
        self.tensors = {name: each for name, each in self.all.items() if _of_tensors(each)}
        self.first = next(iter(self.all.values()), None)

    @property
    def eager(self) -> bool:
        """Are all tensors real ones?"""
        return all(ops.is_tensor(each) for each in self.tensors.values())

    def shapes(self) -> dict[str, Any]:
        """`{"inputs_shape": …}` for each tensor but the mask."""
        return {
            f"{name}_shape": tf.nest.map_structure(_shape, value)
            for name, value in self.tensors.items()
            if name not in {"mask", "args", "kwargs"}
        }

    def shapes_for(self, build: Callable[..., Any]) -> dict[str, Any]:
        """The shapes that this method asks for, by its parameters' names."""
        shapes, wanted = self.shapes(), list(inspect.signature(build).parameters)
        if len(wanted) == 1:
            return {wanted[0]: next(iter(shapes.values()), None)}
        return {name: shapes[name] for name in wanted if name in shapes}


def _of_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple, dict)) and value:
        flat = [each for each in tf.nest.flatten(value) if each is not None]
        return all(is_tensor_or_symbolic(each) for each in flat)
    return is_tensor_or_symbolic(value)


def _shape(value: Any) -> Any:
    return None if value is None else tuple(value.shape.as_list())
