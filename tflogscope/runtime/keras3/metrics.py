"""Metrics by name: accuracies, and losses as metrics.

Told about: `keras/src/metrics/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.backend import floatx, unknown
from tflogscope.runtime.keras3 import losses, ops
from tflogscope.runtime.keras3.confusion_metrics import AUC, F1Score, FBetaScore, Precision, Recall
from tflogscope.runtime.keras3.losses import (
    KLD,
    MAE,
    MAPE,
    MSE,
    MSLE,
    binary_crossentropy,
    categorical_crossentropy,
    categorical_hinge,
    hinge,
    kl_divergence,
    kld,
    log_cosh,
    logcosh,
    mae,
    mape,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    mse,
    msle,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from tflogscope.runtime.keras3.metrics_base import Mean, MeanMetricWrapper, Metric, Sum
from tflogscope.runtime.keras3.reduction import same_rank
from tflogscope.runtime.keras3.state import snake_case

__all__ = [
    "AUC", "KLD", "MAE", "MAPE", "MSE", "MSLE", "Accuracy", "BinaryAccuracy", "BinaryCrossentropy",
    "CategoricalAccuracy", "CategoricalCrossentropy", "CategoricalHinge", "CosineSimilarity",
    "F1Score", "FBetaScore", "Hinge", "KLDivergence", "LogCoshError", "Mean", "MeanAbsoluteError",
    "MeanAbsolutePercentageError", "MeanMetricWrapper", "MeanSquaredError",
    "MeanSquaredLogarithmicError", "Metric", "Poisson", "Precision", "Recall",
    "RootMeanSquaredError", "SparseCategoricalAccuracy", "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy", "SquaredHinge", "Sum", "TopKCategoricalAccuracy",
    "binary_crossentropy", "categorical_crossentropy", "categorical_hinge", "get", "hinge",
    "kl_divergence", "kld", "log_cosh", "logcosh", "mae", "mape", "mean_absolute_error",
    "mean_absolute_percentage_error", "mean_squared_error", "mean_squared_logarithmic_error", "mse",
    "msle", "poisson", "sparse_categorical_crossentropy", "sparse_top_k_categorical_accuracy",
    "squared_hinge", "top_k_categorical_accuracy",
]  # fmt: skip


# Accuracies


def _share(matches: Any) -> Any:
    return ops.cast(matches, floatx())


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where both are equal."""
    y_pred = ops.convert_to_tensor(y_pred)
    return _share(ops.equal(*same_rank(ops.convert_to_tensor(y_true, y_pred.dtype), y_pred)))


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """1 where the prediction is on the label's side of the threshold."""
    y_pred, y_true = ops.convert_to_tensor(y_pred), ops.convert_to_tensor(y_true)
    limit = ops.convert_to_tensor(threshold)
    y_true, y_pred = same_rank(y_true, y_pred)
    y_pred = ops.cast(ops.greater(y_pred, limit), y_true.dtype)
    return _share(ops.equal(y_true, y_pred))


