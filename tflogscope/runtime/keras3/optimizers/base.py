"""What all optimizers share: iterations, learning rate, slots, and the way from gradients to
variables.

An update is made of elementary ops, one variable after the other; Keras 2 had a fused op for some.

Told about: `keras/src/optimizers/base_optimizer.py`, `backend/tensorflow/optimizer.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.context import current
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras.optimizers.base import aggregated
from tflogscope.runtime.keras3 import initializers, ops
from tflogscope.runtime.keras3.optimizers.schedules import LearningRateSchedule
from tflogscope.runtime.keras3.state import auto_name, name_scope
from tflogscope.runtime.keras3.variables import Variable
from tflogscope.runtime.logs import log

__all__ = ["Optimizer"]


class Optimizer:
    """Subclasses have `update_step`, and `build` for their slots."""

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for options that no optimizer has, NotInThisRuntime for accumulated
        gradients and scaled losses.
        """
        for absent in ("gradient_accumulation_steps", "loss_scale_factor"):
            if kwargs.pop(absent, None):
                raise NotInThisRuntime(f"optimizers with {absent}")
        kwargs.pop("decay", None)
        if kwargs:
            raise ValueError(f"Argument(s) not recognized: {kwargs}")
        self.name = name or auto_name(type(self).__name__)
        self.weight_decay, self.clipnorm, self.clipvalue = weight_decay, clipnorm, clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema, self.ema_momentum = use_ema, ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self._averaged: list[tuple[Any, Any]] = []
        self.built = False
        self._variables: list[Any] = []
        self._positions: dict[str, int] = {}
        self.iterations = self._scalar(0, "iteration", "int")
        if isinstance(learning_rate, LearningRateSchedule) or callable(learning_rate):
            self._learning_rate: Any = learning_rate
        elif isinstance(learning_rate, float):
            self._learning_rate = self._scalar(learning_rate, "learning_rate", floatx())
        else:
            raise ValueError(
                "Argument `learning_rate` should be float, or an instance of "
                "LearningRateSchedule, or a callable (that takes in the current iteration value "
                "and returns the corresponding learning rate value). Received instead: "
                f"learning_rate={learning_rate}"
            )

    def _scalar(self, value: Any, name: str, dtype: str) -> Any:
        with name_scope(self.name, caller=self):
            variable = Variable(value, name=name, dtype=dtype, trainable=False)
        self._variables.append(variable)
        return variable

    @property
    def learning_rate(self) -> Any:
        """The variable that holds it, or what the schedule says for this step."""
        if isinstance(self._learning_rate, LearningRateSchedule):
            return self._learning_rate(self.iterations)
        return self._learning_rate() if callable(self._learning_rate) else self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        """Raises TypeError if the optimizer follows a schedule and gets a number."""
        if isinstance(value, LearningRateSchedule):
            self._learning_rate = value
        elif isinstance(self._learning_rate, LearningRateSchedule):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its "
                "`learning_rate` constructor argument, hence its learning rate is not settable."
            )
        else:
            self._learning_rate.assign(value)

    @property
    def variables(self) -> list[Any]:
        """Iterations, learning rate and slots."""
        return list(self._variables)

    # Slots

    def build(self, variables: Sequence[Any]) -> None:
        """Make what is needed for these variables; done once."""
        if not self.built:
            self._positions = {_key(each): index for index, each in enumerate(variables)}
            self.built = True
            if self.use_ema:
                (averages,) = self.add_optimizer_variables(variables, ["average"])
                self._averaged = list(zip(variables, averages, strict=True))
            self.make_slots(variables)

    def make_slots(self, variables: Sequence[Any]) -> None:
        """Make the slots of these variables."""

    def add_optimizer_variables(
        self, variables: Sequence[Any], names: Sequence[str], initializer: Any = "zeros"
    ) -> tuple[list[Any], ...]:
        """A slot of each name for each variable: variable by variable."""
        slots: tuple[list[Any], ...] = tuple([] for _ in names)
        for variable in variables:
            for name, of_name in zip(names, slots, strict=True):
                of_name.append(self.add_variable_from_reference(variable, name, initializer))
        return slots

    def add_variable_from_reference(
        self, reference: Any, name: str = "var", initializer: Any = "zeros"
    ) -> Any:
        """A slot like the variable."""
        where = getattr(reference, "path", None) or reference.name.replace(":", "_")
        with _beside(_tf_variable(reference)), name_scope(self.name, caller=self):
            slot = Variable(
                initializers.get(initializer),
                shape=reference.shape,
                dtype=reference.dtype,
                trainable=False,
                name=f"{where.replace('/', '_')}_{name}",
            )
        self._variables.append(slot)
        return slot

    def slot(self, slots: Sequence[Any], variable: Any) -> Any:
        """The slot that belongs to the variable."""
        return slots[self._positions[_key(variable)]]

    # From gradients to variables

    def apply_gradients(self, grads_and_vars: Any, **_: Any) -> Any:
        """Change each variable by its gradient; the count of iterations."""
        grads, variables = zip(*grads_and_vars, strict=True)
        self.apply(grads, variables)
        return self.iterations

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """The same for two lists. Raises ValueError for variables that it wasn't built for."""
        if len(grads) == 0:
            return
        variables = list(trainable_variables)
        if not self.built:
            with name_scope(self.name, caller=self):
                self.build(variables)
        for variable in variables:
            if _key(variable) not in self._positions:
                raise ValueError(
                    f"Unknown variable: {variable}. This optimizer can only be called for the "
                    "variables it was originally built with. When working with a new set of "
                    "variables, you should recreate a new optimizer instance."
                )
        with name_scope(self.name, caller=self):
            pairs = _with_gradient(grads, variables)
            grads = self._clipped([gradient for gradient, _ in pairs])
            variables = [variable for _, variable in pairs]
            self._decay(variables)
            self._update(grads, variables, self.learning_rate)
            if self.use_ema:
                self._average()
            for variable in variables:
                if getattr(variable, "constraint", None) is not None:
                    variable.assign(variable.constraint(variable))
        self.iterations.assign_add(1)

    def _update(self, grads: list[Any], variables: list[Any], rate: Any) -> None:
        values = [_tf_variable(each) for each in variables]
        for gradient, variable in aggregated(list(zip(grads, values, strict=True))):
            self.update_step(gradient, variable, rate)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Change the variable by its gradient."""
        raise NotImplementedError

    # Moving averages of the variables, which take their place after training, or now and then

    def _average(self) -> None:
        for variable, average in self._averaged:
            not_first = ops.not_equal(self.iterations, 0)
            momentum = ops.multiply(ops.cast(not_first, variable.dtype), self.ema_momentum)
            old = ops.multiply(momentum, average)
            average.assign(ops.add(old, ops.multiply(ops.subtract(1, momentum), variable)))
        if self.ema_overwrite_frequency:
            due = (self.iterations + 1) % self.ema_overwrite_frequency == 0
            ops.cond(due, self._take_averages, lambda: None)

    def _take_averages(self) -> None:
        for variable, average in self._averaged:
            _tf_variable(variable).assign(average)

    def _clipped(self, grads: list[Any]) -> list[Any]:
        if self.clipnorm:
            return [tf.clip_by_norm(gradient, self.clipnorm) for gradient in grads]
        if self.global_clipnorm:
            return _clipped_together(grads, self.global_clipnorm)
        if self.clipvalue:
            return [ops.clip(each, -self.clipvalue, self.clipvalue) for each in grads]
        return grads

    def _decay(self, variables: list[Any]) -> None:
        if self.weight_decay is None:
            return
        for variable in map(_tf_variable, variables):
            rate = tf.cast(self.learning_rate, variable.dtype)
            decay = tf.cast(self.weight_decay, variable.dtype)
            variable.assign_sub(variable * decay * rate)

    # What updates are made of: ops of TensorFlow's variable; slices touch only some rows

    def assign(self, variable: Any, value: Any) -> None:
        """Give it this value."""
        self._change(variable, value, "assign", "scatter_update")

    def assign_add(self, variable: Any, value: Any) -> None:
        """Add this."""
        self._change(variable, value, "assign_add", "scatter_add")

    def assign_sub(self, variable: Any, value: Any) -> None:
        """Take this from it."""
        self._change(variable, value, "assign_sub", "scatter_sub")

    def _change(self, variable: Any, value: Any, whole: str, rows: str) -> None:
        variable = _tf_variable(variable)
        value = tf.cast(value, variable.dtype)
        getattr(variable, rows if isinstance(value, tf.IndexedSlices) else whole)(value)

    def finalize_variable_values(self, var_list: Any) -> None:
        """After training: the averages take the place of the variables."""
        del var_list
        self._take_averages()

    def get_config(self) -> dict[str, Any]:
        """There are no files of optimizers here."""
        raise NotInThisRuntime(f"{type(self).__name__}.get_config")


@contextmanager
def _beside(variable: Any) -> Iterator[None]:
    """On the variable's device; a function that is traced captures the variable to say so."""
    if not tf.executing_eagerly():
        graph: Any = current()
        graph.capture(variable.handle)
    with tf.device(variable.device):
        yield


def _tf_variable(variable: Any) -> Any:
    return variable.value if isinstance(variable, Variable) else variable


def _key(variable: Any) -> str:
    return str(_tf_variable(variable)._unique_id)


def _with_gradient(grads: Any, variables: Any) -> list[tuple[Any, Any]]:
    """The variables that have a gradient. Raises ValueError if none has."""
    pairs = list(zip(grads, variables, strict=True))
    found = [pair for pair in pairs if pair[0] is not None]
    without = [getattr(each, "path", each.name) for grad, each in pairs if grad is None]
    if not found:
        raise ValueError("No gradients provided for any variable.")
    if without:
        log.warning(
            "Gradients do not exist for variables %s when minimizing the loss. If using "
            "`model.compile()`, did you forget to provide a `loss` argument?", without,
        )  # fmt: skip
    return found


def _clipped_together(grads: list[Any], limit: float) -> list[Any]:
    squares = [ops.sum(ops.square(each)) for each in grads]
    norm = ops.sqrt(ops.sum(ops.stack(squares)))
    scale = limit * ops.minimum(1.0 / norm, 1.0 / limit) + (norm - norm)
    return [each * scale for each in grads]
