"""Which primitives of oneDNN a kernel runs, and on what: `_MklMatMul` on [2, 3] and [3, 4] is
`gemm_api,2x3:3x4`. `MODELS` has a row a kernel. See `core/kernels/mkl/mkl_matmul_ops_common.h`,
`mkl_conv_ops.cc`, `mkl_pooling_ops_common.h` and their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_lowercase
from typing import Any

from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.verbose import Plan

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that runs."""

    op: str
    attributes: Mapping[str, Any]
    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    dialect: Dialect
    order: Sequence[int] | None = None
    """Of a Transpose, the permutation."""

    @property
    def dtype(self) -> str:
        """As oneDNN names it."""
        name = getattr(self.attributes.get("T"), "name", "")
        return {"bfloat16": "bf16", "float16": "f16"}.get(name, "f32")

    @property
    def core(self) -> str:
        """The instructions that implementations are named after."""
        return "avx512_core_bf16" if self.dtype == "bf16" else "avx512_core"

    @property
    def channels_last(self) -> bool:
        """Is an image in rows, columns, channels?"""
        return bool(self.attributes.get("data_format", "NHWC") != "NCHW")

    @property
    def tag(self) -> str:
        """What oneDNN calls that order."""
        return "acdb" if self.channels_last else "abcd"

    def image(self, shape: Shape) -> tuple[int, int, int, int]:
        """Examples, rows, columns, channels."""
        batch, *rest = shape
        rows, columns, channels = rest if self.channels_last else (rest[1], rest[2], rest[0])
        return batch, rows, columns, channels

    def memories(self, text: str) -> str:
        """`src=f32:ab` for `src:ab`; what has its own dtype is left as it is."""
        return " ".join(e if "=" in e else e.replace(":", f"={self.dtype}:") for e in text.split())


def plans(kernel: Kernel) -> list[Plan]:
    """The primitives, in order; none for a kernel without, or for no data."""
    model = MODELS.get(kernel.op)
    if model is None or any(0 in shape for shape in (*kernel.inputs[:1], *kernel.outputs[:1])):
        return []
    try:
        return model(kernel)
    except (IndexError, KeyError, ValueError):  # inputs of which the shape is not known
        return []


def by(shape: Sequence[int]) -> str:
    """`2x3`."""
    return "x".join(map(str, shape))


_POSTS = {"Relu": "eltwise_relu", "Relu6": "eltwise_bounded_relu:6", "Elu": "eltwise_elu:1",
          "LeakyRelu": "eltwise_relu:0.2", "Tanh": "eltwise_tanh", "Sigmoid": "eltwise_logistic",
          "Add": "sum"}  # fmt: skip


def _attributes(kernel: Kernel) -> str:
    """Who gives room for what is in between, and what is done to the result while it is there."""
    parts = [] if kernel.dialect.release == "2.8" else ["attr-scratchpad:user"]
    posts = [_POSTS[each] for each in kernel.attributes.get("fused_ops", ()) if each in _POSTS]
    return " ".join(parts + [f"attr-post-ops:{'+'.join(posts)}"] * bool(posts))


def _reorder(kernel: Kernel, shape: Sequence[int], source: str = "a", target: str = "a") -> Plan:
    """A copy, perhaps in another order."""
    copies = source == target and kernel.dialect.onednn >= "3.6"
    memories = kernel.memories(f"src:{source} dst:{target}")
    implementation = "jit_direct_copy:uni" if copies else "jit:uni"
    return Plan("reorder", implementation, "undef", memories, by(shape))


# -- products


def _product(kernel: Kernel, a: Shape, b: Shape, swap_a: bool, swap_b: bool) -> list[Plan]:
    rows, depth = (a[-1], a[-2]) if swap_a else (a[-2], a[-1])
    columns = b[-2] if swap_b else b[-1]
    leading = [(1,) * (len(other) - len(own)) + own[:-2] for own, other in ((a, b), (b, a))]
    batch = tuple(max(each) for each in zip(*leading, strict=True))
    x, y, z = (*leading[0], rows, depth), (*leading[1], depth, columns), (*batch, rows, columns)
    plain = ascii_lowercase[: len(z)]
    turned = plain[:-2] + plain[-1] + plain[-2]
    memories = kernel.memories(
        f"src:{turned if swap_a else plain} wei:{turned if swap_b else plain} dst:{plain}"
    )
    problem, old = f"{by(x)}:{by(y)}", kernel.dialect.old_onednn
    if kernel.dtype == "f32" and len(z) == 2 and kernel.op == "_MklMatMul":
        return [Plan("gemm_api", "", "undef", memories, problem)]
    problem += f":{by(z)}" if old else ""
    implementation = f"{'brg' if old else 'brg_matmul'}:{kernel.core}"
    attributes = _attributes(kernel)
    return [Plan("matmul", implementation, "undef", memories, problem, attributes)]


