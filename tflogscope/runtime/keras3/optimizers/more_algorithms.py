"""Optimizers that are asked for less often.

Told about: `keras/src/optimizers/` (`adadelta.py`, `adamax.py`, `ftrl.py`, `lamb.py`, `lion.py`,
`nadam.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.keras3 import initializers, ops
from tflogscope.runtime.keras3.optimizers.base import Optimizer
from tflogscope.runtime.keras3.variables import Variable

__all__ = ["Adadelta", "Adamax", "Ftrl", "Lamb", "Lion", "Nadam"]


class Adadelta(Optimizer):
    """Divides the gradient by its size so far, times that of the steps so far."""

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def make_slots(self, variables: Sequence[Any]) -> None:
        self._grads, self._steps = self.add_optimizer_variables(
            variables, ["accumulated_grad", "accumulated_delta_var"]
        )

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        grads, steps = self.slot(self._grads, variable), self.slot(self._steps, variable)
        old = self.rho * grads
        share = ops.multiply(1 - self.rho, ops.square(gradient))
        self.assign(grads, ops.add(old, share))
        step = ops.negative(
            ops.divide(ops.multiply(self._root(steps), gradient), self._root(grads))
        )
        old = ops.multiply(self.rho, steps)
        share = ops.multiply(1 - self.rho, ops.square(step))
        self.assign(steps, ops.add(old, share))
        self.assign_add(variable, ops.multiply(rate, step))

    def _root(self, x: Any) -> Any:
        return ops.sqrt(ops.add(x, self.epsilon))


class _OfMoments(Optimizer):
    """What the kin of Adam share."""

    slots = ("momentum", "velocity")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def make_slots(self, variables: Sequence[Any]) -> None:
        self._slots = self.add_optimizer_variables(variables, self.slots)

    def _of(self, variable: Any) -> list[Any]:
        return [self.slot(each, variable) for each in self._slots]

    def _move(self, slot: Any, value: Any, beta: Any) -> None:
        """A part of the way to the value."""
        self.assign_add(slot, ops.multiply(ops.subtract(value, slot), 1 - beta))


class Adamax(_OfMoments):
    """Adam with the largest gradient in the place of their spread."""

    slots = ("momentum", "norm")

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        dtype = variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        step = ops.cast(self.iterations + 1, dtype)
        power = ops.power(ops.cast(self.beta_1, dtype), step)
        momentum, norm = self._of(variable)
        self._move(momentum, gradient, self.beta_1)
        largest = ops.maximum(ops.multiply(self.beta_2, norm), ops.absolute(gradient))
        self.assign(norm, largest)
        numerator = ops.multiply(rate, momentum)
        denominator = ops.multiply(1 - power, ops.add(norm, self.epsilon))
        self.assign_sub(variable, ops.divide(numerator, denominator))


class Nadam(_OfMoments):
    """Adam that looks ahead."""

    def make_slots(self, variables: Sequence[Any]) -> None:
        super().make_slots(variables)
        self._product = Variable(1.0, dtype=variables[0].dtype)
        self._variables.append(self._product)

    def _update(self, grads: list[Any], variables: list[Any], rate: Any) -> None:
        product: Any = self._product
        scaled = product * self.beta_1
        step = ops.cast(self.iterations + 1, product.dtype)
        self.assign(product, scaled * (1.0 - 0.5 * ops.power(0.96, step)))
        super()._update(grads, variables, rate)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        dtype = variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        step = ops.cast(self.iterations + 1, dtype)
        after = ops.cast(self.iterations + 2, dtype)
        decay = ops.cast(0.96, dtype)
        beta_1, beta_2 = ops.cast(self.beta_1, dtype), ops.cast(self.beta_2, dtype)
        now = beta_1 * (1.0 - 0.5 * ops.power(decay, step))
        ahead = beta_1 * (1.0 - 0.5 * ops.power(decay, after))
        product = ops.cast(self._product, dtype)
        product_ahead = product * ahead
        power_2 = ops.power(beta_2, step)
        momentum, velocity = self._of(variable)
        self._move(momentum, gradient, beta_1)
        self._move(velocity, ops.square(gradient), beta_2)
        mean = ops.add(
            ops.divide(ops.multiply(ahead, momentum), 1 - product_ahead),
            ops.divide(ops.multiply(1 - now, gradient), 1 - product),
        )
        spread = ops.divide(velocity, 1 - power_2)
        numerator = ops.multiply(mean, rate)
        denominator = ops.add(ops.sqrt(spread), self.epsilon)
        self.assign_sub(variable, ops.divide(numerator, denominator))


class Lamb(_OfMoments):
    """Adam with steps as long as the weights are."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        dtype = variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        step = ops.cast(self.iterations + 1, dtype)
        power_1 = ops.power(ops.cast(self.beta_1, dtype), step)
        power_2 = ops.power(ops.cast(self.beta_2, dtype), step)
        momentum, velocity = self._of(variable)
        self._move(momentum, gradient, self.beta_1)
        self._move(velocity, ops.square(gradient), self.beta_2)
        mean = ops.divide(momentum, 1.0 - power_1)
        spread = ops.add(ops.sqrt(ops.divide(velocity, 1.0 - power_2)), self.epsilon)
        update = ops.divide(mean, spread)
        length = ops.sqrt(ops.sum(ops.power(variable, 2)))
        of_update = ops.sqrt(ops.sum(ops.power(update, 2)))
        ratio = ops.where(
            ops.greater(length, 0),
            ops.where(ops.greater(of_update, 0), length / of_update, 1.0),
            1.0,
        )
        self.assign_sub(variable, ratio * rate * update)


