"""Optimizers: from gradients to new values of the variables. See `keras/optimizers/optimizer.py`.

NB: the gradient of an embedding is a whole table, where Keras updates its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import int64
from tflogscope.runtime.function.gradient_tape import custom_gradient
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import primitives as p
from tflogscope.runtime.keras.state import (
    Configured,
    floatx,
    found,
    keras3,
    unique_name,
)
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slopes import dense


class Optimizer(Configured):
    """What all have: the learning rate, the number of steps, and slots, variables per variable."""

    where = "tf.keras.optimizers."
    options = {"learning_rate": 0.01}
    shared = {"name": None}
    slots: tuple[str, ...] = ()
    learning_rate: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.configure(args, kwargs)
        own = type(self).__name__
        self.name = self.name or (unique_name(own) if keras3() else own)
        self.built = False
        self._slots: dict[int, dict[str, Any]] = {}
        with context.init_scope():
            first = convert_to_tensor(0, int64) if keras3() else 0
            self.iterations: Any = Variable(first, name="iteration", dtype=int64, trainable=False)
            self.learning_rate = Variable(
                self.learning_rate, name="learning_rate", dtype=floatx(), trainable=False
            )

    @property
    def variables(self) -> list[Any]:
        slots = [v for each in self._slots.values() for v in each.values()]
        return [self.iterations, self.learning_rate, *slots]

    def build(self, variables: Sequence[Any]) -> None:
        if self.built:
            return
        self.built = True
        for variable in variables:
            self._slots[id(variable)] = {key: self._slot(variable, key) for key in self.slots}

    def _slot(self, variable: Any, key: str) -> Any:
        own = variable.name.partition(":")[0]
        if not keras3():
            zeros = arrays.zeros(variable.shape, variable.dtype)
            return Variable(zeros, name=f"{key}/{own}", dtype=variable.dtype, trainable=False)
        if not context.executing_eagerly():
            context.current().capture(variable.handle)
        name = f"{own.replace('/', '_')}_{key}"
        given = (self, name, variable.shape, arrays.zeros, variable.dtype)
        return p.make_variable(*given, trainable=False, lifted=False)

    # -- from loss to variables

    def apply_gradients(self, grads_and_vars: Any) -> Any:
        pairs = [(dense(gradient), variable) for gradient, variable in grads_and_vars]
        if not keras3():
            pairs = _aggregated(pairs)
        elif not self.built:
            with context.name_scope(self.name):
                self.build([variable for _, variable in pairs])
        with context.name_scope(self.name):
            with context.init_scope():
                self.build([variable for _, variable in pairs])
            pairs = [pair for pair in pairs if pair[0] is not None]
            if not pairs:
                raise ValueError("No gradients provided for any variable.")
            if keras3():
                pairs = _aggregated(pairs)
            for gradient, variable in pairs:
                slots = self._slots.get(id(variable), {}).values()
                self.update_step(
                    gradient, variable, arrays.cast(self.learning_rate, variable.dtype), *slots
                )
            if not keras3():
                return self.iterations.assign_add(1)
        return p.accumulate(self.iterations, 1)

    def update_step(self, gradient: Any, variable: Any, rate: Any, *slots: Any) -> None:
        raise NotImplementedError


def _aggregated(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    given = [gradient for gradient, _ in pairs if gradient is not None]
    if not given:
        return pairs
    reduce = custom_gradient(lambda *grads: (list(grads), lambda *upstream: list(upstream)))
    summed = iter(nest.flatten(reduce(*given)))
    return [(None if gradient is None else next(summed), variable) for gradient, variable in pairs]


class SGD(Optimizer):
    """Down the gradient, with momentum. NB: not Nesterov's."""

    options = {"learning_rate": 0.01, "momentum": 0.0}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not keras3():
            self.slots = ("m",)
        elif self.momentum:
            self.slots = ("momentum",)

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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slots = ("momentum", "velocity") if keras3() else ("m", "v")

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


def get(identifier: Any) -> Any:
    if isinstance(identifier, str):
        identifier = identifier.lower()
    return found(identifier, {n.lower(): kind for n, kind in CLASSES.items()}, "optimizer")
