"""Layers of every model: inputs, Dense, Embedding, Dropout, activations, shapes and merging."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import as_dtype
from tflogscope.runtime.keras import activations, initializers, primitives
from tflogscope.runtime.keras.keras_tensor import KerasTensor, Node
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.primitives import Draws
from tflogscope.runtime.keras.state import floatx, keras3
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import where


class InputLayer(Layer):
    """Where a model begins."""

    _numbered = 0

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        batch_shape: Any = None,
        input_shape: Any = None,
    ) -> None:
        if name is None and not keras3():
            InputLayer._numbered += 1
            name = f"input_{InputLayer._numbered}"
        super().__init__(name=name)
        shape = shape if input_shape is None else input_shape
        dims = (shape,) if isinstance(shape, int) else tuple(shape or ())
        self.known_shape = (batch_size, *dims) if batch_shape is None else tuple(batch_shape)
        tensor = KerasTensor(self.known_shape, as_dtype(dtype or floatx()), self.name)
        self.built = True
        Node(self, (), {}, tensor)


def Input(*args: Any, **kwargs: Any) -> Any:
    return InputLayer(*args, **kwargs).output


class Dense(Layer):
    """`activation(inputs @ kernel + bias)`."""

    supports_masking = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias, self.activation = units, use_bias, activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[-1], self.units)
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer)
        if self.use_bias:
            self.bias = self.add_weight("bias", shape[1:], initializer=self.bias_initializer)

    def call(self, inputs: Any) -> Any:
        inputs = arrays.cast(inputs, self.dtype)
        outputs = primitives.matmul(inputs, self.kernel)
        if self.bias is not None:
            outputs = primitives.add_bias(outputs, self.bias)
        return self.activation(outputs)


class Embedding(Layer):
    """Rows of a table."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        mask_zero: bool = False,
        **kwargs: Any,
    ) -> None:
        if not keras3():
            kwargs.setdefault("input_shape", (kwargs.pop("input_length", None),))
        super().__init__(**kwargs)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self.embeddings_initializer = initializers.get(embeddings_initializer)

    def build(self, input_shape: Any) -> None:
        shape = (self.input_dim, self.output_dim)
        self.embeddings = self.add_weight(
            "embeddings", shape, initializer=self.embeddings_initializer
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return O.NotEqual(inputs, 0) if self.mask_zero else None

    def call(self, inputs: Any) -> Any:
        if inputs.dtype.name not in {"int32", "int64"}:
            inputs = arrays.cast(inputs, "int32")
        return primitives.take(self.embeddings, inputs)


class Dropout(Layer):
    """Some of the inputs set to 0 in training."""

    supports_masking = True

    def __init__(self, rate: float, seed: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self.draws = Draws(seed) if rate or not keras3() else None

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not training or not self.rate:
            return inputs if keras3() else arrays.identity(inputs)
        assert self.draws is not None
        return self.draws.dropout(inputs, self.rate)


class Lambda(Layer):
    """A function as a layer."""

    def __init__(self, function: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function

    def call(self, inputs: Any) -> Any:
        return self.function(inputs)


# -- activations as layers


class Activation(Layer):
    """An activation."""

    supports_masking = True

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class ReLU(Activation):
    """`max(x, 0)`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("relu", **kwargs)


class Softmax(Layer):
    """The softmax of what the mask leaves."""

    supports_masking = True

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is not None and keras3():
            inputs = where(arrays.cast(mask, "bool"), inputs, -1e9)
        elif mask is not None:
            inputs += (1.0 - arrays.cast(mask, inputs.dtype)) * -1e9
        return activations.get("softmax")(inputs, axis=self.axis)


# -- shapes


class Flatten(Layer):
    """One row per example."""

    def call(self, inputs: Any) -> Any:
        batch, *dims = inputs.shape.as_list()
        if context.executing_eagerly():
            size = math.prod(dims) if keras3() else -1
            return arrays.reshape(inputs, constant([batch, size]))
        size = -1 if None in dims else math.prod(dims)
        if keras3() and batch is None:
            return arrays.reshape(inputs, [arrays.shape_v2(inputs)[0], size])
        return arrays.reshape(inputs, constant([-1 if batch is None or size > 0 else batch, size]))


class Reshape(Layer):
    """Another shape of each example."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        return arrays.reshape(inputs, (arrays.shape_v2(inputs)[0], *self.target_shape))


# -- merging


class _Merge(Layer):
    def call(self, inputs: Any) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output = type(self).operation(output, each)
        return output

    operation: Callable[..., Any]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        masks = [each for each in mask or [] if each is not None]
        return masks[0] if masks else None


def _merging(name: str, operation: Callable[..., Any]) -> type[_Merge]:
    return type(name, (_Merge,), {"operation": staticmethod(operation), "__module__": __name__})


Add = _merging("Add", lambda x, y: x + y)
Subtract = _merging("Subtract", lambda x, y: x - y)
Multiply = _merging("Multiply", lambda x, y: x * y)
Maximum = _merging("Maximum", O.Maximum)


class Concatenate(Layer):
    """Its inputs side by side."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        axis = self.axis if keras3() else self.axis % inputs[0].shape.rank
        return arrays.concat(inputs, axis)
