"""The plain layers: dense, embedding, shapes, activations, dropout.

Told about: `keras/src/layers/core/`, `reshaping/`, `activation/`, `regularization/`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import activations, backend, initializers, keras_tensor
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.tf_op_layer import make_functions_ask

__all__ = [
    "ELU", "Activation", "Dense", "Dropout", "Embedding", "Flatten", "Identity", "InputLayer",
    "Lambda", "LeakyReLU", "ReLU", "Reshape", "Softmax",
]  # fmt: skip


class InputLayer(Layer):
    """The start of a model. Its one node has no inputs."""

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        make_functions_ask()
        backend.ask_for_graph()
        batch = kwargs.pop("batch_input_shape", None)
        super().__init__(name=name or keras_tensor.input_name(), dtype=dtype or backend.floatx())
        if isinstance(input_shape, int):
            input_shape = (input_shape,)
        shape = (
            tuple(batch)
            if batch is not None
            else (batch_size, *(() if input_shape is None else input_shape))
        )
        self._batch_input_shape = shape
        self.built = True
        tensor = keras_tensor.KerasTensor(shape, tf.as_dtype(dtype or backend.floatx()), self.name)
        tensor._spec_name = self.name
        keras_tensor.Node(self, (), {}, tensor)

    @property
    def input_shape(self) -> Any:
        """NB: in a list."""
        return [self._batch_input_shape]

    @property
    def output_shape(self) -> Any:
        """NB: in a list."""
        return [self._batch_input_shape]

    def get_config(self) -> dict[str, Any]:
        """What stands for it in a model's configuration."""
        shape, rest = self._batch_input_shape, {"sparse": False, "ragged": False}
        return {"batch_input_shape": shape, "dtype": self.dtype, **rest, "name": self.name}


class Dense(Layer):
    """activation(inputs @ kernel + bias)."""

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
        self.units = int(units)
        if self.units <= 0:
            raise ValueError(
                "Received an invalid value for `units`, expected a positive integer. Received: "
                f"units={units}"
            )
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Raises ValueError if the last dimension isn't known."""
        last = tf.TensorShape(input_shape)[-1]
        if last is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. Found None. "
                f"Full input shape received: {input_shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        self.kernel = self.add_weight(
            "kernel", [last, self.units], initializer=self.kernel_initializer
        )
        self.bias = (
            self.add_weight("bias", [self.units], initializer=self.bias_initializer)
            if self.use_bias
            else None
        )

    def call(self, inputs: Any) -> Any:
        if inputs.dtype != tf.as_dtype(self.compute_dtype):
            inputs = tf.cast(inputs, self.compute_dtype)
        rank = inputs.shape.rank
        if rank is None or rank == 2:
            outputs = tf.matmul(inputs, self.kernel)
        else:
            outputs = tf.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            if not tf.executing_eagerly():
                outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return self.activation(outputs)


class Embedding(Layer):
    """A row of a table for each number. With `mask_zero`, 0 means that there is nothing."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        mask_zero: bool = False,
        input_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("input_shape", (input_length,))
        super().__init__(autocast=False, **kwargs)
        if input_dim <= 0 or output_dim <= 0:
            raise ValueError(
                "Both `input_dim` and `output_dim` should be positive, Received input_dim = "
                f"{input_dim} and output_dim = {output_dim}"
            )
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape: Any) -> None:
        del input_shape
        self.embeddings = self.add_weight(
            "embeddings", (self.input_dim, self.output_dim), initializer=self.embeddings_initializer
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del mask
        return tf.not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs: Any) -> Any:
        if inputs.dtype not in (tf.int32, tf.int64):
            inputs = tf.cast(inputs, "int32")
        return tf.nn.embedding_lookup(self.embeddings, inputs)


class Flatten(Layer):
    """All dimensions behind the batch as one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        del data_format
        super().__init__(**kwargs)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        shape = inputs.shape
        if tf.executing_eagerly():
            return tf.reshape(inputs, tf.constant([shape[0], -1]))
        if shape.rank == 1:
            return tf.expand_dims(inputs, axis=1)
        if shape[1:].is_fully_defined():
            return tf.reshape(inputs, tf.constant([-1, reduce(mul, shape[1:].as_list(), 1)]))
        batch = tf.shape(inputs)[0] if shape[0] is None else shape[0]
        return tf.reshape(inputs, [batch, -1] if shape[0] is None else tf.constant([batch, -1]))


class Identity(Layer):
    """The input."""

    def call(self, inputs: Any) -> Any:
        return tf.nest.map_structure(tf.identity, inputs)


class Reshape(Layer):
    """Another shape behind the batch; one dimension may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        result = tf.reshape(inputs, (tf.shape(inputs)[0], *self.target_shape))
        if not tf.executing_eagerly():
            result.set_shape([inputs.shape[0], *self._known(inputs.shape[1:].as_list())])
        return result

    def _known(self, dims: list[int | None]) -> list[int | None]:
        """The target shape with -1 worked out. Raises ValueError if it holds another number of
        elements.
        """
        if None in dims:
            return [None if dim == -1 else dim for dim in self.target_shape]
        known: Any = dims
        return list(np.empty(known, np.bool_).reshape(self.target_shape).shape)


class Dropout(Layer):
    """In training, sets a share of the inputs to 0 and scales up the others."""

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ValueError(
                f"Invalid value {rate} received for `rate`, expected a value between 0 and 1."
            )
        self.rate, self.noise_shape = rate, noise_shape
        self._random_generator = backend.RandomGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        if self.rate == 0:
            return tf.identity(inputs)
        if training is None:
            training = backend.learning_phase()
        return backend.smart_cond(
            training,
            lambda: self._random_generator.dropout(inputs, self.rate, self._noise_shape(inputs)),
            lambda: tf.identity(inputs),
        )

    def _noise_shape(self, inputs: Any) -> Any:
        """Where it is 1, one number is drawn for the whole dimension."""
        if self.noise_shape is None:
            return None
        shape = tf.shape(inputs)
        return tf.convert_to_tensor(
            [shape[i] if dim is None else dim for i, dim in enumerate(self.noise_shape)]
        )


class Activation(Layer):
    """An activation function as a layer."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class ReLU(Layer):
    """`activations.relu` as a layer."""

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """x, or alpha * x below 0."""

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, alpha=self.alpha)


class ELU(Layer):
    """`activations.elu` as a layer."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class Softmax(Layer):
    """Softmax; where the mask is False, 0."""

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(axis, (list, tuple)):
            if len(axis) > 1:
                raise NotInThisRuntime("Softmax over several axes")
            axis = axis[0]
        self.axis = axis
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is not None:
            inputs += (1.0 - tf.cast(mask, inputs.dtype)) * -1e9
        return activations.softmax(inputs, axis=self.axis)


class Lambda(Layer):
    """A Python function as a layer."""

    def __init__(
        self, function: Callable[..., Any], arguments: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.arguments = arguments or {}

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        taken = inspect.signature(self.function).parameters
        given = {"mask": mask, "training": training}
        extra = {name: value for name, value in given.items() if name in taken}
        return self.function(inputs, **extra, **self.arguments)
