"""Which oneDNN primitives a kernel runs: a small model, op by op.

A kernel hands its tensors over in TensorFlow's format. Where a primitive wants its weights in
blocks, a reorder runs before it (or after it, for the gradient of weights); matrix products of
floats go to `gemm_api`, past the primitives.

Told about: `core/kernels/mkl/*.cc`, and which implementation oneDNN chooses on a CPU with AVX-512.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from string import ascii_letters, ascii_lowercase
from typing import Any

from tflogscope.runtime.emitter.convolutions import convolution, pooling
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.memory import Memory, Plan, letters, undefined

__all__ = ["Kernel", "plans"]

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel at work: op, attributes, shapes of what goes in and comes out."""

    op: str
    attributes: Mapping[str, Any]
    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    dialect: Dialect
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        """The element type, as oneDNN calls it."""
        return {"bfloat16": "bf16", "float16": "f16"}.get(
            getattr(self.attributes.get("T"), "name", ""), "f32"
        )


def plans(kernel: Kernel) -> list[Plan]:
    """What oneDNN runs for it, in order; nothing for ops that are not its own."""
    model = _MODELS.get(kernel.op)
    if model is None or any(0 in shape for shape in (*kernel.inputs[:1], *kernel.outputs[:1])):
        return []
    try:
        return model(kernel)
    except (IndexError, KeyError, ValueError):  # inputs of which the shape is not known
        return []


def _suffix(kernel: Kernel) -> str:
    return "_bf16" if kernel.dtype == "bf16" else ""


def _matmul_implementation(kernel: Kernel) -> str:
    old = kernel.dialect.onednn.startswith("2.")
    return f"{'brg' if old else 'brg_matmul'}:avx512_core{_suffix(kernel)}"


def _matrices(kernel: Kernel, a: Shape, b: Shape, swap_a: bool, swap_b: bool) -> Plan:
    """A (batched) matrix product."""
    rows, depth = (a[-1], a[-2]) if swap_a else (a[-2], a[-1])
    columns = b[-2] if swap_b else b[-1]
    both = zip(_padded(a[:-2], b[:-2]), _padded(b[:-2], a[:-2]), strict=True)
    batch = tuple(max(each) for each in both)
    x = (*_padded(a[:-2], b[:-2]), rows, depth)
    y = (*_padded(b[:-2], a[:-2]), depth, columns)
    z = (*batch, rows, columns)
    work = 2 * prod(z) * depth
    plain = letters(len(z))
    swapped = plain[:-2] + plain[-1] + plain[-2]
    memories = (
        Memory("src", kernel.dtype, swapped if swap_a else plain),
        Memory("wei", kernel.dtype, swapped if swap_b else plain),
        Memory("dst", kernel.dtype, plain),
    )
    size = 4 * (prod(x) + prod(y) + prod(z))
    if kernel.dtype == "f32" and len(z) == 2 and kernel.op == "_MklMatMul":
        problem = f"{_by(x)}:{_by(y)}"
        return Plan("gemm_api", "", "undef", memories, "", "", problem, size, work)
    problem = f"{_by(x)}:{_by(y)}"
    if kernel.dialect.onednn.startswith("2."):
        problem += f":{_by(z)}"
    return Plan(
        "matmul",
        _matmul_implementation(kernel),
        "undef",
        memories,
        _scratchpad(kernel),
        "",
        problem,
        size,
        work,
    )


def _padded(short: Shape, other: Shape) -> Shape:
    return (1,) * (len(other) - len(short)) + short


def _by(shape: Shape) -> str:
    return "x".join(map(str, shape))


def _scratchpad(kernel: Kernel) -> str:
    return "" if kernel.dialect.release == "2.8" else "attr-scratchpad:user"


def _matmul(kernel: Kernel) -> list[Plan]:
    a, b = kernel.inputs[:2]
    get = kernel.attributes.get
    return [_matrices(kernel, a, b, bool(get("transpose_a")), bool(get("transpose_b")))]


def _batch_matmul(kernel: Kernel) -> list[Plan]:
    a, b = kernel.inputs[:2]
    get = kernel.attributes.get
    return [_matrices(kernel, a, b, bool(get("adj_x")), bool(get("adj_y")))]


