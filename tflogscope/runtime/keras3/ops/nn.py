"""Operations of neural networks.

Told about: `keras/src/backend/tensorflow/nn.py`, `_layer_normalization` of `keras/src/ops/nn.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.backend import epsilon as keras_epsilon
from tflogscope.runtime.keras3 import dtypes
from tflogscope.runtime.keras3.operation import operation
from tflogscope.runtime.keras3.ops.arithmetic import minimum, multiply
from tflogscope.runtime.keras3.ops.arrays import mean, reshape, sum  # noqa: A004  as in NumPy
from tflogscope.runtime.keras3.ops.core import convert_to_tensor

__all__ = [
    "average_pool", "batch_normalization", "binary_crossentropy", "categorical_crossentropy",
    "conv", "gelu", "layer_normalization", "max_pool", "moments", "normalize", "one_hot", "relu",
    "rms_normalization", "sigmoid", "silu", "softmax", "softplus",
    "sparse_categorical_crossentropy", "window_format",
]  # fmt: skip

relu = operation(tf.nn.relu)
silu = operation(tf.nn.silu)
softplus = operation(tf.math.softplus)


@operation
def gelu(x: Any, approximate: bool = True) -> Any:
    """X times the normal distribution's share below x."""
    return tf.nn.gelu(convert_to_tensor(x), approximate)


@operation
def softmax(x: Any, axis: int = -1) -> Any:
    """Softmax; remembers the logits."""
    output: Any = tf.nn.softmax(x, axis=axis)
    output._keras_logits = x
    return output


@operation
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)); remembers the logits."""
    output: Any = tf.nn.sigmoid(x)
    output._keras_logits = x
    return output


@operation
def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None) -> Any:
    """1 at the place of each index, else 0."""
    return tf.one_hot(
        convert_to_tensor(x, "int64"), num_classes, axis=axis, dtype=dtype or "float32"
    )


# Windows


def window_format(data_format: str | None, rank: int) -> str:
    """TensorFlow's name of a layout. Raises NotInThisRuntime for channels first."""
    if data_format not in {None, "channels_last"}:
        raise NotInThisRuntime(f"Keras 3 layers with data_format={data_format!r}")
    return {3: "NWC", 4: "NHWC"}[rank]


@operation
def conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = 1,
) -> Any:  # fmt: skip
    """A convolution."""
    if inputs.shape[-1] != kernel.shape[-2]:
        raise NotInThisRuntime("a convolution with groups in Keras 3")
    return tf.nn.convolution(
        inputs,
        kernel,
        strides,
        padding.upper(),
        data_format=window_format(data_format, len(inputs.shape)),
        dilations=dilation_rate,
    )