def _matmul(kernel: Kernel) -> list[Plan]:
    names = ("adj_x", "adj_y") if "Batch" in kernel.op else ("transpose_a", "transpose_b")
    swaps = [bool(kernel.attributes.get(name)) for name in names]
    return _product(kernel, kernel.inputs[0], kernel.inputs[1], swaps[0], swaps[1])


def _fused_matmul(kernel: Kernel) -> list[Plan]:
    (rows, depth), b = kernel.inputs[:2]
    turned = kernel.attributes.get("transpose_b")
    columns = b[0] if turned else b[1]
    main = Plan(
        "inner_product",
        "x64:gemm:jit",
        "forward_inference" if kernel.dialect.release == "2.8" else "forward_training",
        kernel.memories(f"src:ab wei:{'ab' if turned else 'ba'} bia:a dst:ab"),
        f"mb{rows}ic{depth}oc{columns}",
        _attributes(kernel),
    )
    if "sum" in main.attributes:  # NB: what is added is always copied to where the result will be
        return [_reorder(kernel, (rows * columns,)), main]
    return [main]


def _einsum(kernel: Kernel) -> list[Plan]:
    """Each operand is made a stack of matrices (`core/kernels/linalg/einsum_op_impl.h`). NB: of
    two operands that have no dimension alone that is summed.
    """
    terms, _, result = str(kernel.attributes["equation"]).partition("->")
    names = terms.split(",")
    order = "".join(dict.fromkeys("".join(names)))
    shared = [each for each in order if each in names[0] and each in names[1]]
    batch = [each for each in shared if each in result]
    contracted = [each for each in shared if each not in result]
    matrices, swaps = [], []
    for name, shape in zip(names, kernel.inputs, strict=True):
        sizes = dict(zip(name, shape, strict=True))
        free = [each for each in order if each in name and each not in shared]
        # an operand that has its contracted dimensions before its free ones may stay as it is
        turned = batch + contracted + free == list(name)
        last = [prod(sizes[each] for each in part) for part in (free, contracted)]
        stack = (sizes[each] for each in batch)
        matrices.append((*stack, *(reversed(last) if turned else last)))
        swaps.append(turned)
    return _product(kernel, matrices[0], matrices[1], swaps[0], not swaps[1])


# -- windows: convolutions and pools


def _window(kernel: Kernel, image: Shape, result: Shape, size: Sequence[int]) -> str:
    """`ih10oh8kh3sh1dh0ph0_iw…`."""
    first, parts = (1 if kernel.channels_last else 2), []
    for at, axis in enumerate("hw"):
        stride, step = (
            (kernel.attributes.get(name) or (1, 1, 1, 1))[first + at]
            for name in ("strides", "dilations")
        )
        into, out = kernel.image(image)[1 + at], kernel.image(result)[1 + at]
        before = max(0, (out - 1) * stride + (size[at] - 1) * step + 1 - into) // 2
        if kernel.attributes.get("padding") == "VALID":
            before = 0
        parts.append(
            f"i{axis}{into}o{axis}{out}k{axis}{size[at]}s{axis}{stride}d{axis}{step - 1}p{axis}{before}"
        )
    return "_".join(parts)