def _fused_batch_matmul(kernel: Kernel) -> list[Plan]:
    plan = _batch_matmul(kernel)[0]
    posts = []
    for name, shape in zip(kernel.attributes["fused_ops"], kernel.inputs[2:], strict=False):
        kind = {"Mul": "binary_mul", "Add": "binary_add"}[_text(name)]
        mask = sum(1 << at for at, size in enumerate(shape) if size > 1)
        posts.append(f"{kind}:{kernel.dtype}:{mask}" + (f":{letters(len(shape))}" if mask else ""))
    plan.attributes += f" attr-post-ops:{'+'.join(posts)}"
    return [plan]


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


_ACTIVATIONS = {
    "Relu": "eltwise_relu",
    "Relu6": "eltwise_bounded_relu:6",
    "Elu": "eltwise_elu:1",
    "LeakyRelu": "eltwise_relu:0.2",
    "Tanh": "eltwise_tanh",
    "Sigmoid": "eltwise_logistic",
    "GeluApproximate": "eltwise_gelu_tanh:1",
    "GeluExact": "eltwise_gelu_erf:1",
    "_MklSwish": "eltwise_swish:1",
    "Add": "sum",
}


def post_operations(kernel: Kernel) -> str:
    """What the primitive does to its result, as it says in its attributes."""
    names = [_text(each) for each in kernel.attributes.get("fused_ops", ())]
    parts = [_ACTIVATIONS[each] for each in names if each in _ACTIVATIONS]
    return f"attr-post-ops:{'+'.join(parts)}" if parts else ""


def _fused_matmul(kernel: Kernel) -> list[Plan]:
    a, b = kernel.inputs[:2]
    rows, depth = a
    columns = b[0] if kernel.attributes.get("transpose_b") else b[1]
    tag = "ab" if kernel.attributes.get("transpose_b") else "ba"
    any_format = "a" if not kernel.dialect.onednn.startswith("2.") else ""
    memories = (
        Memory("src", kernel.dtype, "ab"),
        Memory("wei", kernel.dtype, tag),
        Memory("bia", kernel.dtype, "a", any_format),
        Memory("dst", kernel.dtype, "ab"),
    )
    work = 2 * rows * depth * columns
    size = 4 * (rows * depth + depth * columns + rows * columns)
    posts = post_operations(kernel)
    attributes = " ".join(filter(None, (_scratchpad(kernel), posts)))
    prop = "forward_inference" if kernel.dialect.release == "2.8" else "forward_training"
    problem = f"mb{rows}ic{depth}oc{columns}"
    main = Plan(
        "inner_product", "x64:gemm:jit", prop, memories, attributes, "", problem, size, work
    )
    if "sum" in posts and not kernel.settings.get("overwrites", [False])[-1]:
        # what is added is copied to where the result will be
        return [reorder(kernel, "a", "a", (rows * columns,)), main]
    return [main]


def reorder(kernel: Kernel, source: str, target: str, shape: Shape, flags: str = "") -> Plan:
    """From one format to another; `flags` of the one with padding."""
    blocked = [any(letter.isdigit() for letter in tag) for tag in (source, target)]
    memories = (
        Memory("src", kernel.dtype, source, flags if blocked[0] else ""),
        Memory("dst", kernel.dtype, target, flags if blocked[1] else ""),
    )
    size = 8 * prod(shape)
    copies = source == target and kernel.dialect.onednn >= "3.6"
    implementation = "jit_direct_copy:uni" if copies else "jit:uni"
    return Plan("reorder", implementation, "undef", memories, "", "", _by(shape), size, 0)


def _softmax(kernel: Kernel) -> list[Plan]:
    shape = kernel.inputs[0]
    tag = letters(len(shape))
    old = kernel.dialect.onednn.startswith("2.")
    memories = [Memory("src", kernel.dtype, tag), Memory("dst", kernel.dtype, tag)]
    if kernel.dialect.onednn.startswith("3.3"):
        memories.append(undefined("diff_dst"))
    return [
        Plan(
            "softmax_v2" if old else "softmax",
            "jit:avx512_core" if old else "jit:avx512_core_bf16",
            "forward_inference",
            tuple(memories),
            "",
            f"alg:softmax_accurate axis:{len(shape) - 1}",
            _by(shape),
            8 * prod(shape),
            10 * prod(shape),
        )
    ]


