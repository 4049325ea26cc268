"""Activation functions by name.

Softmax and sigmoid leave a mark on their result, so that a cross entropy can go back to the logits.

Told about: `keras/src/activations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.configuring import custom_objects, serialize

__all__ = [
    "elu", "exponential", "gelu", "get", "hard_sigmoid", "leaky_relu", "linear", "mish", "relu",
    "relu6", "selu", "serialize", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish",
    "tanh",
]  # fmt: skip


def linear(x: Any) -> Any:
    """The input."""
    return x


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """max(x, 0), with slope `alpha` below `threshold` and at most `max_value`."""
    negative = None
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return tf.nn.leaky_relu(x, alpha=alpha)
        negative = tf.nn.relu(-x + threshold) if threshold != 0 else tf.nn.relu(-x)
    if threshold != 0:
        x = x * tf.cast(tf.greater(x, threshold), x.dtype)
    elif max_value == 6:
        x, max_value = tf.nn.relu6(x), None
    else:
        x = tf.nn.relu(x)
    if max_value is not None:
        x = tf.clip_by_value(x, tf.constant(0, x.dtype), tf.constant(max_value, x.dtype))
    if negative is not None:
        x -= tf.convert_to_tensor(alpha, x.dtype) * negative
    return x


def softmax(x: Any, axis: Any = -1) -> Any:
    """Softmax. Raises ValueError for a vector or scalar."""
    if x.shape.rank <= 1:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    output = tf.nn.softmax(x, axis=axis)
    output._keras_logits = x
    return output


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    output = tf.sigmoid(x)
    output._keras_logits = x
    return output


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return tf.tanh(x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or alpha * (exp(x) - 1) below 0."""
    result = tf.nn.elu(x)
    return result if alpha == 1 else tf.where(x > 0, result, alpha * result)


def selu(x: Any) -> Any:
    """Scaled elu."""
    return tf.nn.selu(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """X times the normal distribution's share below x."""
    return tf.nn.gelu(x, approximate)


def softplus(x: Any) -> Any:
    """log(exp(x) + 1)."""
    return tf.math.softplus(x)


def softsign(x: Any) -> Any:
    """X / (|x| + 1)."""
    return tf.math.softsign(x)


def swish(x: Any) -> Any:
    """X * sigmoid(x)."""
    return tf.nn.silu(x)


silu = swish


def exponential(x: Any) -> Any:
    """exp(x)."""
    return tf.exp(x)


def hard_sigmoid(x: Any) -> Any:
    """0.2 * x + 0.5, between 0 and 1."""
    return tf.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)


def mish(x: Any) -> Any:
    """X * tanh(softplus(x))."""
    return x * tf.math.tanh(tf.math.softplus(x))


def leaky_relu(x: Any, alpha: float = 0.2) -> Any:
    """x, or alpha * x below 0."""
    return tf.nn.leaky_relu(x, alpha=alpha)


def relu6(x: Any) -> Any:
    """relu, at most 6."""
    return tf.nn.relu6(x)


def get(identifier: Any) -> Callable[..., Any]:
    """The activation of that name; None is `linear`. Raises ValueError for an unknown name."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        if identifier in custom_objects:
            return custom_objects[identifier]  # type: ignore[no-any-return]
        if identifier not in __all__ or identifier in ("get", "serialize"):
            raise ValueError(f"Unknown activation function '{identifier}' cannot be deserialized.")
        return globals()[identifier]  # type: ignore[no-any-return]
    if callable(identifier):
        return identifier  # type: ignore[no-any-return]
    raise TypeError(f"Could not interpret activation function identifier: {identifier}")


__getattr__ = missing("tf.keras.activations")
