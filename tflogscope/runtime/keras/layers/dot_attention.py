"""Attention without weights of its own, or with a single scale.

Told about: `keras/src/layers/attention/base_dense_attention.py`, `attention.py`,
`additive_attention.py`; `keras/src/layers/merging/dot.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import backend
from tflogscope.runtime.keras.layers.base import Layer

__all__ = ["AdditiveAttention", "Attention", "Dot", "dot"]


class _DenseAttention(Layer):
    """Called on [query, value] or [query, value, key]."""

    def __init__(self, use_scale: bool, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.dropout = use_scale, dropout
        self.scale: Any = None
        self._random_generator = backend.RandomGenerator()
        self.supports_masking = True

    def scores(self, query: Any, key: Any) -> Any:
        """How much each query is about each key: [batch, queries, keys]."""
        raise NotImplementedError

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del inputs
        return None if not mask or mask[0] is None else tf.convert_to_tensor(mask[0])

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        query, value = inputs[0], inputs[1]
        scores = self.scores(query, inputs[2] if len(inputs) > 2 else value)
        allowed = self._allowed(scores, mask[1] if mask else None, use_causal_mask)
        if allowed is not None:
            hidden = tf.logical_not(allowed)
            scores -= (65504.0 if scores.dtype is tf.float16 else 1.0e9) * tf.cast(
                hidden, scores.dtype
            )
        if training is None:
            training = backend.learning_phase()
        weights = tf.nn.softmax(scores)
        if self.dropout > 0:
            weights = backend.smart_cond(
                training,
                lambda: self._random_generator.dropout(weights, self.dropout),
                lambda: tf.identity(weights),
            )
        result = tf.matmul(weights, value)
        if mask and mask[0] is not None:
            result *= tf.cast(tf.expand_dims(mask[0], -1), result.dtype)
        return (result, weights) if return_attention_scores else result

    def _allowed(self, scores: Any, of_value: Any, causal: bool) -> Any:
        allowed = None if of_value is None else tf.expand_dims(of_value, -2)
        if not causal:
            return allowed
        lower = tf.cast(tf.linalg.band_part(tf.ones_like(scores[:1]), -1, 0), tf.bool)
        return lower if allowed is None else tf.logical_and(allowed, lower)


class Attention(_DenseAttention):
    """Scores are products: Luong's attention."""

    def __init__(self, use_scale: bool = False, score_mode: str = "dot", **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)
        self.score_mode = score_mode

    def build(self, input_shape: Any) -> None:
        del input_shape
        if self.use_scale:
            self.scale = self.add_weight("scale", (), initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                "concat_score_weight", (), initializer="ones"
            )

    def scores(self, query: Any, key: Any) -> Any:
        if self.score_mode == "dot":
            scores = tf.matmul(query, key, transpose_b=True)
            return scores if self.scale is None else scores * self.scale
        together = tf.expand_dims(query, -2) + tf.expand_dims(key, -3)
        if self.scale is not None:
            together *= self.scale
        return self.concat_score_weight * tf.reduce_sum(tf.tanh(together), axis=-1)


class AdditiveAttention(_DenseAttention):
    """Scores are sums through tanh: Bahdanau's attention."""

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight("scale", (input_shape[0][-1],))

    def scores(self, query: Any, key: Any) -> Any:
        together = tf.tanh(tf.expand_dims(query, -2) + tf.expand_dims(key, -3))
        scale = 1.0 if self.scale is None else self.scale
        return tf.reduce_sum(scale * together, axis=-1)


class Dot(Layer):
    """The product of two tensors along an axis of each."""

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize
        self.supports_masking = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The product has none."""
        del inputs, mask

    def call(self, inputs: Any) -> Any:
        first, second = inputs
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else tuple(self.axes)
        one, other = (axis % each.shape.rank for axis, each in zip(axes, inputs, strict=True))
        if self.normalize:
            first, second = tf.nn.l2_normalize(first, one), tf.nn.l2_normalize(second, other)
        if first.shape.rank == second.shape.rank == 2:
            product = tf.matmul(tf.expand_dims(first, 1), tf.expand_dims(second, 2))
            tf.shape(product)  # NB: Keras asks for it and needs it not
            return tf.squeeze(product, 1)
        first = first if one == first.shape.rank - 1 else _last(first, one)
        second = second if other == second.shape.rank - 1 else _last(second, other)
        if second.shape.rank == 2:
            return tf.linalg.matvec(first, second)
        if first.shape.rank == 2:
            return tf.linalg.matvec(second, first)
        return tf.matmul(first, second, transpose_b=True)


def _last(tensor: Any, axis: int) -> Any:
    """With that axis as the last one."""
    order = [k for k in range(tensor.shape.rank) if k != axis]
    return tf.transpose(tensor, [*order, axis])


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """`Dot` as a function."""
    return Dot(axes, normalize, **kwargs)(inputs)
