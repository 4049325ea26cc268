"""Layers that most models have.

Told about: `keras/src/layers/core/`, `regularization/`, `reshaping/`, `activations/`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.keras_tensor import Node
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import activations, initializers, ops, random
from tflogscope.runtime.keras3.dtypes import standardize
from tflogscope.runtime.keras3.keras_tensor import KerasTensor
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = [
    "ELU", "Activation", "Dense", "Dropout", "Embedding", "Flatten", "Identity", "Input",
    "InputLayer", "Lambda", "LeakyReLU", "Masking", "PReLU", "Permute", "ReLU", "Rescaling",
    "Reshape", "Softmax",
]  # fmt: skip


class InputLayer(Layer):
    """Where a model begins."""

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        batch_shape: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError without a shape, NotInThisRuntime for sparse and ragged inputs."""
        for absent in ("sparse", "ragged", "input_tensor", "tensor"):
            if kwargs.get(absent) is not None:
                raise NotInThisRuntime(f"keras.Input({absent}=...)")
        super().__init__(name=name)
        if shape is None and batch_shape is None:
            raise ValueError("You must pass a `shape` argument.")
        if batch_shape is None:
            dims = (shape,) if isinstance(shape, int) else tuple(shape)
            batch_shape = (batch_size, *dims)
        self.batch_shape = tuple(batch_shape)
        self.dtype = standardize(dtype)
        Node(self, (), {}, KerasTensor(self.batch_shape, self.dtype, self.name))
        self.built = True

    def call(self, inputs: Any) -> Any:
        return inputs


def Input(*args: Any, **kwargs: Any) -> Any:  # noqa: N802  as users know it
    """The start of a functional model: a Keras tensor with that shape behind the batch."""
    return InputLayer(*args, **kwargs).output


class Dense(Layer):
    """activation(inputs @ kernel + bias). Raises ValueError for a width that is no positive
    integer.
    """

    def __init__(
        self,
        units: Any,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(units, int) or units <= 0:
            raise ValueError(
                "Received an invalid value for `units`, expected a positive integer. Received: "
                f"units={units}"
            )
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self._of_kernel = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}
        self._of_bias = {"regularizer": bias_regularizer, "constraint": bias_constraint}
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        width = input_shape[-1]
        self.kernel = self.add_weight(
            (width, self.units), self.kernel_initializer, name="kernel", **self._of_kernel
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                (self.units,), self.bias_initializer, name="bias", **self._of_bias
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})

    def call(self, inputs: Any) -> Any:
        outputs = ops.matmul(inputs, self.kernel)
        if self.bias is not None:
            outputs = ops.add(outputs, self.bias)
        return self.activation(outputs)