def _hits(y_true: Any, y_pred: Any) -> Any:
    """1 where the class with the largest prediction is the right one."""
    y_pred = ops.argmax(y_pred, axis=-1)
    if y_pred.dtype is not y_true.dtype:
        y_pred = ops.cast(y_pred, y_true.dtype)
    return _share(ops.equal(y_true, y_pred))


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where the largest prediction is that of the right class, for labels of one per class."""
    y_true = ops.argmax(y_true, axis=-1)
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.convert_to_tensor(y_true, y_pred.dtype)
    shape = ops.shape(y_true)
    if len(y_true.shape) == len(y_pred.shape):
        return ops.reshape(_hits(ops.squeeze(y_true, -1), y_pred), shape)
    return _hits(y_true, y_pred)


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """The same for labels that are numbers of classes."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.convert_to_tensor(y_true, y_pred.dtype)
    shape = ops.shape(y_true)
    column = len(y_true.shape) == len(y_pred.shape) and ops.shape(y_true)[-1] == 1
    if column:
        y_true = ops.squeeze(y_true, -1)
    matches = _hits(y_true, y_pred)
    if column:
        matches = ops.reshape(matches, shape)
    if len(matches.shape) > 1 and matches.shape[-1] == 1:
        matches = ops.squeeze(matches, -1)
    return matches


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """1 where the right class is among the `k` largest predictions, for labels of one per class."""
    y_pred = ops.convert_to_tensor(y_pred)
    labels = ops.argmax(ops.convert_to_tensor(y_true, y_pred.dtype), axis=-1)
    return _in_top_k(labels, y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """The same for labels that are numbers of classes."""
    y_pred = ops.convert_to_tensor(y_pred)
    return _in_top_k(ops.convert_to_tensor(y_true, "int32"), y_pred, k)


def _in_top_k(labels: Any, y_pred: Any, k: int) -> Any:
    shape, many = ops.shape(labels), len(labels.shape) > 1
    if len(y_pred.shape) > 2:
        y_pred = ops.reshape(y_pred, [-1, y_pred.shape[-1]])
    labels = ops.reshape(labels, [-1]) if many else labels
    matches = _share(tf.math.in_top_k(ops.cast(labels, "int32"), y_pred, k))
    return ops.reshape(matches, shape) if many else matches


# As classes


def _metric(fn: Callable[..., Any], title: str, name: str, **defaults: Any) -> Any:
    """A class for the mean of the function: its name and dtype, then the function's options; but
    `k` comes first.
    """
    own = list(defaults)
    order = [*own, "name", "dtype"] if own == ["k"] else ["name", "dtype", *own]

    def made(self: MeanMetricWrapper, *args: Any, **kwargs: Any) -> None:
        options = defaults | dict(zip(order, args, strict=False)) | kwargs
        known, dtype = options.pop("name", name), options.pop("dtype", None)
        MeanMetricWrapper.__init__(self, fn, known, dtype, **options)

    body = {"__init__": made, "__doc__": fn.__doc__, "__module__": __name__}
    return type(title, (MeanMetricWrapper,), body)


Accuracy = _metric(accuracy, "Accuracy", "accuracy")
BinaryAccuracy = _metric(binary_accuracy, "BinaryAccuracy", "binary_accuracy", threshold=0.5)
CategoricalAccuracy = _metric(categorical_accuracy, "CategoricalAccuracy", "categorical_accuracy")
SparseCategoricalAccuracy = _metric(
    sparse_categorical_accuracy, "SparseCategoricalAccuracy", "sparse_categorical_accuracy"
)
TopKCategoricalAccuracy = _metric(
    top_k_categorical_accuracy, "TopKCategoricalAccuracy", "top_k_categorical_accuracy", k=5
)
SparseTopKCategoricalAccuracy = _metric(
    sparse_top_k_categorical_accuracy,
    "SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy", k=5,
)  # fmt: skip
MeanSquaredError = _metric(mse, "MeanSquaredError", "mean_squared_error")
MeanAbsoluteError = _metric(mae, "MeanAbsoluteError", "mean_absolute_error")
MeanAbsolutePercentageError = _metric(
    mape, "MeanAbsolutePercentageError", "mean_absolute_percentage_error"
)
MeanSquaredLogarithmicError = _metric(
    msle, "MeanSquaredLogarithmicError", "mean_squared_logarithmic_error"
)
CosineSimilarity = _metric(
    lambda y_true, y_pred, axis=-1: -losses.cosine_similarity(y_true, y_pred, axis),
    "CosineSimilarity", "cosine_similarity",
)  # fmt: skip
LogCoshError = _metric(log_cosh, "LogCoshError", "logcosh")
KLDivergence = _metric(kl_divergence, "KLDivergence", "kl_divergence")
Poisson = _metric(poisson, "Poisson", "poisson")
Hinge = _metric(hinge, "Hinge", "hinge")
SquaredHinge = _metric(squared_hinge, "SquaredHinge", "squared_hinge")
CategoricalHinge = _metric(categorical_hinge, "CategoricalHinge", "categorical_hinge")
BinaryCrossentropy = _metric(binary_crossentropy, "BinaryCrossentropy", "binary_crossentropy")
CategoricalCrossentropy = _metric(
    categorical_crossentropy, "CategoricalCrossentropy", "categorical_crossentropy"
)
SparseCategoricalCrossentropy = _metric(
    sparse_categorical_crossentropy,
    "SparseCategoricalCrossentropy", "sparse_categorical_crossentropy",
)  # fmt: skip


class RootMeanSquaredError(Mean):
    """The root of the mean of squared differences."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        y_true, y_pred = (ops.convert_to_tensor(each, self.dtype) for each in (y_true, y_pred))
        y_true, y_pred = same_rank(y_true, y_pred)
        super().update_state(ops.square(y_pred - y_true), sample_weight)

    def result(self) -> Any:
        return ops.sqrt(super().result())


_SHORT = {
    "bce": BinaryCrossentropy, "mse": MeanSquaredError, "mae": MeanAbsoluteError,
    "mape": MeanAbsolutePercentageError, "msle": MeanSquaredLogarithmicError,
}  # fmt: skip
_CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in list(globals().values())
    if isinstance(each, type) and issubclass(each, Metric)
}
_BY_NAME = (
    _CLASSES
    | {snake_case(name): each for name, each in _CLASSES.items()}
    | _SHORT
    | {name.upper(): each for name, each in _SHORT.items()}
)


def get(identifier: Any) -> Any:
    """A metric of that name; functions as they are. Raises ValueError for what is none."""
    found = _BY_NAME.get(identifier) if isinstance(identifier, str) else identifier
    if found is not None and not callable(found):
        raise ValueError(f"Could not interpret metric identifier: {identifier}")
    if found is None and identifier is not None:
        raise ValueError(unknown("metric function", identifier))
    return found() if isinstance(found, type) else found


__getattr__ = missing("tf.keras.metrics")