def _convolution(kernel: Kernel) -> list[Plan]:
    """A convolution; its weights are put in another order first."""
    op, (one, two), (given,) = kernel.op, kernel.inputs[:2], kernel.outputs[:1]
    of_filter, of_input = "BackpropFilter" in op, "BackpropInput" in op
    image, weights, result = one, two, given
    if of_filter:
        image, weights, result = one, given, kernel.inputs[2]
    elif of_input:
        image, weights, result = given, two, kernel.inputs[2]
    batch, _, _, depth = kernel.image(result)
    channels, size = kernel.image(image)[3], (weights[0], weights[1])
    depthwise, backward = "Depthwise" in op, of_filter or of_input
    prop = "backward_weights" if of_filter else "backward_data" if of_input else "forward_training"
    if kernel.dialect.release == "2.8" and not backward:
        prop = "forward_inference"
    plain, blocked = ("decab", "Abcde16a") if depthwise else ("cdba", "Acdb16a")
    bias = "bia:a" if "Fused" in op or "WithBias" in op else "bia="
    window = _window(kernel, image, result, size)
    main = Plan(
        "convolution",
        f"{'jit_dw' if depthwise else 'jit' if of_filter else 'brgconv'}:{kernel.core}",
        prop,
        kernel.memories(f"src:{kernel.tag} wei:{blocked} {bias} dst:{kernel.tag}"),
        f"{f'g{channels}' if depthwise else ''}mb{batch}_ic{channels}oc{depth}_{window}",
        "" if backward else _attributes(kernel),
        "alg:convolution_direct",
    )
    shape = (channels, depth // channels, 1, *size) if depthwise else (depth, channels, *size)
    if of_filter:
        return [main, _reorder(kernel, shape, blocked, plain)]
    return [_reorder(kernel, shape, plain, blocked), main]


def _pooling(kernel: Kernel) -> list[Plan]:
    old, maximum, backward = kernel.dialect.old_onednn, "Max" in kernel.op, "Grad" in kernel.op
    image, result = kernel.inputs[0], kernel.outputs[0]
    if backward:
        image, result = kernel.outputs[0], kernel.inputs[2 if maximum else 1]
    batch, _, _, channels = kernel.image(image)
    first = 1 if kernel.channels_last else 2
    window = _window(kernel, image, result, kernel.attributes["ksize"][first : first + 2])
    room = f"ws=u8:{kernel.tag}" if maximum else "ws=" if old else ""
    return [
        Plan(
            "pooling_v2" if old else "pooling",
            "jit:avx512_core",
            "backward_data" if backward else "forward_training",
            kernel.memories(f"src:{kernel.tag} dst:{kernel.tag} {room}"),
            f"mb{batch}ic{channels}_{window}",
            auxiliary=f"alg:pooling_{'max' if maximum else 'avg_exclude_padding'}",
        )
    ]


# -- others


def _softmax(kernel: Kernel) -> list[Plan]:
    shape, old = kernel.inputs[0], kernel.dialect.old_onednn
    tag = ascii_lowercase[: len(shape)]
    gradient = "diff_dst=" if kernel.dialect.onednn.startswith("3.3") else ""
    return [
        Plan(
            "softmax_v2" if old else "softmax",
            "jit:avx512_core" if old else "jit:avx512_core_bf16",
            "forward_inference",
            kernel.memories(f"src:{tag} dst:{tag} {gradient}"),
            by(shape),
            auxiliary=f"alg:softmax_accurate axis:{len(shape) - 1}",
        )
    ]


def _transpose(kernel: Kernel) -> list[Plan]:
    shape, order = kernel.inputs[0], kernel.order
    if order is None or len(shape) < 2:
        return []
    moved = [at for at in order if shape[at] > 1]
    if moved == sorted(moved):  # nothing moves in memory
        return []
    names = ascii_lowercase[: len(shape)]
    return [_reorder(kernel, shape, names, "".join(names[at] for at in order))]


def _batch_norm(kernel: Kernel) -> list[Plan]:
    backward = "Grad" in kernel.op
    shape = kernel.inputs[1 if backward else 0]
    batch, height, width, channels = kernel.image(shape)
    training = bool(kernel.attributes.get("is_training", True))
    flags = ("" if training else "G") + "S" + ("R" if kernel.op.endswith("Ex") else "")
    gradient = f"diff:{kernel.tag}" if backward else "diff="
    return [
        Plan(
            "batch_normalization",
            "bnorm_tbb_jit:avx2" if kernel.channels_last else "ncsp_bnorm:any",
            "backward" if backward else "forward_training" if training else "forward_inference",
            kernel.memories(f"data:{kernel.tag} {gradient}"),
            f"mb{batch}ic{channels}ih{height}iw{width}",
            auxiliary=f"flags:{flags}",
        )
    ]


_TABLE: dict[Callable[[Kernel], list[Plan]], str] = {
    _matmul: "_MklMatMul _MklBatchMatMulV2",
    _fused_matmul: "_MklNativeFusedMatMul",
    _einsum: "_MklEinsum",
    _softmax: "_MklSoftmax",
    _transpose: "_MklTranspose",
    _batch_norm: "_MklNativeFusedBatchNormV3 _MklNativeFusedBatchNormEx "
    "_MklNativeFusedBatchNormGradV3",
    _convolution: "_MklNativeConv2D _MklNativeFusedConv2D _MklNativeConv2DBackpropInput "
    "_MklNativeConv2DBackpropFilter _MklNativeConv2DBackpropFilterWithBias "
    "_MklNativeDepthwiseConv2dNative _MklNativeFusedDepthwiseConv2dNative "
    "_MklNativeDepthwiseConv2dNativeBackpropFilter _MklNativeDepthwiseConv2dNativeBackpropInput",
    _pooling: "_MklNativeMaxPool _MklNativeMaxPoolGrad _MklNativeAvgPool _MklNativeAvgPoolGrad",
}
MODELS = {name: model for model, names in _TABLE.items() for name in names.split()}
