"""`Normalization`: features by a mean and variance that are given, or learned from data by `adapt`.

Told about: `keras/src/layers/preprocessing/normalization.py`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tflogscope.runtime.data.dataset import Dataset
from tflogscope.runtime.keras.backend import epsilon
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.data_layer import DataLayer

__all__ = ["Normalization"]


class Normalization(DataLayer):
    """(inputs - mean) / deviation, for each position along `axis`; or, inverted, the way back.

    Mean and variance are no weights in the computation: they are tensors made when the layer is
    built, and again when it is adapted (`finalize_state`).
    """

    def __init__(
        self,
        axis: Any = -1,
        mean: Any = None,
        variance: Any = None,
        invert: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for only one of mean and variance, and for those that don't fit."""
        super().__init__(**kwargs)
        axes = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.axis, self.invert = axes, invert
        self.input_mean, self.input_variance = mean, variance
        self.supports_masking = True
        self.mean: Any = None
        self.variance: Any = None
        _check_given(axes, mean, variance)

    def build(self, input_shape: Any) -> None:
        """Raises ValueError for axes that the inputs don't have, or of unknown size."""
        rank = len(input_shape)
        if any(axis < -rank or axis >= rank for axis in self.axis):
            raise ValueError(
                "All `axis` values must be in the range [-ndim, ndim). "
                f"Received inputs with ndim={rank}, while axis={self.axis}"
            )
        self._shape_when_built = tuple(input_shape)
        self._kept = tuple(sorted(axis % rank for axis in self.axis))
        for axis in self._kept:
            if input_shape[axis] is None:
                raise ValueError(
                    "All `axis` values to be kept must have a known shape. Received "
                    f"axis={self.axis}, inputs.shape={input_shape}, with unknown axis at index "
                    f"{axis}"
                )
        self._reduced = tuple(axis for axis in range(rank) if axis not in self._kept)
        self._wide = [input_shape[axis] if axis in self._kept else 1 for axis in range(rank)]
        if self.input_mean is None:
            self._make(tuple(input_shape[axis] for axis in self._kept))
            self.built = True
            self.finalize_state()
        else:
            self._take_given()

    def _make(self, shape: tuple[int, ...]) -> None:
        self.adapt_mean = self.add_weight(shape, "zeros", trainable=False, name="mean")
        self.adapt_variance = self.add_weight(shape, "ones", trainable=False, name="variance")
        self.count = self.add_weight((), "zeros", dtype="int", trainable=False, name="count")

    def _take_given(self) -> None:
        """The given mean and variance along the last of the axes that are kept."""
        mean = ops.convert_to_tensor(self.input_mean)
        variance = ops.convert_to_tensor(self.input_variance)
        if len(mean.shape):
            narrow = [1] * len(self._wide)
            sizes = ops.shape(mean)
            for axis, size in zip(self._kept[-len(sizes) :], sizes, strict=True):
                narrow[axis] = size
            mean, variance = ops.reshape(mean, narrow), ops.reshape(variance, narrow)
        mean = ops.broadcast_to(mean, self._wide)
        variance = ops.broadcast_to(variance, self._wide)
        self.mean = ops.cast(mean, self.compute_dtype)
        self.variance = ops.cast(variance, self.compute_dtype)

    def adapt(self, data: Any) -> None:
        """Learn mean and variance from an array, a tensor, or batches of a dataset or iterable.

        Raises ValueError for data of another shape than the layer was built for, TypeError for what
        is none of them.
        """
        whole = isinstance(data, np.ndarray) or ops.is_tensor(data)
        shape, data = (tuple(data.shape), data) if whole else _first_shape(data)
        if not self.built:
            self.build(shape)
        elif any(shape[axis] != self._shape_when_built[axis] for axis in self._kept):
            raise ValueError(
                f"The layer was built with input_shape={self._shape_when_built}, but adapt() is "
                f"being called with data with an incompatible shape, data.shape={shape}"
            )
        if isinstance(data, np.ndarray):
            mean: Any = np.mean(data, axis=self._reduced)
            variance: Any = np.var(data, axis=self._reduced)
        elif whole:
            mean = ops.mean(data, axis=self._reduced)
            variance = ops.var(data, axis=self._reduced)
        else:
            mean, variance = self._moments(data)
        self.adapt_mean.assign(mean)
        self.adapt_variance.assign(variance)
        self.finalize_state()

    def _moments(self, batches: Any) -> tuple[Any, Any]:
        """Mean and variance of all batches: each adds its part, by the lack-of-fit sum of squares.

        Raises ValueError for a batch of another shape.
        """
        shape = tuple(self._shape_when_built[axis] for axis in self._kept)
        mean, variance, count = ops.zeros(shape), ops.zeros(shape), 0
        for each in batches:
            batch = self._in_compute_dtype(_inputs_of(each))
            if any(batch.shape[axis] != self._shape_when_built[axis] for axis in self._kept):
                raise ValueError(
                    "adapt() yielded a batch with incompatible shape. Expected "
                    f"{self._shape_when_built}, got {tuple(batch.shape)}."
                )
            of_batch = ops.mean(batch, axis=self._reduced)
            variance_of_batch = ops.var(batch, axis=self._reduced)
            size = math.prod(batch.shape[axis] for axis in self._reduced)
            count += size
            weight = float(size) / count
            before = 1.0 - weight
            new = mean * before + of_batch * weight
            variance = (variance + (mean - new) ** 2) * before + (
                variance_of_batch + (of_batch - new) ** 2
            ) * weight
            mean = new
        return mean, variance

    def finalize_state(self) -> None:
        """Take what was learned for the computation."""
        if self.input_mean is not None or not self.built:
            return
        self.mean = ops.cast(ops.reshape(self.adapt_mean, self._wide), self.compute_dtype)
        self.variance = ops.cast(ops.reshape(self.adapt_variance, self._wide), self.compute_dtype)

    def call(self, inputs: Any) -> Any:
        inputs = self._in_compute_dtype(inputs)
        if self.invert:
            deviation = ops.maximum(ops.sqrt(self.variance), epsilon())
            return ops.add(self.mean, ops.multiply(inputs, deviation))
        centred = ops.subtract(inputs, self.mean)
        return ops.divide(centred, ops.maximum(ops.sqrt(self.variance), epsilon()))


