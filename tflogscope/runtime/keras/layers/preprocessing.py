"""Layers that bring inputs into a better range.

Told about: `keras/src/layers/preprocessing/normalization.py`, `image_preprocessing.py`,
`category_encoding.py`, and `encode_categorical_inputs` of `preprocessing_utils.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["CategoryEncoding", "Normalization", "Rescaling", "Resizing"]


class Rescaling(Layer):
    """inputs * scale + offset."""

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Any:
        scale, offset = (
            tf.cast(self.scale, self.compute_dtype),
            tf.cast(self.offset, self.compute_dtype),
        )
        return tf.cast(inputs, self.compute_dtype) * scale + offset


class Resizing(Layer):
    """Images of another height and width."""

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        **kwargs: Any,
    ) -> None:
        if crop_to_aspect_ratio:
            raise NotInThisRuntime("Resizing(crop_to_aspect_ratio=True)")
        self.height, self.width, self.interpolation = height, width, interpolation
        self.crop_to_aspect_ratio = crop_to_aspect_ratio
        super().__init__(**kwargs)

    def call(self, inputs: Any) -> Any:
        nearest = self.interpolation == "nearest"
        inputs = tf.cast(inputs, self.compute_dtype if nearest else tf.float32)
        size = [self.height, self.width]
        return tf.cast(tf.image.resize(inputs, size, self.interpolation), self.compute_dtype)


class CategoryEncoding(Layer):
    """Numbers of categories as rows of ones (`one_hot`, `multi_hot`) or of counts (`count`)."""

    def __init__(
        self,
        num_tokens: int | None = None,
        output_mode: str = "multi_hot",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for an unknown mode or no tokens."""
        if sparse:
            raise NotInThisRuntime("CategoryEncoding(sparse=True)")
        super().__init__(**kwargs)
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        modes = ("count", "one_hot", "multi_hot")
        if output_mode not in modes:
            raise ValueError(
                "Unkown value for `output_mode` argument of layer CategoryEncoding. Allowed "
                f"values are: or one of the following values: {modes}. Received: {output_mode}"
            )
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known "
                "beforehand, use the IntegerLookup layer instead."
            )
        if num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")
        self.num_tokens, self.output_mode, self.sparse = num_tokens, output_mode, sparse

    def call(self, inputs: Any, count_weights: Any = None) -> Any:
        """Raises ValueError for weights of what is not counted."""
        inputs = tf.convert_to_tensor(inputs)
        if count_weights is not None:
            if self.output_mode != "count":
                raise ValueError(
                    "`count_weights` is not used when `output_mode` is not `'count'`. Received "
                    f"`count_weights={count_weights}`."
                )
            count_weights = tf.cast(count_weights, self.compute_dtype)
        highest, lowest = tf.reduce_max(inputs), tf.reduce_min(inputs)
        in_range = tf.logical_and(
            tf.greater(tf.cast(self.num_tokens, highest.dtype), highest),
            tf.greater_equal(lowest, tf.cast(0, lowest.dtype)),
        )
        text = (
            "Input values must be in the range 0 <= values < num_tokens with num_tokens="
            f"{self.num_tokens}"
        )
        with tf.control_dependencies([tf.debugging.Assert(in_range, [text])]):
            return self._encoded(inputs, count_weights)

    def _encoded(self, inputs: Any, count_weights: Any) -> Any:
        told = inputs.shape
        if inputs.shape.rank == 0:
            inputs = tf.expand_dims(inputs, -1)
        if self.output_mode == "one_hot" and inputs.shape[-1] != 1:
            inputs = tf.expand_dims(inputs, -1)
        if inputs.shape.rank > 2:
            raise ValueError(
                "When output_mode is not `'int'`, maximum supported output rank is 2. Received "
                f"output_mode {self.output_mode} and input shape {told}, which would result in "
                f"output rank {inputs.shape.rank}."
            )
        depth = self.num_tokens
        rows = tf.math.bincount(
            inputs,
            weights=count_weights,
            minlength=depth,
            maxlength=depth,
            dtype=self.compute_dtype,
            axis=-1,
            binary_output=self.output_mode != "count",
        )
        rows.set_shape([depth] if inputs.shape.rank == 1 else [inputs.shape[0], depth])
        return rows


class Normalization(Layer):
    """Mean 0 and variance 1 along an axis: as given, or as `adapt` finds them in data."""

    def __init__(
        self, axis: int | None = -1, mean: Any = None, variance: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be set. Got mean: "
                f"{mean} and variance: {variance}"
            )
        self.axis = axis
        self.input_mean, self.input_variance = mean, variance
        self._of_inputs: tuple[Any, ...] = ()
        self.mean: Any = None
        self.variance: Any = None

    def build(self, input_shape: Any) -> None:
        self.__dict__["_of_inputs"] = tuple(input_shape)
        size = () if self.axis is None else (input_shape[self.axis],)
        if self.input_mean is not None:
            self._set(
                np.broadcast_to(self.input_mean, size), np.broadcast_to(self.input_variance, size)
            )
            return
        self.adapt_mean = self.add_weight("mean", size, initializer="zeros", trainable=False)
        self.adapt_variance = self.add_weight("variance", size, initializer="ones", trainable=False)
        self.count = self.add_weight(
            "count", (), dtype=tf.int64, initializer="zeros", trainable=False
        )
        self._set(self.adapt_mean, self.adapt_variance)

    def _set(self, mean: Any, variance: Any) -> None:
        """What is taken from inputs, in their rank: as values, also where the layer is traced."""
        shape = [1] * len(self._of_inputs)
        if self.axis is not None:
            shape[self.axis] = -1
        with tf.init_scope():
            shaped = [tf.reshape(tf.convert_to_tensor(each), shape) for each in (mean, variance)]
            mean, variance = (tf.cast(each, self.compute_dtype) for each in shaped)
        vars(self).update(mean=mean, variance=variance)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Take mean and variance from an array or a dataset of batches."""
        del batch_size
        batches = (
            list(data.take(steps or -1).as_numpy_iterator())
            if isinstance(data, tf.data.Dataset)
            else [data]
        )
        rows = [np.atleast_1d(np.asarray(batch, np.float32)) for batch in batches]
        values = np.concatenate(rows)
        if values.ndim == 1 and self.axis is not None:
            values = values[:, np.newaxis]
        if not self.built:
            with tf.name_scope(self.name):
                self.build(values.shape)
            self.built = True
        axes = tuple(
            k for k in range(values.ndim) if self.axis is None or k != self.axis % values.ndim
        )
        self.adapt_mean.assign(values.mean(axes))
        self.adapt_variance.assign(values.var(axes))
        self.count.assign(len(values))
        self._set(self.adapt_mean, self.adapt_variance)

    def call(self, inputs: Any) -> Any:
        inputs = tf.cast(inputs, self.compute_dtype)
        return (inputs - self.mean) / tf.maximum(tf.sqrt(self.variance), backend.epsilon())
