"""What a metric is: variables that gather over batches; sums and means.

Told about: `keras/src/metrics/base_metric.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.configurations import arguments_of
from tflogscope.runtime.keras.reduction import match_ranks

__all__ = ["Mean", "Metric", "Sum"]


class Metric(Layer):
    """Subclasses have `update_state` and `result`, and make their variables with `add_weight`."""

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype or backend.floatx(), **kwargs)
        self.built = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """What users write in these two methods is converted by AutoGraph, and a result is a tensor
        of its own.
        """
        super().__init_subclass__(**kwargs)
        if "update_state" in cls.__dict__:
            cls.update_state = _converting(cls.__dict__["update_state"])  # type: ignore[method-assign]
        if "result" in cls.__dict__:
            cls.result = _identical(cls.__dict__["result"])  # type: ignore[method-assign]

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Take a batch into account."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The metric over all that was seen since the last reset."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_state(self) -> None:
        """Forget what was seen."""
        backend.batch_set_value([(variable, 0) for variable in self.variables])

    def get_config(self) -> dict[str, Any]:
        """Name and dtype, and what Keras' own metrics were made with besides."""
        config = {"name": self.name, "dtype": self.dtype}
        if not type(self).__module__.startswith("tflogscope.runtime.keras"):
            return config
        parameters = inspect.signature(type(self).__init__).parameters.values()
        own = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        given = arguments_of(self)
        unsaid = ("fn", *config, *(["thresholds"] if "num_thresholds" in own else []))
        return config | {key: given[key] for key in own if key not in unsaid}

    def __str__(self) -> str:
        told = ",".join(f"{key}={value}" for key, value in self.get_config().items())
        return f"{type(self).__name__}({told})"

    def merge_state(self, metrics: Any) -> Any:
        """Take into account what other metrics of the kind have seen. Raises ValueError for those
        of another kind.
        """
        added = []
        for metric in metrics:
            if len(self.weights) != len(metric.weights):
                raise ValueError(f"Metric {metric} is not compatible with {self}")
            pairs = zip(self.weights, metric.weights, strict=True)
            added += [mine.assign_add(its) for mine, its in pairs]
        return added

    def reset_states(self) -> None:
        """The old name of `reset_state`."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take a batch into account, and give the result."""
        update = self.update_state(*args, **kwargs)
        with tf.control_dependencies([] if update is None else [update]):
            return self.result()

    def add_weight(  # type: ignore[override]
        self, name: str, shape: Any = (), initializer: Any = None, dtype: Any = None, **_: Any
    ) -> Any:
        """A variable of this metric, never trained."""
        with nullcontext() if tf.executing_eagerly() else tf.init_scope():
            return super().add_weight(
                name, shape, dtype or self.dtype, initializer or "zeros", trainable=False
            )


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    def update_state(self: Metric, *args: Any, **kwargs: Any) -> Any:
        return tf_convert(function, control_status())(self, *args, **kwargs)

    return update_state


def _identical(function: Callable[..., Any]) -> Callable[..., Any]:
    def result(self: Metric) -> Any:
        return tf.nest.map_structure(tf.identity, tf_convert(function, control_status())(self))

    return result


# Means


class _Reduced(Metric):
    """A sum, and for a mean the weight of what was summed."""

    counts = True

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight("total", initializer="zeros")
        if self.counts:
            self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = tf.cast(values, self.dtype)
        if sample_weight is not None:
            sample_weight = tf.cast(sample_weight, self.dtype)
            values, _, sample_weight = match_ranks(values, weights=sample_weight)
            values, sample_weight = self._aligned(values, sample_weight)
            values = tf.multiply(values, sample_weight)
        total = tf.reduce_sum(values)
        with tf.control_dependencies([total]):
            update = self.total.assign_add(total)
        if not self.counts:
            return update
        if sample_weight is None:
            number = tf.cast(tf.size(values), self.dtype)
        else:
            number = tf.reduce_sum(sample_weight)
        with tf.control_dependencies([update]):
            return self.count.assign_add(number)

    def _aligned(self, values: Any, weights: Any) -> tuple[Any, Any]:
        """Both in one shape; values are reduced over dimensions that weights don't have."""
        if weights.shape == values.shape:
            return values, weights
        if weights.shape.rank in (0, values.shape.rank):
            return values, weights * tf.ones_like(values)
        axes = list(range(weights.shape.rank, values.shape.rank))
        return (tf.reduce_mean if self.counts else tf.reduce_sum)(values, axis=axes), weights

    def result(self) -> Any:
        if self.counts:
            return tf.math.divide_no_nan(self.total, self.count)
        return tf.identity(self.total)


class Mean(_Reduced):
    """The weighted mean of all values."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)


class Sum(_Reduced):
    """The weighted sum of all values."""

    counts = False

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
