"""Losses: a value per example, and the mean of them.

Told about: `keras/src/losses/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.backend import epsilon, floatx, unknown
from tflogscope.runtime.keras3 import dtypes, ops
from tflogscope.runtime.keras3.reduction import (
    check_reduction,
    mask_of,
    reduce_weighted,
    same_rank,
)
from tflogscope.runtime.keras3.state import auto_name, name_scope

__all__ = [
    "BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalHinge", "CosineSimilarity",
    "Hinge", "Huber", "KLDivergence", "LogCosh", "Loss", "LossFunctionWrapper",
    "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
    "MeanSquaredLogarithmicError", "Poisson", "SparseCategoricalCrossentropy", "SquaredHinge",
    "get",
]  # fmt: skip


class Loss:
    """Subclasses have `call(y_true, y_pred)`, which gives a value per example."""

    def __init__(
        self, name: str | None = None, reduction: Any = "sum_over_batch_size", dtype: Any = None
    ) -> None:
        self.name = name or auto_name(type(self).__name__)
        self.reduction = check_reduction(reduction)
        self.dtype = dtypes.standardize(dtype or floatx())

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """A value per example."""
        raise NotImplementedError

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        mask = mask_of(y_pred)
        with name_scope(self.name):
            # NB: classes become floats here, and integers again in the op that needs them
            y_pred, y_true = (
                tf.nest.map_structure(lambda x: ops.convert_to_tensor(x, self.dtype), each)
                for each in (y_pred, y_true)
            )
            losses = self.call(y_true, y_pred)
            left = mask_of(losses)
            if mask is not None and left is not None:
                mask = mask & left
            return reduce_weighted(
                losses, sample_weight, left if mask is None else mask, self.reduction, self.dtype
            )


class LossFunctionWrapper(Loss):
    """A function as a loss."""

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: Any = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, reduction, dtype)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        if isinstance(y_pred, tf.Tensor):
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)


# Functions


def _matched(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = ops.convert_to_tensor(y_pred)
    return same_rank(ops.convert_to_tensor(y_true, y_pred.dtype), y_pred)


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of squared differences."""
    y_true, y_pred = _matched(y_true, y_pred)
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of absolute differences."""
    y_true, y_pred = _matched(y_true, y_pred)
    return ops.mean(ops.absolute(y_true - y_pred), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of absolute differences in percent of the truth."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.convert_to_tensor(y_true, y_pred.dtype)
    small = ops.convert_to_tensor(epsilon(), y_pred.dtype)
    y_true, y_pred = same_rank(y_true, y_pred)
    share = ops.absolute((y_true - y_pred) / ops.maximum(ops.absolute(y_true), small))
    return 100.0 * ops.mean(share, axis=-1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of squared differences of logarithms."""
    small = ops.convert_to_tensor(epsilon())
    y_true, y_pred = _matched(y_true, y_pred)
    first = ops.log(ops.maximum(y_pred, small) + 1.0)
    second = ops.log(ops.maximum(y_true, small) + 1.0)
    return ops.mean(ops.square(first - second), axis=-1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """The cosine between both, negated."""
    y_true, y_pred = _matched(y_true, y_pred)
    y_pred, y_true = _normalized(y_pred, axis), _normalized(y_true, axis)
    return -ops.sum(y_true * y_pred, axis=axis)


def _normalized(x: Any, axis: int) -> Any:
    """With length 1. Told about: `normalize` of `keras/src/utils/numerical_utils.py`."""
    return ops.normalize(x, axis=axis)


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """Squared differences, but linear beyond `delta`."""
    y_true, y_pred = _matched(y_true, y_pred)
    limit = ops.convert_to_tensor(delta, y_pred.dtype)
    error = ops.subtract(y_pred, y_true)
    size = ops.absolute(error)
    half = ops.convert_to_tensor(0.5, size.dtype)
    inside = size <= limit
    squares = half * ops.square(error)
    return ops.mean(ops.where(inside, squares, limit * size - half * ops.square(limit)), axis=-1)


def log_cosh(y_true: Any, y_pred: Any) -> Any:
    """The logarithm of the hyperbolic cosine of the differences."""
    y_true, y_pred = _matched(y_true, y_pred)
    log2 = ops.convert_to_tensor(ops.log(2.0), y_pred.dtype)
    difference = y_pred - y_true
    return ops.mean(difference + ops.softplus(difference * -2.0) - log2, axis=-1)


def kl_divergence(y_true: Any, y_pred: Any) -> Any:
    """How much one distribution differs from the other."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.convert_to_tensor(y_true, y_pred.dtype)
    y_true, y_pred = ops.clip(y_true, epsilon(), 1), ops.clip(y_pred, epsilon(), 1)
    return ops.sum(y_true * ops.log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """The loss of counts."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.convert_to_tensor(y_true, y_pred.dtype)
    small = ops.convert_to_tensor(epsilon(), y_pred.dtype)
    return ops.mean(y_pred - y_true * ops.log(y_pred + small), axis=-1)


def _signs(y_true: Any) -> Any:
    """Labels 0 and 1 as -1 and 1."""
    zeros, ones = ops.equal(y_true, 0), ops.equal(y_true, 1)
    is_binary = ops.all(ops.logical_or(zeros, ones))
    return ops.cond(is_binary, lambda: 2.0 * y_true - 1.0, lambda: y_true)


def _hinge(y_true: Any, y_pred: Any) -> Any:
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = _signs(ops.cast(y_true, y_pred.dtype))
    return ops.maximum(1.0 - y_true * y_pred, 0.0)


def hinge(y_true: Any, y_pred: Any) -> Any:
    """How far the prediction is from the right side of a margin."""
    return ops.mean(_hinge(y_true, y_pred), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """Its square."""
    return ops.mean(ops.square(_hinge(y_true, y_pred)), axis=-1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """The hinge of the right class against the best wrong one."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.cast(y_true, y_pred.dtype)
    right = ops.sum(y_true * y_pred, axis=-1)
    wrong = ops.max((1.0 - y_true) * y_pred, axis=-1)
    return ops.maximum(wrong - right + 1.0, ops.cast(0.0, y_pred.dtype))


def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """The cross entropy of two distributions."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.cast(y_true, y_pred.dtype)
    if label_smoothing:
        classes = ops.cast(ops.shape(y_true)[-1], y_pred.dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    return ops.categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> Any:
    """The cross entropy with one right class each."""
    if len(y_true.shape) == len(y_pred.shape) and y_true.shape[axis] == 1:
        y_true = ops.squeeze(y_true, axis=axis)
    valid: Any = None
    if ignore_class is not None:
        shape = ops.shape(y_pred)[:-1]
        valid = ops.not_equal(y_true, ops.cast(ignore_class, y_pred.dtype))
        y_true = ops.where(valid, y_true, 0)
        y_pred = ops.where(ops.expand_dims(valid, axis), y_pred, 0)
    entropy = ops.sparse_categorical_crossentropy(
        y_true, y_pred, from_logits=from_logits, axis=axis
    )
    if valid is not None:
        valid = ops.reshape(valid, shape)
        entropy = ops.where(valid, entropy, 0.0)
        entropy._keras_mask = valid
    return entropy


def binary_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """The cross entropy of yes and no."""
    y_pred = ops.convert_to_tensor(y_pred)
    y_true = ops.cast(y_true, y_pred.dtype)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return ops.mean(ops.binary_crossentropy(y_true, y_pred, from_logits=from_logits), axis=axis)


# The functions as classes


def _loss(fn: Callable[..., Any], name: str, **defaults: Any) -> Any:
    """A class that wraps the function: its options, then reduction, name and dtype."""
    options = list(defaults)

    def made(self: LossFunctionWrapper, *args: Any, **kwargs: Any) -> None:
        kwargs = {"name": name} | dict(zip(options, args, strict=False)) | kwargs
        LossFunctionWrapper.__init__(self, fn, **(defaults | kwargs))

    made.__name__ = "__init__"
    title = "".join(part.title() for part in name.split("_"))
    return type(
        title,
        (LossFunctionWrapper,),
        {"__init__": made, "__doc__": fn.__doc__, "__module__": __name__},
    )


_ENTROPY = {"from_logits": False, "label_smoothing": 0.0, "axis": -1}
MeanSquaredError = _loss(mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _loss(mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _loss(
    mean_absolute_percentage_error, "mean_absolute_percentage_error"
)
MeanSquaredLogarithmicError = _loss(
    mean_squared_logarithmic_error, "mean_squared_logarithmic_error"
)
CosineSimilarity = _loss(cosine_similarity, "cosine_similarity", axis=-1)
Huber = _loss(huber, "huber_loss", delta=1.0)
LogCosh = _loss(log_cosh, "log_cosh")
KLDivergence = _loss(kl_divergence, "kl_divergence")
Poisson = _loss(poisson, "poisson")
Hinge = _loss(hinge, "hinge")
SquaredHinge = _loss(squared_hinge, "squared_hinge")
CategoricalHinge = _loss(categorical_hinge, "categorical_hinge")
CategoricalCrossentropy = _loss(categorical_crossentropy, "categorical_crossentropy", **_ENTROPY)
BinaryCrossentropy = _loss(binary_crossentropy, "binary_crossentropy", **_ENTROPY)
SparseCategoricalCrossentropy = _loss(
    sparse_categorical_crossentropy, "sparse_categorical_crossentropy",
    from_logits=False, ignore_class=None,
)  # fmt: skip

mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kl_divergence
logcosh = log_cosh


def get(identifier: Any) -> Any:
    """The loss of that name: a function for `mse`, an instance for a class. Raises ValueError for
    what is none.
    """
    if isinstance(identifier, str):
        found = globals().get(identifier)
        if not callable(found) or identifier.startswith("_"):
            raise ValueError(unknown("loss function", identifier))
        return found() if isinstance(found, type) else found
    if isinstance(identifier, type):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret loss identifier: {identifier}")


__getattr__ = missing("tf.keras.losses")
