"""Metrics: variables that gather numbers over steps, and what they amount to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.tensors import EagerTensor
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.keras import initializers, losses
from tflogscope.runtime.keras.losses import same_rank
from tflogscope.runtime.keras.primitives import accumulate, argmax, make_variable
from tflogscope.runtime.keras.state import found, keras3, unique_name
from tflogscope.runtime.library import arrays, numbers


class Metric:
    """A metric; users' own define `update_state` and `result`."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or unique_name(type(self).__name__)
        self.variables: list[Any] = []

    def add_weight(
        self, name: str | None = None, shape: Any = (), initializer: Any = "zeros"
    ) -> Any:
        given = (self, name, tuple(shape), initializers.get(initializer), float32)
        variable = make_variable(*given, trainable=False, lifted=not keras3())
        self.variables.append(variable)
        return variable

    def reset_state(self) -> None:
        for variable in self.variables:
            if keras3():
                variable.assign(0 if isinstance(self, Mean) else arrays.zeros_like(variable))
            else:
                variable.assign(np.zeros(variable.shape.as_list(), variable.dtype.as_numpy_dtype))


class Mean(Metric):
    """The mean of all values, from their sum and how many they are. NB: weights are one number."""

    def __init__(self, name: str = "mean") -> None:
        super().__init__(name)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        return self._gather(values, sample_weight)

    def _gather(self, values: Any, weights: Any = None) -> Any:
        values = arrays.cast(values, float32)
        if weights is not None:
            weights = arrays.cast(weights, float32)
            weights = O.BroadcastTo(weights, values.shape) if keras3() else weights
            values = O.Mul(values, weights)
        if keras3() and (values.shape.rank or 0) > 1:
            values = numbers.reduce_mean(values, axis=list(range(1, values.shape.rank)))
        total = numbers.reduce_sum(values)
        with _after(total):
            update = accumulate(self.total, total)
        number = self._number(values) if weights is None else numbers.reduce_sum(weights)
        with _after(update):
            return accumulate(self.count, number)

    def _number(self, values: Any) -> Any:
        if not keras3():
            return arrays.cast(arrays.size(values), float32)
        number = values.shape[0] or arrays.shape(values)[0] if values.shape.rank else 1
        return arrays.cast(number, float32)

    def result(self) -> Any:
        mean = numbers.div_no_nan(self.total, self.count)
        return mean if keras3() else arrays.identity(mean)


def _after(value: Any) -> Any:
    return nullcontext() if keras3() else control_dependencies([value])


class MeanMetricWrapper(Mean):
    """The mean of what a function gives."""

    function: Callable[..., Any]

    def __init__(self, name: str | None = None, fn: Any = None) -> None:
        self._fn = fn or type(self).function
        super().__init__(name or self._fn.__name__)

    def update_state(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        if keras3():
            return self._gather(self._fn(y_true, y_pred))
        y_true, y_pred = arrays.cast(y_true, float32), arrays.cast(y_pred, float32)
        y_true, y_pred = same_rank(y_true, y_pred)
        function = self._fn if context.executing_eagerly() else convert(self._fn)
        return self._gather(function(y_true, y_pred))


# -- functions: a value per example


def binary_accuracy(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if keras3():
        y_true, y_pred = same_rank(y_true, y_pred)
    sure = arrays.cast(y_pred > arrays.cast(0.5, y_pred.dtype), y_true.dtype)
    return arrays.cast(O.Equal(y_true, sure), float32)


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    y_pred = convert_to_tensor(y_pred)
    y_true = convert_to_tensor(y_true)
    if keras3():
        y_true = arrays.cast(y_true, y_pred.dtype)
    shape = None if keras3() else arrays.shape(y_true)
    column = y_true.shape.rank == y_pred.shape.rank
    if column:
        y_true = arrays.squeeze(y_true, [-1])
    chosen = arrays.cast(argmax(y_pred), y_true.dtype)
    matches = arrays.cast(O.Equal(y_true, chosen), float32)
    if column and shape is not None:
        matches = arrays.reshape(matches, shape)
    return arrays.squeeze(matches, [-1]) if matches.shape[1:].as_list() == [1] else matches


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    return sparse_categorical_accuracy(argmax(convert_to_tensor(y_true)), y_pred)


_ACCURACIES: tuple[Any, ...] = (binary_accuracy, categorical_accuracy, sparse_categorical_accuracy)
_FUNCTIONS = dict(losses.FUNCTIONS)
_FUNCTIONS |= {function.__name__: function for function in _ACCURACIES}
_KINDS: list[type[Any]] = [
    losses.class_of(function, MeanMetricWrapper, {"function": staticmethod(function)})
    for function in _FUNCTIONS.values()
]
CLASSES: dict[str, Any] = {"Mean": Mean} | {kind.__name__: kind for kind in _KINDS}
_BY_NAME = _FUNCTIONS | losses.SHORT | CLASSES


def get(identifier: Any, y_true: Any, y_pred: Any) -> Any:
    """A metric; `accuracy` is one of three, by the shapes."""
    name = identifier if isinstance(identifier, str) else None
    if identifier in {"accuracy", "acc"}:
        fewer = y_true.shape.rank < y_pred.shape.rank
        sparse = fewer or (y_true.shape[-1] == 1 and y_pred.shape[-1] > 1)
        kind = "sparse_categorical" if sparse else "categorical"
        identifier = f"{'binary' if y_pred.shape[-1] == 1 else kind}_accuracy"
    one = found(identifier, _BY_NAME, "metric function")
    return one if isinstance(one, Metric) else MeanMetricWrapper(name, one)


def number_of(value: Any) -> Any:
    if not isinstance(value, EagerTensor):
        return value
    array = np.asarray(value.numpy())
    return array.item() if array.ndim == 0 else array
