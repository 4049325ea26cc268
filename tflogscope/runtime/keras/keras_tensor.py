"""Keras tensors: what `Input` and layers called on it give. They hold a dtype and a shape, never a
value.

A layer that is called on Keras tensors remembers the call as a `Node`; from the nodes a functional
model knows which layer to call with what. No op is made for good: the layer runs once in a scratch
graph, which tells dtype and shape of its outputs and is thrown away.

Told about: `keras/src/engine/keras_tensor.py`, `node.py`, `input_layer.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tflogscope.runtime.api as tf
from tflogscope.runtime.context import current
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.function.func_graph import placeholder
from tflogscope.runtime.keras import backend

__all__ = [
    "History",
    "Input",
    "KerasTensor",
    "Node",
    "from_tensor",
    "is_keras_tensor",
    "to_placeholder",
]


class History(NamedTuple):
    """Where a Keras tensor comes from: the layer, which of its calls, which of its outputs."""

    layer: Any
    node_index: int
    tensor_index: int


def _operator_layer(name: str) -> Any:
    from tflogscope.runtime.keras.layers.tf_op_layer import operator_layer

    return operator_layer(name)


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The operator with the Keras tensor on its left, and the one with it on its right."""

    def left(self: Any, other: Any) -> Any:
        return _operator_layer(name)(self, other)

    def right(self: Any, other: Any) -> Any:
        if isinstance(other, (int, float, complex)):
            other = tf.convert_to_tensor(other, self.dtype)
        return _operator_layer(name)(other, self)

    return left, right


class KerasTensor:
    """A tensor to be: dtype, shape and where it comes from."""

    _keras_history: History
    _keras_mask: KerasTensor | None = None

    def __init__(self, shape: Any, dtype: Any, name: str | None = None) -> None:
        self._type_spec = tf.TensorSpec(shape, dtype)
        self.name = name
        self._spec_name: str | None = None

    @property
    def shape(self) -> Any:
        """The shape; None where it isn't known, as for the batch."""
        return self._type_spec.shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self._type_spec.dtype

    @property
    def type_spec(self) -> Any:
        """The same as a TensorSpec."""
        return self._type_spec

    def get_shape(self) -> Any:
        """The shape."""
        return self.shape

    @property
    def node(self) -> Node:
        """The call of a layer that gave it."""
        layer, index, _ = self._keras_history
        node: Node = layer.inbound_nodes[index]
        return node

    def __repr__(self) -> str:
        layer = getattr(self, "_keras_history", None)
        origin = f" (created by layer '{layer.layer.name}')" if layer else ""
        return f"<KerasTensor: shape={self.shape} dtype={self.dtype.name}{origin}>"

    def __str__(self) -> str:
        spec = tf.TensorSpec(self.shape, self.dtype, self._spec_name)
        layer = getattr(self, "_keras_history", None)
        origin = f", description=\"created by layer '{layer.layer.name}'\"" if layer else ""
        return f"KerasTensor(type_spec={spec!r}, name={self.name!r}{origin})"

    def __len__(self) -> int:
        raise TypeError(
            "Keras symbolic inputs/outputs do not implement `__len__`. You may be trying to pass "
            "Keras symbolic inputs/outputs to a TF API that does not register dispatching, "
            "preventing Keras from automatically converting the API call to a lambda layer in the "
            "Functional Model. This error will also get raised if you try asserting a symbolic "
            "input/output directly."
        )

    def __iter__(self) -> Any:
        raise TypeError("Cannot iterate over a Tensor with unknown first dimension.")

    def __array__(self, *_: Any) -> Any:
        raise TypeError(
            f"You are passing {self}, an intermediate Keras symbolic input/output, to a TF API "
            "that does not allow registering custom dispatchers, such as `tf.cond`, "
            "`tf.function`, gradient tapes, or `tf.map_fn`. Keras Functional model construction "
            "only supports TF API calls that *do* support dispatching, such as `tf.math.add` or "
            "`tf.reshape`. Other APIs cannot be called directly on symbolic Kerasinputs/outputs. "
            "You can work around this limitation by putting the operation in a custom Keras layer "
            "`call` and calling that layer on this symbolic input/output."
        )

    # Operators become layers of their own, named as Keras names them.
    __add__, __radd__ = _operators("__operators__.add")
    __sub__, __rsub__ = _operators("math.subtract")
    __mul__, __rmul__ = _operators("math.multiply")
    __truediv__, __rtruediv__ = _operators("math.truediv")
    __floordiv__, __rfloordiv__ = _operators("math.floordiv")
    __mod__, __rmod__ = _operators("math.floormod")
    __pow__, __rpow__ = _operators("math.pow")
    __matmul__, __rmatmul__ = _operators("linalg.matmul")
    __getitem__, _ = _operators("__operators__.getitem")
    __lt__, _ = _operators("math.less")
    __le__, _ = _operators("math.less_equal")
    __gt__, _ = _operators("math.greater")
    __ge__, _ = _operators("math.greater_equal")

    def __neg__(self) -> Any:
        return _operator_layer("math.negative")(self)

    def __abs__(self) -> Any:
        return _operator_layer("math.abs")(self)