def _check_given(axes: tuple[int, ...], mean: Any, variance: Any) -> None:
    if (mean is not None) != (variance is not None):
        raise ValueError(
            "When setting values directly, both `mean` and `variance` must be set. Received: "
            f"mean={mean} and variance={variance}"
        )
    if mean is None:
        return
    if np.shape(mean) != np.shape(variance):
        raise ValueError(
            "When setting values directly, `mean` and `variance` must have the same shape. "
            f"Received: mean shape {np.shape(mean)} and variance shape {np.shape(variance)}"
        )
    if len(np.shape(mean)) > len(axes):
        raise ValueError(
            "The rank of `mean` must be less than or equal to the number of axes "
            f"({len(axes)}). Received: mean shape {np.shape(mean)} for axis {axes}"
        )


def _first_shape(data: Any) -> tuple[tuple[Any, ...], Any]:
    """The shape of the batches, and the batches; single numbers of a dataset become batches."""
    if isinstance(data, Dataset):
        shape = tuple(_inputs_of(data.element_spec).shape)
        if len(shape) == 1:
            data = data.batch(128)
            shape = tuple(_inputs_of(data.element_spec).shape)
        return shape, data
    if not hasattr(data, "__iter__"):
        raise TypeError(
            f"Unsupported data type: {type(data)}. `adapt` supports `np.ndarray`, backend tensors, "
            "`tf.data.Dataset`, `keras.utils.PyDataset`, and iterables of batches (e.g. list, "
            "generator)."
        )
    batches = iter(data)
    first = next(batches, None)
    if first is None:
        raise ValueError(
            "adapt() received an empty iterable (no batches). Expected at least one batch. Pass a "
            "non-empty iterable of arrays or tensors, e.g. layer.adapt([x]) or "
            "layer.adapt(list_of_batches)."
        )
    first = _inputs_of(first)
    if not hasattr(first, "shape"):
        raise TypeError(
            "adapt() expects an iterable that yields arrays or tensors with a `.shape` attribute "
            "(e.g. numpy arrays or backend tensors). Got an element of type "
            f"{type(first).__name__}. Ensure each yielded element is array-like with a `.shape` "
            "attribute."
        )
    return tuple(first.shape), itertools.chain([first], batches)


def _inputs_of(batch: Any) -> Any:
    return batch[0] if isinstance(batch, tuple) else batch
