"""Learning rates of TensorFlow 1: schedules of Keras, called at a step; eagerly functions of none.

Told about: `keras/src/optimizers/legacy_learning_rate_decay.py`.
"""

from __future__ import annotations

import functools
from typing import Any

from tflogscope.runtime.context import executing_eagerly

__all__ = [
    "cosine_decay", "exponential_decay", "inverse_time_decay", "piecewise_constant",
    "polynomial_decay",
]  # fmt: skip


def _at(step: Any, schedule: str, *arguments: Any, **named: Any) -> Any:
    from tflogscope.runtime.keras.optimizers import schedules

    rate = getattr(schedules, schedule)(*arguments, **named)
    return functools.partial(rate, step) if executing_eagerly() else rate(step)


def exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """`rate * decay_rate ** (step / steps)`."""
    return _at(
        global_step, "ExponentialDecay", learning_rate, decay_steps, decay_rate,
        staircase=staircase, name=name,
    )  # fmt: skip


def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """`rate / (1 + decay_rate * step / steps)`."""
    return _at(
        global_step, "InverseTimeDecay", learning_rate, decay_steps, decay_rate,
        staircase=staircase, name=name,
    )  # fmt: skip


def polynomial_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: float = 0.0001,
    power: float = 1.0, cycle: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """From `learning_rate` to `end_learning_rate` in so many steps."""
    named = {"cycle": cycle} if cycle else {}
    return _at(
        global_step, "PolynomialDecay", learning_rate, decay_steps, end_learning_rate, power,
        name=name, **named,
    )  # fmt: skip


def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    """One value up to each boundary, the last from there."""
    return _at(x, "PiecewiseConstantDecay", boundaries, values, name=name)


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Down to `alpha` of the start along half a cosine."""
    return _at(global_step, "CosineDecay", learning_rate, decay_steps, alpha=alpha, name=name)
