"""What `tf.keras.backend` calls the functions of `tf`: for layers and losses that users write.

Told about: `keras/src/backend.py`.
"""
# ruff: noqa: A001  (the names are Keras')

from __future__ import annotations

from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import activations, backend, loss_functions

abs, square, exp, log, sign, sin, cos = (
    tf.abs, tf.square, tf.exp, tf.math.log, tf.sign, tf.sin, tf.cos,
)  # fmt: skip
round, maximum, minimum, pow = tf.round, tf.maximum, tf.minimum, tf.pow
equal, not_equal, greater, greater_equal = tf.equal, tf.not_equal, tf.greater, tf.greater_equal
less, less_equal, cast, shape, reshape = tf.less, tf.less_equal, tf.cast, tf.shape, tf.reshape
expand_dims, squeeze, zeros_like, ones_like = (
    tf.expand_dims,
    tf.squeeze,
    tf.zeros_like,
    tf.ones_like,
)
transpose, identity, stop_gradient = tf.transpose, tf.identity, tf.stop_gradient
one_hot, tile, reverse, gather = tf.one_hot, tf.tile, tf.reverse, tf.gather
relu, sigmoid, tanh, elu = activations.relu, tf.sigmoid, tf.tanh, activations.elu
softplus, softsign, hard_sigmoid = tf.math.softplus, tf.math.softsign, activations.hard_sigmoid


name_scope = tf.name_scope


def int_shape(x: Any) -> Any:
    """The shape as a tuple; None where it isn't known."""
    return None if x.shape.rank is None else tuple(x.shape)


def ndim(x: Any) -> Any:
    """The number of dimensions."""
    return x.shape.rank


def dtype(x: Any) -> str:
    """The dtype's name."""
    return str(x.dtype.name)


def get_value(x: Any) -> Any:
    """The value as an array."""
    return x.numpy() if hasattr(x, "numpy") else np.asarray(x)


eval = get_value


def batch_get_value(tensors: Any) -> list[Any]:
    """The values of several."""
    return [get_value(each) for each in tensors]


def set_value(x: Any, value: Any) -> None:
    """Assign a variable its value."""
    backend.batch_set_value([(x, value)])


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A variable of the default dtype."""
    return tf.Variable(value, dtype=dtype or backend.floatx(), name=name, constraint=constraint)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """A constant of the default dtype."""
    return tf.constant(value, dtype=dtype or backend.floatx(), shape=shape, name=name or "Const")


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros."""
    return variable(tf.zeros(shape, dtype or backend.floatx()), dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones."""
    return variable(tf.ones(shape, dtype or backend.floatx()), dtype, name)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum."""
    return tf.reduce_sum(x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product."""
    return tf.reduce_prod(x, axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest."""
    return tf.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest."""
    return tf.reduce_min(x, axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance."""
    return tf.math.reduce_variance(x, axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation."""
    return tf.math.reduce_std(x, axis, keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x)))."""
    return tf.reduce_logsumexp(x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Is one of them true?"""
    return tf.reduce_any(tf.cast(x, tf.bool), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Are all true?"""
    return tf.reduce_all(tf.cast(x, tf.bool), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    """Where the largest stands."""
    return tf.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    """Where the smallest stands."""
    return tf.argmin(x, axis)


def cumsum(x: Any, axis: int = 0) -> Any:
    """The sums so far."""
    return tf.cumsum(x, axis=axis)


def sqrt(x: Any) -> Any:
    """The root; of negative numbers 0."""
    return tf.sqrt(tf.maximum(x, backend.constant_to_tensor(0.0, x.dtype)))


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """Between two values."""
    upper = np.inf if max_value is None else max_value
    return tf.clip_by_value(x, -np.inf if min_value is None else min_value, upper)


def dot(x: Any, y: Any) -> Any:
    """The product over the last axis of one and the last but one of the other."""
    if x.shape.rank > 2 or y.shape.rank > 2:
        return tf.tensordot(x, y, [[x.shape.rank - 1], [y.shape.rank - 2]])
    return tf.matmul(x, y)


def flatten(x: Any) -> Any:
    """All in one dimension."""
    return tf.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """All but the first dimension in one."""
    return tf.reshape(x, tf.stack([-1, tf.reduce_prod(tf.shape(x)[1:])], name="stack_shape"))


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """One behind the other."""
    return tf.concat(list(tensors), axis)


def stack(x: Any, axis: int = 0) -> Any:
    """Along a new axis."""
    return tf.stack(x, axis=axis)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    """The dimensions in another order."""
    return tf.transpose(x, perm=pattern)


def l2_normalize(x: Any, axis: Any = None) -> Any:
    """Divided by its norm."""
    return tf.linalg.l2_normalize(x, axis=axis)


def softmax(x: Any, axis: int = -1) -> Any:
    """Softmax."""
    return tf.nn.softmax(x, axis=axis)


def arange(start: Any, stop: Any = None, step: int = 1, dtype: str = "int32") -> Any:
    """Numbers in a row."""
    start, stop = (0, start) if stop is None else (start, stop)
    result = tf.range(start, limit=stop, delta=step, name="arange")
    return result if dtype == "int32" else tf.cast(result, dtype)


def cast_to_floatx(x: Any) -> Any:
    """In the default dtype."""
    if isinstance(x, (tf.Tensor, tf.Variable)):
        return tf.cast(x, backend.floatx())
    return np.asarray(x, dtype=backend.floatx())


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Normally distributed numbers; without a seed another one of NumPy's each time."""
    seed = np.random.randint(10_000_000) if seed is None else seed
    return tf.random.normal(shape, mean, stddev, dtype or backend.floatx(), seed)


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Numbers between two limits; without a seed another one of NumPy's each time."""
    seed = np.random.randint(10_000_000) if seed is None else seed
    return tf.random.uniform(shape, minval, maxval, dtype or backend.floatx(), seed)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Cross entropy of yes and no, for each number."""
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    return loss_functions._binary(target, output, from_logits)


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross entropy with a distribution over classes as target."""
    return loss_functions.categorical_crossentropy(target, output, from_logits, axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross entropy with the number of a class as target."""
    return loss_functions.sparse_categorical_crossentropy(target, output, from_logits, axis)


def count_params(x: Any) -> int:
    """How many numbers it holds."""
    return int(np.prod(x.shape.as_list()))


def update(x: Any, new_x: Any) -> Any:
    """Assign a variable its value."""
    return x.assign(new_x)


def update_add(x: Any, increment: Any) -> Any:
    """Add to a variable."""
    return x.assign_add(increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """Take from a variable."""
    return x.assign_sub(decrement)


def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """A share of the numbers set to 0, the others scaled up."""
    seed = np.random.randint(10_000_000) if seed is None else seed
    return tf.nn.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Each slice so many times."""
    return tf.repeat(x, rep, axis=axis)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two, as the condition says."""
    then, other = (
        each if callable(each) else (lambda value=each: value)
        for each in (then_expression, else_expression)
    )
    if condition.shape.rank:
        return tf.where(condition, then(), other())
    return tf.cond(tf.cast(condition, tf.bool), then, other)


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """The first in training, else the second."""
    training = backend.learning_phase() if training is None else training
    chosen = x if training else alt
    return chosen() if callable(chosen) else chosen


def is_keras_tensor(x: Any) -> bool:
    """Is it a tensor to be?"""
    from tflogscope.runtime.keras.keras_tensor import is_keras_tensor as is_one

    return is_one(x)
