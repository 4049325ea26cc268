"""Metrics: numbers that gather over batches in variables of their own.

Told about: `keras/src/metrics/` and `utils/metrics_utils.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.keras import backend, configuring, loss_functions, losses
from tflogscope.runtime.keras.bounded_metrics import (
    PrecisionAtRecall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
)
from tflogscope.runtime.keras.configuring import serialize
from tflogscope.runtime.keras.confusion_metrics import (
    AUC,
    FalseNegatives,
    FalsePositives,
    MeanIoU,
    Precision,
    Recall,
    TrueNegatives,
    TruePositives,
)
from tflogscope.runtime.keras.f_score_metrics import F1Score, FBetaScore
from tflogscope.runtime.keras.metrics_base import Mean, Metric, Sum
from tflogscope.runtime.keras.reduction import apply_valid_mask, mask_of, match_ranks
from tflogscope.runtime.tensors import EagerTensor

__all__ = [
    "AUC",
    "Accuracy",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "F1Score",
    "FBetaScore",
    "FalseNegatives",
    "FalsePositives",
    "Hinge",
    "KLDivergence",
    "LogCoshError",
    "Mean",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanIoU",
    "MeanMetricWrapper",
    "MeanRelativeError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Metric",
    "Poisson",
    "Precision",
    "PrecisionAtRecall",
    "Recall",
    "RecallAtPrecision",
    "RootMeanSquaredError",
    "SensitivityAtSpecificity",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy",
    "SpecificityAtSensitivity",
    "SquaredHinge",
    "Sum",
    "TopKCategoricalAccuracy",
    "TrueNegatives",
    "TruePositives",
    "deserialize",
    "get",
    "serialize",
]  # fmt: skip


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name or backend.unique_name("mean_metric_wrapper"), dtype)
        self._fn = fn
        self._options = dict(kwargs)

    def get_config(self) -> dict[str, Any]:
        """Name, dtype and what the function gets besides labels and predictions."""
        return {"name": self.name, "dtype": self.dtype, **self._options}

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


class MeanRelativeError(Mean):
    """The error divided by what is normal."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name or "mean_relative_error", dtype)
        self.normalizer = tf.cast(normalizer, self.dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true, y_pred = tf.cast(y_true, self.dtype), tf.cast(y_pred, self.dtype)
        y_pred, y_true = match_ranks(y_pred, y_true)
        y_pred, self.normalizer = match_ranks(y_pred, self.normalizer)
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        errors = tf.math.divide_no_nan(tf.abs(y_true - y_pred), self.normalizer)
        return super().update_state(errors, sample_weight=sample_weight)


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


def _wrapper(
    function: Callable[..., Any],
    class_name: str,
    text: str,
    called: str | None = None,
    **options: Any,
) -> Any:
    name = called or backend.to_snake_case(class_name)

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        # as TensorFlow's parameters stand: options come last, `k` of the best ones first
        order = ("k", "name", "dtype") if "k" in options else ("name", "dtype", *options)
        given = {"name": name, "dtype": None, **options, **dict(zip(order, args, strict=False))}
        MeanMetricWrapper.__init__(self, function, **given | kwargs)

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
MeanSquaredError = _wrapper(loss_functions.mean_squared_error, "MeanSquaredError", "Its mean.")
MeanAbsoluteError = _wrapper(loss_functions.mean_absolute_error, "MeanAbsoluteError", "Its mean.")
MeanAbsolutePercentageError = _wrapper(
    loss_functions.mean_absolute_percentage_error, "MeanAbsolutePercentageError", "Its mean."
)
MeanSquaredLogarithmicError = _wrapper(
    loss_functions.mean_squared_logarithmic_error, "MeanSquaredLogarithmicError", "Its mean."
)
Hinge = _wrapper(loss_functions.hinge, "Hinge", "Its mean.")
SquaredHinge = _wrapper(loss_functions.squared_hinge, "SquaredHinge", "Its mean.")
CategoricalHinge = _wrapper(loss_functions.categorical_hinge, "CategoricalHinge", "Its mean.")
Poisson = _wrapper(loss_functions.poisson, "Poisson", "Its mean.")
KLDivergence = _wrapper(
    loss_functions.kl_divergence, "KLDivergence", "Its mean.", called="kullback_leibler_divergence"
)
LogCoshError = _wrapper(loss_functions.log_cosh, "LogCoshError", "Its mean.", called="logcosh")


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """1 for the same direction, -1 for the opposite."""
    one, other = (
        tf.linalg.l2_normalize(y_true, axis=axis),
        tf.linalg.l2_normalize(y_pred, axis=axis),
    )
    return tf.reduce_sum(one * other, axis=axis)


CosineSimilarity = _wrapper(cosine_proximity, "CosineSimilarity", "Its mean.", axis=-1)
BinaryCrossentropy = _wrapper(
    loss_functions.binary_crossentropy,
    "BinaryCrossentropy",
    "Its mean.",
    from_logits=False,
    label_smoothing=0,
)
CategoricalCrossentropy = _wrapper(
    loss_functions.categorical_crossentropy,
    "CategoricalCrossentropy",
    "Its mean.",
    from_logits=False,
    label_smoothing=0,
)
SparseCategoricalCrossentropy = _wrapper(
    loss_functions.sparse_categorical_crossentropy,
    "SparseCategoricalCrossentropy",
    "Its mean.",
    from_logits=False,
    ignore_class=None,
    axis=-1,
)


mean_squared_error = mse = MSE = loss_functions.mean_squared_error
mean_absolute_error = mae = MAE = loss_functions.mean_absolute_error
mean_absolute_percentage_error = mape = MAPE = loss_functions.mean_absolute_percentage_error
mean_squared_logarithmic_error = msle = MSLE = loss_functions.mean_squared_logarithmic_error
binary_crossentropy = loss_functions.binary_crossentropy
binary_focal_crossentropy = loss_functions.binary_focal_crossentropy
categorical_crossentropy = loss_functions.categorical_crossentropy
categorical_focal_crossentropy = loss_functions.categorical_focal_crossentropy
sparse_categorical_crossentropy = loss_functions.sparse_categorical_crossentropy
hinge, squared_hinge = loss_functions.hinge, loss_functions.squared_hinge
kl_divergence = kld = KLD = kullback_leibler_divergence = loss_functions.kl_divergence
log_cosh = logcosh = loss_functions.log_cosh
poisson = loss_functions.poisson


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The metric that a configuration describes, or the one of that name."""
    with configuring.custom_object_scope(custom_objects or {}):
        if isinstance(config, dict):
            return configuring.deserialize(config, globals().get, "metric function")
    return configuring.custom_objects.get(config) or get(config)


def get(identifier: Any) -> Any:
    """The metric, or the function for one, of that name.

    An unknown name is given back as it is, as `deserialize_keras_object` does with all text: that
    it can't be called is found out later.
    """
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if not isinstance(identifier, str):
        return identifier
    found = globals().get(identifier, getattr(losses, identifier, None))
    if isinstance(found, type) and issubclass(found, Metric):
        return found()
    return found if callable(found) and not identifier.startswith("_") else identifier


def number_of(value: Any) -> Any:
    """A tensor as a Python number, if it holds one, else as an array."""
    if not isinstance(value, EagerTensor):
        return value
    array = np.asarray(value.numpy())
    return array.item() if array.ndim == 0 else array


__getattr__ = missing("tf.keras.metrics")
