"""Normalizations."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import nn

_OPTIONS = {"epsilon": 1e-3, "beta_initializer": "zeros", "gamma_initializer": "ones"}


class _Normalization(Layer):
    """NB: along the last dimension, with a scale and an offset."""

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[-1],)
        self.gamma = self.add_weight("gamma", shape, initializer=self.gamma_initializer)
        self.beta = self.add_weight("beta", shape, initializer=self.beta_initializer)


class LayerNormalization(_Normalization):
    """Each example to mean 0 and variance 1. NB: in Keras 2 not by the fused op of batches."""

    options = _OPTIONS

    def call(self, inputs: Any) -> Any:
        if keras3():
            mean, variance = nn.moments(inputs, [-1], keepdims=True)
            inverse = O.Rsqrt(variance + self.epsilon) * self.gamma
            return inputs * inverse + (-mean * inverse + self.beta)
        mean, variance = nn.moments(inputs, [len(inputs.shape) - 1], keepdims=True)
        args = (mean, variance, self.beta, self.gamma, self.epsilon)
        return nn.batch_normalization(inputs, *args)


class BatchNormalization(_Normalization):
    """Each channel to mean 0 and variance 1, by the batch in training, else by its averages."""

    options = {"momentum": 0.99} | _OPTIONS

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self.moving_mean, self.moving_variance = (
            self.add_weight(name, (input_shape[-1],), initializer=start, trainable=False)
            for name, start in (("moving_mean", "zeros"), ("moving_variance", "ones"))
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        training = bool(training) and self.trainable
        if len(inputs.shape) == 4 and not keras3():
            return self._fused(inputs, training)
        mean, variance = averages = self.moving_mean, self.moving_variance
        if training:
            mean, variance = nn.moments(inputs, list(range(len(inputs.shape) - 1)))
            for average, value in zip(averages, (mean, variance), strict=True):
                self._move(average, value)
        return nn.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)

    def _move(self, average: Any, value: Any) -> None:
        if keras3():
            average.assign(average * self.momentum + value * (1.0 - self.momentum))
            return
        with context.name_scope("AssignMovingAvg") as scope:
            decay = convert_to_tensor(1.0 - self.momentum, name="decay")
            average.assign_sub((average - value) * decay, name=scope)

    def _fused(self, inputs: Any, training: bool) -> Any:
        averages = self.moving_mean, self.moving_variance
        factor = 1.0 - self.momentum if training else 1.0
        options: dict[str, Any] = {"is_training": training, "exponential_avg_factor": factor}
        given = (inputs, self.gamma, self.beta, *averages)
        outputs, *new = nn.fused_batch_norm(*given, epsilon=self.epsilon, **options)
        for average, value in zip(averages, new, strict=True) if training else ():
            with context.name_scope("AssignNewValue") as scope:
                average.assign(value, name=scope)
        return outputs
