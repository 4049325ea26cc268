"""Adadelta, Adamax, Nadam, Ftrl and Lion.

A gradient may be slices of rows (`IndexedSlices`, from an embedding): what the slots gain is then
added to those rows only (`scatter_add`), after the whole slot has decayed. Where such a gradient
meets a whole tensor, the operator makes it whole (`_indexed_slices_to_tensor` in
`tensorflow/python/framework/indexed_slices.py`). Ftrl does the same for both kinds.

Told about: `keras/src/optimizers/adadelta.py`, `adamax.py`, `nadam.py`, `ftrl.py`,
`lion.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.optimizers.base import Optimizer

__all__ = ["Adadelta", "Adamax", "Ftrl", "Lion", "Nadam"]


class _TwoSlots(Optimizer):
    """Two numbers beside each weight."""

    names: tuple[str, str]

    def make_slots(self, var_list: Sequence[Any]) -> None:
        self._first: list[Any] = []
        self._second: list[Any] = []
        for each in var_list:
            self._first.append(self.add_variable_from_reference(each, self.names[0]))
            self._second.append(self.add_variable_from_reference(each, self.names[1]))


class Adadelta(_TwoSlots):
    """Steps as large as those of late, in units of the gradients of late."""

    names = ("accumulated_grad", "accumulated_delta_var")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        gradients, deltas = self.slot(self._first, variable), self.slot(self._second, variable)
        if isinstance(gradient, tf.IndexedSlices):
            gradients.assign_add((self.rho - 1) * gradients)
            squares = (1 - self.rho) * tf.square(gradient.values)
            gradients.scatter_add(tf.IndexedSlices(squares, gradient.indices))
        else:
            gradients.assign(self.rho * gradients + (1 - self.rho) * gradient * gradient)
        delta = -self._root(deltas) * gradient / self._root(gradients)
        deltas.assign(self.rho * deltas + (1 - self.rho) * delta * delta)
        variable.assign_add(rate * delta)

    def _root(self, x: Any) -> Any:
        return tf.sqrt(x + self.epsilon)


class Adamax(_TwoSlots):
    """Adam with the largest gradient in place of the mean of squares."""

    names = ("m", "u")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        step = tf.cast(self.iterations + 1, variable.dtype)
        power = tf.pow(tf.cast(self.beta_1, variable.dtype), step)
        momentum, largest = self.slot(self._first, variable), self.slot(self._second, variable)
        if isinstance(gradient, tf.IndexedSlices):
            self._mix_in_slices(momentum, largest, gradient)
        else:
            momentum.assign_add((gradient - momentum) * (1 - self.beta_1))
            largest.assign(tf.maximum(self.beta_2 * largest, tf.abs(gradient)))
        variable.assign_sub((rate * momentum) / ((1 - power) * (largest + self.epsilon)))

    def _mix_in_slices(self, momentum: Any, largest: Any, gradient: Any) -> None:
        momentum.assign_add(-momentum * (1 - self.beta_1))
        momentum.scatter_add(
            tf.IndexedSlices(gradient.values * (1 - self.beta_1), gradient.indices)
        )
        largest.assign(largest * self.beta_2)
        rows = tf.gather(largest, gradient.indices)
        growth = tf.maximum(rows, tf.abs(gradient.values)) - rows
        largest.scatter_add(tf.IndexedSlices(growth, gradient.indices))


class Nadam(_TwoSlots):
    """Adam that looks ahead as Nesterov's momentum does."""

    names = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def make_slots(self, var_list: Sequence[Any]) -> None:
        self._computed = 1
        self._product = tf.Variable(1.0, dtype=var_list[0].dtype, trainable=False)
        super().make_slots(var_list)

    def update_step(self, gradient: Any, variable: Any) -> None:
        dtype = variable.dtype
        rate = tf.cast(self.learning_rate, dtype)
        step, following = tf.cast(self.iterations + 1, dtype), tf.cast(self.iterations + 2, dtype)
        decay, beta_1, beta_2 = (tf.cast(x, dtype) for x in (0.96, self.beta_1, self.beta_2))
        now = beta_1 * (1.0 - 0.5 * tf.pow(decay, step))
        ahead = beta_1 * (1.0 - 0.5 * tf.pow(decay, following))

        def next_product() -> Any:
            product = self._product * now
            self._product.assign(product)
            self._computed += 1
            return product

        # NB: meant to be computed once for all variables; but in a function `_computed` is the
        # Python number of the time of tracing.
        product = tf.cond(
            tf.equal(self.iterations + 2, self._computed), lambda: self._product, next_product
        )
        product_ahead = product * ahead
        power = tf.pow(beta_2, step)
        momentum, velocity = self.slot(self._first, variable), self.slot(self._second, variable)
        if isinstance(gradient, tf.IndexedSlices):
            momentum.assign_add(-momentum * (1 - beta_1))
            added = tf.IndexedSlices(gradient.values * (1 - beta_1), gradient.indices)
            momentum.scatter_add(added)
            velocity.assign_add(-velocity * (1 - beta_2))
            squares = tf.square(gradient.values) * (1 - beta_2)
            velocity.scatter_add(tf.IndexedSlices(squares, gradient.indices))
        else:
            momentum.assign_add((gradient - momentum) * (1 - beta_1))
            velocity.assign_add((tf.square(gradient) - velocity) * (1 - beta_2))
        direction = ahead * momentum / (1 - product_ahead) + (1 - now) * gradient / (1 - product)
        size = velocity / (1 - power)
        variable.assign_sub((direction * rate) / (tf.sqrt(size) + self.epsilon))


