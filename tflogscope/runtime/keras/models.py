"""Models: layers that know how to be trained. A functional one runs the nodes between its inputs and its
outputs; a sequential one is put together when the shape of its input is known.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.dtypes import float32
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.keras.layers.base import KerasTensor, in_order
from tflogscope.runtime.keras.layers.core import Input, InputLayer
from tflogscope.runtime.keras.state import call_state, keras3
from tflogscope.runtime.keras.training import Trainer
from tflogscope.runtime.library.arrays import cast


class Model(Trainer):
    """A model of layers that are its attributes, or of inputs and outputs."""

    inputs: Any = None
    outputs: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        functional = cls is Model and (len(args) > 1 or "outputs" in kwargs)
        return super().__new__(Functional if functional else cls)

    @property
    def layers(self) -> list[Any]:
        return self._sublayers()


class Functional(Model):
    """A model of Keras tensors."""

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        name = name or ("model" if type(self) is Functional and not keras3() else None)
        super().__init__(name=name, **kwargs)
        self.connect(inputs, outputs)

    def connect(self, inputs: Any, outputs: Any) -> None:
        flat = nest.flatten(outputs)
        nodes = in_order(flat)
        layers = list(dict.fromkeys(node.layer for node in nodes))
        vars(self).update(inputs=nest.flatten(inputs), outputs=flat, _outputs=outputs)
        vars(self).update(_parts=layers, _order=[node for node in nodes if node.inputs])
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        pairs = zip(self.inputs, nest.flatten(inputs), strict=True)
        values = {id(tensor): _fitting(value, tensor) for tensor, value in pairs}
        for node in self._order:
            node.run(values)
        return nest.map_structure(lambda each: values[id(each)], self._outputs)


def _fitting(value: Any, tensor: KerasTensor) -> Any:
    """With the rank and type of the input. See `Functional._conform_to_reference_input`."""
    if value.shape.rank == 1 and len(tensor.shape) == 2 and tensor.shape[-1] == 1:
        value = O.ExpandDims(value, -1)
    return cast(value, tensor.dtype)


class Sequential(Functional):
    """A model of one layer after another."""

    def __init__(self, layers: Any = None, name: str | None = None, **kwargs: Any) -> None:
        Trainer.__init__(self, name=name, **kwargs)
        vars(self).update(_stack=[], _parts=[])
        for layer in layers or []:
            self.add(layer)

    def add(self, layer: Any) -> None:
        if isinstance(layer, KerasTensor):  # of `Input`
            layer = layer.node.layer
        self._stack.append(layer)
        self._parts.append(layer)
        if self.outputs:
            self.connect(self.inputs, layer(self.outputs[0]))
        elif isinstance(layer, InputLayer):
            self.connect(layer.output, layer.output)
        elif len(self._stack) == 1 and layer.input_shape is not None:
            self._begin(layer.input_shape, layer.dtype)

    def _begin(self, shape: Any, dtype: Any) -> None:
        name = None if keras3() else f"{self._stack[0].name}_input"
        tensor = output = Input(shape, dtype=dtype, name=name)
        for layer in self._stack:
            output = layer(output)
        self.connect(tensor, output)

    def build(self, input_shape: Any = None) -> None:
        if self.outputs is None:
            self._begin(input_shape[1:], float32)

    def _build_once(self, inputs: Any, rest: Any, kwargs: Any) -> None:
        if self.outputs is None and isinstance(inputs, Tensor) and not call_state.symbolic:
            with context.init_scope():
                self._begin(inputs.shape[1:], inputs.dtype)
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        if self.outputs is not None:
            return super().call(inputs, training)
        for layer in self._stack:
            inputs = layer(inputs)
        return inputs

    @property
    def layers(self) -> list[Any]:
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]
