"""`Optimizer`: from gradients to new values of variables.

Its own variables (the count of iterations, the learning rate, *slots* such as momentums) are made
outside of the function that is being traced, in `init_scope`. That is why a log shows them as eager
ops in the middle of the first step.

Told about: `keras/src/optimizers/optimizer.py`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.configuring import deserialize, serialize
from tflogscope.runtime.keras.optimizers import schedules
from tflogscope.runtime.keras.optimizers.schedules import LearningRateSchedule
from tflogscope.runtime.logs import log

__all__ = ["Optimizer", "aggregated"]


class Optimizer:
    """Subclasses make their slots in `build` and change one variable in `update_step`."""

    def __init__(
        self,
        name: str,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        jit_compile: bool = True,
        is_legacy_optimizer: bool = False,
    ) -> None:
        """Raises ValueError for two ways of clipping by norm."""
        del jit_compile, is_legacy_optimizer  # compiles only for GPUs
        if clipnorm is not None and global_clipnorm is not None:
            raise ValueError(
                "At most one of `clipnorm` and `global_clipnorm` can be set. Received: "
                f"clipnorm={clipnorm}, global_clipnorm={global_clipnorm}."
            )
        self.name = name
        self.weight_decay = weight_decay
        self.clipnorm, self.clipvalue, self.global_clipnorm = clipnorm, clipvalue, global_clipnorm
        self.use_ema, self.ema_momentum = use_ema, ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self._averages_of_variables: list[Any] = []
        self._not_decayed: tuple[set[Any], list[str]] = (set(), [])
        self._variables: list[Any] = []
        self._positions: dict[Any, int] = {}
        self._built = False
        with tf.init_scope():
            self.iterations = tf.Variable(0, name="iteration", dtype=tf.int64, trainable=False)
        self._variables.append(self.iterations)
        self._learning_rate = self._make_learning_rate(learning_rate)

    # The learning rate

    def _make_learning_rate(self, value: Any) -> Any:
        with tf.init_scope():
            if isinstance(value, LearningRateSchedule):
                current = tf.convert_to_tensor(value(self.iterations))
                self._current_learning_rate = tf.Variable(
                    current, name="current_learning_rate", dtype=current.dtype, trainable=False
                )
                return value
            return tf.Variable(value, name="learning_rate", dtype=backend.floatx(), trainable=False)

    @property
    def learning_rate(self) -> Any:
        """The variable that holds it."""
        if isinstance(self._learning_rate, LearningRateSchedule):
            return self._current_learning_rate
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        """Raises TypeError if the optimizer follows a schedule and gets a number."""
        if isinstance(value, LearningRateSchedule):
            self._learning_rate = value
            return
        if isinstance(self._learning_rate, LearningRateSchedule):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its "
                "`learning_rate` constructor argument, hence its learning rate is not settable. If "
                "you need the learning rate to be settable, you should instantiate the optimizer "
                "with a float `learning_rate` argument."
            )
        self._learning_rate.assign(value)

    lr = learning_rate

    # What subclasses do

    def build(self, var_list: Sequence[Any]) -> None:
        """Make what is needed for these variables. Called in `init_scope`, again at each step; does
        nothing then.
        """
        if not self._built:
            self._positions = {variable.ref(): index for index, variable in enumerate(var_list)}
            if self.use_ema:
                for each in var_list:
                    average = self.add_variable_from_reference(each, "average", each)
                    self._averages_of_variables.append(average)
            self.make_slots(var_list)
            self._built = True

    def make_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of these variables."""

    def update_step(self, gradient: Any, variable: Any) -> None:
        """Change the variable by its gradient."""
        raise NotImplementedError

    def slot(self, slots: Sequence[Any], variable: Any) -> Any:
        """The slot that belongs to the variable. Raises KeyError for a variable it was not built
        for.
        """
        try:
            return slots[self._positions[variable.ref()]]
        except KeyError:
            raise KeyError(
                f"The optimizer cannot recognize variable {variable.name}. This usually means you "
                "are trying to call the optimizer to update different parts of the model "
                "separately. Please call `optimizer.build(variables)` with the full list of "
                "trainable variables before the training loop or use legacy optimizer "
                f"`tf.keras.optimizers.legacy.{type(self).__name__}."
            ) from None

    def add_variable_from_reference(
        self, model_variable: Any, variable_name: str, initial_value: Any = None
    ) -> Any:
        """A slot like the variable, and on its device: zeros, if nothing else is said."""
        with tf.device(model_variable.device):
            if initial_value is None:
                initial_value = tf.zeros(model_variable.shape, dtype=model_variable.dtype)
            variable = tf.Variable(
                initial_value=initial_value,
                name=f"{variable_name}/{model_variable.name.partition(':')[0]}",
                dtype=model_variable.dtype,
                trainable=False,
            )
        self._variables.append(variable)
        return variable

    @property
    def variables(self) -> list[Any]:
        """Its own variables, without the learning rate."""
        return self._variables

    # From loss to variables

    def minimize(self, loss: Any, var_list: Any, tape: Any = None) -> None:
        """One step: gradients of the loss, and what follows. Raises ValueError for a tensor without
        a tape.
        """
        self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(
        self, loss: Any, var_list: Any, tape: Any = None
    ) -> list[tuple[Any, Any]]:
        """Each variable's gradient. `loss` is a tensor with the tape that saw it made, or a
        function that makes it.
        """
        if not callable(loss) and tape is None:
            raise ValueError(
                f"`tape` is required when a `Tensor` loss is passed. Received: loss={loss}, "
                f"tape={tape}."
            )
        tape = tf.GradientTape() if tape is None else tape
        if callable(loss):
            with tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
                if callable(var_list):
                    var_list = var_list()
        return list(zip(tape.gradient(loss, var_list), var_list, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Any,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
        **_: Any,
    ) -> Any:
        """Change each variable by its gradient; the count of iterations afterwards."""
        pairs = list(grads_and_vars)
        if not skip_gradients_aggregation:
            pairs = aggregated(pairs)
        if isinstance(self._learning_rate, LearningRateSchedule):
            self._current_learning_rate.assign(self._learning_rate(self.iterations))
        if not pairs:
            return self.iterations
        with tf.name_scope(name or self.name or "optimizer"):
            with tf.init_scope():
                self.build([variable for _, variable in pairs])
            pairs = _with_gradient(pairs)
            gradients = self._clipped([gradient for gradient, _ in pairs])
            gradients = [_deduplicated(gradient) for gradient in gradients]
            variables = [variable for _, variable in pairs]
            self._decay(variables)
            for gradient, variable in zip(gradients, variables, strict=True):
                self.update_step(gradient, variable)
            self._average(variables)
            iteration = self.iterations.assign_add(1)
            for variable in variables:
                if getattr(variable, "constraint", None) is not None:
                    variable.assign(variable.constraint(variable))
            return iteration

    def _clipped(self, gradients: list[Any]) -> list[Any]:
        if self.clipnorm:
            return [tf.clip_by_norm(gradient, self.clipnorm) for gradient in gradients]
        if self.global_clipnorm:
            return list(tf.clip_by_global_norm(gradients, self.global_clipnorm)[0])
        if self.clipvalue:
            return [tf.clip_by_value(each, -self.clipvalue, self.clipvalue) for each in gradients]
        return gradients

    def _decay(self, variables: list[Any]) -> None:
        if self.weight_decay is None:
            return
        excluded, patterns = self._not_decayed
        for variable in variables:
            if variable.ref() in excluded or any(re.search(p, variable.name) for p in patterns):
                continue
            rate = tf.cast(self.learning_rate, variable.dtype)
            decay = tf.cast(self.weight_decay, variable.dtype)
            variable.assign_sub(variable * decay * rate)

    def exclude_from_weight_decay(self, var_list: Any = None, var_names: Any = None) -> None:
        """Variables, or patterns of names, that do not decay. Raises ValueError once built."""
        if self._built:
            raise ValueError(
                "`exclude_from_weight_decay()` can only be configued before the optimizer is built."
            )
        self._not_decayed[0].update(variable.ref() for variable in var_list or ())
        self._not_decayed[1].extend(var_names or ())

    def _average(self, variables: list[Any]) -> None:
        """The moving averages, which from time to time take the place of the variables."""
        if not self.use_ema:
            return
        share = self.ema_momentum
        for variable, average in zip(variables, self._averages_of_variables, strict=False):
            average.assign(share * average + (1 - share) * variable)
        if self.ema_overwrite_frequency:
            due = (self.iterations + 1) % self.ema_overwrite_frequency == 0
            tf.cond(due, lambda: self.finalize_variable_values(variables), lambda: None)

    def finalize_variable_values(self, var_list: Any) -> None:
        """The variables become their moving averages, if there are any."""
        for variable, average in zip(var_list, self._averages_of_variables, strict=False):
            variable.assign(average)

    def get_config(self) -> dict[str, Any]:
        """What it was made with: first what all optimizers have."""
        rate = self._learning_rate
        shared: dict[str, Any] = {
            "name": self.name,
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "global_clipnorm": self.global_clipnorm,
            "clipvalue": self.clipvalue,
            "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "jit_compile": False,
            "is_legacy_optimizer": False,
            "learning_rate": rate.numpy() if isinstance(rate, tf.Variable) else serialize(rate),
        }
        signatures = [inspect.signature(each.__init__) for each in _own_kinds(type(self))]
        own = [p for each in signatures for p in each.parameters.values() if p.name not in shared]
        return shared | {
            p.name: getattr(self, p.name)
            for p in own
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new one, made with what `get_config` gave."""
        rate = deserialize(config.get("learning_rate"), vars(schedules).get, "schedule")
        return cls(**{**config, "learning_rate": rate} if "learning_rate" in config else config)


def _own_kinds(kind: type) -> list[Any]:
    """The class and those that it is made from, below `Optimizer`."""
    kinds = kind.__mro__[: kind.__mro__.index(Optimizer)]
    return [each for each in reversed(kinds) if "__init__" in vars(each)]


def _with_gradient(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The variables that have a gradient. Raises ValueError if none has."""
    found = [pair for pair in pairs if pair[0] is not None]
    without = [variable.name for gradient, variable in pairs if gradient is None]
    if not found:
        raise ValueError(
            f"No gradients provided for any variable: {(without,)}. Provided `grads_and_vars` is "
            f"{tuple(pairs)}."
        )
    if without:
        log.warning(
            "Gradients do not exist for variables %s when minimizing the loss. If you're using "
            "`model.compile()`, did "
            "you forget to provide a `loss` argument?", without,
        )  # fmt: skip
    return found


def aggregated(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The sums of the gradients over all replicas: there is one, but the ops of asking for the sum
    are there.
    """
    found = [gradient for gradient, _ in pairs if gradient is not None]
    if not found or any(isinstance(gradient, tf.IndexedSlices) for gradient in found):
        return pairs
    summed = iter(tf.nest.flatten(tf.custom_gradient(_all_reduce)(*found)))
    return [(None if gradient is None else next(summed), variable) for gradient, variable in pairs]


def _all_reduce(*gradients: Any) -> Any:
    return list(gradients), lambda *upstream: list(upstream)


def _deduplicated(gradient: Any) -> Any:
    """Slices of a gradient with each index once: those of the same index are added up."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    indices, positions = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, positions, tf.shape(indices)[0])
    return tf.IndexedSlices(values, indices, gradient.dense_shape)