class Ftrl(_TwoSlots):
    """Follows the regularised leader: weights may become exactly 0."""

    names = ("accumulator", "linear")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        name: str = "Ftrl",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta

    def add_variable_from_reference(
        self, model_variable: Any, variable_name: str, initial_value: Any = None
    ) -> Any:
        """The accumulators do not start at 0."""
        if variable_name == "accumulator":
            filled = tf.fill(model_variable.shape, self.initial_accumulator_value)
            initial_value = tf.cast(filled, model_variable.dtype)
        return super().add_variable_from_reference(model_variable, variable_name, initial_value)

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate = tf.cast(self.learning_rate, variable.dtype)
        squares, linear = self.slot(self._first, variable), self.slot(self._second, variable)
        power, l1 = -self.learning_rate_power, self.l1_regularization_strength
        l2 = self.l2_regularization_strength + self.beta / (2.0 * rate)
        used = gradient + 2 * self.l2_shrinkage_regularization_strength * variable
        new = squares + tf.pow(gradient, 2)
        linear.assign_add(used - (tf.pow(new, power) - tf.pow(squares, power)) / rate * variable)
        quadratic = tf.pow(new, power) / rate + 2 * l2
        variable.assign((tf.clip_by_value(linear, -l1, l1) - linear) / quadratic)
        squares.assign(new)


class Lion(Optimizer):
    """Steps of one size: only the sign of the momentum counts."""

    def __init__(
        self,
        learning_rate: Any = 0.0001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        name: str = "Lion",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def make_slots(self, var_list: Sequence[Any]) -> None:
        self.momentums = [self.add_variable_from_reference(each, "m") for each in var_list]

    def update_step(self, gradient: Any, variable: Any) -> None:
        rate, beta_1, beta_2 = (
            tf.cast(each, variable.dtype) for each in (self.learning_rate, self.beta_1, self.beta_2)
        )
        momentum = self.slot(self.momentums, variable)
        if isinstance(gradient, tf.IndexedSlices):
            # the momentum itself holds what only the sign is wanted of, for a while
            momentum.assign(momentum * beta_1)
            added = gradient.values * (1.0 - beta_1)
            momentum.scatter_add(tf.IndexedSlices(added, gradient.indices))
            variable.assign_sub(rate * tf.math.sign(momentum))
            momentum.assign(momentum * beta_2 / beta_1)
            added = gradient.values * (1.0 - beta_2 / beta_1)
            momentum.scatter_add(tf.IndexedSlices(added, gradient.indices))
            return
        variable.assign_sub(rate * tf.math.sign(momentum * beta_1 + gradient * (1.0 - beta_1)))
        momentum.assign(momentum * beta_2 + gradient * (1.0 - beta_2))
