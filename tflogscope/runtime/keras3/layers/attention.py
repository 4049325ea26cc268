"""Attention: each step of a sequence takes what it needs from the steps of another.

Told about: `keras/src/layers/attention/multi_head_attention.py`.
"""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import initializers, ops
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.core import Dropout, Softmax
from tflogscope.runtime.keras3.layers.einsum_dense import EinsumDense
from tflogscope.runtime.keras3.reduction import mask_of

__all__ = ["MultiHeadAttention"]


class MultiHeadAttention(Layer):
    """Attention in several heads of `key_dim` numbers each.

    Queries are (batch, steps, channels), values and keys (batch, other steps, channels).
    """

    def __init__(
        self,
        num_heads: Any,
        key_dim: Any,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: Any = None,
        attention_axes: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for sizes that are no positive integers, NotInThisRuntime for attention
        over several dimensions.
        """
        for name, size in (("num_heads", num_heads), ("key_dim", key_dim)):
            if not isinstance(size, int) or size <= 0:
                raise ValueError(
                    f"Received an invalid value for argument `{name}`, expected a positive "
                    f"integer. Received: {name}={size}"
                )
        if attention_axes not in {None, 1, (1,)} or not isinstance(output_shape, int | None):
            raise NotInThisRuntime("MultiHeadAttention over several axes")
        of_parts = [name for name in kwargs if name.endswith(("_regularizer", "_constraint"))]
        self.__dict__["_of_parts"] = {name: kwargs.pop(name) for name in of_parts}
        super().__init__(**kwargs)
        self._num_heads, self._key_dim, self._value_dim = num_heads, key_dim, value_dim or key_dim
        self._dropout, self._use_bias, self._seed = dropout, use_bias, seed
        self._width = output_shape
        self._initializers = {
            "kernel_initializer": initializers.get(kernel_initializer),
            "bias_initializer": initializers.get(bias_initializer),
        }
        self.supports_masking = True

    _of_parts: dict[str, Any]

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:  # type: ignore[override]
        shapes = {"query": query_shape, "key": key_shape or value_shape, "value": value_shape}
        if any(len(shape) != 3 for shape in shapes.values()):
            raise NotInThisRuntime("MultiHeadAttention of tensors that have not 3 dimensions")
        for name, shape in shapes.items():
            heads = [self._num_heads, self._value_dim if name == "value" else self._key_dim]
            dense = self._projection("abc,cde->abde", [None, *heads], "de", name)
            setattr(self, f"_{name}_dense", dense)
            dense.build(shape)
        self._softmax = Softmax(axis=(3,), dtype=self.dtype_policy)
        self._dropout_layer = Dropout(self._dropout, seed=self._seed, dtype=self.dtype_policy)
        width = self._width or query_shape[-1]
        self._output_dense = self._projection(
            "abcd,cde->abe", [None, width], "e", "attention_output"
        )
        self._output_dense.build((*query_shape[:-1], self._num_heads, self._value_dim))

    _query_dense: Any
    _key_dense: Any
    _value_dense: Any

    def _projection(self, equation: str, shape: Any, bias_axes: str, name: str) -> EinsumDense:
        drawn = {kind: initializers.renewed(each) for kind, each in self._initializers.items()}
        return EinsumDense(
            equation,
            output_shape=shape,
            bias_axes=bias_axes if self._use_bias else None,
            name=name,
            dtype=self.dtype_policy,
            **drawn,
            **self._of_parts,
        )

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        key = value if key is None else key
        query_mask = mask_of(query)
        for each in (query, value, key):
            if mask_of(each) is not None:
                each._keras_mask = None
        given = [each for each in (query_mask, value_mask, key_mask) if each is not None]
        only_causal = use_causal_mask and not given and attention_mask is None
        if not only_causal:
            causal = _before(query, value) if use_causal_mask else None
            masks = _aligned(query_mask, value_mask, key_mask)
            attention_mask = _all_of(attention_mask, [*masks, causal])
        query, key, value = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        if self._dropout > 0 or return_attention_scores:
            if only_causal:
                attention_mask = _before(query, value)
            output, scores = self._with_scores(query, key, value, attention_mask, training)
        else:
            scale = 1.0 / math.sqrt(float(self._key_dim))
            mask = None if attention_mask is None else ops.cast(_of_heads(attention_mask), "bool")
            output, scores = ops.dot_product_attention(
                query, key, value, mask=mask, scale=scale, is_causal=only_causal
            ), None  # fmt: skip
        output = self._output_dense(output)
        if query_mask is not None:
            output._keras_mask = query_mask
        return (output, scores) if return_attention_scores else output

    def _with_scores(
        self, query: Any, key: Any, value: Any, mask: Any, training: Any
    ) -> tuple[Any, Any]:
        """Step by step: where scores are asked for, or some of them dropped."""
        scale = ops.cast(1.0 / math.sqrt(float(self._key_dim)), query.dtype)
        scores = ops.einsum("aecd,abcd->acbe", key, ops.multiply(query, scale))
        scores = self._softmax(scores, mask=None if mask is None else _of_heads(mask))
        kept = self._dropout_layer(scores, training=training) if self._dropout > 0 else scores
        return ops.einsum("acbe,aecd->abcd", kept, value), scores


def _of_heads(mask: Any) -> Any:
    """A mask (batch, steps, other steps) with a dimension for the heads."""
    for _ in range(4 - len(mask.shape)):
        mask = ops.expand_dims(mask, axis=-3)
    return mask


def _before(query: Any, value: Any) -> Any:
    """Where a query's step is not before the value's: (1, steps, other steps)."""
    steps, others = ops.shape(query)[1], ops.shape(value)[1]
    ones = ops.ones((1, steps, others), dtype="int32")
    return ops.greater_equal(ops.cumsum(ones, axis=-2), ops.cumsum(ones, axis=-1))


def _aligned(query_mask: Any, value_mask: Any, key_mask: Any) -> list[Any]:
    """The masks of steps as masks of pairs of steps."""
    found = []
    for mask, axis in ((query_mask, -1), (value_mask, -2), (key_mask, -2)):
        if mask is not None:
            found.append(ops.expand_dims(ops.cast(mask, "bool"), axis))
    return found


def _all_of(given: Any, masks: list[Any]) -> Any:
    """What the mask that was given and all others allow; None without any."""
    combined: Any = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else combined & mask
    given = None if given is None else ops.cast(given, "bool")
    if combined is None or given is None:
        return given if combined is None else combined
    return given & combined
