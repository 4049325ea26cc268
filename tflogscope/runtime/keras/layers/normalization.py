"""Normalisation over a batch, or over the features of each example.

Told about: `keras/src/layers/normalization/batch_normalization.py`, `layer_normalization.py`,
`group_normalization.py`, `unit_normalization.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import backend, initializers
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["BatchNormalization", "GroupNormalization", "LayerNormalization", "UnitNormalization"]


_HALF = frozenset({"float16", "bfloat16"})


class _Normalization(Layer):
    """`gamma` scales, `beta` is added."""

    gamma: Any = None
    beta: Any = None

    def __init__(
        self,
        axis: Any,
        epsilon: float,
        center: bool,
        scale: bool,
        beta_initializer: Any,
        gamma_initializer: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis = [axis] if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon
        self.center, self.scale = center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.supports_masking = True

    def _make_parameters(self, shape: list[int]) -> None:
        if self.scale:
            self.gamma = self._parameter("gamma", shape, self.gamma_initializer)
        if self.center:
            self.beta = self._parameter("beta", shape, self.beta_initializer)

    def _parameter(self, name: str, shape: Any, initializer: Any, trainable: bool = True) -> Any:
        """A variable that stays `float32` where the layer computes in half of that."""
        return self.add_weight(
            name,
            shape,
            dtype="float32" if self.dtype in _HALF else self.dtype,
            initializer=initializer,
            trainable=trainable,
            experimental_autocast=False,
        )

    def _positive_axes(self, rank: int) -> None:
        """Raises ValueError for an axis that isn't there."""
        for axis in self.axis:
            if not -rank <= axis < rank:
                raise ValueError(
                    "Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank. "
                    f"Received: {axis}"
                )
        self.axis = [axis % rank for axis in self.axis]

    def _broadcast(self, value: Any, shape: Any) -> Any:
        """A parameter in a shape that fits the inputs, where it does not by itself."""
        rank = shape.rank
        if value is None or self.axis == [rank - 1] or len(value.shape) == rank:
            return value
        return tf.reshape(value, [shape[dim] if dim in self.axis else 1 for dim in range(rank)])


class LayerNormalization(_Normalization):
    """Mean 0 and variance 1 over the features of each example."""

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, **kwargs
        )

    def build(self, input_shape: Any) -> None:
        shape = tf.TensorShape(input_shape)
        self._positive_axes(len(shape))
        self._make_parameters([shape[dim] for dim in self.axis])
        self._fused = self._can_be_fused(len(shape))

    def _can_be_fused(self, rank: int) -> bool:
        """Can the op for batches do it? The axes must be the last ones, and epsilon not too small
        for the op.
        """
        axes = sorted(self.axis)
        together = axes[-1] == rank - 1 and axes[-1] - axes[0] == len(axes) - 1
        return together and self.epsilon >= 1.001e-5 and self.dtype == "float32"

    def call(self, inputs: Any) -> Any:
        inputs = tf.cast(inputs, self.compute_dtype)
        shape = inputs.shape
        outputs = self._fused_call(inputs) if self._fused else self._plain_call(inputs)
        outputs.set_shape(shape)
        return outputs

    def _plain_call(self, inputs: Any) -> Any:
        given = inputs.dtype
        if given.name in _HALF and self.dtype == "float32":
            inputs = tf.cast(inputs, "float32")
        mean, variance = tf.nn.moments(inputs, self.axis, keepdims=True)
        scale, offset = (
            self._broadcast(self.gamma, inputs.shape),
            self._broadcast(self.beta, inputs.shape),
        )
        outputs = tf.nn.batch_normalization(
            inputs, mean, variance, offset=offset, scale=scale, variance_epsilon=self.epsilon
        )
        return tf.cast(outputs, given)

    def _fused_call(self, inputs: Any) -> Any:
        """As a batch of one image whose channels are the examples: each channel is normalised by
        itself.
        """
        shape = tf.shape(inputs)
        examples: Any = 1
        features: Any = 1
        for dim in range(len(inputs.shape)):
            size = shape[dim]
            if dim < min(self.axis):
                examples = examples * size
            else:
                features = features * size
        image = tf.reshape(inputs, [1, examples, features, 1])
        ones, zeros = tf.ones([examples], dtype=self.dtype), tf.zeros([examples], dtype=self.dtype)
        outputs, _, _ = tf.compat.v1.nn.fused_batch_norm(
            image, scale=ones, offset=zeros, epsilon=self.epsilon, data_format="NCHW"
        )
        outputs = tf.reshape(outputs, shape)
        scale, offset = (
            self._broadcast(self.gamma, inputs.shape),
            self._broadcast(self.beta, inputs.shape),
        )
        if scale is not None:
            outputs = outputs * tf.cast(scale, outputs.dtype)
        if offset is not None:
            outputs = outputs + tf.cast(offset, outputs.dtype)
        return outputs


