"""The losses and metrics that a model was compiled with, matched with its outputs.

What `compile` gets may be one, a list with one per output, or a dict by the outputs' names. Which
function "accuracy" means is only known when the first outputs are there.

Told about: `keras/src/engine/compile_utils.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend, losses, metrics
from tflogscope.runtime.keras.reduction import apply_mask, mask_of

__all__ = ["CompiledLosses", "CompiledMetrics"]


class _Compiled:
    def __init__(self, output_names: list[str] | None) -> None:
        self._output_names = output_names
        self.built = False

    def _names(self, outputs: Any) -> list[str]:
        if self._output_names is None:
            if isinstance(outputs, Mapping):
                self._output_names = sorted(outputs)
            else:
                self._output_names = [
                    f"output_{i + 1}" for i in range(len(tf.nest.flatten(outputs)))
                ]
        return self._output_names

    def _per_output(self, given: Any, outputs: Any) -> list[Any]:
        """What was given, one per output. Raises ValueError for names that no output has."""
        count = len(tf.nest.flatten(outputs))
        if isinstance(given, Mapping):
            is_dict = isinstance(outputs, Mapping)
            names = sorted(outputs) if is_dict else self._names(outputs)
            if unknown := set(given) - set(names):
                raise ValueError(
                    "Found unexpected losses or metrics that do not correspond to any Model "
                    f"output: {unknown}. Valid mode output names: {names}. Received struct is: "
                    f"{given}."
                )
            return [given.get(name) for name in names]
        if isinstance(given, (list, tuple)):
            if len(given) != count:
                raise ValueError(
                    f"The model has {count} outputs, but {len(given)} were given: {given}"
                )
            return list(given)
        return [given] * count

    def _labels(self, y_true: Any, outputs: Any) -> list[Any]:
        """The labels, one per output."""
        if isinstance(y_true, Mapping) and not isinstance(outputs, Mapping):
            return self._per_output(y_true, outputs)
        return (
            tf.nest.flatten(y_true)
            if y_true is not None
            else [None] * len(tf.nest.flatten(outputs))
        )


class CompiledLosses(_Compiled):
    """The loss of each output, and the mean of their sum over batches."""

    def __init__(
        self, given: Any, weights: Any = None, output_names: list[str] | None = None
    ) -> None:
        super().__init__(output_names)
        self._given, self._given_weights = given, weights
        self._total = metrics.Mean(name="loss")
        self._losses: list[Any] = []
        self._weights: list[Any] = []
        self._means: list[Any] = []

    @property
    def metrics(self) -> list[Any]:
        """The total, and with several outputs the loss of each."""
        return (
            [self._total, *(mean for mean in self._means if mean is not None)] if self.built else []
        )

    def _build(self, outputs: Any) -> None:
        self._losses = [_loss_object(each) for each in self._per_output(self._given, outputs)]
        self._weights = self._per_output(self._given_weights, outputs)
        names = self._names(outputs)
        several = len(names) > 1
        self._means = [
            metrics.Mean(name + "_loss") if several and loss is not None else None
            for name, loss in zip(names, self._losses, strict=True)
        ]
        self.built = True

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Any:
        """The total loss, or None if no output has a loss."""
        if not self.built:
            self._build(y_pred)
        outputs = tf.nest.flatten(y_pred)
        labels = self._labels(y_true, y_pred)
        weights = self._per_output(sample_weight, y_pred)
        values: list[Any] = []
        for_mean: list[Any] = []
        batch: Any = None
        rows = zip(labels, outputs, weights, self._losses, self._weights, self._means, strict=False)
        for label, output, sample, loss, factor, mean in rows:
            if label is None or loss is None:
                continue
            y, p, w = _matched(label, output, sample)
            value = loss(y, p, sample_weight=apply_mask(p, w, mask_of(p)))
            if batch is None:
                batch = tf.shape(y)[0]
            if mean is not None:
                mean.update_state(value, sample_weight=batch)
            values.append(value if factor is None else value * factor)
            for_mean.append(value if factor is None else value * factor)  # Keras makes the op twice
        if regularization_losses:
            values.append(tf.add_n(regularization_losses))
            for_mean.append(values[-1])
        if not values:
            return None
        self._total.update_state(tf.add_n(for_mean), sample_weight=batch)
        return tf.add_n(values)


class CompiledMetrics(_Compiled):
    """The metrics of each output: those that ignore sample weights, and those that use them."""

    def __init__(
        self, given: Any, weighted: Any = None, output_names: list[str] | None = None
    ) -> None:
        super().__init__(output_names)
        self._given, self._given_weighted = given, weighted
        self._plain: list[list[Any]] = []
        self._weighted: list[list[Any]] = []

    @property
    def metrics(self) -> list[Any]:
        """All, in the order of outputs."""
        pairs = zip(self._plain, self._weighted, strict=True)
        return (
            [metric for plain, weighted in pairs for metric in (*plain, *weighted)]
            if self.built
            else []
        )

    def _build(self, outputs: Any, labels: Any) -> None:
        pairs = list(zip(self._labels(labels, outputs), tf.nest.flatten(outputs), strict=True))
        self._plain = self._objects(self._given, outputs, pairs)
        self._weighted = self._objects(self._given_weighted, outputs, pairs)
        self._name_apart(self._names(outputs))
        self.built = True

    def _objects(self, given: Any, outputs: Any, pairs: list[tuple[Any, Any]]) -> list[list[Any]]:
        flat = isinstance(given, (list, tuple)) and not any(
            isinstance(each, (list, tuple, Mapping)) for each in given
        )
        per_output = [given] * len(pairs) if flat else self._per_output(given, outputs)
        return [
            [_metric_object(each, y, p) for each in tf.nest.flatten(wanted) if each is not None]
            for wanted, (y, p) in zip(per_output, pairs, strict=True)
        ]

    def _name_apart(self, output_names: list[str]) -> None:
        """Raises ValueError for two metrics of one name."""
        seen: set[str] = set()
        for name, plain, weighted in zip(output_names, self._plain, self._weighted, strict=True):
            for metric in (*plain, *weighted):
                if len(output_names) > 1:
                    metric._name = f"{name}_{metric._name}"
                elif metric._name in seen and metric in weighted:
                    metric._name = f"weighted_{metric._name}"
                if metric._name in seen:
                    raise ValueError(
                        f"Found two metrics with the same name: {metric._name}. All the metrics "
                        "added to the model need to have unique names."
                    )
                seen.add(metric._name)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into account."""
        if not self.built:
            self._build(y_pred, y_true)
        weights = self._per_output(sample_weight, y_pred)
        rows = zip(
            self._labels(y_true, y_pred),
            tf.nest.flatten(y_pred),
            weights,
            self._plain,
            self._weighted,
            strict=False,
        )
        for label, output, sample, plain, weighted in rows:
            if label is None or not (plain or weighted):
                continue
            y, p, w = _matched(label, output, sample)
            mask = mask_of(p)
            w = apply_mask(p, w, mask)
            for metric in plain:
                metric.update_state(y, p, sample_weight=mask)
            for metric in weighted:
                metric.update_state(y, p, sample_weight=w)

    def reset_state(self) -> None:
        """Forget what was seen."""
        for metric in self.metrics:
            metric.reset_state()


