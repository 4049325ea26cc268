"""Metrics: numbers that gather over batches in variables of their own.

Told about: `keras/src/metrics/` and `utils/metrics_utils.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.keras import backend, losses
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.reduction import apply_valid_mask, mask_of, match_ranks
from tflogscope.runtime.tensors import EagerTensor

__all__ = [
    "Accuracy", "BinaryAccuracy", "BinaryCrossentropy", "CategoricalAccuracy",
    "CategoricalCrossentropy", "Mean", "MeanAbsoluteError", "MeanMetricWrapper", "MeanSquaredError",
    "Metric", "RootMeanSquaredError", "SparseCategoricalAccuracy", "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy", "Sum", "TopKCategoricalAccuracy", "get",
]  # fmt: skip


class Metric(Layer):
    """Subclasses have `update_state` and `result`, and make their variables with `add_weight`."""

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.built = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """What users write in these two methods is converted by AutoGraph, and a result is a tensor
        of its own.
        """
        super().__init_subclass__(**kwargs)
        if "update_state" in cls.__dict__:
            cls.update_state = _converting(cls.__dict__["update_state"])  # type: ignore[method-assign]
        if "result" in cls.__dict__:
            cls.result = _identical(cls.__dict__["result"])  # type: ignore[method-assign]

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Take a batch into account."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The metric over all that was seen since the last reset."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_state(self) -> None:
        """Forget what was seen."""
        backend.batch_set_value([(variable, 0) for variable in self.variables])

    def reset_states(self) -> None:
        """The old name of `reset_state`."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take a batch into account, and give the result."""
        update = self.update_state(*args, **kwargs)
        with tf.control_dependencies([] if update is None else [update]):
            return self.result()

    def add_weight(  # type: ignore[override]
        self, name: str, shape: Any = (), initializer: Any = None, dtype: Any = None, **_: Any
    ) -> Any:
        """A variable of this metric, never trained."""
        with nullcontext() if tf.executing_eagerly() else tf.init_scope():
            return super().add_weight(
                name, shape, dtype or self.dtype, initializer or "zeros", trainable=False
            )


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    def update_state(self: Metric, *args: Any, **kwargs: Any) -> Any:
        return tf_convert(function, control_status())(self, *args, **kwargs)

    return update_state


def _identical(function: Callable[..., Any]) -> Callable[..., Any]:
    def result(self: Metric) -> Any:
        return tf.nest.map_structure(tf.identity, tf_convert(function, control_status())(self))

    return result


# Means


class _Reduced(Metric):
    """A sum, and for a mean the weight of what was summed."""

    counts = True

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight("total", initializer="zeros")
        if self.counts:
            self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = tf.cast(values, self.dtype)
        if sample_weight is not None:
            sample_weight = tf.cast(sample_weight, self.dtype)
            values, _, sample_weight = match_ranks(values, weights=sample_weight)
            values, sample_weight = self._aligned(values, sample_weight)
            values = tf.multiply(values, sample_weight)
        total = tf.reduce_sum(values)
        with tf.control_dependencies([total]):
            update = self.total.assign_add(total)
        if not self.counts:
            return update
        if sample_weight is None:
            number = tf.cast(tf.size(values), self.dtype)
        else:
            number = tf.reduce_sum(sample_weight)
        with tf.control_dependencies([update]):
            return self.count.assign_add(number)

    def _aligned(self, values: Any, weights: Any) -> tuple[Any, Any]:
        """Both in one shape; values are reduced over dimensions that weights don't have."""
        if weights.shape == values.shape:
            return values, weights
        if weights.shape.rank in (0, values.shape.rank):
            return values, weights * tf.ones_like(values)
        axes = list(range(weights.shape.rank, values.shape.rank))
        return (tf.reduce_mean if self.counts else tf.reduce_sum)(values, axis=axes), weights

    def result(self) -> Any:
        if self.counts:
            return tf.math.divide_no_nan(self.total, self.count)
        return tf.identity(self.total)


class Mean(_Reduced):
    """The weighted mean of all values."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class Sum(_Reduced):
    """The weighted sum of all values."""

    counts = False

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name or backend.unique_name("mean_metric_wrapper"), dtype)
        self._fn = fn
        self._options = dict(kwargs)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true = tf.cast(y_true, self.dtype)
        y_pred = tf.cast(y_pred, self.dtype)
        y_pred, y_true = match_ranks(y_pred, y_true)
        values = tf_convert(self._fn, control_status())(y_true, y_pred, **self._options)
        weights = apply_valid_mask(values, sample_weight, mask_of(values), "weighted_mean")
        return super().update_state(values, sample_weight=weights)


class RootMeanSquaredError(Mean):
    """The root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true = tf.cast(y_true, self.dtype)
        y_pred = tf.cast(y_pred, self.dtype)
        y_pred, y_true = match_ranks(y_pred, y_true)
        squares = tf.math.squared_difference(y_pred, y_true)
        return super().update_state(squares, sample_weight=sample_weight)

    def result(self) -> Any:
        return tf.sqrt(tf.math.divide_no_nan(self.total, self.count))


