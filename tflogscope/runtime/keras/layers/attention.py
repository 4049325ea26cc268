"""Attention."""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.keras import initializers
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.core import Dropout, Softmax
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import matrices


class _Projection(Layer):
    """`einsum` with a kernel, and a bias."""

    options = {"equation": ..., "shape": ..., "bias_rank": ..., "kernel_initializer": ...}

    def build(self, input_shape: Any) -> None:
        bias = self.shape[-self.bias_rank :]
        self.kernel = self.add_weight("kernel", self.shape, initializer=self.kernel_initializer)
        self.bias = self.add_weight("bias", bias, initializer="zeros")

    def call(self, inputs: Any) -> Any:
        return matrices.einsum(self.equation, inputs, self.kernel) + self.bias


class MultiHeadAttention(Layer):
    """Attention of several heads over the steps of sequences. NB: without masks."""

    options = {
        "num_heads": ...,
        "key_dim": ...,
        "dropout": 0.0,
        "kernel_initializer": "glorot_uniform",
    }

    def build(self, input_shape: Any) -> None:
        """NB: query, key and value are of one width."""
        heads, width = [self.num_heads, self.key_dim], input_shape[-1]
        for name in ("query", "key", "value"):
            self._make(name, "abc,cde->abde", [width, *heads], 2)
        self._softmax, self._dropout = Softmax(), Dropout(self.dropout)
        self._make("attention_output", "abcd,cde->abe", [*heads, width], 1)

    def _make(self, name: str, equation: str, shape: list[int], bias_rank: int) -> None:
        start = initializers.get(self.kernel_initializer)
        layer = _Projection(equation, shape, bias_rank, start, name=name)
        setattr(self, f"_{name}_dense", layer)
        if keras3():
            layer.build(None)
            layer.built = True

    def call(self, query: Any, value: Any, key: Any = None, training: Any = None) -> Any:
        query, key = self._query_dense(query), self._key_dense(value if key is None else key)
        value = self._value_dense(value)
        # NB: Keras 3 has another way where nothing is dropped, `ops.dot_product_attention`
        query = O.Mul(query, 1.0 / math.sqrt(float(self.key_dim)))
        scores = self._softmax(matrices.einsum("aecd,abcd->acbe", key, query))
        dropped = self._dropout(scores, training=training)
        output = matrices.einsum("acbe,aecd->abcd", dropped, value)
        return self._attention_output_dense(output)
