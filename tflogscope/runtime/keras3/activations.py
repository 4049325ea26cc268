"""Activation functions by name: those of Keras 2, but for what Keras 3 computes otherwise.

Told about: `keras/src/activations/activations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.activations import (
    elu,
    exponential,
    linear,
    mish,
    relu6,
    selu,
    silu,
    softplus,
    softsign,
    tanh,
)
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.operation import operation

__all__ = [
    "elu", "exponential", "gelu", "get", "hard_sigmoid", "leaky_relu", "linear", "log_softmax",
    "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish",
    "tanh",
]  # fmt: skip

softmax, sigmoid, swish = ops.softmax, ops.sigmoid, silu


@operation
def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Any:
    """max(x, 0), with a slope below `threshold` and at most `max_value`."""
    x = ops.convert_to_tensor(x)
    negative = None
    if negative_slope != 0.0:
        if max_value is None and threshold == 0:
            return tf.nn.leaky_relu(x, alpha=negative_slope)
        negative = tf.nn.relu(-x + threshold) if threshold != 0 else tf.nn.relu(-x)
    if threshold != 0:
        limit = ops.cast(threshold, x.dtype)
        x = ops.where(ops.greater(x, limit), x, 0)
    elif max_value == 6:
        x, max_value = tf.nn.relu6(x), None
    else:
        x = tf.nn.relu(x)
    if max_value is not None:
        x = ops.clip(x, ops.cast(0.0, x.dtype), ops.cast(max_value, x.dtype))
    return x if negative is None else x - negative_slope * negative


@operation
def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """x, or `negative_slope` * x below 0."""
    return tf.nn.leaky_relu(x, alpha=negative_slope)


def gelu(x: Any, approximate: bool = False) -> Any:
    """X times the normal distribution's share below x."""
    return ops.gelu(x, approximate)


@operation
def hard_sigmoid(x: Any) -> Any:
    """X / 6 + 0.5, between 0 and 1."""
    x = ops.convert_to_tensor(x)
    return tf.nn.relu6(x + tf.constant(3.0, x.dtype)) / tf.constant(6.0, x.dtype)


@operation
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax."""
    return tf.nn.log_softmax(x, axis=axis)


def get(identifier: Any) -> Callable[..., Any]:
    """The activation of that name; None is `linear`. Raises ValueError for an unknown name."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        if identifier not in __all__ or identifier == "get":
            raise ValueError(f"Unknown activation function: '{identifier}'.")
        return globals()[identifier]  # type: ignore[no-any-return]
    if callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret activation function identifier: {identifier}")


__getattr__ = missing("tf.keras.activations")