class Embedding(Layer):
    """A vector for each index. Raises ValueError for sizes that are no positive integers."""

    def __init__(
        self,
        input_dim: Any,
        output_dim: Any,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        **kwargs: Any,
    ) -> None:
        for name, size in (("input_dim", input_dim), ("output_dim", output_dim)):
            if not isinstance(size, int) or size <= 0:
                raise ValueError(f"`{name}` must be a positive integer. Received: {name}={size}")
        kwargs.pop("input_length", None)
        super().__init__(**kwargs)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self._options = {"regularizer": embeddings_regularizer, "constraint": embeddings_constraint}
        self.supports_masking = mask_zero
        self.autocast = False
        if weights is not None:
            self.build(None)
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def build(self, input_shape: Any = None) -> None:
        del input_shape
        if not self.built:
            self.embeddings = self.add_weight(
                (self.input_dim, self.output_dim),
                self.embeddings_initializer,
                name="embeddings",
                **self._options,
            )

    def call(self, inputs: Any) -> Any:
        if standardize(inputs.dtype) not in {"int32", "int64"}:
            inputs = ops.cast(inputs, "int32")
        return ops.cast(ops.take(self.embeddings, inputs, axis=0), self.compute_dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del mask
        return ops.not_equal(inputs, 0) if self.mask_zero else None


class Dropout(Layer):
    """In training, a share of the inputs set to 0. Raises ValueError for a rate outside of
    [0, 1].
    """

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ValueError(
                "Invalid value received for argument `rate`. Expected a float value between 0 and "
                f"1. Received: rate={rate}"
            )
        self.rate, self.noise_shape = rate, noise_shape
        if rate > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.supports_masking = True
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        return random.dropout(inputs, self.rate, self.noise_shape, self.seed_generator)


class Flatten(Layer):
    """Each example as a vector."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime("Keras 3's Flatten with channels_first")
        self.input_spec = InputSpec(min_ndim=1)
        self.built = True

    def call(self, inputs: Any) -> Any:
        batch, *dims = ops.shape(inputs)
        known = all(isinstance(each, int) for each in dims)
        return ops.reshape(inputs, (batch, math.prod(dims) if known else -1))


class Reshape(Layer):
    """Each example in another shape."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)
        self.built = True

    def call(self, inputs: Any) -> Any:
        target = self.target_shape
        dims = inputs.shape[1:].as_list()
        if -1 in target and all(dims):
            rest = math.prod(each for each in target if each != -1)
            target = tuple(math.prod(dims) // rest if each == -1 else each for each in target)
        return ops.reshape(inputs, (ops.shape(inputs)[0], *target))


class Permute(Layer):
    """The dimensions of each example in another order; the first is number 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return ops.transpose(inputs, axes=(0, *self.dims))


class Rescaling(Layer):
    """The inputs times a scale, and an offset added."""

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        scale = ops.cast(self.scale, self.compute_dtype)
        offset = ops.cast(self.offset, self.compute_dtype)
        ops.shape(scale)
        return ops.cast(inputs, self.compute_dtype) * scale + offset


class Masking(Layer):
    """Steps of which all features have one value are masked."""

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del mask
        return ops.any(ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Any:
        shown = ops.any(ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = ops.where(shown, inputs, 0)
        outputs._keras_mask = ops.squeeze(shown, axis=-1)
        return outputs


class Lambda(Layer):
    """A function as a layer."""

    def __init__(
        self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None,
        arguments: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        del output_shape, mask
        self.function, self.arguments = function, arguments or {}
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self.function(inputs, **self.arguments)


# Activations as layers


class Activation(Layer):
    """An activation function."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class Identity(Activation):
    """The input."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(None, **kwargs)


class ReLU(Layer):
    """max(x, 0), with a slope below the threshold and a largest value."""

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._options = {
            "negative_slope": negative_slope, "max_value": max_value, "threshold": threshold,
        }  # fmt: skip
        self.supports_masking = True
        self.built = True

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, **self._options)


class LeakyReLU(Activation):
    """x, or a part of it below 0."""

    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        super().__init__(None, **kwargs)
        self.negative_slope = negative_slope

    def call(self, inputs: Any) -> Any:
        return activations.leaky_relu(inputs, negative_slope=self.negative_slope)


class PReLU(Layer):
    """x, or below 0 a part of it that is learned."""

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.alpha_initializer = initializers.get(alpha_initializer)
        self._of_alpha = {"regularizer": alpha_regularizer, "constraint": alpha_constraint}
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes or []

    def build(self, input_shape: Any) -> None:
        shape = list(input_shape[1:])
        for axis in self.shared_axes:
            shape[axis - 1] = 1
        self.alpha = self.add_weight(shape, self.alpha_initializer, name="alpha", **self._of_alpha)
        kept = [axis for axis in range(1, len(input_shape)) if axis not in self.shared_axes]
        axes = {axis: input_shape[axis] for axis in kept} if self.shared_axes else {}
        self.input_spec = InputSpec(ndim=len(input_shape), axes=axes)

    def call(self, inputs: Any) -> Any:
        positive = activations.relu(inputs)
        return positive + -self.alpha * activations.relu(-inputs)


class ELU(Activation):
    """x, or alpha * (exp(x) - 1) below 0."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(None, **kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, alpha=self.alpha)


class Softmax(Activation):
    """Softmax, also over several dimensions; 0 where a mask is False."""

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(None, **kwargs)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Any:
        axis = self.axis
        if mask is not None:
            mask = mask if standardize(mask.dtype) == "bool" else ops.greater(mask, 0.5)
            inputs = ops.where(mask, inputs, -1e9)
        if isinstance(axis, (list, tuple)) and len(axis) > 1:
            outputs = ops.exp(inputs - ops.logsumexp(inputs, axis=axis, keepdims=True))
        else:
            axis = axis[0] if isinstance(axis, (list, tuple)) else axis
            outputs = activations.softmax(inputs, axis=axis)
        return outputs if mask is None else ops.where(mask, outputs, 0.0)
