"""The optimizers.

Told about: `keras/src/optimizers/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.keras3 import initializers, ops
from tflogscope.runtime.keras3.optimizers.base import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop"]


class SGD(Optimizer):
    """Along the gradient, with momentum if asked for. Raises ValueError for a momentum outside of
    [0, 1].
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        if not isinstance(momentum, float) or not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be a float between [0, 1].")
        self.momentum, self.nesterov = momentum, nesterov

    def make_slots(self, variables: Sequence[Any]) -> None:
        if self.momentum:
            (self.momentums,) = self.add_optimizer_variables(variables, ["momentum"])

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        rate = ops.cast(learning_rate, variable.dtype)
        gradient = ops.cast(gradient, variable.dtype)
        if not self.momentum:
            self.assign_sub(variable, ops.multiply(gradient, rate))
            return
        slot = self.slot(self.momentums, variable)
        momentum = ops.cast(self.momentum, variable.dtype)

        def step() -> Any:
            return ops.subtract(ops.multiply(slot, momentum), ops.multiply(gradient, rate))

        self.assign(slot, step())
        self.assign_add(variable, step() if self.nesterov else slot)


class Adam(Optimizer):
    """Steps as large as the gradients' means are against their spread."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2 = beta_1, beta_2
        self.epsilon, self.amsgrad = epsilon, amsgrad

    def make_slots(self, variables: Sequence[Any]) -> None:
        self._momentums, self._velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )
        if self.amsgrad:
            (self._velocity_hats,) = self.add_optimizer_variables(variables, ["velocity_hat"])

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        dtype = variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        step = ops.cast(self.iterations + 1, dtype)
        power_1 = ops.power(ops.cast(self.beta_1, dtype), step)
        power_2 = ops.power(ops.cast(self.beta_2, dtype), step)
        momentum = self.slot(self._momentums, variable)
        velocity = self.slot(self._velocities, variable)
        alpha = rate * ops.sqrt(1 - power_2) / (1 - power_1)
        self.assign_add(momentum, ops.multiply(ops.subtract(gradient, momentum), 1 - self.beta_1))
        change = ops.subtract(ops.square(gradient), velocity)
        self.assign_add(velocity, ops.multiply(change, 1 - self.beta_2))
        if self.amsgrad:
            largest = self.slot(self._velocity_hats, variable)
            self.assign(largest, ops.maximum(largest, velocity))
            velocity = largest
        numerator = ops.multiply(momentum, alpha)
        self.assign_sub(variable, ops.divide(numerator, ops.add(ops.sqrt(velocity), self.epsilon)))


class AdamW(Adam):
    """Adam, with weights that decay."""

    def __init__(
        self, learning_rate: Any = 0.001, weight_decay: float = 0.004, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **kwargs)


class RMSprop(Optimizer):
    """Divides the gradient by a running mean of its size."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def make_slots(self, variables: Sequence[Any]) -> None:
        (self._velocities,) = self.add_optimizer_variables(variables, ["velocity"])
        if self.momentum > 0:
            (self._momentums,) = self.add_optimizer_variables(variables, ["momentum"])
        if self.centered:
            (self._averages,) = self.add_optimizer_variables(variables, ["average_gradient"])

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        velocity = self.slot(self._velocities, variable)
        self._move(velocity, ops.square, gradient)
        if self.centered:
            average = self.slot(self._averages, variable)
            self._move(average, lambda each: each, gradient)
            denominator = velocity - ops.square(average) + self.epsilon
        else:
            denominator = ops.add(velocity, self.epsilon)
        increment = ops.divide(ops.multiply(rate, gradient), ops.sqrt(denominator))
        if self.momentum > 0:
            momentum = self.slot(self._momentums, variable)
            self.assign(momentum, ops.add(ops.multiply(self.momentum, momentum), increment))
            increment = momentum
        self.assign_sub(variable, increment)

    def _move(self, slot: Any, function: Any, gradient: Any) -> None:
        """A share `rho` of what it was, and the rest of the new value."""
        old = ops.multiply(self.rho, slot)
        self.assign(slot, ops.add(old, ops.multiply(1 - self.rho, function(gradient))))


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of its squares so far."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def make_slots(self, variables: Sequence[Any]) -> None:
        start = initializers.Constant(self.initial_accumulator_value)
        (self._accumulators,) = self.add_optimizer_variables(variables, ["accumulator"], start)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        accumulator = self.slot(self._accumulators, variable)
        self.assign_add(accumulator, ops.square(gradient))
        step = ops.multiply(rate, gradient)
        root = ops.sqrt(ops.add(accumulator, self.epsilon))
        self.assign_sub(variable, ops.divide(step, root))
