"""Losses: as functions that give a value per example, and as objects that reduce it.

Told about: `keras/src/losses.py`, and the cross entropies of `backend.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.reduction import (
    Reduction,
    apply_valid_mask,
    mask_of,
    match_ranks,
    weighted_loss,
)
from tflogscope.runtime.tensors import SymbolicTensor

__all__ = [
    "BinaryCrossentropy", "CategoricalCrossentropy", "CosineSimilarity", "Hinge", "Huber",
    "KLDivergence", "LogCosh", "Loss", "MeanAbsoluteError", "MeanAbsolutePercentageError",
    "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "Reduction",
    "SparseCategoricalCrossentropy", "binary_crossentropy", "categorical_crossentropy", "get",
    "mean_absolute_error", "mean_squared_error", "sparse_categorical_crossentropy",
]  # fmt: skip


class Loss:
    """A function of labels and predictions, reduced to one number. Subclasses have `call`."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        """Raises ValueError for an unknown reduction."""
        Reduction.validate(reduction)
        self.reduction = reduction
        self.name = name

    @property
    def _scope(self) -> str:
        if self.name is None:
            return type(self).__name__.strip("_")
        return "lambda" if self.name == "<lambda>" else self.name.strip("_")

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """A value per example."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        with tf.name_scope(self._scope):
            function = (
                self.call if tf.executing_eagerly() else tf_convert(self.call, control_status())
            )
            losses = function(y_true, y_pred)
            masks = [mask for mask in (mask_of(y_pred), mask_of(losses)) if mask is not None]
            mask = masks[0] & masks[1] if len(masks) == 2 else masks[0] if masks else None
            reduction = (
                Reduction.SUM_OVER_BATCH_SIZE
                if self.reduction == Reduction.AUTO
                else self.reduction
            )
            weights = apply_valid_mask(losses, sample_weight, mask, reduction)
            return weighted_loss(losses, weights, reduction)


class LossFunctionWrapper(Loss):
    """A loss function as an object."""

    def __init__(
        self,
        function: Callable[..., Any],
        reduction: str = Reduction.AUTO,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(reduction, name)
        self.fn = function
        self._options = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        if isinstance(y_pred, (tf.Tensor, tf.Variable)) and isinstance(
            y_true, (tf.Tensor, tf.Variable)
        ):
            y_pred, y_true = match_ranks(y_pred, y_true)
        return tf_convert(self.fn, control_status())(y_true, y_pred, **self._options)


class _Named(LossFunctionWrapper):
    function: ClassVar[Callable[..., Any]]
    default_name: ClassVar[str]

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        super().__init__(type(self).function, reduction, name or self.default_name)


class _Crossentropy(LossFunctionWrapper):
    function: ClassVar[Callable[..., Any]]
    default_name: ClassVar[str]

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str | None = None,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(type(self).function, reduction, name or self.default_name, **options)


# Functions: a value per example


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


def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross entropy with a distribution over classes as label."""
    y_true, y_pred = _alike(y_true, y_pred)
    smoothing = tf.convert_to_tensor(label_smoothing, dtype=y_pred.dtype)

    def smooth() -> Any:
        classes = tf.cast(tf.shape(y_true)[-1], y_pred.dtype)
        return y_true * (1.0 - smoothing) + smoothing / classes

    y_true = _smoothed(label_smoothing, smooth, y_true)
    y_true.shape.assert_is_compatible_with(y_pred.shape)
    output, from_logits = _logits(y_pred, from_logits, "Softmax")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(labels=y_true, logits=output, axis=axis)
    output = output / tf.reduce_sum(output, axis, True)
    return -tf.reduce_sum(y_true * tf.math.log(_clipped(output)), axis)


def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    axis: int = -1,
) -> Any:
    """Cross entropy with the number of a class as label. Classes are along the last axis."""
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
    result = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    return tf.reshape(result, shape[:-1]) if flatten and rank >= 3 else result


def _smoothed(label_smoothing: float, smooth: Callable[[], Any], labels: Any) -> Any:
    return smooth() if label_smoothing else labels


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


# Objects


def _named(
    function: Callable[..., Any], name: str, class_name: str, base: type[Any] = _Named
) -> Any:
    namespace = {
        "function": staticmethod(function),
        "default_name": name,
        "__module__": __name__,
        "__doc__": function.__doc__,
    }
    return type(class_name, (base,), namespace)


MeanSquaredError = _named(mean_squared_error, "mean_squared_error", "MeanSquaredError")
MeanAbsoluteError = _named(mean_absolute_error, "mean_absolute_error", "MeanAbsoluteError")
MeanAbsolutePercentageError = _named(
    mean_absolute_percentage_error, "mean_absolute_percentage_error", "MeanAbsolutePercentageError"
)
MeanSquaredLogarithmicError = _named(
    mean_squared_logarithmic_error, "mean_squared_logarithmic_error", "MeanSquaredLogarithmicError"
)
LogCosh = _named(log_cosh, "log_cosh", "LogCosh")
Hinge = _named(hinge, "hinge", "Hinge")
SquaredHinge = _named(squared_hinge, "squared_hinge", "SquaredHinge")
CategoricalHinge = _named(categorical_hinge, "categorical_hinge", "CategoricalHinge")
KLDivergence = _named(kl_divergence, "kl_divergence", "KLDivergence")
Poisson = _named(poisson, "poisson", "Poisson")
BinaryCrossentropy = _named(
    binary_crossentropy, "binary_crossentropy", "BinaryCrossentropy", _Crossentropy
)
CategoricalCrossentropy = _named(
    categorical_crossentropy, "categorical_crossentropy", "CategoricalCrossentropy", _Crossentropy
)


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """Cross entropy with the number of a class as label."""

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = Reduction.AUTO,
        name: str = "sparse_categorical_crossentropy",
        ignore_class: int | None = None,
    ) -> None:
        """Raises NotInThisRuntime for a class to be ignored."""
        if ignore_class is not None:
            raise NotInThisRuntime("SparseCategoricalCrossentropy(ignore_class=...)")
        super().__init__(sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


class Huber(LossFunctionWrapper):
    """Squares near 0, absolute values beyond `delta`."""

    def __init__(
        self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str = "huber_loss"
    ) -> None:
        super().__init__(huber, reduction, name, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """-1 for the same direction, 1 for the opposite."""

    def __init__(
        self, axis: int = -1, reduction: str = Reduction.AUTO, name: str = "cosine_similarity"
    ) -> None:
        super().__init__(cosine_similarity, reduction, name, axis=axis)


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
bce = BCE = binary_crossentropy
logcosh = log_cosh
kld = KLD = kullback_leibler_divergence = kl_divergence
huber_loss = huber


def get(identifier: Any) -> Any:
    """The loss of that name, a function or an object. Raises ValueError for an unknown one."""
    if isinstance(identifier, str):
        found = globals().get(identifier)
        if isinstance(found, type) and issubclass(found, Loss):
            return found()
        if not callable(found) or identifier.startswith("_") or identifier == "get":
            raise ValueError(backend.unknown("loss function", identifier))
        return found
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret loss function identifier: {identifier}")


__getattr__ = missing("tf.keras.losses")