# Functions: a value per example


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where both are equal."""
    y_true.shape.assert_is_compatible_with(y_pred.shape)
    y_pred = y_pred if y_true.dtype == y_pred.dtype else tf.cast(y_pred, y_true.dtype)
    return tf.cast(tf.equal(y_true, y_pred), backend.floatx())


def binary_matches(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """1 where the prediction is on the label's side of the threshold."""
    y_pred = tf.convert_to_tensor(y_pred)
    limit = tf.cast(threshold, y_pred.dtype)
    y_pred = tf.cast(y_pred > limit, y_pred.dtype)
    return tf.cast(tf.equal(y_true, y_pred), backend.floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """The share of `binary_matches` in the last dimension."""
    return tf.reduce_mean(binary_matches(y_true, y_pred, threshold), axis=-1)


def sparse_categorical_matches(y_true: Any, y_pred: Any) -> Any:
    """1 where the label is the most likely class."""
    y_pred, y_true = tf.convert_to_tensor(y_pred), tf.convert_to_tensor(y_true)
    shape = tf.shape(y_true)
    squeezed = y_true.shape.rank == y_pred.shape.rank
    if squeezed:
        y_true = tf.squeeze(y_true, [-1])
    y_pred = tf.math.argmax(y_pred, axis=-1)
    if y_pred.dtype != y_true.dtype:
        y_pred = tf.cast(y_pred, y_true.dtype)
    matches = tf.cast(tf.equal(y_true, y_pred), backend.floatx())
    return tf.reshape(matches, shape=shape) if squeezed else matches


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """The same, without a last dimension of 1."""
    matches = sparse_categorical_matches(y_true, y_pred)
    if matches.shape.rank > 1 and matches.shape[-1] == 1:
        matches = tf.squeeze(matches, [-1])
    return matches


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where the most likely classes of label and prediction are the same."""
    return sparse_categorical_matches(tf.math.argmax(y_true, axis=-1), y_pred)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """1 where the label is among the `k` most likely classes."""
    y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    shape = tf.shape(y_true)
    if y_pred.shape.rank > 2:
        y_pred = tf.reshape(y_pred, [-1, y_pred.shape[-1]])
    flattened = y_true.shape.rank > 1
    if flattened:
        y_true = tf.reshape(y_true, [-1])
    found = tf.math.in_top_k(predictions=y_pred, targets=tf.cast(y_true, "int32"), k=k)
    matches = tf.cast(found, dtype=backend.floatx())
    return tf.reshape(matches, shape=shape) if flattened else matches


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """The same for a distribution over classes as label."""
    return sparse_top_k_categorical_accuracy(tf.math.argmax(y_true, axis=-1), y_pred, k)


# Objects


def _wrapper(function: Callable[..., Any], class_name: str, text: str, **options: Any) -> Any:
    name = backend.to_snake_case(class_name)

    def made(self: Any, *args: Any, name: str = name, dtype: Any = None, **kwargs: Any) -> None:
        given = dict(zip(options, args, strict=False))
        MeanMetricWrapper.__init__(self, function, name, dtype, **{**options, **given, **kwargs})

    body = {"__init__": made, "__doc__": text, "__module__": __name__}
    return type(class_name, (MeanMetricWrapper,), body)


Accuracy = _wrapper(accuracy, "Accuracy", "How often label and prediction are equal.")
BinaryAccuracy = _wrapper(
    binary_matches, "BinaryAccuracy", "How often yes and no are right.", threshold=0.5
)
CategoricalAccuracy = _wrapper(
    categorical_accuracy, "CategoricalAccuracy", "How often the most likely class is right."
)
SparseCategoricalAccuracy = _wrapper(
    sparse_categorical_matches, "SparseCategoricalAccuracy", "The same for labels that are numbers."
)
TopKCategoricalAccuracy = _wrapper(
    top_k_categorical_accuracy,
    "TopKCategoricalAccuracy",
    "How often the class is among the k.",
    k=5,
)
SparseTopKCategoricalAccuracy = _wrapper(
    sparse_top_k_categorical_accuracy, "SparseTopKCategoricalAccuracy", "For number labels.", k=5
)
MeanSquaredError = _wrapper(losses.mean_squared_error, "MeanSquaredError", "Its mean.")
MeanAbsoluteError = _wrapper(losses.mean_absolute_error, "MeanAbsoluteError", "Its mean.")
BinaryCrossentropy = _wrapper(
    losses.binary_crossentropy,
    "BinaryCrossentropy",
    "Its mean.",
    from_logits=False,
    label_smoothing=0,
)
CategoricalCrossentropy = _wrapper(
    losses.categorical_crossentropy,
    "CategoricalCrossentropy",
    "Its mean.",
    from_logits=False,
    label_smoothing=0,
)
SparseCategoricalCrossentropy = _wrapper(
    losses.sparse_categorical_crossentropy,
    "SparseCategoricalCrossentropy",
    "Its mean.",
    from_logits=False,
)


def get(identifier: Any) -> Any:
    """The metric, or the function for one, of that name. Raises ValueError for an unknown name."""
    if not isinstance(identifier, str):
        return identifier
    found = globals().get(identifier, getattr(losses, identifier, None))
    if isinstance(found, type) and issubclass(found, Metric):
        return found()
    if not callable(found) or identifier.startswith("_"):
        raise ValueError(f"Unknown metric function: '{identifier}'.")
    return found


def number_of(value: Any) -> Any:
    """A tensor as a Python number, if it holds one, else as an array."""
    if not isinstance(value, EagerTensor):
        return value
    array = np.asarray(value.numpy())
    return array.item() if array.ndim == 0 else array


__getattr__ = missing("tf.keras.metrics")
