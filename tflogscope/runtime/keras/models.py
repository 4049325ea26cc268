"""Models: layers that know how to be trained. A functional one runs the nodes between its inputs and its
outputs; a sequential one is put together when the shape of its input is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.keras.keras_tensor import KerasTensor, in_order
from tflogscope.runtime.keras.layers.core import Input, InputLayer
from tflogscope.runtime.keras.state import call_state, keras3
from tflogscope.runtime.keras.training import Trainer
from tflogscope.runtime.library.arrays import cast, squeeze


class Model(Trainer):
    """A model of layers that are its attributes, or of inputs and outputs."""

    inputs: Any = None
    outputs: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        functional = cls is Model and (len(args) > 1 or "outputs" in kwargs)
        return super().__new__(Functional if functional else cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.make_counters()

    @property
    def layers(self) -> list[Any]:
        return self._sublayers()

    def summary(self, *_: Any, print_fn: Any = print, **__: Any) -> None:
        """Print the layers. NB: not Keras' table."""
        for layer in self.layers:
            print_fn(f"{layer.name} ({type(layer).__name__}): {layer.count_params()} parameters")
        print_fn(f"Total params: {self.count_params()}")


def _unwrapped(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


class Functional(Model):
    """A model of Keras tensors."""

    converts_inputs = False

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        name = name or ("model" if type(self) is Functional and not keras3() else None)
        Trainer.__init__(self, name=name, **kwargs)
        self.make_counters()
        self.connect(inputs, outputs)

    def connect(self, inputs: Any, outputs: Any) -> None:
        nested = {"_inputs": _unwrapped(inputs), "_outputs": _unwrapped(outputs)}
        self.__dict__ |= {
            **nested,
            "inputs": nest.flatten(inputs),
            "outputs": nest.flatten(outputs),
        }
        self.__dict__["_order"], layers = in_order(self.inputs, self.outputs)
        vars(self)["_parts"] = layers
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        del training  # layers know it from the call that is under way
        if isinstance(inputs, Mapping) and not isinstance(self._inputs, Mapping):
            inputs = [inputs[each.name] for each in self.inputs]
        flat = nest.flatten(inputs)
        values = {id(t): _fitting(value, t) for t, value in zip(self.inputs, flat, strict=True)}
        for node in self._order:
            node.run(values)
        return nest.pack_sequence_as(self._outputs, [values[id(each)] for each in self.outputs])

    @property
    def layers(self) -> list[Any]:
        return list(self._parts)

    input = property(lambda self: self._inputs)
    output = property(lambda self: self._outputs)


def _fitting(value: Any, tensor: KerasTensor) -> Any:
    """With the rank and type of the input. See `Functional._conform_to_reference_input`."""
    value = convert_to_tensor(value) if not isinstance(value, Tensor) else value
    more = (value.shape.rank or 0) - (tensor.shape.rank or 0)
    if more == 1 and value.shape[-1] == 1:
        value = squeeze(value, [-1])
    elif more == -1 and tensor.shape[-1] == 1:
        value = O.ExpandDims(value, -1)
    return cast(value, tensor.dtype)


class Sequential(Functional):
    """A model of one layer after another."""

    def __init__(self, layers: Any = None, name: str | None = None, **kwargs: Any) -> None:
        Trainer.__init__(self, name=name, **kwargs)
        self.make_counters()
        vars(self).update(_stack=[], _parts=[])
        for layer in layers or []:
            self.add(layer)

    def add(self, layer: Any) -> None:
        if isinstance(layer, KerasTensor):  # of `Input`
            layer = layer.node.layer
        self._stack.append(layer)
        self._parts.append(layer)
        if self.outputs:
            self.connect(self.inputs, [layer(self.outputs[0])])
        elif isinstance(layer, InputLayer):
            self.connect([layer.output], [layer.output])
        elif len(self._stack) == 1 and isinstance(layer, Model) and layer.inputs:
            self._begin(tuple(layer.inputs[0].shape), layer.dtype)
        elif len(self._stack) == 1 and layer.input_shape is not None:
            self._begin((None, *layer.input_shape), layer.dtype)

    def _begin(self, shape: Any, dtype: Any) -> None:
        layers = self._stack
        name = None if keras3() else f"{layers[0].name}_input"
        tensor = output = Input(batch_shape=shape, dtype=as_dtype(dtype), name=name)
        for layer in layers:
            output = layer(output)
        self.connect([tensor], [output])

    def build(self, input_shape: Any = None) -> None:
        if self.outputs is None:
            first = self._stack[0]
            self._begin((None, *tuple(input_shape)[1:]), first.dtype if keras3() else "float32")

    def _build_once(self, inputs: Any, rest: Any, kwargs: Any) -> None:
        if self.outputs is None and isinstance(inputs, Tensor) and not call_state.symbolic:
            with context.init_scope():
                self._begin((None, *tuple(inputs.shape)[1:]), inputs.dtype)
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        if self.outputs is not None:
            return super().call(inputs, training)
        for layer in self._stack:
            keywords = {"training": training} if layer.takes("training") else {}
            inputs = layer(inputs, **keywords)
        return inputs

    @property
    def layers(self) -> list[Any]:
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]