@operation
def max_pool(
    inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid",
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """The largest of each window."""
    form = window_format(data_format, len(inputs.shape))
    return tf.nn.max_pool(inputs, pool_size, strides or pool_size, padding.upper(), form)


@operation
def average_pool(
    inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid",
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    form = window_format(data_format, len(inputs.shape))
    return tf.nn.avg_pool(inputs, pool_size, strides or pool_size, padding.upper(), form)


# Normalization


@operation
def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> Any:
    """Mean and variance."""
    del synchronized
    return tf.nn.moments(x, axes, keepdims=keepdims)


@operation
def batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None,
    epsilon: float = 1e-3,
) -> Any:  # fmt: skip
    """Normalized by these moments. NB: no fused op, other than in Keras 2."""
    if axis != -1:
        shape = [1] * len(x.shape)
        shape[axis] = mean.shape[0]
        mean, variance = tf.reshape(mean, shape), tf.reshape(variance, shape)
        offset = None if offset is None else tf.reshape(offset, shape)
        scale = None if scale is None else tf.reshape(scale, shape)
    return tf.nn.batch_normalization(
        x=x, mean=mean, variance=variance, offset=offset, scale=scale, variance_epsilon=epsilon
    )


@operation
def layer_normalization(
    x: Any, gamma: Any = None, beta: Any = None, axis: Any = -1, epsilon: float | None = None
) -> Any:
    """Each example normalized by its own moments."""
    original, compute = x.dtype, dtypes.result_type(x.dtype, "float32")
    x = convert_to_tensor(x, compute)
    axes = sorted([axis] if isinstance(axis, int) else axis)
    rank = len(x.shape)
    broadcast = [1] * rank
    for each in axes:
        broadcast[each] = x.shape[each]

    def aligned(weight: Any) -> Any:
        if weight is None:
            return None
        weight = convert_to_tensor(weight, x.dtype)
        same = len(weight.shape) == rank or axes == [rank - 1]
        return weight if same else reshape(weight, broadcast)

    mean, variance = moments(x, axes=axes, keepdims=True)
    gamma, beta = aligned(gamma), aligned(beta)
    inverse = tf.math.rsqrt(variance + (keras_epsilon() if epsilon is None else epsilon))
    if gamma is not None:
        inverse = inverse * gamma
    rest = -mean * inverse
    if beta is not None:
        rest = rest + beta
    return tf.cast(x * inverse + rest, original)


@operation
def rms_normalization(x: Any, scale: Any = None, axis: Any = -1, epsilon: Any = None) -> Any:
    """Each example divided by the root of the mean of its squares."""
    original = x.dtype
    x = convert_to_tensor(x, dtypes.result_type(x.dtype, "float32"))
    scale = None if scale is None else convert_to_tensor(scale, x.dtype)
    squares = mean(tf.square(x), axis=axis, keepdims=True)
    inverse = tf.math.rsqrt(squares + (keras_epsilon() if epsilon is None else epsilon))
    outputs = multiply(x, inverse)
    return tf.cast(outputs if scale is None else multiply(outputs, scale), original)


@operation
def normalize(x: Any, axis: Any = -1, order: int = 2, epsilon: float | None = None) -> Any:
    """Divided by its norm. Raises NotInThisRuntime for other norms than the second."""
    if order != 2:
        raise NotInThisRuntime(f"keras.ops.normalize(order={order})")
    x = convert_to_tensor(x)
    inverse = tf.math.rsqrt(sum(tf.square(x), axis=axis, keepdims=True))
    limit = 1.0 / (keras_epsilon() if epsilon is None else epsilon)
    return x * minimum(inverse, limit)


# Cross entropies


def _logits(output: Any, from_logits: bool, op_type: str) -> tuple[Any, bool]:
    """The logits behind an activation, if they can be had: the loss of them is more exact."""
    if hasattr(output, "_keras_logits"):
        return output._keras_logits, True
    if not tf.executing_eagerly() and isinstance(output, tf.Tensor):
        op = output.op  # type: ignore[attr-defined]
        if op.type == op_type:
            return op.inputs[0], True
    return output, from_logits


@operation
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """The cross entropy of two distributions."""
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    output, from_logits = _logits(output, from_logits, "Softmax")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(labels=target, logits=output, axis=axis)
    output = output / tf.reduce_sum(output, axis, keepdims=True)
    output = tf.clip_by_value(output, keras_epsilon(), 1.0 - keras_epsilon())
    return -tf.reduce_sum(target * tf.math.log(output), axis)


@operation
def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """The cross entropy with one right class each. Raises ValueError for ranks that don't fit."""
    del axis
    output, from_logits = _logits(output, from_logits, "Softmax")
    target = tf.cast(tf.convert_to_tensor(target), dtype="int64")
    output = tf.convert_to_tensor(output)
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = tf.squeeze(target, axis=-1)
    if len(target.shape) != len(output.shape) - 1:
        raise ValueError(
            "Argument `output` must have rank (ndim) `target.ndim - 1`. Received: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    if not from_logits:
        output = tf.clip_by_value(output, keras_epsilon(), 1 - keras_epsilon())
        output = tf.math.log(output)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)


@operation
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """The cross entropy of yes and no. Raises ValueError for ranks that differ."""
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    if len(target.shape) != len(output.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same rank (ndim). Received: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    output, from_logits = _logits(output, from_logits, "Sigmoid")
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    output = tf.clip_by_value(output, keras_epsilon(), 1.0 - keras_epsilon())
    entropy = target * tf.math.log(output)
    entropy += (1 - target) * tf.math.log(1 - output)
    return -entropy
