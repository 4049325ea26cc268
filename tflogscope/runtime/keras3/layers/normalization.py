"""Normalization of batches and of examples.

Told about: `keras/src/layers/normalization/`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.backend import epsilon as keras_epsilon
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3 import dtypes, initializers, ops
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = ["BatchNormalization", "LayerNormalization", "Normalizing"]


class Normalizing(Layer):
    """What both share: a scale and an offset that are learned."""

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.center, self.scale = axis, epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self._of_beta = {"regularizer": beta_regularizer, "constraint": beta_constraint}
        self._of_gamma = {"regularizer": gamma_regularizer, "constraint": gamma_constraint}
        self.supports_masking = True
        self.gamma: Any = None
        self.beta: Any = None

    def _make(self, shape: Any) -> None:
        if self.scale:
            self.gamma = self.add_weight(
                shape, self.gamma_initializer, autocast=False, name="gamma", **self._of_gamma
            )
        if self.center:
            self.beta = self.add_weight(
                shape, self.beta_initializer, autocast=False, name="beta", **self._of_beta
            )


class LayerNormalization(Normalizing):
    """Each example by its own mean and variance."""

    def __init__(self, axis: Any = -1, epsilon: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(axis, epsilon, **kwargs)
        self.autocast = False

    def build(self, input_shape: Any) -> None:
        axes = [self.axis] if isinstance(self.axis, int) else sorted(self.axis)
        self.axis = axes
        self._make(tuple(input_shape[axis] for axis in axes))

    def call(self, inputs: Any) -> Any:
        outputs = ops.layer_normalization(inputs, self.gamma, self.beta, self.axis, self.epsilon)
        return ops.cast(outputs, self.compute_dtype)


class BatchNormalization(Normalizing):
    """Each channel by its mean and variance: of the batch in training, of all batches otherwise."""

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        synchronized: bool = False,
        renorm: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises NotInThisRuntime for `synchronized` and `renorm`."""
        if synchronized or renorm:
            raise NotInThisRuntime("BatchNormalization with synchronized or renorm")
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, **kwargs
        )
        self.momentum = float(momentum)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[self.axis],)
        self._make(shape)
        self.moving_mean = self.add_weight(
            shape,
            self.moving_mean_initializer,
            trainable=False,
            autocast=False,
            name="moving_mean",
        )
        self.moving_variance = self.add_weight(
            shape,
            self.moving_variance_initializer,
            trainable=False,
            autocast=False,
            name="moving_variance",
        )
        rank = len(input_shape)
        self.input_spec = InputSpec(ndim=rank, axes={self.axis: input_shape[self.axis]})
        self._reduction_axes = [axis for axis in range(rank) if axis != self.axis % rank]

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        inputs = ops.cast(inputs, dtypes.result_type(inputs.dtype, "float32"))
        mean = ops.cast(self.moving_mean, inputs.dtype)
        variance = ops.cast(self.moving_variance, inputs.dtype)
        gamma = ops.cast(self.gamma, inputs.dtype) if self.scale else None
        beta = ops.cast(self.beta, inputs.dtype) if self.center else None
        if training and self.trainable:
            moving = mean, variance
            mean, variance = self._moments(inputs, mask)
            self._remember(self.moving_mean, moving[0], mean)
            self._remember(self.moving_variance, moving[1], variance)
        outputs = ops.batch_normalization(
            x=inputs,
            mean=mean,
            variance=variance,
            axis=self.axis,
            offset=beta,
            scale=gamma,
            epsilon=self.epsilon,
        )
        return ops.cast(outputs, self.compute_dtype)

    def _remember(self, variable: Any, moving: Any, new: Any) -> None:
        variable.assign(moving * self.momentum + new * (1.0 - self.momentum))

    def _moments(self, inputs: Any, mask: Any) -> tuple[Any, Any]:
        axes = self._reduction_axes
        if mask is None:
            mean, variance = ops.moments(inputs, axes=axes)
            return mean, variance
        wide = ops.broadcast_to(ops.expand_dims(mask, axis=-1), ops.shape(inputs))
        wide = ops.cast(wide, "bool")
        total = ops.sum(ops.where(wide, inputs, 0), axes, keepdims=True)
        count = ops.sum(ops.cast(wide, inputs.dtype), axes, keepdims=True)
        mean = total / (count + keras_epsilon())
        squares = ops.square(ops.where(wide, inputs - mean, 0))
        variance = ops.sum(squares, axes, keepdims=True) / (count + keras_epsilon())
        return ops.squeeze(mean), ops.squeeze(variance)
