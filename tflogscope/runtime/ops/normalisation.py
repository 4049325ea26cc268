"""Batch normalisation: `FusedBatchNormV3`. See `core/kernels/fused_batch_norm_op.cc`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.registry import op
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.library.matrices import transpose
from tflogscope.runtime.ops.images import channels_back, channels_last, chosen_attributes

# -- batch normalisation


def _channels(shape: TensorShape, form: str) -> TensorShape:
    if shape.rank is None:
        return TensorShape([None])
    return TensorShape([shape[-1] if form == "NHWC" else shape[1]])


def _batch_norm(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, **a: Any) -> Any:
    values = channels_last(x, a["data_format"]).astype(np.float32)
    epsilon, factor = a["epsilon"], a["exponential_avg_factor"]
    axes, nothing = tuple(range(values.ndim - 1)), np.zeros(0, np.float32)
    chosen = mean, variance
    if a["is_training"]:
        chosen = np.mean(values, axis=axes), np.var(values, axis=axes)
    y = (values - chosen[0]) / np.sqrt(chosen[1] + epsilon) * scale + offset
    y = channels_back(y.astype(x.dtype), a["data_format"])
    if not a["is_training"]:
        return y, mean, variance, mean, variance, nothing
    count = values.size // max(values.shape[-1], 1)
    new = chosen[0], chosen[1] * (count / max(count - 1, 1))  # Bessel's correction
    if factor != 1.0:
        olds = zip((mean, variance), new, strict=True)
        new = tuple(old * (1 - factor) + each * factor for old, each in olds)
    return y, *new, *chosen, nothing


def _batch_norm_grad(
    dy: Any, x: Any, scale: Any, mean: Any, variance: Any, reserved: Any, **a: Any
) -> Any:
    del reserved
    dy, values = (channels_last(each, a["data_format"]).astype(np.float32) for each in (dy, x))
    axes, nothing = tuple(range(values.ndim - 1)), np.zeros(0, np.float32)
    inverse = 1 / np.sqrt(variance + np.float32(a["epsilon"]))
    centred = (values - mean) * inverse
    of_offset, of_scale = np.sum(dy, axis=axes), np.sum(dy * centred, axis=axes)
    if a["is_training"]:
        count = values.size // max(values.shape[-1], 1)
        dy = dy - of_offset / count - centred * of_scale / count
    dx = (dy * scale * inverse).astype(x.dtype)
    return channels_back(dx, a["data_format"]), of_scale, of_offset, nothing, nothing


def _batch_norm_gradient(op: Any, g: Any, *_: Any) -> list[Any]:
    x, scale, _, mean, variance = op.inputs
    a = chosen_attributes(op, "epsilon", "data_format", "is_training")
    if a["is_training"]:
        mean, variance = op.outputs[3:5]
    turned = not a["is_training"] and a["data_format"] == "NCHW"
    if turned:
        x, g, a["data_format"] = transpose(x, [0, 2, 3, 1]), transpose(g, [0, 2, 3, 1]), "NHWC"
    dx, *others = O.FusedBatchNormGradV3(g, x, scale, mean, variance, op.outputs[5], **a)
    return [transpose(dx, [0, 3, 1, 2]) if turned else dx, *others[:2], None, None]


_NORM = "epsilon=0.0001, data_format='NHWC', is_training=True"
op("FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U; exponential_avg_factor=1.0, "
   f"{_NORM}) -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
   "reserve_space_3: U",
   lambda i: [i.shape(0), *[_channels(i.shape(0), i["data_format"])] * 4, UNKNOWN],
   _batch_norm, _batch_norm_gradient)  # fmt: skip
op("FusedBatchNormGradV3(y_backprop: T, x: T, scale: float32, reserve_space_1: U, "
   f"reserve_space_2: U, reserve_space_3: U; {_NORM}) -> x_backprop: T, scale_backprop: U, "
   "offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
   lambda i: [i.shape(0), *[_channels(i.shape(1), i["data_format"])] * 2, *[TensorShape([0])] * 2],
   _batch_norm_grad)  # fmt: skip
