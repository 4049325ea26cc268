"""Losses as functions: a value per example.

Told about: `keras/src/losses.py`, and the cross entropies of `backend.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend
from tflogscope.runtime.tensors import SymbolicTensor


def _alike(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = tf.convert_to_tensor(y_pred)
    return tf.cast(y_true, y_pred.dtype), y_pred


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """Mean of the squared differences over the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    return backend.mean(tf.math.squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """Mean of the absolute differences over the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    return backend.mean(tf.abs(y_pred - y_true), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """Mean of the absolute differences in percent of the labels."""
    y_true, y_pred = _alike(y_true, y_pred)
    share = tf.abs((y_true - y_pred) / tf.maximum(tf.abs(y_true), backend.epsilon()))
    return 100.0 * backend.mean(share, axis=-1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """Mean of the squared differences of logarithms."""
    y_true, y_pred = _alike(y_true, y_pred)
    first = tf.math.log(tf.maximum(y_pred, backend.epsilon()) + 1.0)
    second = tf.math.log(tf.maximum(y_true, backend.epsilon()) + 1.0)
    return backend.mean(tf.math.squared_difference(first, second), axis=-1)


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """Squares near 0, absolute values beyond `delta`."""
    y_pred = tf.cast(y_pred, dtype=backend.floatx())
    y_true = tf.cast(y_true, dtype=backend.floatx())
    limit = tf.cast(delta, dtype=backend.floatx())
    error = tf.subtract(y_pred, y_true)
    size = tf.abs(error)
    half = tf.convert_to_tensor(0.5, dtype=size.dtype)
    chosen = tf.where(
        size <= limit, half * tf.square(error), limit * size - half * tf.square(limit)
    )
    return backend.mean(chosen, axis=-1)


def log_cosh(y_true: Any, y_pred: Any) -> Any:
    """Mean of log(cosh(difference))."""
    y_true, y_pred = _alike(y_true, y_pred)
    x = y_pred - y_true
    return backend.mean(
        x + tf.math.softplus(-2.0 * x) - tf.cast(tf.math.log(2.0), x.dtype), axis=-1
    )


def hinge(y_true: Any, y_pred: Any) -> Any:
    """Mean of max(1 - labels * predictions, 0); labels 0 and 1 are taken as -1 and 1."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = _signs(y_true)
    return backend.mean(tf.maximum(1.0 - y_true * y_pred, 0.0), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """Mean of the same, squared."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = _signs(y_true)
    return backend.mean(tf.square(tf.maximum(1.0 - y_true * y_pred, 0.0)), axis=-1)


def _signs(y_true: Any) -> Any:
    """Labels 0 and 1 as -1 and 1."""
    is_binary = tf.reduce_all(tf.logical_or(tf.equal(y_true, 0), tf.equal(y_true, 1)))
    return backend.smart_cond(is_binary, lambda: 2.0 * y_true - 1.0, lambda: y_true)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """How much the best wrong class is better than the right one."""
    y_true, y_pred = _alike(y_true, y_pred)
    right = tf.reduce_sum(y_true * y_pred, axis=-1)
    wrong = tf.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return tf.maximum(wrong - right + 1.0, tf.cast(0.0, y_pred.dtype))


def kl_divergence(y_true: Any, y_pred: Any) -> Any:
    """Labels * log(labels / predictions), summed."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = tf.clip_by_value(y_true, backend.epsilon(), 1)
    y_pred = tf.clip_by_value(y_pred, backend.epsilon(), 1)
    return tf.reduce_sum(y_true * tf.math.log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """Mean of predictions - labels * log(predictions)."""
    y_true, y_pred = _alike(y_true, y_pred)
    return backend.mean(y_pred - y_true * tf.math.log(y_pred + backend.epsilon()), axis=-1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """-1 for the same direction, 1 for the opposite."""
    y_true = tf.linalg.l2_normalize(y_true, axis=axis)
    y_pred = tf.linalg.l2_normalize(y_pred, axis=axis)
    return -tf.reduce_sum(y_true * y_pred, axis=axis)


def binary_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross entropy of yes and no, the mean over the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    smoothing = tf.convert_to_tensor(label_smoothing, dtype=y_pred.dtype)
    y_true = _smoothed(
        label_smoothing, lambda: y_true * (1.0 - smoothing) + 0.5 * smoothing, y_true
    )
    return backend.mean(_binary(y_true, y_pred, from_logits), axis=axis)


def _binary(target: Any, output: Any, from_logits: bool) -> Any:
    output, from_logits = _logits(output, from_logits, "Sigmoid")
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    output = _clipped(output)
    result = target * tf.math.log(output + backend.epsilon())
    result += (1 - target) * tf.math.log(1 - output + backend.epsilon())
    return -result


def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross entropy of yes and no, times the share that was missed to the power `gamma`."""
    y_true, y_pred = _alike(y_true, y_pred)
    smoothing = tf.convert_to_tensor(label_smoothing, dtype=y_pred.dtype)
    y_true = _smoothed(
        label_smoothing, lambda: y_true * (1.0 - smoothing) + 0.5 * smoothing, y_true
    )
    chance = tf.sigmoid(y_pred) if from_logits else y_pred
    right = y_true * chance + (1 - y_true) * (1 - chance)
    focal = tf.pow(1.0 - right, gamma) * _binary(y_true, y_pred, from_logits)
    if apply_class_balancing:
        focal = (y_true * alpha + (1 - y_true) * (1 - alpha)) * focal
    return backend.mean(focal, axis=axis)


def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross entropy with a distribution over classes as label."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = _smoothed_classes(label_smoothing, y_true, y_pred.dtype)
    y_true.shape.assert_is_compatible_with(y_pred.shape)
    output, from_logits = _logits(y_pred, from_logits, "Softmax")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(labels=y_true, logits=output, axis=axis)
    output = output / tf.reduce_sum(output, axis, True)
    return -tf.reduce_sum(y_true * tf.math.log(_clipped(output)), axis)


def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross entropy with a distribution as label, times what was missed to the power `gamma`."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = _smoothed_classes(label_smoothing, y_true, y_pred.dtype)
    y_true.shape.assert_is_compatible_with(y_pred.shape)
    output, from_logits = _logits(y_pred, from_logits, "Softmax")
    output = tf.nn.softmax(output, axis=axis) if from_logits else output
    output = _clipped(output / tf.reduce_sum(output, axis, True))
    entropy = -y_true * tf.math.log(output)
    weight = tf.multiply(tf.pow(1.0 - output, gamma), alpha)
    return tf.reduce_sum(tf.multiply(weight, entropy), axis)


def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> Any:
    """Cross entropy with the number of a class as label; 0 for labels of `ignore_class`, which are
    masked.
    """
    target = tf.cast(tf.convert_to_tensor(y_true), "int64")
    output, from_logits = _logits(tf.convert_to_tensor(y_pred), from_logits, "Softmax")
    if not from_logits:
        epsilon = tf.constant(backend.epsilon(), dtype=output.dtype)
        output = tf.math.log(tf.clip_by_value(output, epsilon, 1 - epsilon))
    rank = output.shape.rank
    if axis % rank != rank - 1:
        output = tf.transpose(
            output, [dim for dim in range(rank) if dim != axis % rank] + [axis % rank]
        )
    shape = tf.shape(output)
    flatten = target.shape.rank is not None and target.shape.rank != rank - 1
    if flatten:
        target = tf.reshape(target, [-1])
        output = tf.reshape(output, [-1, shape[-1]])
    valid = None
    if ignore_class is not None:
        valid = tf.not_equal(target, tf.cast(ignore_class, target.dtype))
        target, output = target[valid], output[valid]
    result = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    if valid is not None:
        dims = tf.cast(shape[:-1], "int64")
        valid = tf.reshape(valid, dims)
        result = tf.scatter_nd(tf.where(valid), result, dims)
        result._keras_mask = valid
        return result
    return tf.reshape(result, shape[:-1]) if flatten and rank >= 3 else result


def _smoothed(label_smoothing: float, smooth: Callable[[], Any], labels: Any) -> Any:
    return smooth() if label_smoothing else labels


def _smoothed_classes(label_smoothing: float, labels: Any, dtype: Any) -> Any:
    smoothing = tf.convert_to_tensor(label_smoothing, dtype=dtype)

    def smooth() -> Any:
        classes = tf.cast(tf.shape(labels)[-1], dtype)
        return labels * (1.0 - smoothing) + smoothing / classes

    return _smoothed(label_smoothing, smooth, labels)


def _clipped(output: Any) -> Any:
    epsilon = tf.constant(backend.epsilon(), dtype=output.dtype)
    return tf.clip_by_value(output, epsilon, 1.0 - epsilon)


def _logits(output: Any, from_logits: bool, activation: str) -> tuple[Any, bool]:
    """The logits behind the output if it was made by that activation: they are more exact."""
    marked = getattr(output, "_keras_logits", None)
    if marked is not None:
        return marked, True
    if isinstance(output, SymbolicTensor) and output.op.type == activation:
        return output.op.inputs[0], True
    return output, from_logits
