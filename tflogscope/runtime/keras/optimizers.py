"""Optimizers: from gradients to new values of the variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.core import context, errors, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import int64
from tflogscope.runtime.function.gradient_tape import GradientTape, custom_gradient
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import primitives as p
from tflogscope.runtime.keras.state import floatx, found, keras3, scope_of_keras3, unique_name
from tflogscope.runtime.library import arrays, numbers
from tflogscope.runtime.library.slices import gather
from tflogscope.runtime.library.slopes import IndexedSlices


class Optimizer:
    """What all have: the learning rate, the number of steps, and slots, variables per variable."""

    slots: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: Any = 0.01,
        name: str | None = None,
    ) -> None:
        own = type(self).__name__
        self.name = name or (unique_name(own) if keras3() else own)
        self.built = False
        self._slots: dict[int, dict[str, Any]] = {}
        with context.init_scope():
            first = convert_to_tensor(0, int64) if keras3() else 0
            self.iterations: Any = Variable(first, name="iteration", dtype=int64, trainable=False)
            self._rate = Variable(
                learning_rate, name="learning_rate", dtype=floatx(), trainable=False
            )

    @property
    def learning_rate(self) -> Any:
        return self._rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._rate.assign(value)

    lr = learning_rate

    @property
    def variables(self) -> list[Any]:
        return [self.iterations, self._rate, *(v for s in self._slots.values() for v in s.values())]

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
        with context.device(variable.device), scope_of_keras3(self.name, self):
            return Variable(
                lambda: arrays.zeros(variable.shape, variable.dtype),
                name=f"{own.replace('/', '_')}_{key}",
                dtype=variable.dtype,
                shape=variable.shape,
                trainable=False,
            )

    # -- from loss to variables

    def minimize(self, loss: Any, var_list: Any, tape: Any = None) -> None:
        tape = GradientTape() if tape is None else tape
        if callable(loss):
            with tape:
                loss = loss()
        variables = var_list() if callable(var_list) else var_list
        self.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Any, **_: Any) -> Any:
        pairs = [tuple(pair) for pair in grads_and_vars]
        if not keras3():
            pairs = _aggregated(pairs)
        variables = [variable for _, variable in pairs]
        if keras3() and not self.built:
            with context.name_scope(self.name):
                self.build(variables)
        with context.name_scope(self.name):
            with context.init_scope():
                self.build(variables)
            pairs = [pair for pair in pairs if pair[0] is not None]
            if not pairs:
                raise ValueError("No gradients provided for any variable.")
            grads, variables = [g for g, _ in pairs], [v for _, v in pairs]
            if not keras3():
                grads = [_deduplicated(each) for each in grads]
            rate = self.learning_rate if keras3() else None
            if keras3():
                grads = [g for g, _ in _aggregated(list(zip(grads, variables, strict=True)))]
            for gradient, variable in zip(grads, variables, strict=True):
                slots = self._slots.get(id(variable), {})
                rate = self.learning_rate if rate is None or not keras3() else rate
                self.update_step(gradient, variable, arrays.cast(rate, variable.dtype), **slots)
            if not keras3():
                return self.iterations.assign_add(1)
        return p.accumulate(self.iterations, 1)

    def update_step(self, gradient: Any, variable: Any, rate: Any, **slots: Any) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return errors.missing(f"tf.keras.optimizers.{type(self).__name__}", name)


def _aggregated(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    given = [gradient for gradient, _ in pairs if gradient is not None]
    if not given or any(isinstance(each, IndexedSlices) for each in given):
        return pairs
    reduce = custom_gradient(lambda *grads: (list(grads), lambda *upstream: list(upstream)))
    summed = iter(nest.flatten(reduce(*given)))
    return [(None if gradient is None else next(summed), variable) for gradient, variable in pairs]


def _deduplicated(gradient: Any) -> Any:
    if not isinstance(gradient, IndexedSlices):
        return gradient
    indices, positions = O.Unique(gradient.indices)
    count = arrays.shape_v2(indices)[0]
    values = O.UnsortedSegmentSum(gradient.values, positions, count)
    return IndexedSlices(values, indices, gradient.dense_shape)


def _add_rows(variable: Any, slices: Any, factor: Any) -> None:
    variable.scatter_add(IndexedSlices(slices.values * factor, slices.indices))


class SGD(Optimizer):
    """Down the gradient, with momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.momentum, self.nesterov = momentum, nesterov
        if not keras3():
            self.slots = ("m",)
        elif momentum:
            self.slots = ("momentum",)

    def update_step(self, gradient: Any, variable: Any, rate: Any, **slots: Any) -> None:
        if keras3() and not self.momentum:
            step = p.multiply(gradient, rate)
            if isinstance(step, IndexedSlices):
                _add_rows(variable, step, -1.0)
            else:
                variable.assign_sub(step)
            return
        momentum = arrays.cast(self.momentum, variable.dtype)
        (slot,) = slots.values()
        if isinstance(gradient, IndexedSlices) and not keras3():
            added = IndexedSlices(-gradient.values * rate, gradient.indices)
            slot.assign(slot * momentum)
            slot.scatter_add(added)
            variable.assign_add(slot)
            return

        def step_of() -> Any:
            if keras3():
                return p.subtract(O.Mul(slot, momentum), p.multiply(gradient, rate))
            return -gradient * rate + slot * momentum

        slot.assign(step_of())
        variable.assign_add(step_of() if self.nesterov else slot)


