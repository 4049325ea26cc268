"""Normalisation and dropout: `tf.nn.moments`, `tf.nn.batch_normalization`, `tf.nn.dropout`.

Told about: `python/ops/nn_impl.py`, `_dropout` of `python/ops/nn_ops.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import executing_eagerly, op_scope
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.random import stateless_uniform, uniform
from tflogscope.runtime.library.reductions import reduce_mean, reduce_prod, reduce_sum
from tflogscope.runtime.library.seeds import get_seed
from tflogscope.runtime.library.slicing import gather
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The mean and variance along `axes`; halves are computed as float32."""
    del shift
    with op_scope(name, "moments"):
        half = x.dtype is dtypes.float16
        y = cast(x, dtypes.float32) if half else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        deviations = call("SquaredDifference", y, arrays.stop_gradient(mean))
        variance = reduce_mean(deviations, axes, keepdims=True, name="variance")
        if not keepdims:
            mean, variance = arrays.squeeze(mean, axes), arrays.squeeze(variance, axes)
        if half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """How many elements there are along `axes`, their sum and that of their squares, and `shift`,
    by which they were shifted.
    """
    axes = list(dict.fromkeys(axes))
    with op_scope(name, "sufficient_statistics"):
        x = convert_to_tensor(x, name="x")
        if x.shape.rank is not None and all(x.shape[axis] is not None for axis in axes):
            counts = constant(math.prod(x.shape[axis] for axis in axes), dtype=x.dtype)
        else:
            rank = arrays.rank(x)
            positive = [axis + rank if axis < 0 else axis for axis in axes]
            counts = reduce_prod(gather(cast(arrays.shape(x), x.dtype), positive), name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift")
            values, squares = x - shift, call("SquaredDifference", x, shift)
        else:
            values, squares = x, call("Square", x)
        total = reduce_sum(values, axes, keepdims=keepdims, name="mean_ss")
        return counts, total, reduce_sum(squares, axes, keepdims=keepdims, name="var_ss"), shift


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and variance that these statistics tell."""
    with op_scope(name, "normalize"):
        divisor: Any = call("Reciprocal", counts, name="divisor")
        named = "mean" if shift is None else "shifted_mean"
        shifted = call("Mul", mean_ss, divisor, name=named)
        mean = shifted if shift is None else call("AddV2", shifted, shift, name="mean")
        scaled = call("Mul", variance_ss, divisor)
        return mean, call("Sub", scaled, call("Square", shifted), name="variance")


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and variance along `axes`, where each element counts as often as its weight says."""
    with op_scope(name, "weighted_moments"):
        x = convert_to_tensor(x, name="x")
        weights: Any = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = x.dtype is dtypes.float16
        x = cast(x, dtypes.float32) if half else x
        weights = cast(weights, x.dtype)
        weighted = reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        spread = weights + arrays.zeros_like(x)
        total = reduce_sum(spread, axes, name="sum_of_weights", keepdims=True)
        mean: Any = call("DivNoNan", weighted, total)
        distances = weights * call("SquaredDifference", x, mean)
        distance = reduce_sum(distances, axes, name="weighted_distsq", keepdims=True)
        variance = call("DivNoNan", distance, total)
        if not keepdims:
            mean, variance = arrays.squeeze(mean, axes), arrays.squeeze(variance, axes)
        if half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """Shifted and scaled to mean `offset` and deviation `scale`."""
    with op_scope(name, "batchnorm"):
        inverse: Any = call("Rsqrt", variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        scaled = x * cast(inverse, x.dtype)
        shift = offset - mean * inverse if offset is not None else -mean * inverse
        return scaled + cast(shift, x.dtype)  # type: ignore[no-any-return]


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation by one op: the result, the running mean and variance. Raises ValueError
    if these are missing.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` "
            f"{variance!r}"
        )
    x, scale, offset = (
        convert_to_tensor(value, name=key)
        for key, value in (("input", x), ("scale", scale), ("offset", offset))
    )
    mean = constant([]) if mean is None else mean
    variance = constant([]) if variance is None else variance
    found = results(
        "FusedBatchNormV3",
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=epsilon,
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return found[0], found[1], found[2]


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return arrays.shape(x)
    if isinstance(noise_shape, Tensor):
        if not executing_eagerly():
            return noise_shape
        # NB: one op StridedSlice for each dimension, to learn what it is
        noise_shape = [int(noise_shape[i]) for i in range(x.shape.rank or 0)]
    try:
        given = TensorShape(noise_shape)
    except (TypeError, ValueError):  # tensors of a graph are among the dimensions
        return noise_shape
    if x.shape.rank is not None and x.shape.rank == given.rank:
        pairs = zip(given.as_list(), x.shape.as_list(), strict=True)
        return TensorShape(whole if dim is None else dim for dim, whole in pairs)
    return noise_shape


def _dropout(
    x: Any,
    rate: Any,
    noise_shape: Any,
    sample: Callable[..., Tensor],
    skip: Callable[[], Any],
    name: str | None,
    scope: str,
) -> Tensor:
    with op_scope(name, scope):
        number = isinstance(rate, Real)
        if number and not 0 <= rate < 1:
            raise ValueError(
                "`rate` must be a scalar tensor or a float in the range [0, 1). Received: "
                f"rate={rate}"
            )
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: "
                f"x_dtype={x.dtype}"
            )
        if number and rate == 0:
            skip()  # so that the seeds of later ops do not depend on the rate
            return x  # type: ignore[no-any-return]
        if number:
            kept = call("Mul", x, convert_to_tensor(1 / (1 - rate), x.dtype))
        elif isinstance(rate, Tensor):
            if rate.dtype is not x.dtype:
                rate = call("Cast", rate, DstT=x.dtype, name="rate")
            one = constant(1, x.dtype)
            kept = call("RealDiv", x, call("Sub", one, rate))
        else:
            raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
        drawn = sample(_noise_shape(x, noise_shape), dtype=x.dtype)
        mask = drawn >= rate
        result = call("SelectV2", mask, kept, constant(0, x.dtype))
        if not executing_eagerly():
            result.set_shape(x.shape)
        return result


def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Each element 0 with probability `rate`, else larger by as much. Raises ValueError for a rate
    outside of [0, 1).
    """

    def sample(shape: Any, dtype: Any) -> Tensor:
        return uniform(shape, dtype=dtype, seed=seed)

    return _dropout(x, rate, noise_shape, sample, lambda: get_seed(seed), name, "dropout")


def dropout_v1(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """The same, of the probability that an element is kept, or that it is not. Raises ValueError
    if there is neither, or both.
    """
    if keep_prob is not None:
        if rate is not None:
            raise ValueError("Cannot specify both 'rate' and 'keep_prob'.")
        rate = 1.0 - keep_prob
    if rate is None:
        raise ValueError(f"`rate` must be provided. Received: rate={rate}")
    return dropout(x, rate, noise_shape, seed, name)


def stateless_dropout(
    x: Any,
    rate: Any,
    seed: Any,
    rng_alg: Any = "auto_select",
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Dropout with numbers that are always the same for a seed of two numbers."""

    def sample(shape: Any, dtype: Any) -> Tensor:
        return stateless_uniform(shape, seed, dtype=dtype, alg=rng_alg)

    return _dropout(x, rate, noise_shape, sample, lambda: None, name, "stateless_dropout")


def general_dropout(
    x: Any,
    rate: Any,
    uniform_sampler: Callable[..., Tensor],
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Dropout with numbers from elsewhere: what Keras' layer calls."""
    return _dropout(x, rate, noise_shape, uniform_sampler, lambda: None, name, "general_dropout")