class BatchNormalization(_Normalization):
    """Mean 0 and variance 1: over the batch in training, over all batches seen otherwise."""

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, **kwargs
        )
        if len(self.axis) != 1:
            raise NotInThisRuntime("BatchNormalization over several axes")
        self.momentum = momentum
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)

    def build(self, input_shape: Any) -> None:
        shape = tf.TensorShape(input_shape)
        self._positive_axes(len(shape))
        size = shape[self.axis[0]]
        if size is None:
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape {tuple(shape)} "
                f"and axis={tuple(self.axis)}"
            )
        self._fused = len(shape) == 4
        if self._fused and self.axis != [3]:
            raise NotInThisRuntime("BatchNormalization of images with channels first")
        self._make_parameters([size])
        self.moving_mean = self._parameter(
            "moving_mean", [size], self.moving_mean_initializer, trainable=False
        )
        self.moving_variance = self._parameter(
            "moving_variance", [size], self.moving_variance_initializer, trainable=False
        )

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        inputs = tf.cast(inputs, self.compute_dtype)
        if training is None:
            training = backend.learning_phase()
        training = bool(training) and self.trainable
        if self._fused:
            return self._fused_call(inputs, training)
        return self._plain_call(inputs, training, mask)

    def _fused_call(self, inputs: Any, training: bool) -> Any:
        """One op for images. In training it also mixes the batch's mean and variance into the
        moving ones.
        """
        size = self.moving_mean.shape
        beta = self.beta if self.center else tf.constant(0.0, dtype=self.dtype, shape=size)
        gamma = self.gamma if self.scale else tf.constant(1.0, dtype=self.dtype, shape=size)
        extra: Any = {"exponential_avg_factor": 1.0 - self.momentum} if training else {}
        outputs, mean, variance = tf.compat.v1.nn.fused_batch_norm(
            inputs,
            gamma,
            beta,
            mean=self.moving_mean,
            variance=self.moving_variance,
            epsilon=self.epsilon,
            is_training=training,
            data_format="NHWC",
            **extra,
        )
        if training:
            for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                with tf.name_scope("AssignNewValue") as scope:
                    variable.assign(value, name=scope)
        return outputs

    def _plain_call(self, inputs: Any, training: bool, mask: Any) -> Any:
        shape, given = inputs.shape, inputs.dtype
        if given.name in _HALF:
            inputs = tf.cast(inputs, "float32")
        scale, offset = self._broadcast(self.gamma, shape), self._broadcast(self.beta, shape)
        if training:
            if mask is not None:
                raise NotInThisRuntime("BatchNormalization of masked inputs")
            mean: Any
            variance: Any
            mean, variance = tf.nn.moments(
                tf.cast(inputs, self.dtype),
                [dim for dim in range(len(shape)) if dim not in self.axis],
                keepdims=False,
            )
            self._assign_moving_average(self.moving_mean, mean)
            self._assign_moving_average(self.moving_variance, variance)
        else:
            mean, variance = self.moving_mean, self.moving_variance
        mean, variance, offset, scale = (
            None if each is None else tf.cast(each, inputs.dtype)
            for each in (mean, variance, offset, scale)
        )
        outputs = tf.nn.batch_normalization(
            inputs,
            self._broadcast(mean, shape),
            self._broadcast(variance, shape),
            offset,
            scale,
            self.epsilon,
        )
        outputs = tf.cast(outputs, given)
        outputs.set_shape(shape)
        return outputs

    def _assign_moving_average(self, variable: Any, value: Any) -> None:
        with tf.name_scope("AssignMovingAvg") as scope:
            decay = tf.convert_to_tensor(1.0 - self.momentum, name="decay")
            variable.assign_sub((variable - tf.cast(value, variable.dtype)) * decay, name=scope)


class GroupNormalization(_Normalization):
    """Mean 0 and variance 1 over groups of channels of each example."""

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, **kwargs
        )
        self.groups = groups

    def build(self, input_shape: Any) -> None:
        """Raises ValueError if the channels can't be divided into the groups."""
        channels = input_shape[self.axis[0]]
        if self.groups == -1:
            self.groups = channels
        if channels < self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) cannot be more than the number of channels "
                f"({channels})."
            )
        if channels % self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) must be a multiple of the number of channels "
                f"({channels})."
            )
        self._make_parameters([channels])

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.rank
        axis = self.axis[0] % rank
        shape = tf.shape(inputs)
        dims = [shape[k] for k in range(rank)]
        grouped = [*dims[:axis], self.groups, dims[axis] // self.groups, *dims[axis + 1 :]]
        parts = tf.reshape(inputs, tf.stack(grouped))
        axes = [k for k in range(1, rank + 1) if k != axis]
        mean, variance = tf.nn.moments(parts, axes, keepdims=True)
        fitting: list[Any] = [1] * (rank + 1)
        fitting[axis], fitting[axis + 1] = self.groups, inputs.shape[axis] // self.groups
        gamma, beta = (
            None if each is None else tf.reshape(each, fitting) for each in (self.gamma, self.beta)
        )
        result = tf.nn.batch_normalization(parts, mean, variance, beta, gamma, self.epsilon)
        return tf.reshape(result, shape)


class UnitNormalization(Layer):
    """Length 1 along an axis."""

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return tf.linalg.l2_normalize(tf.cast(inputs, self.compute_dtype), axis=self.axis)
