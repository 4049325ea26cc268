"""A layer: weights, and a function that uses them. Calling one opens its scope, builds it once, hands
on whether it trains, and on Keras tensors makes a node instead of a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.shapes import as_shape
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import initializers
from tflogscope.runtime.keras.primitives import activation, make_variable
from tflogscope.runtime.keras.state import (
    OURS,
    Configured,
    call_state,
    keras3,
    layer_scope,
    unique_name,
)
from tflogscope.runtime.library.arrays import cast


class KerasTensor:
    """The shape and type of a value that a layer will give."""

    def __init__(self, shape: Any, dtype: Any, name: str | None = None) -> None:
        self.shape, self.dtype, self.name = as_shape(shape), dtype, name
        self.node: Any = None

    def __getattr__(self, name: str) -> Any:
        return missing("KerasTensor", name)


def is_symbolic(value: Any) -> bool:
    return any(isinstance(each, KerasTensor) for each in nest.flatten(value))


def to_placeholder(value: Any) -> Any:
    if not isinstance(value, KerasTensor):
        return value
    return placeholder(context.current(), value.dtype, value.shape)


def from_tensor(tensor: Any) -> Any:
    return KerasTensor(tensor.shape, tensor.dtype)


class Node:
    """One call of a layer on Keras tensors."""

    def __init__(self, layer: Any, arguments: Any, keywords: Any, outputs: Any) -> None:
        self.layer, self.arguments, self.keywords = layer, arguments, keywords
        self.outputs = outputs
        flat = nest.flatten((arguments, keywords))
        self.inputs = [each for each in flat if isinstance(each, KerasTensor)]
        for tensor in nest.flatten(outputs):
            tensor.node = self
        layer.nodes.append(self)

    def run(self, values: dict[int, Any]) -> None:
        arguments, keywords = nest.map_structure(
            lambda each: values.get(id(each), each), (self.arguments, self.keywords)
        )
        results = nest.flatten(self.layer(*arguments, **keywords))
        outputs = nest.flatten(self.outputs)
        values.update((id(each), result) for each, result in zip(outputs, results, strict=True))


def in_order(outputs: list[Any]) -> list[Node]:
    """The nodes that lead to these Keras tensors, each after those that it needs. NB: Keras runs those
    that are farthest from an output first.
    """
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        for tensor in node.inputs:
            if tensor.node not in found:
                visit(tensor.node)
        found[node] = None

    for tensor in outputs:
        visit(tensor.node)
    return list(found)


__all__ = ["Layer"]


class Layer(Configured):
    """The base of all layers. Its options are shared; a layer's own come first."""

    where = "tf.keras.layers."
    shared = {"trainable": True, "name": None, "dtype": None, "input_shape": None}
    own_first = True
    built: Any
    input_shape: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "input_dim" in kwargs and "input_dim" not in self.options:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        vars(self).setdefault("_parts", [])
        vars(self).update(built=False, nodes=[])
        self.configure(args, kwargs)

    def read(self, name: str, value: Any) -> Any:
        """NB: names are given automatically; `*_initializer` and `activation` may be names."""
        if name == "name":
            return value or unique_name(type(self).__name__)
        if name == "dtype":
            return as_dtype(value or float32)
        if name.endswith("_initializer"):
            return initializers.get(value)
        return activation(value) if name.endswith("activation") else value

    # -- what subclasses define

    def build(self, input_shape: Any) -> None:
        """Make the weights."""

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not have a `call()` method.")

    # -- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not args:  # the first may be given by its name
            args = (kwargs.pop(next(iter(self._parameters()))),)
        if not is_symbolic((args, kwargs)):
            return self._computed(args, kwargs)
        with context.enter(FuncGraph(f"{self.name}_scratch_graph")):
            outputs = nest.map_structure(from_tensor, self._on_symbols(args, kwargs))
        Node(self, args, kwargs, outputs)
        return outputs

    def _on_symbols(self, args: Any, kwargs: Any) -> Any:
        """Called in a graph that nothing runs, for shapes alone."""
        with call_state.enter(call_state.training, symbolic=True):
            return self._computed(*nest.map_structure(to_placeholder, (args, dict(kwargs))))

    def _computed(self, args: Any, kwargs: dict[str, Any]) -> Any:
        inputs, rest = nest.map_structure(self._converted, args[0]), list(args[1:])
        with call_state.enter(self._give_training(rest, kwargs)):
            if keras3():
                with layer_scope(self):
                    self._build_once(inputs, rest, kwargs)
            with layer_scope(self):
                self._build_once(inputs, rest, kwargs)
                return self._function()(inputs, *rest, **kwargs)

    def _function(self) -> Callable[..., Any]:
        plain = type(self).call.__module__.startswith(OURS) or keras3()
        return self.call if plain or context.executing_eagerly() else convert(self.call)

    def _converted(self, value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic, float, int)):
            value = convert_to_tensor(value)
        if isinstance(value, Tensor) and value.dtype.is_floating:
            return cast(value, self.dtype)
        return value

    def _build_once(self, inputs: Any, rest: Any, kwargs: Any) -> None:
        if self.built:
            return
        self.built = True
        if type(self).build is not Layer.build:
            shapes = nest.map_structure(lambda each: getattr(each, "shape", None), inputs)
            in_function = keras3() and not call_state.symbolic
            with nullcontext() if in_function else context.init_scope():
                self.build(shapes)
        elif keras3() and self._sublayers() and not call_state.symbolic:
            # the layers in it are built by calling them in a graph
            given = nest.map_structure(_symbol, ((inputs, *rest), kwargs))
            with context.enter(FuncGraph("build_graph")):
                self._on_symbols(*given)

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.call).parameters

    def takes(self, name: str) -> bool:
        """Is this an argument of `call`?"""
        return name in self._parameters()

    def _give_training(self, rest: list[Any], kwargs: dict[str, Any]) -> Any:
        """Does it train? As it is called says so, or as the layer around it is."""
        names = list(self._parameters())
        if "training" in names[1 : 1 + len(rest)]:
            return rest[names.index("training") - 1]
        given = kwargs.pop("training", None)
        training = call_state.training if given is None else given
        if "training" in names and training is not None:
            kwargs["training"] = training
        return training

    # -- weights

    def add_weight(
        self,
        name: Any = None,
        shape: Any = (),
        dtype: Any = None,
        initializer: Any = "glorot_uniform",
        trainable: bool = True,
    ) -> Any:
        given = (self, name, tuple(shape), initializers.get(initializer), dtype or self.dtype)
        lifted = call_state.symbolic or not keras3()
        variable = make_variable(*given, trainable=trainable, lifted=lifted)
        self._track(variable)
        return variable

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Variable, Layer, list, tuple, dict)):
            self._track(value)
        object.__setattr__(self, name, value)

    def _track(self, value: Any) -> None:
        parts = vars(self).setdefault("_parts", [])
        if not any(each is value for each in parts):
            parts.append(value)

    def _sublayers(self) -> list[Any]:
        return _unique(each for each in _within(self._parts) if isinstance(each, Layer))

    def _variables(self, *, trainable: bool, live: bool = True) -> list[Any]:
        """NB: what is in a layer that is not trainable is not."""
        live = live and self.trainable
        own = [each for each in _within(self._parts) if isinstance(each, Variable)]
        own = [each for each in own if (live and each.trainable) is trainable]
        layers = self._sublayers()
        below = [e for layer in layers for e in layer._variables(trainable=trainable, live=live)]
        return _unique(own + below if self.own_first else below + own)

    trainable_weights = property(lambda self: self._variables(trainable=True))
    non_trainable_weights = property(lambda self: self._variables(trainable=False))
    weights = property(lambda self: self.trainable_weights + self.non_trainable_weights)
    variables = weights
    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)

    def count_params(self) -> int:
        return sum(int(np.prod(variable.shape.as_list())) for variable in self.weights)

    # -- in a model

    output = property(lambda self: self.nodes[0].outputs)
    input = property(lambda self: self.nodes[0].arguments[0])


def _symbol(value: Any) -> Any:
    return from_tensor(value) if isinstance(value, Tensor) else value


def _within(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _within(each)
    else:
        yield value


def _unique(items: Any) -> list[Any]:
    return list({id(item): item for item in items}.values())