def _matched(label: Any, output: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Label and weight with the rank and kind of number that the output has."""
    if label.shape.rank == 1 and output.shape.rank == 2:
        label = tf.expand_dims(label, axis=-1)
    if weight is not None and weight.shape.rank == 1 and output.shape.rank == 2:
        weight = tf.expand_dims(weight, axis=-1)
    both_float = label.dtype.is_floating and output.dtype.is_floating
    if both_float or (label.dtype.is_integer and output.dtype.is_integer):
        label = tf.cast(label, output.dtype)
    if weight is not None:
        weight = tf.cast(weight, output.dtype)
    return label, output, weight


def _name_of(function: Any) -> str:
    for attribute in ("name", "__name__"):
        if hasattr(function, attribute):
            return str(getattr(function, attribute))
    return backend.to_snake_case(type(function).__name__)


def _loss_object(given: Any) -> Any:
    loss = losses.get(given)
    if loss is None or isinstance(loss, losses.Loss):
        return loss
    return losses.LossFunctionWrapper(loss, name=_name_of(loss))


_SHORT = {
    "accuracy": "accuracy",
    "acc": "accuracy",
    "crossentropy": "crossentropy",
    "ce": "crossentropy",
}


def _metric_object(given: Any, label: Any, output: Any) -> Any:
    """A metric; for "accuracy" and "crossentropy" the kind that fits the shapes."""
    short = _SHORT.get(str(given).lower())
    if short is None:
        found = metrics.get(given)
    else:
        binary = output.shape[-1] == 1
        sparse = label.shape.rank < output.shape.rank or (
            label.shape[-1] == 1 and output.shape[-1] > 1
        )
        kind = "binary" if binary else "sparse_categorical" if sparse else "categorical"
        found = metrics.get(f"{kind}_{short}")
    if isinstance(found, metrics.Metric):
        return found
    return metrics.MeanMetricWrapper(
        found, name=given if isinstance(given, str) else _name_of(found)
    )
