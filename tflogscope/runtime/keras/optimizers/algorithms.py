"""SGD, RMSprop, Adam, AdamW and Adagrad.

A gradient may be slices of rows (`IndexedSlices`, from an embedding); then only those rows of
variable and slots change.

Told about: `keras/src/optimizers/sgd.py`, `rmsprop.py`, `adam.py`, `adamw.py`, `adagrad.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import initializers
from tflogscope.runtime.keras.optimizers.base import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop"]


class SGD(Optimizer):
    """velocity = momentum * velocity - rate * gradient; variable += velocity."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for a momentum outside 0 to 1."""
        super().__init__(name, learning_rate, **kwargs)
        if not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self.momentum, self.nesterov = momentum, nesterov

    def make_slots(self, var_list: Sequence[Any]) -> None:
        self.momentums = [self.add_variable_from_reference(each, "m") for each in var_list]

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        momentum = tf.cast(self.momentum, variable.dtype)
        velocity = self.slot(self.momentums, variable)
        if isinstance(gradient, tf.IndexedSlices):
            added = tf.IndexedSlices(-gradient.values * rate, gradient.indices)
            velocity.assign(velocity * momentum)
            velocity.scatter_add(added)
            if self.nesterov:
                variable.scatter_add(added)
                variable.assign_add(velocity * momentum)
            else:
                variable.assign_add(velocity)
            return
        velocity.assign(-gradient * rate + velocity * momentum)
        variable.assign_add(-gradient * rate + velocity * momentum if self.nesterov else velocity)


class RMSprop(Optimizer):
    """Divides the gradient by a moving average of its size."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **{"ema_overwrite_frequency": 100, **kwargs})
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def make_slots(self, var_list: Sequence[Any]) -> None:
        self._velocities = [self.add_variable_from_reference(each, "velocity") for each in var_list]
        if self.momentum > 0:
            self._momentums = [
                self.add_variable_from_reference(each, "momentum") for each in var_list
            ]
        if self.centered:
            self._averages = [
                self.add_variable_from_reference(each, "average_gradient") for each in var_list
            ]

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        velocity = self.slot(self._velocities, variable)
        average = self.slot(self._averages, variable) if self.centered else None
        sparse = isinstance(gradient, tf.IndexedSlices)
        self._mix_in(velocity, gradient, square=True)
        if average is not None:
            self._mix_in(average, gradient, square=False)
            denominator = velocity - tf.square(average) + self.epsilon
        else:
            denominator = velocity + self.epsilon
        if sparse:
            rows = tf.gather(denominator, gradient.indices)
            values = rate * gradient.values * tf.math.rsqrt(rows)
            increment: Any = tf.IndexedSlices(values, gradient.indices)
        else:
            increment = rate * gradient * tf.math.rsqrt(denominator)
        self._move(variable, increment, sparse=sparse)

    def _mix_in(self, slot: Any, gradient: Any, *, square: bool) -> None:
        """Slot = rho * slot + (1 - rho) * gradient, or its square."""
        if isinstance(gradient, tf.IndexedSlices):
            slot.assign(self.rho * slot)
            values = tf.square(gradient.values) if square else gradient.values
            slot.scatter_add(tf.IndexedSlices(values * (1 - self.rho), gradient.indices))
        elif square:
            slot.assign(self.rho * slot + (1 - self.rho) * tf.square(gradient))
        else:
            slot.assign(self.rho * slot + (1 - self.rho) * gradient)

    def _move(self, variable: Any, increment: Any, *, sparse: bool) -> None:
        if self.momentum > 0:
            momentum = self.slot(self._momentums, variable)
            if sparse:
                momentum.assign(self.momentum * momentum)
                momentum.scatter_add(increment)
            else:
                momentum.assign(self.momentum * momentum + increment)
            variable.assign_add(-momentum)
        elif sparse:
            variable.scatter_add(tf.IndexedSlices(-increment.values, increment.indices))
        else:
            variable.assign_add(-increment)


class Adam(Optimizer):
    """Moving averages of the gradient and of its square, corrected for their start at 0."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def make_slots(self, var_list: Sequence[Any]) -> None:
        self._momentums: list[Any] = []
        self._velocities: list[Any] = []
        for each in var_list:
            self._momentums.append(self.add_variable_from_reference(each, "m"))
            self._velocities.append(self.add_variable_from_reference(each, "v"))
        if self.amsgrad:
            self._largest = [self.add_variable_from_reference(each, "vhat") for each in var_list]

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        step = tf.cast(self.iterations + 1, variable.dtype)
        power_1 = tf.pow(tf.cast(self.beta_1, variable.dtype), step)
        power_2 = tf.pow(tf.cast(self.beta_2, variable.dtype), step)
        momentum = self.slot(self._momentums, variable)
        velocity = self.slot(self._velocities, variable)
        alpha = rate * tf.sqrt(1 - power_2) / (1 - power_1)
        if isinstance(gradient, tf.IndexedSlices):
            self._mix_in_slices(momentum, velocity, gradient)
        else:
            momentum.assign_add((gradient - momentum) * (1 - self.beta_1))
            velocity.assign_add((tf.square(gradient) - velocity) * (1 - self.beta_2))
        if self.amsgrad:
            largest = self.slot(self._largest, variable)
            largest.assign(tf.maximum(largest, velocity))
            velocity = largest
        variable.assign_sub(momentum * alpha / (tf.sqrt(velocity) + self.epsilon))

    def _mix_in_slices(self, momentum: Any, velocity: Any, gradient: Any) -> None:
        momentum.assign_add(-momentum * (1 - self.beta_1))
        momentum.scatter_add(
            tf.IndexedSlices(gradient.values * (1 - self.beta_1), gradient.indices)
        )
        velocity.assign_add(-velocity * (1 - self.beta_2))
        squares = tf.square(gradient.values) * (1 - self.beta_2)
        velocity.scatter_add(tf.IndexedSlices(squares, gradient.indices))


class AdamW(Adam):
    """Adam with decay of the weights."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float = 0.004,
        name: str = "AdamW",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, name=name, weight_decay=weight_decay, **kwargs)


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of its squares so far."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def make_slots(self, var_list: Sequence[Any]) -> None:
        start = initializers.Constant(self.initial_accumulator_value)
        self._accumulators = []
        for each in var_list:
            value = start(shape=each.shape, dtype=each.dtype)
            name = f"accumulator/{each.name.partition(':')[0]}"
            self._accumulators.append(
                tf.Variable(value, name=name, dtype=each.dtype, trainable=False)
            )
        self._variables += self._accumulators

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        accumulator = self.slot(self._accumulators, variable)
        if isinstance(gradient, tf.IndexedSlices):
            accumulator.scatter_add(
                tf.IndexedSlices(gradient.values * gradient.values, gradient.indices)
            )
            rows = tf.gather(accumulator, indices=gradient.indices)
            root = tf.sqrt(rows + self.epsilon)
            variable.scatter_add(tf.IndexedSlices(-rate * gradient.values / root, gradient.indices))
            return
        accumulator.assign_add(gradient * gradient)
        variable.assign_sub(rate * gradient / tf.sqrt(accumulator + self.epsilon))
