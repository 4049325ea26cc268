"""An operation: what can be called on Keras tensors, and remembers it as a node of a model's graph.

A layer is one; so is each function of `ops` that was called on a Keras tensor. What comes out is
learned by calling it once in a scratch graph, which is thrown away.
NB: Keras knows the shapes of most of its own layers and functions by a formula, without a graph.

Told about: `keras/src/ops/operation.py`, `compute_output_spec` of `backend/tensorflow/core.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.keras.keras_tensor import Node, is_keras_tensor, to_placeholder
from tflogscope.runtime.keras3.keras_tensor import from_tensor
from tflogscope.runtime.keras3.state import auto_name, stateless_scope
from tflogscope.runtime.tensors import uncounted

__all__ = ["Operation", "any_symbolic", "known_spec", "operation", "output_spec"]


def any_symbolic(*values: Any) -> bool:
    """Is there a Keras tensor among them?"""
    return any(is_keras_tensor(each) for each in tf.nest.flatten(values))


def output_spec(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function gives for these arguments, as Keras tensors."""
    return _traced(auto_name("scratch_graph"), function, args, kwargs)


def known_spec(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same for a function of Keras' own, of which Keras knows it without a graph."""
    with uncounted():
        return _traced("scratch_graph", function, args, kwargs)


def _traced(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with stateless_scope(), FuncGraph(name).as_default():
        args, kwargs = tf.nest.map_structure(to_placeholder, (args, kwargs))
        outputs = function(*args, **kwargs)
        return tf.nest.map_structure(from_tensor, outputs)


class Operation:
    """One function of `ops`, with the arguments of its calls on Keras tensors."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.kind = "".join(each.title() for each in function.__name__.split("_"))
        self.name = auto_name(self.kind)
        self.inbound_nodes: list[Node] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any_symbolic(args, kwargs):
            return self._function(*args, **kwargs)
        outputs = known_spec(self._function, *args, **kwargs)
        Node(self, args, kwargs, outputs)
        return outputs


def operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `ops` that may also be called on Keras tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_symbolic(args, kwargs):
            return Operation(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return call
