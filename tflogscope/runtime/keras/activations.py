"""Activations and regularizers: functions of a layer's outputs and of its weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.function.gradient_tape import custom_gradient
from tflogscope.runtime.keras import state
from tflogscope.runtime.library import nn, numbers


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:

    def apply(x: Any, **options: Any) -> Any:
        output = function(x, **options)
        output._keras_logits = x
        return output

    apply.__name__ = function.__name__
    return apply


def linear(x: Any) -> Any:
    return x


def _silu(x: Any) -> Any:
    return custom_gradient(nn.silu_rule)(x, 1.0)


ACTIVATIONS: dict[str, Any] = {
    "linear": linear,
    "relu": O.Relu,
    "leaky_relu": nn.leaky_relu,
    "softmax": _marked(nn.softmax),
    "log_softmax": nn.log_softmax,
    "sigmoid": _marked(numbers.sigmoid),
    "tanh": O.Tanh,
    "elu": O.Elu,
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


def l2(l2: float = 0.01) -> Callable[[Any], Any]:
    """A penalty on the squares of weights."""
    share = float(np.float32(l2))
    if state.keras3():
        return lambda x: share * numbers.reduce_sum(O.Square(x))
    return lambda x: 2.0 * share * O.L2Loss(x)