class RMSprop(Optimizer):
    """Steps divided by the root of an average of squared gradients."""

    slots: tuple[str, ...] = ("velocity",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def update_step(self, gradient: Any, variable: Any, rate: Any, **slots: Any) -> None:
        velocity = slots["velocity"]
        sparse = isinstance(gradient, IndexedSlices)
        if keras3():
            old = O.Mul(self.rho, velocity)
            velocity.assign(p.add(old, p.multiply(1 - self.rho, p.square(gradient))))
            denominator = numbers.add(velocity, self.epsilon)
            increment = p.divide(p.multiply(rate, gradient), O.Sqrt(denominator))
        elif sparse:
            velocity.assign(self.rho * velocity)
            _add_rows(velocity, p.square(gradient), 1 - self.rho)
            rows = gather(velocity + self.epsilon, gradient.indices)
            values = rate * gradient.values * O.Rsqrt(rows)
            increment = IndexedSlices(values, gradient.indices)
        else:
            velocity.assign(self.rho * velocity + (1 - self.rho) * O.Square(gradient))
            increment = rate * gradient * O.Rsqrt(velocity + self.epsilon)
        if isinstance(increment, IndexedSlices):
            _add_rows(variable, increment, -1.0)
        elif keras3():
            variable.assign_sub(increment)
        else:
            variable.assign_add(-increment)


class Adam(Optimizer):
    """Averages of the gradients and of their squares, both corrected for the first steps."""

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
        self.slots = ("momentum", "velocity") if keras3() else ("m", "v")

    def update_step(self, gradient: Any, variable: Any, rate: Any, **slots: Any) -> None:
        dtype = variable.dtype
        step = arrays.cast(self.iterations + 1, dtype)
        power_1 = O.Pow(arrays.cast(self.beta_1, dtype), step)
        power_2 = O.Pow(arrays.cast(self.beta_2, dtype), step)
        momentum, velocity = slots.values()
        alpha = rate * O.Sqrt(1 - power_2) / (1 - power_1)
        shares = 1 - self.beta_1, 1 - self.beta_2
        if isinstance(gradient, IndexedSlices) and not keras3():
            squares = p.square(gradient)
            for slot, rows, share in zip(
                (momentum, velocity), (gradient, squares), shares, strict=True
            ):
                slot.assign_add(-slot * share)
                _add_rows(slot, rows, share)
        else:
            momentum.assign_add(p.multiply(p.subtract(gradient, momentum), shares[0]))
            velocity.assign_add(p.multiply(p.subtract(p.square(gradient), velocity), shares[1]))
        variable.assign_sub(momentum * alpha / (O.Sqrt(velocity) + self.epsilon))


CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (SGD, RMSprop, Adam)}


def get(identifier: Any) -> Any:
    if isinstance(identifier, str):
        identifier = identifier.lower()
    return found(identifier, {n.lower(): kind for n, kind in CLASSES.items()}, "optimizer")
