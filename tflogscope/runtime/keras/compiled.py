"""The losses and metrics of a model, made when its first outputs are there."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core import nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.keras import losses, metrics
from tflogscope.runtime.keras.state import keras3, mask_of
from tflogscope.runtime.library import arrays


class Compiled:
    """The losses and metrics of `compile`, made when the first outputs are there."""

    def __init__(self, loss: Any, weights: Any, given: Any, total: Any) -> None:
        self._loss, self._weights, self._given, self.total = loss, weights, given, total
        self._losses: list[Any] = []
        self._metrics: list[list[Any]] | None = None
        self._means: list[Any] = []

    def metrics(self) -> list[Any]:
        own = [each for per_output in self._metrics or [] for each in per_output]
        return [self.total, *self._means, *own] if keras3() or self._losses else []

    def loss(self, y: Any, y_pred: Any, sample_weight: Any) -> list[Any]:
        outputs, labels = nest.flatten(y_pred), nest.flatten(y)
        if not self._losses and self._loss is not None:
            self._losses = [losses.get(each) for each in _per_output(self._loss, len(outputs))]
            if len(outputs) > 1:
                names = [f"output_{k + 1}" for k in range(len(outputs))]
                self._means = [metrics.Mean(f"{name}_loss") for name in names]
        values = []
        weights = _per_output(sample_weight, len(outputs))
        factors = _per_output(self._weights, len(outputs))
        for index, loss in enumerate(self._losses):
            label, output, weight = matched(labels[index], outputs[index], weights[index])
            value = loss(label, output, sample_weight=weight)
            if self._means:
                self._means[index].update_state(value, sample_weight=batch_of(label))
            values.append(value if factors[index] is None else value * factors[index])
        return values

    def update(self, y: Any, y_pred: Any) -> None:
        outputs, labels = nest.flatten(y_pred), nest.flatten(y)
        pairs = list(zip(labels, outputs, strict=True))
        if self._metrics is None:
            several = _per_output(self._given, len(outputs)) if len(outputs) > 1 else [self._given]
            self._metrics = [
                [metrics.get(each, *pair) for each in nest.flatten(wanted or [])]
                for wanted, pair in zip(several, pairs, strict=True)
            ]
        for own, pair in zip(self._metrics, pairs, strict=True):
            label, output, _ = matched(*pair, None)
            mask = None if keras3() else mask_of(output)
            for metric in own:
                metric.update_state(label, output, sample_weight=mask)


def _per_output(given: Any, count: int) -> list[Any]:
    if isinstance(given, dict):
        given = list(given.values())
    return list(given) if isinstance(given, (list, tuple)) else [given] * count


def matched(label: Any, output: Any, weight: Any) -> tuple[Any, Any, Any]:
    """NB: Keras 2 makes a column of labels and weights, and casts them."""
    if keras3():
        return label, output, weight
    if label.shape.rank == 1 and output.shape.rank == 2:
        label = O.ExpandDims(label, -1)
    if weight is not None and weight.shape.rank == 1 and output.shape.rank == 2:
        weight = O.ExpandDims(weight, -1)
    kinds = label.dtype.is_floating, output.dtype.is_floating
    return arrays.cast(label, output.dtype) if kinds[0] == kinds[1] else label, output, weight


def batch_of(tensor: Any) -> Any:
    return arrays.shape_v2(tensor)[0]
