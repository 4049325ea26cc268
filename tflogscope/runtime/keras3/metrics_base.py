"""What a metric is: variables that gather over batches; sums and means.

Told about: `keras/src/metrics/metric.py`, `reduction_metrics.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.keras.backend import floatx
from tflogscope.runtime.keras3 import dtypes, initializers, ops
from tflogscope.runtime.keras3.reduction import apply_mask, mask_of, samplewise
from tflogscope.runtime.keras3.state import auto_name, name_scope
from tflogscope.runtime.keras3.variables import Variable

__all__ = ["Mean", "MeanMetricWrapper", "Metric", "Sum"]


class Metric:
    """Subclasses have `update_state` and `result`, and make their variables with `add_weight`."""

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        self.name = name or auto_name(type(self).__name__)
        self.dtype = dtypes.standardize(dtype or floatx())
        self._own: list[Any] = []

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Metric):
            self._own.append(value)
        object.__setattr__(self, name, value)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Take a batch into account."""
        raise NotImplementedError

    def result(self) -> Any:
        """The metric over all that was seen since the last reset."""
        raise NotImplementedError

    def reset_state(self) -> None:
        """Forget what was seen."""
        for variable in self.variables:
            variable.assign(ops.zeros(variable.shape, dtype=variable.dtype))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.update_state(*args, **kwargs)
        return self.result()

    def add_variable(
        self, shape: Any, initializer: Any, dtype: Any = None, name: str | None = None, **_: Any
    ) -> Any:
        """A variable of this metric, never trained."""
        with name_scope(self.name.replace("/", ">"), caller=self):
            variable = Variable(
                initializers.get(initializer), shape=shape, dtype=dtype, trainable=False, name=name
            )
        self._own.append(variable)
        return variable

    def add_weight(
        self,
        shape: Any = (),
        initializer: Any = None,
        dtype: Any = None,
        name: str | None = None,
        **_: Any,
    ) -> Any:
        """The same."""
        return self.add_variable(shape, initializer or "zeros", dtype, name)

    @property
    def variables(self) -> list[Any]:
        """Its variables, and those of metrics in it."""
        own = [each for each in self._own if not isinstance(each, Metric)]
        inner = [each for each in self._own if isinstance(each, Metric)]
        return [*own, *(variable for metric in inner for variable in metric.variables)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


class Sum(Metric):
    """The weighted sum of all values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable((), "zeros", self.dtype, "total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        values, _ = samplewise(values, sample_weight, ops.sum, self.dtype)
        self.total.assign_add(ops.sum(values))

    def reset_state(self) -> None:
        self.total.assign(0)

    def result(self) -> Any:
        return ops.cast(self.total, self.dtype)


class Mean(Metric):
    """The weighted mean of all values."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable((), "zeros", self.dtype, "total")
        self.count = self.add_variable((), "zeros", self.dtype, "count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        values, sample_weight = samplewise(values, sample_weight, ops.mean, self.dtype)
        self.total.assign_add(ops.sum(values))
        if sample_weight is not None:
            number = ops.sum(sample_weight)
        else:
            number = ops.shape(values)[0] if len(values.shape) >= 1 else 1
        self.count.assign_add(ops.cast(number, self.dtype))

    def reset_state(self) -> None:
        self.total.assign(0)
        self.count.assign(0)

    def result(self) -> Any:
        return ops.divide_no_nan(self.total, ops.cast(self.count, self.dtype))


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name or auto_name(type(self).__name__), dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        mask = mask_of(y_pred)
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        super().update_state(values, apply_mask(sample_weight, mask, self.dtype, "sum"))
