"""Activations and regularizers: functions of a layer's outputs and of its weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.function.gradient_tape import custom_gradient
from tflogscope.runtime.keras import state
from tflogscope.runtime.library import arrays, nn, numbers


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:

    def apply(x: Any, **options: Any) -> Any:
        output = function(x, **options)
        output._keras_logits = x
        return output

    apply.__name__ = function.__name__
    return apply


def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Any:
    """`max(x, 0)`, leaky or cut off."""
    if negative_slope and max_value is None and not threshold:
        return nn.leaky_relu(x, alpha=negative_slope)
    if threshold:
        x = x * arrays.cast(O.Greater(x, threshold), x.dtype)
    elif max_value == 6:
        return nn.relu6(x)
    else:
        x = O.Relu(x)
    return x if max_value is None else numbers.clip_by_value(x, 0.0, max_value)


def linear(x: Any) -> Any:
    return x


def _silu(x: Any) -> Any:
    return custom_gradient(nn.silu_rule)(x, 1.0)


def _elu(x: Any, alpha: float = 1.0) -> Any:
    found = O.Elu(x)
    return found if alpha == 1.0 else O.SelectV2(x > 0, found, alpha * found)


ACTIVATIONS: dict[str, Any] = {
    "linear": linear,
    "relu": relu,
    "relu6": nn.relu6,
    "leaky_relu": nn.leaky_relu,
    "softmax": _marked(nn.softmax),
    "log_softmax": nn.log_softmax,
    "sigmoid": _marked(numbers.sigmoid),
    "tanh": O.Tanh,
    "elu": _elu,
    "selu": O.Selu,
    "gelu": nn.gelu,
    "silu": _silu,
    "swish": _silu,
    "softplus": O.Softplus,
    "exponential": O.Exp,
}


def get(identifier: Any) -> Any:
    if identifier is None:
        return linear
    return state.found(identifier, ACTIVATIONS, "activation function")


class L1L2:
    """Penalties on the size of weights and on its square."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = (float(np.float32(each)) for each in (l1, l2))

    def __call__(self, x: Any) -> Any:
        parts = [self.l1 * numbers.reduce_sum(O.Abs(x))] if self.l1 else []
        if self.l2 and state.keras3():
            parts.append(self.l2 * numbers.reduce_sum(O.Square(x)))
        elif self.l2:
            parts.append(2.0 * self.l2 * O.L2Loss(x))
        return sum(parts[1:], parts[0]) if parts else 0.0


REGULARIZERS: dict[str, Any] = {
    "l1": lambda l1=0.01: L1L2(l1=l1),
    "l2": lambda l2=0.01: L1L2(l2=l2),
    "l1_l2": lambda l1=0.01, l2=0.01: L1L2(l1, l2),
    "L1L2": L1L2,
}
REGULARIZERS |= {"L1": REGULARIZERS["l1"], "L2": REGULARIZERS["l2"]}


def regularizer(identifier: Any) -> Any:
    named = isinstance(identifier, str)
    return REGULARIZERS[identifier]() if named else identifier
