"""Metrics: variables that gather numbers over steps, and what they amount to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.tensors import EagerTensor
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import initializers, losses
from tflogscope.runtime.keras.losses import same_rank
from tflogscope.runtime.keras.primitives import accumulate, argmax, as_floats
from tflogscope.runtime.keras.state import keras3, mask_of, scope_of_keras3, snake_case, unique_name
from tflogscope.runtime.library import arrays, numbers


class Metric:
    """A metric; users' own define `update_state` and `result`."""

    def __init__(self, name: str | None = None, dtype: Any = None, **_: Any) -> None:
        self.name = name or unique_name(type(self).__name__)
        self.dtype = as_dtype(dtype or float32)
        self.variables: list[Any] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("update_state", "result"):
            if name in vars(cls):
                setattr(cls, name, _staged(vars(cls)[name], identical=name == "result"))

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = (),
        initializer: Any = "zeros",
        dtype: Any = None,
        **_: Any,
    ) -> Any:
        initialize, wanted = initializers.get(initializer or "zeros"), as_dtype(dtype or self.dtype)
        with (
            scope_of_keras3(self.name, self)
            if keras3()
            else nullcontext()
            if context.executing_eagerly()
            else context.init_scope()
        ):
            variable = Variable(
                lambda: initialize(tuple(shape), dtype=wanted),
                name=name,
                dtype=wanted,
                shape=shape,
                trainable=False,
            )
        self.variables.append(variable)
        return variable

    weights = property(lambda self: self.variables)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def result(self) -> Any:
        raise NotImplementedError

    def reset_state(self) -> None:
        for variable in self.variables:
            if not keras3():
                variable.assign(np.zeros(variable.shape.as_list(), variable.dtype.as_numpy_dtype))
            elif isinstance(self, (Sum, Mean)):
                variable.assign(0)
            else:
                variable.assign(arrays.zeros(variable.shape, variable.dtype))


def _staged(function: Callable[..., Any], *, identical: bool) -> Callable[..., Any]:
    """NB: Keras 2 converts the methods of metrics for graphs, and copies what they give."""

    def method(self: Metric, *args: Any, **kwargs: Any) -> Any:
        if keras3() or context.executing_eagerly():
            found = function(self, *args, **kwargs)
        else:
            found = convert(function)(self, *args, **kwargs)
        copied = identical and not keras3()
        return nest.map_structure(arrays.identity, found) if copied else found

    method.__name__ = function.__name__
    return method


class _Reduced(Metric):
    """A sum over all values, and of them how many."""

    counts = True

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name or snake_case(type(self).__name__), dtype)
        self.total = self.add_weight("total")
        if self.counts:
            self.count = self.add_weight("count")

    def _gather(self, values: Any, sample_weight: Any) -> Any:
        values, weights = self._weighted(arrays.cast(values, self.dtype), sample_weight)
        total = numbers.reduce_sum(values)
        with _after(total):
            update = accumulate(self.total, total)
        if not self.counts:
            return update
        if weights is not None:
            number = numbers.reduce_sum(weights)
        elif keras3():
            rank = values.shape.rank
            number = (values.shape[0] or arrays.shape_v2(values)[0]) if rank else 1
            number = arrays.cast(number, self.dtype)
        else:
            number = arrays.cast(arrays.size(values), self.dtype)
        with _after(update):
            return accumulate(self.count, number)

    def _weighted(self, values: Any, weights: Any) -> tuple[Any, Any]:
        reduction = numbers.reduce_mean if self.counts else numbers.reduce_sum
        if weights is not None:
            weights = arrays.cast(weights, self.dtype)
            values, weights = (
                same_rank(values, weights) if weights.shape.rank else (values, weights)
            )
            if values.shape.rank > weights.shape.rank and (keras3() or weights.shape.rank):
                axes = list(range(weights.shape.rank, values.shape.rank))
                values = reduction(values, axis=axes)
            if keras3():
                shape = arrays.shape_v2(values) if None in values.shape.as_list() else values.shape
                weights = O.BroadcastTo(weights, shape)
            elif weights.shape != values.shape:
                weights = weights * arrays.ones_like(values)
            values = O.Mul(values, weights)
        if keras3() and (values.shape.rank or 0) > 1:
            values = reduction(values, axis=list(range(1, values.shape.rank)))
        return values, weights

    def _value(self) -> Any:
        if self.counts:
            return numbers.div_no_nan(self.total, self.count)
        return arrays.identity(self.total)

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        return self._gather(values, sample_weight)

    def result(self) -> Any:
        return self._value()


def _after(value: Any) -> Any:
    return nullcontext() if keras3() else control_dependencies([value])


class Mean(_Reduced):
    """The mean of all values."""


class Sum(_Reduced):
    """Their sum."""

    counts = False


class MeanMetricWrapper(Mean):
    """The mean of what a function gives."""

    function: Any = None

    def __init__(
        self, fn: Any = None, name: str | None = None, dtype: Any = None, **kw: Any
    ) -> None:
        super().__init__(name, dtype)
        self._fn, self._options = fn or type(self).function, kw

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        if keras3():
            mask = mask_of(y_pred)
            values = self._fn(y_true, y_pred, **self._options)
            if mask is not None:
                mask = arrays.cast(mask, self.dtype)
                sample_weight = mask if sample_weight is None else sample_weight * mask
            return self._gather(values, sample_weight)
        y_true, y_pred = arrays.cast(y_true, self.dtype), arrays.cast(y_pred, self.dtype)
        if y_pred.shape.rank - y_true.shape.rank != 1 or y_pred.shape[-1] == 1:
            y_true, y_pred = same_rank(y_true, y_pred)
        function = self._fn if context.executing_eagerly() else convert(self._fn)
        return self._gather(function(y_true, y_pred, **self._options), sample_weight)


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
    shape = None if keras3() else arrays.shape_v2(y_true)
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
    made = lambda self, *args, **kwargs: MeanMetricWrapper.__init__(  # noqa: E731
        self, None, **{"name": name} | dict(zip(("name", "dtype"), args, strict=False)) | kwargs
    )
    body = {"function": staticmethod(_ALL[name]), "__init__": made, "__module__": __name__}
    return type(title, (MeanMetricWrapper,), body)


_TITLES = {name: _class(name) for name in _ALL if len(name) > 3}
CLASSES: dict[str, Any] = {kind.__name__: kind for kind in _TITLES.values()}
CLASSES |= {"Mean": Mean, "Sum": Sum}


def get(identifier: Any, y_true: Any, y_pred: Any) -> Any:
    name = identifier if isinstance(identifier, str) else getattr(identifier, "__name__", None)
    if isinstance(identifier, Metric):
        return identifier
    if identifier in {"accuracy", "acc"}:
        fewer = y_true.shape.rank < y_pred.shape.rank
        sparse = fewer or (y_true.shape[-1] == 1 and y_pred.shape[-1] > 1)
        kind = (
            "binary" if y_pred.shape[-1] == 1 else "sparse_categorical" if sparse else "categorical"
        )
        return _TITLES[f"{kind}_accuracy"](name=name)
    if isinstance(identifier, str):
        if identifier not in _ALL | CLASSES:
            raise ValueError(f"Unknown metric function: '{identifier}'.")
        identifier = (CLASSES | _ALL)[identifier]
    return identifier() if isinstance(identifier, type) else MeanMetricWrapper(identifier, name)


def number_of(value: Any) -> Any:
    if not isinstance(value, EagerTensor):
        return value
    array = np.asarray(value.numpy())
    return array.item() if array.ndim == 0 else array
