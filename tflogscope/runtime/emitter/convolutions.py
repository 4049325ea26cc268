"""Convolutions and pools: the primitives that TensorFlow hands images to.

Weights are given as TensorFlow has them (height, width, in, out), and reordered into blocks of 16
channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

from tflogscope.runtime.emitter.memory import Memory, Plan, undefined

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.primitives import Kernel

__all__ = ["convolution", "pooling"]

_BLOCK = 16


def _plain(kernel: Kernel) -> bool:
    return kernel.attributes.get("data_format", "NHWC") not in {"NCHW", b"NCHW"}


def _image(kernel: Kernel, shape: Sequence[int]) -> tuple[int, int, int, int]:
    """Batch, height, width, channels."""
    batch, *rest = shape
    height, width, channels = rest if _plain(kernel) else (rest[1], rest[2], rest[0])
    return batch, height, width, channels


def _pair(kernel: Kernel, name: str) -> tuple[int, int]:
    values = kernel.attributes.get(name) or (1, 1, 1, 1)
    return (values[1], values[2]) if _plain(kernel) else (values[2], values[3])


def _before(kernel: Kernel, given: int, result: int, size: int, stride: int, step: int) -> int:
    """How much padding stands before the first row."""
    padding = kernel.attributes.get("padding")
    if padding in {"VALID", b"VALID"}:
        return 0
    reach = (size - 1) * step + 1
    return max(0, (result - 1) * stride + reach - given) // 2


def _window(
    kernel: Kernel,
    given: tuple[int, int],
    result: tuple[int, int],
    size: tuple[int, int],
    pads: tuple[int, int] | None = None,
) -> str:
    """`ih24oh12kh2sh2dh0ph0_iw…`: the geometry in oneDNN's words."""
    strides, steps = _pair(kernel, "strides"), _pair(kernel, "dilations")
    parts = []
    for at, axis in enumerate("hw"):
        before = (
            pads[at]
            if pads
            else _before(kernel, given[at], result[at], size[at], strides[at], steps[at])
        )
        parts.append(
            f"i{axis}{given[at]}o{axis}{result[at]}k{axis}{size[at]}s{axis}{strides[at]}"
            f"d{axis}{steps[at] - 1}p{axis}{before}"
        )
    return "_".join(parts)


def convolution(
    kernel: Kernel,
    reorder: Callable[..., Plan],
    posts: str,
    scratchpad: str,
) -> list[Plan]:
    """A convolution, or one of its gradients, with the reorders of the weights."""
    op = kernel.op
    image, weights, result = _roles(kernel)
    batch, height, width, channels = _image(kernel, image)
    _, rows, columns, outputs = _image(kernel, result)
    depthwise = "Depthwise" in op
    size = (weights[0], weights[1])
    window = _window(kernel, (height, width), (rows, columns), size, _padded(kernel, op))
    group = f"g{channels}" if depthwise else ""
    problem = f"{group}mb{batch}_ic{channels}oc{outputs}_{window}"
    old = kernel.dialect.onednn.startswith("2.")
    backward = "Filter" in op or ("Input" in op and "Backprop" in op)
    shape, plain, blocked, flags = _weights(kernel, op, channels, outputs, size)
    prop = (
        "backward_weights"
        if "Filter" in op
        else "backward_data"
        if "BackpropInput" in op
        else "forward_inference"
        if kernel.dialect.release == "2.8"
        else "forward_training"
    )
    biased = "Fused" in op or "WithBias" in op
    chosen = "" if old else "a"
    bias = Memory("bia", kernel.dtype, "a", "" if backward else chosen)
    memories = (
        Memory("src", kernel.dtype, "acdb" if _plain(kernel) else "abcd"),
        Memory("wei", kernel.dtype, blocked, chosen + flags),
        bias if biased else undefined("bia"),
        Memory("dst", kernel.dtype, "acdb" if _plain(kernel) else "abcd"),
    )
    work = 2 * batch * rows * columns * outputs * prod(size) * (1 if depthwise else channels)
    main = Plan(
        "convolution",
        _implementation(kernel, op, old=old),
        prop,
        memories,
        "" if backward else " ".join(filter(None, (scratchpad, posts))),
        "alg:convolution_direct",
        problem,
        4 * (prod(image) + prod(weights) + prod(result)),
        work,
    )
    if "Filter" in op:
        return [main, reorder(kernel, blocked, plain, shape, flags)]
    return [reorder(kernel, plain, blocked, shape, flags), main]


