"""Attention: each step of a sequence takes what it needs from the steps of another.

Told about: `keras/src/layers/attention/multi_head_attention.py` and `core/einsum_dense.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.core import Dropout, Softmax

__all__ = ["MultiHeadAttention"]


class _Projection(Layer):
    """`einsum(equation, inputs, kernel) + bias`: Keras' EinsumDense, its shapes given."""

    def __init__(
        self,
        equation: str,
        kernel_shape: Sequence[int],
        bias_shape: Sequence[int] | None,
        kernel_initializer: Any,
        bias_initializer: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._equation = equation
        self._shapes = kernel_shape, bias_shape
        self._initializers = kernel_initializer, bias_initializer

    def build(self, input_shape: Any) -> None:
        (kernel_shape, bias_shape), (of_kernel, of_bias) = self._shapes, self._initializers
        self.kernel = self.add_weight("kernel", kernel_shape, initializer=of_kernel)
        self.bias = (
            None if bias_shape is None else self.add_weight("bias", bias_shape, initializer=of_bias)
        )

    def call(self, inputs: Any) -> Any:
        result = tf.einsum(self._equation, inputs, self.kernel)
        return result if self.bias is None else result + self.bias


class MultiHeadAttention(Layer):
    """Attention in several heads of `key_dim` numbers each.

    Queries are [batch, steps, channels], values and keys [batch, other steps, channels]; raises
    NotInThisRuntime for other shapes.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | None = None,
        attention_axes: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        if attention_axes is not None or not isinstance(output_shape, int | None):
            raise NotInThisRuntime("MultiHeadAttention over several axes")
        super().__init__(**kwargs)
        self._heads, self._key_dim, self._value_dim = num_heads, key_dim, value_dim or key_dim
        self._dropout, self._use_bias, self._width = dropout, use_bias, output_shape
        self._initializers = kernel_initializer, bias_initializer
        self._has_parts = False
        self.supports_masking = True

    def _make_parts(self, query: Any, value: Any, key: Any) -> None:
        """The layers it is made of, now that the numbers of channels are known."""
        if any(each.shape.rank != 3 for each in (query, value, key)):
            raise NotInThisRuntime("MultiHeadAttention of tensors that have not 3 dimensions")
        self._has_parts = True

        def projection(equation: str, kernel: list[int], bias: list[int], name: str) -> Any:
            of_bias = bias if self._use_bias else None
            return _Projection(equation, kernel, of_bias, *self._initializers, name=name)

        for name, tensor, size in (
            ("query", query, self._key_dim),
            ("key", key, self._key_dim),
            ("value", value, self._value_dim),
        ):
            heads = [self._heads, size]
            layer = projection("abc,cde->abde", [tensor.shape[-1], *heads], heads, name)
            setattr(self, f"_{name}_dense", layer)
        self._softmax = Softmax(axis=(3,))
        self._dropout_layer = Dropout(rate=self._dropout)
        width = self._width or query.shape[-1]
        self._output_dense = projection(
            "abcd,cde->abe", [self._heads, self._value_dim, width], [width], "attention_output"
        )

    _query_dense: Any
    _key_dense: Any
    _value_dense: Any

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        if not self._has_parts:
            self._make_parts(query, value, value if key is None else key)
        key = value if key is None else key
        mask = self._combined_mask(query, value, key, attention_mask, use_causal_mask)
        query, key, value = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        query = tf.multiply(query, 1.0 / math.sqrt(float(self._key_dim)))
        scores = tf.einsum("aecd,abcd->acbe", key, query)
        if mask is not None:
            for _ in range(len(scores.shape) - len(mask.shape)):
                mask = tf.expand_dims(mask, axis=-3)
        scores = self._softmax(scores, mask)
        dropped = self._dropout_layer(scores, training=training)
        output = self._output_dense(tf.einsum("acbe,aecd->abcd", dropped, value))
        return (output, scores) if return_attention_scores else output

    def _combined_mask(
        self, query: Any, value: Any, key: Any, given: Any, use_causal_mask: bool
    ) -> Any:
        """Which query step may see which value step: what all masks allow; None without any.

        Sliced and joined as `_compute_attention_mask` of Keras does: `[:, :, newaxis]` and `&`,
        which are a StridedSlice and a LogicalAnd named `and`.
        """
        combined: Any = None
        for tensor, dimension in ((query, 2), (value, 1), (key, 1)):
            mask = getattr(tensor, "_keras_mask", None)
            if mask is not None:
                mask = tf.cast(mask, tf.bool)
                mask = mask[:, :, tf.newaxis] if dimension == 2 else mask[:, tf.newaxis, :]
                combined = mask if combined is None else combined & mask
        if use_causal_mask:
            steps: list[Any] = [tf.shape(each)[1] for each in (query, value)]
            mask = tf.linalg.band_part(tf.ones((1, *steps), tf.bool), -1, 0)
            combined = mask if combined is None else combined & mask
        if combined is None or given is None:
            return given if combined is None else combined
        return tf.cast(given, tf.bool) & combined

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The query's mask is that of the output."""
        del inputs
        return mask
