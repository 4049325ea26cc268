"""Optimizers: from gradients to new values of the variables. See `keras/optimizers/optimizer.py`.

NB: the gradient of an embedding is a whole table, where Keras updates its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int64
from tflogscope.runtime.function.backprop import custom_gradient
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import primitives as p
from tflogscope.runtime.keras.state import Configured, found, keras3, unique_name
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import dense


class Optimizer(Configured):
    """What all have: the learning rate, the number of steps, and slots, variables per variable."""

    where = "tf.keras.optimizers."
    shared = {"name": None}
    slots: tuple[str, ...] = ()
    learning_rate: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.configure(args, kwargs)
        own = type(self).__name__
        self.name = self.name or (unique_name(own) if keras3() else own)
        self._slots: dict[int, list[Any]] = {}
        with context.init_scope():
            first = convert_to_tensor(0, int64) if keras3() else 0
            self.iterations: Any = Variable(first, name="iteration", dtype=int64, trainable=False)
            self.learning_rate = Variable(
                self.learning_rate, name="learning_rate", dtype=float32, trainable=False
            )

    @property
    def variables(self) -> list[Any]:
        return [self.iterations, self.learning_rate, *nest.flatten(list(self._slots.values()))]

    def build(self, variables: Sequence[Any]) -> None:
        for variable in variables:
            if id(variable) not in self._slots:
                self._slots[id(variable)] = [self._slot(variable, key) for key in self.slots]

    def _slot(self, variable: Any, key: str) -> Any:
        if keras3() and not context.executing_eagerly():
            context.current().capture(variable.handle)
        name = f"{variable.name.partition(':')[0].replace('/', '_')}_{key}"
        given = (self, name, variable.shape, arrays.zeros, variable.dtype)
        return p.make_variable(*given, trainable=False, lifted=False)

    def apply_gradients(self, grads_and_vars: Any) -> Any:
        """Update the variables."""
        pairs = [(dense(gradient), v) for gradient, v in grads_and_vars if gradient is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        gradients, variables = zip(*pairs, strict=True)
        if not keras3():
            gradients = _aggregated(gradients)
        elif id(variables[0]) not in self._slots:
            with context.name_scope(self.name):
                self.build(variables)
        with context.name_scope(self.name):
            with context.init_scope():
                self.build(variables)
            if keras3():
                gradients = _aggregated(gradients)
            for gradient, variable in zip(gradients, variables, strict=True):
                rate = arrays.cast(self.learning_rate, variable.dtype)
                self.update_step(gradient, variable, rate, *self._slots[id(variable)])
            if not keras3():
                return p.accumulate(self.iterations, 1)
        return p.accumulate(self.iterations, 1)


def _aggregated(gradients: Any) -> Any:
    """NB: of all replicas; there is one."""
    reduce = custom_gradient(lambda *grads: (list(grads), lambda *upstream: list(upstream)))
    return nest.flatten(reduce(*gradients))


class SGD(Optimizer):
    """Down the gradient, with momentum. NB: not Nesterov's."""

    options = {"learning_rate": 0.01, "momentum": 0.0}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slots = ("momentum",) if self.momentum or not keras3() else ()

    def update_step(self, gradient: Any, variable: Any, rate: Any, *slots: Any) -> None:
        if not slots:
            variable.assign_sub(p.multiply(gradient, rate))
            return
        (slot,) = slots
        momentum = arrays.cast(self.momentum, variable.dtype)
        if keras3():
            slot.assign(p.subtract(p.multiply(slot, momentum), p.multiply(gradient, rate)))
        else:
            slot.assign(-gradient * rate + slot * momentum)
        variable.assign_add(slot)


class RMSprop(Optimizer):
    """Steps divided by the root of an average of squared gradients."""

    options = {"learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-7}
    slots = ("velocity",)

    def update_step(self, gradient: Any, variable: Any, rate: Any, *slots: Any) -> None:
        (velocity,) = slots
        velocity.assign(self.rho * velocity + (1 - self.rho) * O.Square(gradient))
        if keras3():
            variable.assign_sub(rate * gradient / O.Sqrt(velocity + self.epsilon))
        else:
            variable.assign_add(-(rate * gradient * O.Rsqrt(velocity + self.epsilon)))


class Adam(Optimizer):
    """Averages of the gradients and of their squares, both corrected for the first steps."""

    options = {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
    slots = ("momentum", "velocity")

    def update_step(self, gradient: Any, variable: Any, rate: Any, *slots: Any) -> None:
        dtype, (momentum, velocity) = variable.dtype, slots
        step = arrays.cast(self.iterations + 1, dtype)
        power_1 = O.Pow(arrays.cast(self.beta_1, dtype), step)
        power_2 = O.Pow(arrays.cast(self.beta_2, dtype), step)
        alpha = rate * O.Sqrt(1 - power_2) / (1 - power_1)
        for slot, new, share in (
            (momentum, gradient, 1 - self.beta_1),
            (velocity, O.Square(gradient), 1 - self.beta_2),
        ):
            slot.assign_add(p.multiply(p.subtract(new, slot), share))
        variable.assign_sub(momentum * alpha / (O.Sqrt(velocity) + self.epsilon))


CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (SGD, RMSprop, Adam)}
_BY_NAME = {name.lower(): kind for name, kind in CLASSES.items()}


def get(identifier: Any) -> Any:
    identifier = identifier.lower() if isinstance(identifier, str) else identifier
    return found(identifier, _BY_NAME, "optimizer")
