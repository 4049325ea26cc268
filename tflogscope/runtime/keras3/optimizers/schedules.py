"""Learning rates that change from step to step: functions of the count of iterations.

Told about: `keras/src/optimizers/schedules/learning_rate_schedule.py`.
"""

from __future__ import annotations

import math
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.state import name_scope

__all__ = [
    "CosineDecay", "ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule",
    "PiecewiseConstantDecay", "PolynomialDecay",
]  # fmt: skip


class LearningRateSchedule:
    """A function from step to learning rate."""

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        raise NotImplementedError("A learning rate schedule must override `__call__(self, step)`.")


class _Decay(LearningRateSchedule):
    """Starts at `initial_learning_rate`; what comes then takes `decay_steps`."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.name = name or type(self).__name__
        self.options = options

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name):
            initial = ops.convert_to_tensor(self.initial_learning_rate)
            return self._rate(initial, step)

    def _rate(self, initial: Any, step: Any) -> Any:
        raise NotImplementedError

    def _share(self, step: Any, steps: Any, dtype: Any) -> Any:
        """How much of the time has passed; in whole numbers if it goes down in steps."""
        share = ops.cast(step, dtype) / steps
        return ops.floor(share) if self.options["staircase"] else share


class ExponentialDecay(_Decay):
    """initial * rate ** (step / steps)."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate, decay_steps, name, decay_rate=decay_rate, staircase=staircase
        )

    def _rate(self, initial: Any, step: Any) -> Any:
        steps = ops.cast(self.decay_steps, initial.dtype)
        rate = ops.cast(self.options["decay_rate"], initial.dtype)
        share = self._share(step, steps, initial.dtype)
        return ops.multiply(initial, ops.power(rate, share))


class InverseTimeDecay(ExponentialDecay):
    """initial / (1 + rate * step / steps)."""

    def _rate(self, initial: Any, step: Any) -> Any:
        steps = ops.cast(self.decay_steps, initial.dtype)
        rate = ops.cast(self.options["decay_rate"], initial.dtype)
        share = self._share(step, steps, initial.dtype)
        one = ops.cast(tf.convert_to_tensor(1), initial.dtype)
        return ops.divide(initial, ops.add(one, ops.multiply(rate, share)))


class PolynomialDecay(_Decay):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        """Raises NotInThisRuntime for `cycle`."""
        if cycle:
            raise NotInThisRuntime("PolynomialDecay(cycle=True) of Keras 3")
        super().__init__(
            initial_learning_rate, decay_steps, name, end=end_learning_rate, power=power
        )

    def _rate(self, initial: Any, step: Any) -> Any:
        end = ops.cast(self.options["end"], initial.dtype)
        power = ops.cast(self.options["power"], initial.dtype)
        now = ops.cast(step, initial.dtype)
        steps = ops.cast(self.decay_steps, initial.dtype)
        share = ops.divide(ops.minimum(now, steps), steps)
        return ops.add(ops.multiply(initial - end, ops.power(1 - share, power)), end)


class CosineDecay(_Decay):
    """Half a wave from `initial_learning_rate` to `alpha` times it. With a `warmup_target` the rate
    first rises to it in `warmup_steps`, and the wave starts there: which of both is one `cond`.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: int = 0,
    ) -> None:
        """Raises ValueError for `decay_steps` that are not positive."""
        super().__init__(initial_learning_rate, decay_steps, name, alpha=alpha)
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps
        if decay_steps <= 0:
            raise ValueError(
                f"Argument `decay_steps` must be > 0. Received: decay_steps={decay_steps}"
            )

    def _rate(self, initial: Any, step: Any) -> Any:
        steps = ops.cast(self.decay_steps, initial.dtype)
        now = ops.cast(step, initial.dtype)
        if self.warmup_target is None:
            return self._wave(ops.minimum(now, steps), steps, initial)
        target = ops.cast(self.warmup_target, initial.dtype)
        warmup = ops.cast(self.warmup_steps, initial.dtype)
        now = ops.minimum(now, steps + warmup)
        return ops.cond(
            now < warmup,
            lambda: self._rise(now, warmup, target, initial),
            lambda: self._wave(now - warmup, steps, target),
        )

    def _wave(self, now: Any, steps: Any, highest: Any) -> Any:
        with name_scope(self.name):
            share = ops.divide(now, steps)
            pi = tf.convert_to_tensor(math.pi, dtype=highest.dtype)
            wave = 0.5 * (1.0 + tf.cos(ops.multiply(pi, share)))
            alpha = self.options["alpha"]
            return ops.multiply(highest, (1 - alpha) * wave + alpha)

    def _rise(self, now: Any, steps: Any, target: Any, initial: Any) -> Any:
        with name_scope(self.name):
            share = now / steps
            return (target - initial) * share + initial


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[i]` up to `boundaries[i]`. Raises ValueError for numbers of them that don't fit."""

    def __init__(self, boundaries: Any, values: Any, name: str = "PiecewiseConstant") -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of "
                f"length {len(values)}."
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name):
            limits = [ops.convert_to_tensor(each) for each in self.boundaries]
            values = [ops.convert_to_tensor(each) for each in self.values]
            now = ops.convert_to_tensor(step)
            limits = [ops.convert_to_tensor(each, now.dtype) for each in limits]
            dtype = values[0].dtype
            rate = tf.convert_to_tensor(0, dtype=dtype)
            rate += ops.cast(now <= limits[0], dtype) * values[0]
            rate += ops.cast(now > limits[-1], dtype) * values[-1]
            between = zip(limits[:-1], limits[1:], values[1:-1], strict=True)
            for low, high, value in between:
                rate += ops.cast((now > low) & (now <= high), dtype) * value
            return rate


__getattr__ = missing("tf.keras.optimizers.schedules")