def _transpose(kernel: Kernel) -> list[Plan]:
    shape = kernel.inputs[0]
    order = kernel.settings.get("permutation")
    if order is None or len(shape) < 2:
        return []
    moved = [at for at in order if shape[at] > 1]
    if moved == sorted(moved):  # nothing moves in memory
        return []
    names = ascii_lowercase[: len(shape)]
    return [reorder(kernel, names, "".join(names[at] for at in order), shape)]


def _einsum(kernel: Kernel) -> list[Plan]:
    """One product; where the equation asks for transpositions, Eigen does these."""
    if len(kernel.inputs) != 2:
        return []
    terms, _, result = _text(kernel.attributes["equation"]).partition("->")
    names = [
        _labels(term, len(shape))
        for term, shape in zip(terms.split(","), kernel.inputs, strict=True)
    ]
    order = {label: at for at, label in enumerate(dict.fromkeys([*names[0], *names[1]]))}

    def role(label: str) -> int:
        if label not in ascii_letters:
            return _BROADCAST
        shared = label in names[0] and label in names[1]
        if label in result:
            return _BATCH if shared else _FREE
        return _CONTRACTED if shared else _REDUCED

    matrices, swaps = [], []
    for name, shape in zip(names, kernel.inputs, strict=True):
        sizes = dict(zip(name, shape, strict=True))
        left = [label for label in sizes if role(label) != _REDUCED]
        by_role = {which: [each for each in left if role(each) == which] for which in range(4)}
        batch = sorted(by_role[_BATCH], key=order.__getitem__)
        free, contracted = (
            prod(sizes[label] for label in by_role[which]) for which in (_FREE, _CONTRACTED)
        )
        # an operand that has its contracted dimensions before its free ones may stay as it is
        turned = sorted(left, key=lambda label: (_TURNED[role(label)], order[label])) == left
        leading = (*(sizes[label] for label in (*by_role[_BROADCAST], *batch)),)
        matrices.append((*leading, *((contracted, free) if turned else (free, contracted))))
        swaps.append(turned)
    return [_matrices(kernel, matrices[0], matrices[1], swaps[0], not swaps[1])]


_BROADCAST, _BATCH, _FREE, _CONTRACTED, _REDUCED = range(5)
"""What a label is for: `EinsumDimensionType`."""
_TURNED = (0, 1, 3, 2, 4)


def _labels(term: str, rank: int) -> list[str]:
    """A label for each dimension; those that `...` stands for are counted from the last on."""
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after) if dots else 0
    return [*before, *(f"...{at}" for at in range(hidden, 0, -1)), *after]


def _batch_norm(kernel: Kernel) -> list[Plan]:
    shape = kernel.inputs[1] if "Grad" in kernel.op else kernel.inputs[0]
    channels_last = kernel.attributes.get("data_format", b"NHWC") in {"NHWC", b"NHWC"}
    batch, height, width, channels = (
        shape if channels_last else (shape[0], shape[2], shape[3], shape[1])
    )
    backward = "Grad" in kernel.op
    training = bool(kernel.attributes.get("is_training", True))
    flags = ("" if training else "G") + "S" + ("R" if kernel.op.endswith("Ex") else "")
    # NB: a tensor with channels innermost and one column has the plain format too
    tag = "acdb" if channels_last else "abcd"
    prop = "backward" if backward else "forward_training" if training else "forward_inference"
    gradient = Memory("diff", kernel.dtype, tag) if backward else undefined("diff")
    return [
        Plan(
            "batch_normalization",
            "bnorm_tbb_jit:avx2" if channels_last else "ncsp_bnorm:any",
            prop,
            (Memory("data", kernel.dtype, tag), gradient),
            "",
            f"flags:{flags}",
            f"mb{batch}ic{channels}ih{height}iw{width}",
            8 * prod(shape),
            8 * prod(shape),
        )
    ]