class Lion(Optimizer):
    """Steps of one length: only the sign of the gradient counts. Raises ValueError for a `beta_1`
    out of range.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2 = beta_1, beta_2
        if beta_1 <= 0 or beta_1 > 1:
            raise ValueError(
                "Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer "
                f"degenerates to SignSGD. Received: beta_1={beta_1}."
            )

    def make_slots(self, variables: Sequence[Any]) -> None:
        (self._momentums,) = self.add_optimizer_variables(variables, ["momentum"])

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        dtype = variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        beta_1, beta_2 = ops.cast(self.beta_1, dtype), ops.cast(self.beta_2, dtype)
        momentum = self.slot(self._momentums, variable)

        def mixed(beta: Any) -> Any:
            old = ops.multiply(momentum, beta)
            return ops.add(old, ops.multiply(gradient, 1.0 - beta))

        self.assign_sub(variable, ops.multiply(rate, ops.sign(mixed(beta_1))))
        self.assign(momentum, mixed(beta_2))


class Ftrl(Optimizer):
    """Follows the regularized leader: many weights become 0."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value, self.beta = initial_accumulator_value, beta
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def make_slots(self, variables: Sequence[Any]) -> None:
        start = initializers.Constant(self.initial_accumulator_value)
        self._accumulators: list[Any] = []
        self._linears: list[Any] = []
        for variable in variables:
            for slots, name, initializer in (
                (self._accumulators, "accumulator", start), (self._linears, "linear", "zeros"),
            ):  # fmt: skip
                slots.append(self.add_variable_from_reference(variable, name, initializer))

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        accumulator = self.slot(self._accumulators, variable)
        linear = self.slot(self._linears, variable)
        power, l1 = -self.learning_rate_power, self.l1_regularization_strength
        l2 = self.l2_regularization_strength + self.beta / (2.0 * rate)
        shrunk = ops.multiply(2 * self.l2_shrinkage_regularization_strength, variable)
        gradient_used = ops.add(gradient, shrunk)
        new = ops.add(accumulator, ops.square(gradient))
        grown = ops.subtract(ops.power(new, power), ops.power(accumulator, power))
        change = ops.multiply(ops.divide(grown, rate), variable)
        self.assign_add(linear, ops.subtract(gradient_used, change))
        quadratic = ops.add(ops.divide(ops.power(new, power), rate), 2 * l2)
        clipped = ops.clip(linear, -l1, l1)
        self.assign(variable, ops.divide(ops.subtract(clipped, linear), quadratic))
        self.assign(accumulator, new)
