"""Learning rates that change with the number of steps.

Told about: `keras/src/optimizers/schedules/learning_rate_schedule.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import configuring
from tflogscope.runtime.keras.configuring import Configured, serialize

__all__ = [
    "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
    "LearningRateSchedule", "PiecewiseConstantDecay", "PolynomialDecay", "deserialize",
    "serialize",
]  # fmt: skip


class LearningRateSchedule(Configured):
    """A function from step to learning rate."""

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        raise NotImplementedError("Learning rate schedule must override __call__")


class ExponentialDecay(LearningRateSchedule):
    """initial * rate ** (step / steps)."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.decay_rate = (
            initial_learning_rate,
            decay_steps,
            decay_rate,
        )
        self.staircase, self.name = staircase, name

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "ExponentialDecay") as scope:
            initial = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            steps = tf.cast(self.decay_steps, initial.dtype)
            rate = tf.cast(self.decay_rate, initial.dtype)
            share = tf.cast(step, initial.dtype) / steps
            if self.staircase:
                share = tf.floor(share)
            return tf.multiply(initial, tf.pow(rate, share), name=scope)


class PolynomialDecay(LearningRateSchedule):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.name = end_learning_rate, power, name

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "PolynomialDecay") as scope:
            initial = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            end = tf.cast(self.end_learning_rate, initial.dtype)
            power = tf.cast(self.power, initial.dtype)
            step = tf.cast(step, initial.dtype)
            steps = tf.cast(self.decay_steps, initial.dtype)
            step = tf.minimum(step, steps)
            share = tf.divide(step, steps)
            return tf.add(tf.multiply(initial - end, tf.pow(1 - share, power)), end, name=scope)


class CosineDecay(LearningRateSchedule):
    """Down to `alpha` of the start along half a cosine."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str | None = None,
        warmup_target: float | None = None,
        warmup_steps: int = 0,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "CosineDecay"):
            initial = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            steps = tf.cast(self.decay_steps, initial.dtype)
            step = tf.cast(step, initial.dtype)
            if self.warmup_target is None:
                return self._decayed(tf.minimum(step, steps), steps, initial)
            target = tf.cast(self.warmup_target, initial.dtype)
            warming = tf.cast(self.warmup_steps, initial.dtype)
            step = tf.minimum(step, steps + warming)
            return tf.cond(
                step < warming,
                lambda: self._warmed(step, warming, target, initial),
                lambda: self._decayed(step - warming, steps, target),
            )

    def _warmed(self, step: Any, steps: Any, target: Any, start: Any) -> Any:
        with tf.name_scope(self.name or "CosineDecay"):
            done = step / steps
            return (target - start) * done + start

    def _decayed(self, step: Any, steps: Any, start: Any) -> Any:
        with tf.name_scope(self.name or "CosineDecay"):
            done = step / steps
            cosine = 0.5 * (1.0 + tf.cos(tf.constant(math.pi, dtype=start.dtype) * done))
            return tf.multiply(start, (1 - self.alpha) * cosine + self.alpha)


class CosineDecayRestarts(LearningRateSchedule):
    """Half a cosine again and again, each `t_mul` times as long and `m_mul` times as high."""

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps, self.alpha, self.name = first_decay_steps, alpha, name
        self.t_mul, self.m_mul = t_mul, m_mul

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "SGDRDecay") as scope:
            initial = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            steps, alpha, longer, higher = (
                tf.cast(each, initial.dtype)
                for each in (self.first_decay_steps, self.alpha, self.t_mul, self.m_mul)
            )
            done = tf.cast(step, initial.dtype) / steps

            def regular() -> Any:
                restarts = tf.floor(done)
                return restarts, done - restarts

            def geometric() -> Any:
                ratio = tf.math.log(1.0 - done * (1.0 - longer)) / tf.math.log(longer)
                restarts = tf.floor(ratio)
                before = (1.0 - longer**restarts) / (1.0 - longer)
                return restarts, (done - before) / longer**restarts

            restarts, done = tf.cond(tf.equal(longer, 1.0), regular, geometric)
            wave = 1.0 + tf.cos(tf.constant(math.pi, dtype=initial.dtype) * done)
            cosine = 0.5 * higher**restarts * wave
            return tf.multiply(initial, (1 - alpha) * cosine + alpha, name=scope)


class InverseTimeDecay(LearningRateSchedule):
    """initial / (1 + rate * step / steps)."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "InverseTimeDecay") as scope:
            initial = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            share = tf.cast(step, initial.dtype) / tf.cast(self.decay_steps, initial.dtype)
            if self.staircase:
                share = tf.floor(share)
            slower = tf.constant(1, initial.dtype) + tf.cast(self.decay_rate, initial.dtype) * share
            return tf.divide(initial, slower, name=scope)


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[0]` up to step `boundaries[0]`, then `values[1]`, …."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        """Raises ValueError unless there is one value more than boundaries."""
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of "
                f"length {len(values)}."
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "PiecewiseConstant"):
            limits = [tf.convert_to_tensor(each) for each in self.boundaries]
            values = tf.nest.map_structure(tf.convert_to_tensor, list(self.values))
            step = tf.convert_to_tensor(step)
            limits = [tf.cast(each, step.dtype) for each in limits]
            cases: list[Any] = [
                (step <= limits[0], lambda: values[0]),
                (step > limits[-1], lambda: values[-1]),
            ]
            cases += [
                ((step > low) & (step <= high), functools.partial(tf.identity, value))
                for low, high, value in zip(limits[:-1], limits[1:], values[1:-1], strict=True)
            ]
            return tf.case(cases, lambda: values[0], exclusive=True)


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """The schedule that a configuration describes. Raises ValueError for an unknown class."""
    with configuring.custom_object_scope(custom_objects or {}):
        return configuring.deserialize(config, globals().get, "decay")


__getattr__ = missing("tf.keras.optimizers.schedules")