def _roles(kernel: Kernel) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """The shapes of image, weights and result, whichever of them the kernel computes."""
    inputs, outputs = kernel.inputs, kernel.outputs
    if "BackpropFilter" in kernel.op:
        return inputs[0], outputs[0], inputs[2]
    if "BackpropInput" in kernel.op:
        return outputs[0], inputs[1], inputs[2]
    return inputs[0], inputs[1], outputs[0]


def _padded(kernel: Kernel, op: str) -> tuple[int, int] | None:
    """The padding of a `Pad` that was merged with the convolution, or an explicit one."""
    if "PadWith" in op:
        pads = kernel.settings.get("paddings")
        return (int(pads[1][0]), int(pads[2][0])) if pads is not None else None
    if kernel.attributes.get("padding") in {"EXPLICIT", b"EXPLICIT"}:
        pads = kernel.attributes["explicit_paddings"]
        return (pads[2], pads[4]) if _plain(kernel) else (pads[4], pads[6])
    return None


def _weights(
    kernel: Kernel, op: str, channels: int, outputs: int, size: tuple[int, int]
) -> tuple[tuple[int, ...], str, str, str]:
    """Shape, plain and blocked format of the weights; the flags of the blocked one."""
    if "Depthwise" in op:
        shape: tuple[int, ...] = (channels, outputs // channels, 1, *size)
        blocked = "Abcde16a" if "Backprop" in op else "deAbc16a"
        return shape, "decab", blocked, "p" if channels % _BLOCK else ""
    blocked = "Bcda16b" if "BackpropInput" in op else "Acdb16a"
    if kernel.dtype == "bf16":
        blocked = "AcdB16a2b"
    count = channels if "BackpropInput" in op else outputs
    return (outputs, channels, *size), "cdba", blocked, "p" if count % _BLOCK else ""


def _implementation(kernel: Kernel, op: str, *, old: bool) -> str:
    suffix = "_bf16" if kernel.dtype == "bf16" else ""
    if "Depthwise" in op:
        return f"{'jit_dw' if 'Backprop' in op else 'brdgmm_dw'}:avx512_core{suffix}"
    if "Filter" in op:
        return f"jit:avx512_core{suffix}"
    if old:
        return f"brgconv:avx512_core{suffix}"
    if "BackpropInput" in op:
        return f"brg_conv_bwd:avx512_core{suffix}+brg_conv_fwd:avx512_core{suffix}"
    return f"brg_conv_fwd:avx512_core{suffix}"


def pooling(kernel: Kernel) -> list[Plan]:
    """A pool or its gradient."""
    op = kernel.op
    maximum = "Max" in op
    backward = op.endswith("Grad")
    if backward:
        image, result = kernel.outputs[0], kernel.inputs[2 if maximum else 1]
    else:
        image, result = kernel.inputs[0], kernel.outputs[0]
    batch, height, width, channels = _image(kernel, image)
    _, rows, columns, _ = _image(kernel, result)
    window = _window(kernel, (height, width), (rows, columns), _pair(kernel, "ksize"))
    old = kernel.dialect.onednn.startswith("2.")
    tag = "acdb" if _plain(kernel) else "abcd"
    memories = [Memory("src", kernel.dtype, tag), Memory("dst", kernel.dtype, tag)]
    if maximum:
        memories.append(Memory("ws", "u8", tag))
    elif old:
        memories.append(undefined("ws"))
    return [
        Plan(
            "pooling_v2" if old else "pooling",
            "jit:avx512_core",
            "backward_data" if backward else "forward_training",
            tuple(memories),
            "",
            f"alg:pooling_{'max' if maximum else 'avg_exclude_padding'}",
            f"mb{batch}ic{channels}_{window}",
            4 * (prod(image) + prod(result)),
            prod(image),
        )
    ]
