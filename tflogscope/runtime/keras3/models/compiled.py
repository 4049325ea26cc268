"""The losses and metrics that a model was compiled with, matched with its outputs.

Which function "accuracy" means is only known when the first outputs are there.

Told about: `keras/src/trainers/compile_utils.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import losses, metrics, ops
from tflogscope.runtime.keras3.state import name_scope, snake_case

__all__ = ["CompileLoss", "CompileMetrics"]


class _OfOutput(NamedTuple):
    """The loss of an output."""

    name: str | None
    loss: Any
    weight: Any


class CompileLoss(losses.Loss):
    """The weighted sum of the outputs' losses."""

    def __init__(
        self, given: Any, weights: Any = None, output_names: list[str] | None = None
    ) -> None:
        super().__init__(name="compile_loss")
        self._given, self._given_weights, self._output_names = given, weights, output_names
        self._losses: list[_OfOutput] | None = None
        self._order: list[int] = []
        self.metrics: list[Any] = []

    def _build(self, y_true: Any, y_pred: Any) -> list[_OfOutput]:
        outputs, labels = tf.nest.flatten(y_pred), _labels(y_true, y_pred, self._output_names)
        names = _names(y_pred, self._output_names)
        given = _per_output(self._given, names, len(outputs))
        weights = _per_output(self._given_weights, names, len(outputs))
        rows = zip(names, given, weights, labels, outputs, strict=True)
        found = [
            _OfOutput(name, loss and _loss_object(loss, label, output), weight)
            for name, loss, weight, label, output in rows
        ]
        order = list(range(len(found)))
        if isinstance(y_pred, Mapping) and isinstance(self._given, Mapping):
            order = [names.index(name) for name in self._given]
        self._order = [index for index in order if found[index].loss is not None]
        if len(self._order) > 1:
            tracked = [found[index].name or found[index].loss.name for index in self._order]
            self.metrics = [metrics.Mean(name=f"{name}_loss") for name in tracked]
        return found

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        with name_scope(self.name):
            return self.call(y_true, y_pred, sample_weight)

    def call(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        if self._losses is None:
            self._losses = self._build(y_true, y_pred)
        outputs = tf.nest.flatten(y_pred)
        labels = _labels(y_true, y_pred, self._output_names)
        weights = _weights(sample_weight, len(outputs), self._output_names)
        values: list[Any] = []
        trackers = iter(self.metrics)
        for index in self._order:
            row, label, output = self._losses[index], labels[index], outputs[index]
            weight = weights[index]
            value = ops.cast(row.loss(label, output, weight), self.dtype)
            if self.metrics:
                next(trackers).update_state(value, sample_weight=output.shape[0])
            values.append(value if row.weight is None else ops.multiply(value, row.weight))
        return values[0] if not tf.nest.is_nested(y_pred) else sum(values)


class _MetricsOfOutput(metrics.Metric):
    def __init__(self, found: list[Any], output_name: str | None) -> None:
        super().__init__(name="metrics_list")
        self.metrics, self.output_name = found, output_name


class CompileMetrics(metrics.Metric):
    """The metrics of each output: those that ignore sample weights, and those that use them."""

    def __init__(
        self, given: Any, weighted: Any = None, output_names: list[str] | None = None
    ) -> None:
        super().__init__(name="compile_metrics")
        self._given, self._given_weighted, self._output_names = given, weighted, output_names
        self.built = False
        self._plain: list[Any] = []
        self._weighted: list[Any] = []

    @property
    def metrics(self) -> list[Any]:
        """All, in the order of outputs."""
        lists = [each for each in (*self._plain, *self._weighted) if each]
        return [metric for each in lists for metric in each.metrics]

    @property
    def variables(self) -> list[Any]:
        """Those of all."""
        return [variable for metric in self.metrics for variable in metric.variables]

    def _build(self, y_true: Any, y_pred: Any) -> None:
        names = _names(y_pred, self._output_names)
        pairs = list(
            zip(_labels(y_true, y_pred, self._output_names), tf.nest.flatten(y_pred), strict=True)
        )
        self._plain = self._objects(self._given, names, pairs)
        self._weighted = self._objects(self._given_weighted, names, pairs)
        self.built = True

    def _objects(self, given: Any, names: list[Any], pairs: list[tuple[Any, Any]]) -> list[Any]:
        if not given:
            return [None] * len(pairs)
        if len(pairs) == 1:
            return [_metrics_of(tf.nest.flatten(given), *pairs[0], None)]
        return [
            None if each is None else _metrics_of(each, *pair, name)
            for each, pair, name in zip(
                _per_output(given, names, len(pairs)), pairs, names, strict=True
            )
        ]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        if not self.built:
            self._build(y_true, y_pred)
        outputs = tf.nest.flatten(y_pred)
        labels = _labels(y_true, y_pred, self._output_names)
        weights = _weights(sample_weight, len(outputs), self._output_names)
        for of_output, label, output in zip(self._plain, labels, outputs, strict=True):
            for metric in of_output.metrics if of_output else ():
                metric.update_state(label, output)
        rows = zip(self._weighted, labels, outputs, weights, strict=True)
        for of_output, label, output, weight in rows:
            for metric in of_output.metrics if of_output else ():
                metric.update_state(label, output, sample_weight=weight)

    def reset_state(self) -> None:
        for metric in self.metrics:
            metric.reset_state()

    def result(self) -> dict[str, Any]:
        """Each by its name, with the output's before it where there are several."""
        results: dict[str, Any] = {}
        for weighted, lists in ((False, self._plain), (True, self._weighted)):
            for of_output in lists:
                for metric in of_output.metrics if of_output else ():
                    prefix = f"{of_output.output_name}_" if of_output.output_name else ""
                    name = base = f"{prefix}{metric.name}"
                    if name in results and weighted:
                        name = base = f"{prefix}weighted_{metric.name}"
                    number = 1
                    while name in results:
                        name, number = f"{base}_{number}", number + 1
                    results[name] = metric.result()
        return results


def _names(y_pred: Any, names: list[str] | None) -> list[Any]:
    if isinstance(y_pred, Mapping):
        return sorted(y_pred)
    return names or [None] * len(tf.nest.flatten(y_pred))


def _per_output(given: Any, names: list[Any], count: int) -> list[Any]:
    """What was given, one per output. Raises ValueError if it does not fit."""
    if isinstance(given, Mapping):
        if unknown := set(given) - set(names):
            raise ValueError(f"Expected keys {names}, but found {sorted(unknown)}")
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != count:
            raise ValueError(f"The model has {count} outputs, but {len(given)} were given: {given}")
        return list(given)
    return [given] * count


def _labels(y_true: Any, y_pred: Any, names: list[str] | None) -> list[Any]:
    """The labels, one per output."""
    if isinstance(y_true, Mapping) and not isinstance(y_pred, Mapping) and names:
        return [y_true.get(name) for name in names]
    flat = tf.nest.flatten(y_true)
    if len(flat) != len(tf.nest.flatten(y_pred)):
        raise NotInThisRuntime("a model with another number of labels than of outputs")
    return list(flat)


def _weights(given: Any, count: int, names: list[str] | None) -> list[Any]:
    if isinstance(given, Mapping) and names:
        return [given.get(name) for name in names]
    flat = list(tf.nest.flatten(given))
    return flat if len(flat) == count else flat[:1] * count


def _kinds(y_true: Any, y_pred: Any) -> tuple[bool, bool]:
    """Is it one of two classes, and are labels numbers of classes?"""
    fewer = len(y_true.shape) < len(y_pred.shape)
    column = y_true.shape[-1] == 1 and y_pred.shape[-1] > 1
    return y_pred.shape[-1] == 1, fewer or column


def _name_of(found: Any) -> str:
    for attribute in ("name", "__name__"):
        if hasattr(found, attribute):
            return str(getattr(found, attribute))
    return snake_case(type(found).__name__)


def _loss_object(given: Any, y_true: Any, y_pred: Any) -> Any:
    if str(given).lower() in {"crossentropy", "ce"}:
        binary, sparse = _kinds(y_true, y_pred)
        kind = "binary" if binary else "sparse_categorical" if sparse else "categorical"
        found = losses.get(f"{kind}_crossentropy")
    else:
        found = losses.get(given)
    if isinstance(found, losses.Loss):
        return found
    name = given if isinstance(given, str) else snake_case(_name_of(found))
    return losses.LossFunctionWrapper(found, name=name)


def _metrics_of(given: Any, y_true: Any, y_pred: Any, name: str | None) -> _MetricsOfOutput:
    wanted = given if isinstance(given, (list, tuple)) else [given]
    return _MetricsOfOutput([_metric_object(each, y_true, y_pred) for each in wanted], name)


def _metric_object(given: Any, y_true: Any, y_pred: Any) -> Any:
    """A metric; for "accuracy" the kind that fits the shapes."""
    if str(given).lower() in {"accuracy", "acc"}:
        binary, sparse = _kinds(y_true, y_pred)
        kind = "Binary" if binary else "SparseCategorical" if sparse else "Categorical"
        return getattr(metrics, f"{kind}Accuracy")(name=str(given))
    found = metrics.get(given)
    name = given if isinstance(given, str) else snake_case(_name_of(found))
    if not isinstance(found, metrics.Metric):
        found = metrics.MeanMetricWrapper(found)
    found.name = name
    return found