class Node:
    """One call of a layer on Keras tensors."""

    def __init__(
        self, layer: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], outputs: Any
    ) -> None:
        """`arguments` and `keywords` are those of the call, with Keras tensors among them,
        `outputs` what it gave.
        """
        self.layer = layer
        self.arguments = arguments
        self.keywords = keywords
        self.outputs = outputs
        self.keras_inputs = [
            each for each in tf.nest.flatten((arguments, keywords)) if is_keras_tensor(each)
        ]
        self.is_input = not self.keras_inputs
        index = len(layer.inbound_nodes)
        layer.inbound_nodes.append(self)
        for position, tensor in enumerate(tf.nest.flatten(outputs)):
            tensor._keras_history = History(layer, index, position)

    @property
    def parents(self) -> list[Node]:
        """The calls that gave its inputs."""
        return [tensor.node for tensor in self.keras_inputs]

    def map_arguments(self, values: dict[int, Any]) -> tuple[Any, Any]:
        """The arguments of the call with values in place of Keras tensors, which are looked up by
        `id`.
        """

        def value(each: Any) -> Any:
            return values[id(each)] if is_keras_tensor(each) else each

        mapped: tuple[Any, Any] = tf.nest.map_structure(value, (self.arguments, self.keywords))
        return mapped


def is_keras_tensor(value: Any) -> bool:
    """Is it a tensor to be?"""
    return isinstance(value, KerasTensor)


def to_placeholder(value: Any) -> Any:
    """In a scratch graph: a placeholder for a Keras tensor, anything else as it is."""
    if not is_keras_tensor(value):
        return value
    graph: Any = current()
    return placeholder(graph, value.dtype, value.shape)


def from_tensor(tensor: Any) -> KerasTensor:
    """The Keras tensor for a tensor of a scratch graph."""
    result = KerasTensor(tensor.shape, tensor.dtype, tensor.name)
    mask = getattr(tensor, "_keras_mask", None)
    if mask is not None:
        result._keras_mask = KerasTensor(mask.shape, mask.dtype, mask.name)
    return result


def Input(  # noqa: N802  as users know it
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Any:
    """The start of a functional model: a Keras tensor with that shape behind the batch.

    Raises NotInThisRuntime for sparse, ragged and given tensors.
    """
    from tflogscope.runtime.keras.layers.core import InputLayer

    for absent in ("sparse", "tensor", "ragged", "type_spec"):
        if kwargs.get(absent) is not None and kwargs[absent] is not False:
            raise NotInThisRuntime(f"keras.Input({absent}=...)")
    layer = InputLayer(
        input_shape=shape,
        batch_size=batch_size,
        name=name,
        dtype=dtype,
        batch_input_shape=kwargs.get("batch_shape"),
    )
    return layer.inbound_nodes[0].outputs


def input_name() -> str:
    """`input_1`, then `input_2`, and so on."""
    return f"input_{backend.get_uid('input')}"