def _layer_norm(kernel: Kernel) -> list[Plan]:
    """Scale and shift are copied next to each other; then one primitive."""
    shape, old = kernel.inputs[0], kernel.dialect.onednn.startswith("2.")
    tag = letters(len(shape))
    memories = [*(Memory(name, kernel.dtype, tag) for name in ("src", "dst")), undefined("stats")]
    if kernel.dialect.onednn >= "3.6":
        memories += [Memory(name, "f32", "a") for name in ("scale", "shift")]
    main = Plan(
        "layer_normalization_v2" if old else "layer_normalization",
        "jit:uni",
        "forward_inference",
        tuple(memories),
        "",
        f"flags:{'S' if old else 'CH'}",
        _by(shape),
        8 * prod(shape),
        8 * prod(shape),
    )
    return [*(reorder(kernel, "a", "a", each) for each in kernel.inputs[1:3]), main]


_ALONE = {"_MklSwish": "swish", "_MklFusedMish": "mish"}
"""Activations that are kernels of their own, as oneDNN calls them."""


def _activation(kernel: Kernel) -> list[Plan]:
    """Told about: `core/kernels/mkl/mkl_eltwise_activation_base_op.h`."""
    shape = kernel.inputs[0]
    memories = [Memory("data", kernel.dtype, letters(len(shape)))]
    if kernel.dialect.onednn < "3.6":
        memories.append(undefined("diff"))
    size = 8 * prod(shape)
    kind, implementation = "forward_training", f"jit:avx512_core{_suffix(kernel)}"
    alg = f"alg:eltwise_{_ALONE[kernel.op]} alpha:1 beta:0"
    return [Plan("eltwise", implementation, kind, tuple(memories), "", alg, _by(shape), size, size)]


def _convolution(kernel: Kernel) -> list[Plan]:
    return convolution(kernel, reorder, post_operations(kernel), _scratchpad(kernel))


_MODELS: dict[str, Callable[[Kernel], list[Plan]]] = {
    "_MklMatMul": _matmul,
    "_MklBatchMatMul": _batch_matmul,
    "_MklBatchMatMulV2": _batch_matmul,
    "_MklFusedBatchMatMulV2": _fused_batch_matmul,
    "_MklNativeFusedMatMul": _fused_matmul,
    "_MklEinsum": _einsum,
    "_MklLayerNorm": _layer_norm,
    "_MklSoftmax": _softmax,
    **dict.fromkeys(_ALONE, _activation),
    "_MklTranspose": _transpose,
    **dict.fromkeys(
        (
            *("_MklNativeConv2D", "_MklNativeFusedConv2D", "_MklNativeConv2DWithBias"),
            *("_MklNativePadWithConv2D", "_MklNativePadWithFusedConv2D"),
            *("_MklNativeConv2DBackpropFilter", "_MklNativeConv2DBackpropFilterWithBias"),
            *("_MklNativeConv2DBackpropInput", "_MklNativeDepthwiseConv2dNative"),
            *("_MklNativeFusedDepthwiseConv2dNative",),
            *("_MklNativeDepthwiseConv2dNativeBackpropFilter",),
            *("_MklNativeDepthwiseConv2dNativeBackpropInput",),
        ),
        _convolution,
    ),
    **dict.fromkeys(
        (
            *("_MklNativeMaxPool", "_MklNativeMaxPoolGrad"),
            *("_MklNativeAvgPool", "_MklNativeAvgPoolGrad"),
        ),
        pooling,
    ),
    **dict.fromkeys(
        (
            *("_MklNativeFusedBatchNorm", "_MklNativeFusedBatchNormV2"),
            *("_MklNativeFusedBatchNormV3", "_MklNativeFusedBatchNormEx"),
            *("_MklNativeFusedBatchNormGrad", "_MklNativeFusedBatchNormGradV2"),
            *("_MklNativeFusedBatchNormGradV3",),
        ),
        _batch_norm,
    ),
}
"""NB: 3-D convolutions and pools are not modelled, nor quantised ops."""
