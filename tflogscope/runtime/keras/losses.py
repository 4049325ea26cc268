"""Losses as objects: a function that gives a value per example (loss_functions.py), reduced.

Told about: `keras/src/losses.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.keras import backend, configuring
from tflogscope.runtime.keras.configuring import serialize
from tflogscope.runtime.keras.loss_functions import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
    cosine_similarity,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from tflogscope.runtime.keras.reduction import (
    Reduction,
    apply_valid_mask,
    mask_of,
    match_ranks,
    weighted_loss,
)

__all__ = [
    "BinaryCrossentropy",
    "BinaryFocalCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy",
    "CosineSimilarity",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "Reduction",
    "SparseCategoricalCrossentropy",
    "binary_crossentropy",
    "categorical_crossentropy",
    "deserialize",
    "get",
    "mean_absolute_error",
    "mean_squared_error",
    "serialize",
    "sparse_categorical_crossentropy",
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

    def get_config(self) -> dict[str, Any]:
        """What it was made with."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new one, made with what `get_config` gave."""
        known = {key: value for key, value in config.items() if key != "fn"}
        return cls(**known) if cls is not LossFunctionWrapper else cls(get(config["fn"]), **known)

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

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._options, "fn": self.fn.__name__}

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
        options: Any = {"from_logits": from_logits, "ignore_class": ignore_class}
        super().__init__(sparse_categorical_crossentropy, reduction, name, **options)


class BinaryFocalCrossentropy(LossFunctionWrapper):
    """Binary cross entropy that counts less what is easy."""

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str = "binary_focal_crossentropy",
    ) -> None:
        options: Any = {
            "apply_class_balancing": apply_class_balancing, "alpha": alpha, "gamma": gamma,
            "from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis,
        }  # fmt: skip
        super().__init__(binary_focal_crossentropy, reduction, name, **options)


class CategoricalFocalCrossentropy(LossFunctionWrapper):
    """Cross entropy of distributions that counts less what is easy."""

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str = "categorical_focal_crossentropy",
    ) -> None:
        options: Any = {
            "alpha": alpha, "gamma": gamma, "from_logits": from_logits,
            "label_smoothing": label_smoothing, "axis": axis,
        }  # fmt: skip
        super().__init__(categorical_focal_crossentropy, reduction, name, **options)


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


def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The loss that a configuration describes, or the function of that name."""
    with configuring.custom_object_scope(custom_objects or {}):
        if isinstance(name, dict):
            return configuring.deserialize(name, globals().get, "loss function")
    return configuring.custom_objects.get(name) or get(name)


def get(identifier: Any) -> Any:
    """The loss of that name, a function or an object. Raises ValueError for an unknown one."""
    if isinstance(identifier, dict):
        return deserialize(identifier)
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
