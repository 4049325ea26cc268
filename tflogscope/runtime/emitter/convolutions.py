"""The primitives of convolutions and pools: a convolution's weights are put in another order first.
See `core/kernels/mkl/mkl_conv_ops.cc`, `mkl_pooling_ops_common.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tflogscope.runtime.emitter.primitives import (
    MODELS,
    Kernel,
    post_operations,
    reorder,
    scratchpad,
)
from tflogscope.runtime.emitter.verbose import Plan


def _last(kernel: Kernel) -> bool:
    return bool(kernel.attributes.get("data_format", "NHWC") != "NCHW")


def _image(kernel: Kernel, shape: Sequence[int]) -> tuple[int, int, int, int]:
    batch, *rest = shape
    height, width, channels = rest if _last(kernel) else (rest[1], rest[2], rest[0])
    return batch, height, width, channels


def _pair(kernel: Kernel, name: str) -> tuple[int, int]:
    values = kernel.attributes.get(name) or (1, 1, 1, 1)
    return (values[1], values[2]) if _last(kernel) else (values[2], values[3])


def _window(kernel: Kernel, image: Any, result: Any, size: tuple[int, int]) -> str:
    strides, steps = _pair(kernel, "strides"), _pair(kernel, "dilations")
    given = kernel.attributes.get("padding")
    parts = []
    for at, axis in enumerate("hw"):
        reach = (size[at] - 1) * steps[at] + 1
        before = max(0, (result[at] - 1) * strides[at] + reach - image[at]) // 2
        if given == "EXPLICIT":
            explicit = kernel.attributes["explicit_paddings"]
            before = explicit[2 * at + (2 if _last(kernel) else 4)]
        elif given == "VALID":
            before = 0
        parts.append(
            f"i{axis}{image[at]}o{axis}{result[at]}k{axis}{size[at]}s{axis}{strides[at]}"
            f"d{axis}{steps[at] - 1}p{axis}{before}"
        )
    return "_".join(parts)


def _convolution(kernel: Kernel) -> list[Plan]:
    op, inputs, outputs = kernel.op, kernel.inputs, kernel.outputs
    of_filter, of_input = "BackpropFilter" in op, "BackpropInput" in op
    image, weights, result = inputs[0], inputs[1], outputs[0]
    if of_filter:
        image, weights, result = inputs[0], outputs[0], inputs[2]
    elif of_input:
        image, weights, result = outputs[0], inputs[1], inputs[2]
    batch, height, width, channels = _image(kernel, image)
    _, rows, columns, depth = _image(kernel, result)
    depthwise = "Depthwise" in op
    size = (weights[0], weights[1])
    window = _window(kernel, (height, width), (rows, columns), size)
    group = f"g{channels}" if depthwise else ""
    backward, tag = of_filter or of_input, "acdb" if _last(kernel) else "abcd"
    biased = "Fused" in op or "WithBias" in op
    prop = "backward_weights" if of_filter else "backward_data" if of_input else "forward_training"
    if kernel.dialect.release == "2.8" and not backward:
        prop = "forward_inference"
    plain = "decab" if depthwise else "cdba"
    wei = "Abcde16a" if depthwise else "Acdb16a"
    attributes = " ".join(filter(None, (scratchpad(kernel), post_operations(kernel))))
    main = Plan(
        "convolution",
        _implementation(kernel, depthwise=depthwise),
        prop,
        (
            ("src", kernel.dtype, tag),
            ("wei", kernel.dtype, wei),
            ("bia", kernel.dtype if biased else "", "a"),
            ("dst", kernel.dtype, tag),
        ),
        f"{group}mb{batch}_ic{channels}oc{depth}_{window}",
        4 * (prod(image) + prod(weights) + prod(result)),
        2 * batch * rows * columns * depth * prod(size) * (1 if depthwise else channels),
        "" if backward else attributes,
        "alg:convolution_direct",
    )
    shape = (channels, depth // channels, 1, *size) if depthwise else (depth, channels, *size)
    if of_filter:
        return [main, reorder(kernel, shape, wei, plain)]
    return [reorder(kernel, shape, plain, wei), main]


def _implementation(kernel: Kernel, *, depthwise: bool) -> str:
    core = f"avx512_core{kernel.suffix}"
    backward = "Backprop" in kernel.op
    if depthwise:
        return f"{'jit_dw' if backward else 'brgdmm_dw'}:{core}"
    if "Filter" in kernel.op:
        return f"jit:{core}"
    if kernel.dialect.old_onednn:
        return f"brgconv:{core}"
    return f"brg_conv_bwd:{core}+brg_conv_fwd:{core}" if backward else f"brg_conv_fwd:{core}"


def _pooling(kernel: Kernel) -> list[Plan]:
    op, old, maximum = kernel.op, kernel.dialect.old_onednn, "Max" in kernel.op
    backward = op.endswith("Grad")
    image, result = kernel.inputs[0], kernel.outputs[0]
    if backward:
        image, result = kernel.outputs[0], kernel.inputs[2 if maximum else 1]
    batch, height, width, channels = _image(kernel, image)
    _, rows, columns, _ = _image(kernel, result)
    window = _window(kernel, (height, width), (rows, columns), _pair(kernel, "ksize"))
    tag = "acdb" if _last(kernel) else "abcd"
    memories = [("src", kernel.dtype, tag), ("dst", kernel.dtype, tag)]
    if maximum or old:
        memories.append(("ws", "u8" if maximum else "", tag))
    return [
        Plan(
            "pooling_v2" if old else "pooling",
            "jit:avx512_core",
            "backward_data" if backward else "forward_training",
            tuple(memories),
            f"mb{batch}ic{channels}_{window}",
            4 * (prod(image) + prod(result)),
            prod(image),
            auxiliary=f"alg:pooling_{'max' if maximum else 'avg_exclude_padding'}",
        )
    ]


_CONVOLUTIONS = (
    "Conv2D FusedConv2D Conv2DBackpropInput Conv2DBackpropFilter "
    "Conv2DBackpropFilterWithBias DepthwiseConv2dNative FusedDepthwiseConv2dNative "
    "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput"
)
for _name in _CONVOLUTIONS.split():
    MODELS[f"_MklNative{_name}"] = _convolution
for _name in ("MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"):
    MODELS[f"_MklNative{_name}"] = _pooling
