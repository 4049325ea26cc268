"""Normalisation: FusedBatchNormV3, LRN, and the ops of their gradients.

Told about: `core/kernels/fused_batch_norm_op.cc`, `core/kernels/lrn_op.cc`,
`python/ops/nn_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.windows import channels_last, original_layout
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

Array = NDArray[Any]
_NORM = "epsilon=0.0001, data_format='NHWC', is_training=True"


def _channels(i: Inference) -> TensorShape:
    shape = i.shape(0) if i.op == "FusedBatchNormV3" else i.shape(1)
    if shape.rank is None:
        return TensorShape([None])
    return TensorShape([shape[-1] if i.attributes["data_format"] == "NHWC" else shape[1]])


def _norm_shape(i: Inference) -> list[TensorShape]:
    channels = _channels(i)
    rank = len(i.attributes["data_format"])
    return [i.shape_of_rank(0, rank), *[channels] * 4, UNKNOWN]


@op(
    "FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U; T in float16 bfloat16 "
    "float32, epsilon=0.0001, exponential_avg_factor=1.0, data_format='NHWC', is_training=True) "
    "-> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U",
    shape=_norm_shape,
)
def _fused_batch_norm(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    """Normalises over all but the channels; also gives the new running mean and variance, and what
    the gradient needs.
    """
    values = channels_last(x, data_format).astype(np.float32, copy=False)
    nothing = np.zeros(0, scale.dtype)
    if not is_training:
        y = (values - mean) / np.sqrt(variance + epsilon) * scale + offset
        return (
            original_layout(y.astype(x.dtype), data_format),
            mean,
            variance,
            mean,
            variance,
            nothing,
        )
    axes = tuple(range(values.ndim - 1))
    batch_mean = np.mean(values, axis=axes, dtype=np.float32)
    batch_variance = np.mean(np.square(values - batch_mean), axis=axes, dtype=np.float32)
    y = (values - batch_mean) / np.sqrt(batch_variance + epsilon) * scale + offset
    count = values.size // max(values.shape[-1], 1)
    unbiased = batch_variance * (
        count / max(count - 1, 1)
    )  # Bessel's correction, as the running variance has it
    new_mean, new_variance = batch_mean, np.asarray(unbiased, np.float32)
    if exponential_avg_factor != 1.0:
        keep = 1 - exponential_avg_factor
        new_mean = np.asarray(mean * keep + new_mean * exponential_avg_factor, np.float32)
        new_variance = np.asarray(
            variance * keep + new_variance * exponential_avg_factor, np.float32
        )
    y = original_layout(y.astype(x.dtype), data_format)
    of_batch = np.asarray(batch_mean), np.asarray(batch_variance, np.float32)
    return y, np.asarray(new_mean), new_variance, *of_batch, nothing


def _norm_grad_shape(i: Inference) -> list[TensorShape]:
    channels = _channels(i)
    return [i.shape(0), channels, channels, TensorShape([0]), TensorShape([0])]


@op(
    "FusedBatchNormGradV3(y_backprop: T, x: T, scale: float32, reserve_space_1: U, "
    f"reserve_space_2: U, reserve_space_3: U; {_NORM}) -> x_backprop: T, scale_backprop: U, "
    "offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
    shape=_norm_grad_shape,
)
def _fused_batch_norm_grad(
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    reserve_space_3: Array,  # noqa: ARG001
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    dy, values = (
        channels_last(each, data_format).astype(np.float32, copy=False) for each in (y_backprop, x)
    )
    axes = tuple(range(values.ndim - 1))
    inverse = np.float32(1) / np.sqrt(reserve_space_2 + np.float32(epsilon))
    centred = values - reserve_space_1
    offset_backprop = np.sum(dy, axis=axes, dtype=np.float32)
    scale_backprop = np.sum(dy * centred, axis=axes, dtype=np.float32) * inverse
    if is_training:
        count = np.float32(values.size // max(values.shape[-1], 1))
        dx = (
            scale
            * inverse
            * (dy - offset_backprop / count - centred * inverse * scale_backprop / count)
        )
    else:
        dx = dy * scale * inverse
    nothing = np.zeros(0, np.float32)
    dx = original_layout(dx.astype(x.dtype), data_format)
    return dx, np.asarray(scale_backprop), np.asarray(offset_backprop), nothing, nothing


@gradient("FusedBatchNormV3")
def _fused_batch_norm_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    x, scale, _, mean, variance = record.inputs
    training = record.get_attr("is_training")
    first, second = (record.outputs[3], record.outputs[4]) if training else (mean, variance)
    attributes = {name: record.get_attr(name) for name in ("epsilon", "data_format", "is_training")}
    if not training and attributes["data_format"] == "NCHW":
        from tflogscope.runtime.library.linalg import transpose

        x, grad = transpose(x, [0, 2, 3, 1]), transpose(grads[0], [0, 2, 3, 1])
        attributes["data_format"] = "NHWC"
        found = results(
            "FusedBatchNormGradV3", grad, x, scale, first, second, record.outputs[5], **attributes
        )
        return [transpose(found[0], [0, 3, 1, 2]), found[1], found[2], None, None]
    found = results(
        "FusedBatchNormGradV3", grads[0], x, scale, first, second, record.outputs[5], **attributes
    )
    return [found[0], found[1], found[2], None, None]


@gradient("FusedBatchNormGradV3")
def _fused_batch_norm_grad_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    """Differentiates the gradient written out in plain ops."""
    from tflogscope.runtime.gradients.gradient_tape import GradientTape

    dy, x, scale, mean, variance, _ = record.inputs
    with GradientTape() as tape:
        for each in (dy, x, scale):
            tape.watch(each)
        outputs = _written_out(record, dy, x, scale, mean, variance)
    found = tape.gradient(list(outputs), [dy, x, scale], list(grads[:3]))
    return [*found, None, None, None]


def _written_out(
    record: OpRecord, dy: Any, x: Any, scale: Any, mean: Any, variance: Any
) -> tuple[Any, Any, Any]:
    from tflogscope.runtime.library import arrays, reductions

    epsilon, axes = record.get_attr("epsilon"), [0, 1, 2]
    if not record.get_attr("is_training"):
        offset = reductions.reduce_sum(dy, axes)
        inverse = call("Rsqrt", variance + epsilon)
        return dy * scale * inverse, reductions.reduce_sum(dy * (x - mean) * inverse, axes), offset
    mean_dy, mean_x = reductions.reduce_mean(dy, axes), reductions.reduce_mean(x, axes)
    var_x = reductions.reduce_mean(call("SquaredDifference", x, arrays.stop_gradient(mean_x)), axes)
    dy_offset, x_offset = dy - mean_dy, x - mean_x
    both = reductions.reduce_mean(dy * x_offset, axes)
    inverse = call("Reciprocal", var_x + epsilon)
    dx = scale * call("Rsqrt", var_x + epsilon) * (dy_offset - inverse * both * x_offset)
    dscale = call("Rsqrt", var_x + epsilon) * reductions.reduce_sum(dy * x_offset, axes)
    return dx, dscale, reductions.reduce_sum(dy, axes)


# -- over neighbouring channels

_LRN = "depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, T=float32"


def _neighbours(x: Array, radius: int) -> Array:
    """For each channel the sum of those not farther than `radius`."""
    padded = np.pad(x, ((0, 0), (0, 0), (0, 0), (radius + 1, radius)))
    sums = np.cumsum(padded, axis=3)
    width = 2 * radius + 1
    return np.asarray(sums[..., width:] - sums[..., :-width], x.dtype)


@op(f"LRN(input: T; {_LRN}) -> output: T", shape=lambda i: i.shape_of_rank(0, 4))
def _lrn(input: Array, depth_radius: int, bias: float, alpha: float, beta: float) -> Array:
    return np.asarray(
        input / (bias + alpha * _neighbours(input * input, depth_radius)) ** beta, input.dtype
    )


@op(f"LRNGrad(input_grads: T, input_image: T, output_image: T; {_LRN}) -> output: T")
def _lrn_grad(
    input_grads: Array,
    input_image: Array,
    output_image: Array,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Array:
    norm = bias + alpha * _neighbours(input_image * input_image, depth_radius)
    shared = _neighbours(input_grads * output_image / norm, depth_radius)
    dx = input_grads * norm**-beta - 2 * alpha * beta * input_image * shared
    return np.asarray(dx, input_grads.dtype)


@gradient("LRN")
def _lrn_gradient(record: OpRecord, grad: Any) -> list[Any]:
    attributes = {name: record.get_attr(name) for name in ("depth_radius", "bias", "alpha", "beta")}
    return [call("LRNGrad", grad, record.inputs[0], record.outputs[0], **attributes)]
