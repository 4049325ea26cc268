"""From a value per example to one number: masks, sample weights and means, for losses and metrics.

Told about: `keras/src/losses/loss.py`, `reduce_to_samplewise_values` of
`keras/src/metrics/reduction_metrics.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.keras3 import ops

__all__ = [
    "apply_mask", "check_reduction", "mask_of", "reduce_weighted", "same_rank", "samplewise",
]  # fmt: skip

_REDUCTIONS = ("sum_over_batch_size", "sum", None, "none", "mean", "mean_with_sample_weight")


def check_reduction(reduction: Any) -> Any:
    """The reduction as it is. Raises ValueError for an unknown one."""
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"Invalid value for argument `reduction`. Expected one of {set(_REDUCTIONS)}. "
            f"Received: reduction={reduction}"
        )
    return reduction


def mask_of(tensor: Any) -> Any:
    """The mask that a layer left on its output, or None."""
    return getattr(tensor, "_keras_mask", None)


def same_rank(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both with a last dimension of 1 dropped or added where one has it and the other not."""
    one, two = len(x1.shape), len(x2.shape)
    if one == two + 1 and x1.shape[-1] == 1:
        if two == 1:
            return x1, ops.expand_dims(x2, axis=-1)
        return ops.squeeze(x1, axis=-1), x2
    if two == one + 1 and x2.shape[-1] == 1:
        if one == 1:
            return ops.expand_dims(x1, axis=-1), x2
        return x1, ops.squeeze(x2, axis=-1)
    return x1, x2


def apply_mask(weights: Any, mask: Any, dtype: Any, reduction: Any) -> Any:
    """The sample weights, 0 where the mask is False; for a mean scaled up so that it is one over
    those that count.
    """
    if mask is None:
        return weights
    if reduction in {"mean", "sum_over_batch_size"}:
        total = ops.cast(_size(mask), dtype)
        valid = ops.sum(ops.cast(mask, dtype))
        scale = ops.divide_no_nan(total, valid)
        counted = ops.where(ops.cast(mask, "bool"), scale, 0)
    else:
        counted = ops.cast(mask, dtype)
    if weights is None:
        return counted
    counted, weights = same_rank(counted, ops.cast(weights, dtype))
    weights *= counted
    return weights


def _size(values: Any) -> Any:
    return ops.prod(ops.convert_to_tensor(ops.shape(values), dtype="int32"))


def reduce_weighted(values: Any, weights: Any, mask: Any, reduction: Any, dtype: Any) -> Any:
    """The values times their weights, reduced."""
    values = ops.convert_to_tensor(values, dtype)
    weights = None if weights is None else ops.convert_to_tensor(weights, dtype)
    mask = None if mask is None else ops.convert_to_tensor(mask, dtype)
    weights = apply_mask(weights, mask, values.dtype, reduction)
    if weights is not None:
        values, weights = same_rank(values, ops.cast(weights, values.dtype))
        values = values * weights
    if reduction in {None, "none"} or tuple(values.shape) in {(), (0,)}:
        return values
    loss = ops.sum(values)
    if reduction == "sum":
        return loss
    if reduction == "mean_with_sample_weight" and weights is not None:
        divisor = ops.cast(ops.sum(weights), loss.dtype)
    else:
        divisor = ops.cast(_size(values), loss.dtype)
    return ops.divide_no_nan(loss, divisor)


def samplewise(
    values: Any, weights: Any, reduce: Callable[..., Any], dtype: Any
) -> tuple[Any, Any]:
    """One value and one weight per example."""
    mask = mask_of(values)
    values = ops.cast(values, dtype)
    if weights is not None:
        weights = ops.convert_to_tensor(weights, dtype)
        if mask is not None:
            weights = apply_mask(weights, mask, dtype, "sum")
        values, weights = same_rank(values, weights)
        rank = len(weights.shape)
        if len(values.shape) > rank:
            values = reduce(values, axis=list(range(rank, len(values.shape))))
        weights = ops.broadcast_to(weights, ops.shape(values))
        values = values * weights
        if rank > 1:
            weights = reduce(weights, axis=list(range(1, rank)))
    if len(values.shape) > 1:
        values = reduce(values, axis=list(range(1, len(values.shape))))
    return values, weights
