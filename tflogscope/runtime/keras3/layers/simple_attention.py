"""Attention without weights of its own but for a scale.

Told about: `keras/src/layers/attention/` (`attention.py`, `additive_attention.py`).
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.keras3 import ops, random
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = ["AdditiveAttention", "Attention"]


class Attention(Layer):
    """Values weighted by how well their keys fit the queries: `[query, value]`, and a key if it is
    not the value. Raises ValueError for a mode of scoring that there is not.
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if score_mode not in {"dot", "concat"}:
            raise ValueError(
                "Invalid value for argument score_mode. Expected one of {'dot', 'concat'}. "
                f"Received: score_mode={score_mode}"
            )
        self.use_scale, self.score_mode, self.dropout = use_scale, score_mode, dropout
        if dropout > 0:
            self.seed_generator = random.SeedGenerator(seed)
        self.scale: Any = None

    def build(self, input_shape: Any) -> None:
        del input_shape
        if self.use_scale:
            self.scale = self.add_weight((), "ones", name="scale")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight((), "ones", name="concat_score_weight")

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: bool = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        query, value = inputs[:2]
        of_query, of_value = mask[:2] if mask else (None, None)
        scores = self._scores(query, inputs[2] if len(inputs) > 2 else value)
        if use_causal_mask:
            of_value = _causal(scores, of_value)
        outputs, weights = self._weighted(scores, value, of_value, training)
        if of_query is not None:
            outputs = ops.where(ops.expand_dims(of_query, axis=-1), outputs, 0)
        return (outputs, weights) if return_attention_scores else outputs

    def _scores(self, query: Any, key: Any) -> Any:
        if self.score_mode == "dot":
            scores = ops.matmul(query, ops.swapaxes(key, -2, -1))
            return scores if self.scale is None else ops.multiply(scores, self.scale)
        pairs = ops.expand_dims(query, axis=-2) + ops.expand_dims(key, axis=-3)
        scaled = pairs if self.scale is None else self.scale * pairs
        return self.concat_score_weight * ops.sum(ops.tanh(scaled), axis=-1)

    def _weighted(self, scores: Any, value: Any, mask: Any, training: bool) -> tuple[Any, Any]:
        if mask is not None:
            padding = ops.logical_not(mask)
            if len(padding.shape) == 2:
                padding = ops.expand_dims(padding, axis=-2)
            least = 65504.0 if scores.dtype.name == "float16" else 1.0e9
            scores = ops.where(padding, scores - least, scores)
        weights = ops.softmax(scores, axis=-1)
        if training and self.dropout > 0:
            weights = random.dropout(weights, self.dropout, seed=self.seed_generator)
        return ops.matmul(weights, value), weights

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del inputs
        return None if mask is None or mask[0] is None else ops.convert_to_tensor(mask[0])


class AdditiveAttention(Attention):
    """Scores that are sums of a layer of `tanh`."""

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight([input_shape[0][-1]], "glorot_uniform", name="scale")

    def _scores(self, query: Any, key: Any) -> Any:
        pairs = ops.expand_dims(query, axis=-2) + ops.expand_dims(key, axis=-3)
        scale = self.scale if self.use_scale else 1.0
        return ops.sum(scale * ops.tanh(pairs), axis=-1)


def _causal(scores: Any, mask: Any) -> Any:
    """A query sees only keys before it."""
    dims = ops.shape(scores)
    ones = ops.ones((1, dims[-2], dims[-1]), dtype="int32")
    rows, columns = ops.cumsum(ones, axis=-2), ops.cumsum(ones, axis=-1)
    causal = ops.greater_equal(rows, columns)
    return causal if mask is None else ops.logical_and(ops.expand_dims(mask, axis=-2), causal)
