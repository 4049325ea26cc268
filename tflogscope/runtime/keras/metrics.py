"""Metrics: variables that gather numbers over steps, and what they amount to."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.tensors import EagerTensor
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.keras import initializers, losses
from tflogscope.runtime.keras.losses import same_rank
from tflogscope.runtime.keras.primitives import accumulate, argmax, as_floats, make_variable
from tflogscope.runtime.keras.state import found, keras3, refuse, snake_case, unique_name
from tflogscope.runtime.library import arrays, numbers


class Metric:
    """A metric; users' own define `update_state` and `result`."""

    def __init__(self, name: str | None = None, dtype: Any = None, **_: Any) -> None:
        self.name = name or unique_name(type(self).__name__)
        self.dtype = as_dtype(dtype or float32)
        self.variables: list[Any] = []

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = (),
        initializer: Any = "zeros",
        dtype: Any = None,
        **_: Any,
    ) -> Any:
        start, wanted = initializers.get(initializer or "zeros"), as_dtype(dtype or self.dtype)
        given = (self, name, tuple(shape), start, wanted)
        variable = make_variable(*given, trainable=False, lifted=not keras3())
        self.variables.append(variable)
        return variable

    weights = property(lambda self: self.variables)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def result(self) -> Any:
        raise NotImplementedError

    def reset_state(self) -> None:
        for variable in self.variables:
            if keras3():
                variable.assign(0 if isinstance(self, Mean) else arrays.zeros_like(variable))
            else:
                variable.assign(np.zeros(variable.shape.as_list(), variable.dtype.as_numpy_dtype))


class Mean(Metric):
    """The mean of all values, from their sum and how many they are. NB: weights are one number."""

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name or snake_case(type(self).__name__), dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        return self._gather(values, sample_weight)

    def _gather(self, values: Any, weights: Any = None) -> Any:
        values = arrays.cast(values, self.dtype)
        if weights is not None:
            weights = arrays.cast(weights, self.dtype)
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
            return arrays.cast(arrays.size(values), self.dtype)
        rank = values.shape.rank
        number = (values.shape[0] or arrays.shape(values)[0]) if rank else 1
        return arrays.cast(number, self.dtype)

    def result(self) -> Any:
        mean = numbers.div_no_nan(self.total, self.count)
        return mean if keras3() else arrays.identity(mean)


def _after(value: Any) -> Any:
    return nullcontext() if keras3() else control_dependencies([value])


class MeanMetricWrapper(Mean):
    """The mean of what a function gives."""

    function: Any = None

    def __init__(self, name: str | None = None, dtype: Any = None, fn: Any = None) -> None:
        self._fn = fn or type(self).function
        super().__init__(name or self._fn.__name__, dtype)

    def update_state(self, y_true: Any, y_pred: Any, **others: Any) -> Any:  # type: ignore[override]
        refuse("Metric.update_state", others)
        if keras3():
            return self._gather(self._fn(y_true, y_pred))
        y_true, y_pred = arrays.cast(y_true, self.dtype), arrays.cast(y_pred, self.dtype)
        if y_pred.shape.rank - y_true.shape.rank != 1 or y_pred.shape[-1] == 1:
            y_true, y_pred = same_rank(y_true, y_pred)
        function = self._fn if context.executing_eagerly() else convert(self._fn)
        return self._gather(function(y_true, y_pred))


# -- functions: a value per example


def _equal(y_true: Any, y_pred: Any) -> Any:
    if y_pred.dtype != y_true.dtype:
        y_pred = arrays.cast(y_pred, y_true.dtype)
    return as_floats(O.Equal(y_true, y_pred))


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if keras3():
        limit = convert_to_tensor(threshold)
        y_true, y_pred = same_rank(y_true, y_pred)
        return as_floats(O.Equal(y_true, arrays.cast(O.Greater(y_pred, limit), y_true.dtype)))
    limit = arrays.cast(threshold, y_pred.dtype)
    return as_floats(O.Equal(y_true, arrays.cast(y_pred > limit, y_pred.dtype)))


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    y_pred = convert_to_tensor(y_pred)
    y_true = convert_to_tensor(y_true)
    if keras3():
        y_true = arrays.cast(y_true, y_pred.dtype)
    shape = None if keras3() else arrays.shape(y_true)
    column = y_true.shape.rank == y_pred.shape.rank
    if column:
        y_true = arrays.squeeze(y_true, [-1])
    matches = _equal(y_true, argmax(y_pred))
    if column and shape is not None:
        matches = arrays.reshape(matches, shape)
    return arrays.squeeze(matches, [-1]) if matches.shape[1:].as_list() == [1] else matches


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    return sparse_categorical_accuracy(argmax(convert_to_tensor(y_true)), y_pred)


_FUNCTIONS = {
    function.__name__: function
    for function in (binary_accuracy, categorical_accuracy, sparse_categorical_accuracy)
}
_ALL = losses.FUNCTIONS | _FUNCTIONS


def _class(name: str) -> type[MeanMetricWrapper]:
    title = "".join(word.title() for word in name.split("_"))
    body = {"function": staticmethod(_ALL[name]), "__module__": __name__}
    return type(title, (MeanMetricWrapper,), body)


CLASSES: dict[str, Any] = {k.__name__: k for k in map(_class, _ALL) if len(k.__name__) > 3}
CLASSES |= {"Mean": Mean}


def get(identifier: Any, y_true: Any, y_pred: Any) -> Any:
    """A metric; `accuracy` is one of three, by the shapes."""
    if identifier in ("accuracy", "acc"):
        fewer = y_true.shape.rank < y_pred.shape.rank
        sparse = fewer or (y_true.shape[-1] == 1 and y_pred.shape[-1] > 1)
        kind = "sparse_categorical" if sparse else "categorical"
        kind = "binary" if y_pred.shape[-1] == 1 else kind
        return MeanMetricWrapper(identifier, fn=_ALL[f"{kind}_accuracy"])
    if isinstance(identifier, str) and identifier in _ALL:
        return MeanMetricWrapper(identifier, fn=_ALL[identifier])
    if callable(identifier) and not isinstance(identifier, (Metric, type)):
        return MeanMetricWrapper(fn=identifier)
    return found(identifier, CLASSES, "metric function")


def number_of(value: Any) -> Any:
    if not isinstance(value, EagerTensor):
        return value
    array = np.asarray(value.numpy())
    return array.item() if array.ndim == 0 else array
