"""Which primitives of oneDNN a kernel runs, and on what: `_MklMatMul` on [2, 3] and [3, 4] is
`gemm_api,2x3:3x4`. Convolutions and pools are in convolutions.py. See
`core/kernels/mkl/mkl_matmul_ops_common.h` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from string import ascii_letters, ascii_lowercase
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
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What decides besides: a permutation, whether an input may be overwritten."""

    @property
    def dtype(self) -> str:
        """As oneDNN names it."""
        name = getattr(self.attributes.get("T"), "name", "")
        return {"bfloat16": "bf16", "float16": "f16"}.get(name, "f32")

    @property
    def suffix(self) -> str:
        """What implementations have after them."""
        return "_bf16" if self.dtype == "bf16" else ""


def plans(kernel: Kernel) -> list[Plan]:
    """The primitives, in order; none for a kernel without, or for no data."""
    model = MODELS.get(kernel.op)
    if model is None or any(0 in shape for shape in (*kernel.inputs[:1], *kernel.outputs[:1])):
        return []
    try:
        return model(kernel)
    except (IndexError, KeyError, ValueError):  # inputs of which the shape is not known
        return []


def by(shape: Shape) -> str:
    """`2x3`."""
    return "x".join(map(str, shape))


def scratchpad(kernel: Kernel) -> str:
    """Who gives room for what is in between."""
    return "" if kernel.dialect.release == "2.8" else "attr-scratchpad:user"


def reorder(kernel: Kernel, shape: Shape, source: str = "a", target: str = "a") -> Plan:
    """A copy, perhaps in another order."""
    copies = source == target and kernel.dialect.onednn >= "3.6"
    memories = (("src", kernel.dtype, source), ("dst", kernel.dtype, target))
    implementation = "jit_direct_copy:uni" if copies else "jit:uni"
    return Plan("reorder", implementation, "undef", memories, by(shape), 8 * prod(shape), 0)


# -- products


def _product(kernel: Kernel, a: Shape, b: Shape, swap_a: bool, swap_b: bool) -> list[Plan]:
    rows, depth = (a[-1], a[-2]) if swap_a else (a[-2], a[-1])
    columns = b[-2] if swap_b else b[-1]
    leading = [(1,) * (len(other) - len(own)) + own[:-2] for own, other in ((a, b), (b, a))]
    batch = tuple(max(each) for each in zip(*leading, strict=True))
    x, y, z = (*leading[0], rows, depth), (*leading[1], depth, columns), (*batch, rows, columns)
    plain = ascii_lowercase[: len(z)]
    turned = plain[:-2] + plain[-1] + plain[-2]
    memories = (
        ("src", kernel.dtype, turned if swap_a else plain),
        ("wei", kernel.dtype, turned if swap_b else plain),
        ("dst", kernel.dtype, plain),
    )
    size, work = 4 * (prod(x) + prod(y) + prod(z)), 2 * prod(z) * depth
    problem, old = f"{by(x)}:{by(y)}", kernel.dialect.old_onednn
    if kernel.dtype == "f32" and len(z) == 2 and kernel.op == "_MklMatMul":
        return [Plan("gemm_api", "", "undef", memories, problem, size, work)]
    problem += f":{by(z)}" if old else ""
    implementation = f"{'brg' if old else 'brg_matmul'}:avx512_core{kernel.suffix}"
    return [
        Plan("matmul", implementation, "undef", memories, problem, size, work, scratchpad(kernel))
    ]


def _matmul(kernel: Kernel) -> list[Plan]:
    names = ("adj_x", "adj_y") if "Batch" in kernel.op else ("transpose_a", "transpose_b")
    swaps = [bool(kernel.attributes.get(name)) for name in names]
    return _product(kernel, kernel.inputs[0], kernel.inputs[1], swaps[0], swaps[1])


_POSTS = {
    "Relu": "eltwise_relu",
    "Relu6": "eltwise_bounded_relu:6",
    "Elu": "eltwise_elu:1",
    "LeakyRelu": "eltwise_relu:0.2",
    "Tanh": "eltwise_tanh",
    "Sigmoid": "eltwise_logistic",
    "Add": "sum",
}


def post_operations(kernel: Kernel) -> str:
    """What is done to the result while it is still there."""
    parts = [_POSTS[each] for each in kernel.attributes.get("fused_ops", ()) if each in _POSTS]
    return f"attr-post-ops:{'+'.join(parts)}" if parts else ""


def _fused_matmul(kernel: Kernel) -> list[Plan]:
    (rows, depth), b = kernel.inputs[:2]
    turned = kernel.attributes.get("transpose_b")
    columns = b[0] if turned else b[1]
    memories = (
        ("src", kernel.dtype, "ab"),
        ("wei", kernel.dtype, "ab" if turned else "ba"),
        ("bia", kernel.dtype, "a"),
        ("dst", kernel.dtype, "ab"),
    )
    posts = post_operations(kernel)
    main = Plan(
        "inner_product",
        "x64:gemm:jit",
        "forward_inference" if kernel.dialect.release == "2.8" else "forward_training",
        memories,
        f"mb{rows}ic{depth}oc{columns}",
        4 * (rows * depth + depth * columns + rows * columns),
        2 * rows * depth * columns,
        " ".join(filter(None, (scratchpad(kernel), posts))),
    )
    if "sum" in posts and not kernel.settings.get("overwrites", [False])[-1]:
        # what is added is copied to where the result will be
        return [reorder(kernel, (rows * columns,)), main]
    return [main]


def _einsum(kernel: Kernel) -> list[Plan]:
    """Each operand is made a stack of matrices (`core/kernels/linalg/einsum_op_impl.h`)."""
    if len(kernel.inputs) != 2:
        return []
    terms, _, result = str(kernel.attributes["equation"]).partition("->")
    pairs = zip(terms.split(","), kernel.inputs, strict=True)
    names = [_labels(term, len(shape)) for term, shape in pairs]
    order = {label: at for at, label in enumerate(dict.fromkeys([*names[0], *names[1]]))}

    def role(label: str) -> str:
        if label not in ascii_letters:
            return "broadcast"
        shared = label in names[0] and label in names[1]
        if label in result:
            return "batch" if shared else "free"
        return "contracted" if shared else "reduced"

    matrices, swaps = [], []
    for name, shape in zip(names, kernel.inputs, strict=True):
        sizes = dict(zip(name, shape, strict=True))
        left = [label for label in sizes if role(label) != "reduced"]
        of = {each: [label for label in left if role(label) == each] for each in _ROLES}
        leading = [*of["broadcast"], *sorted(of["batch"], key=order.__getitem__)]
        free, contracted = (prod(sizes[e] for e in of[each]) for each in ("free", "contracted"))
        # an operand that has its contracted dimensions before its free ones may stay as it is
        turned = sorted(left, key=lambda e: (_ROLES.index(role(e)), order[e])) == left
        last = (contracted, free) if turned else (free, contracted)
        matrices.append((*(sizes[label] for label in leading), *last))
        swaps.append(turned)
    return _product(kernel, matrices[0], matrices[1], swaps[0], not swaps[1])


_ROLES = ("broadcast", "batch", "contracted", "free", "reduced")


def _labels(term: str, rank: int) -> list[str]:
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after) if dots else 0
    return [*before, *(f"...{at}" for at in range(hidden, 0, -1)), *after]


# -- others


def _softmax(kernel: Kernel) -> list[Plan]:
    shape, old = kernel.inputs[0], kernel.dialect.old_onednn
    tag = ascii_lowercase[: len(shape)]
    memories = [("src", kernel.dtype, tag), ("dst", kernel.dtype, tag)]
    if kernel.dialect.onednn.startswith("3.3"):
        memories.append(("diff_dst", "", ""))
    return [
        Plan(
            "softmax_v2" if old else "softmax",
            "jit:avx512_core" if old else "jit:avx512_core_bf16",
            "forward_inference",
            tuple(memories),
            by(shape),
            8 * prod(shape),
            10 * prod(shape),
            auxiliary=f"alg:softmax_accurate axis:{len(shape) - 1}",
        )
    ]


def _transpose(kernel: Kernel) -> list[Plan]:
    shape, order = kernel.inputs[0], kernel.settings.get("permutation")
    if order is None or len(shape) < 2:
        return []
    moved = [at for at in order if shape[at] > 1]
    if moved == sorted(moved):  # nothing moves in memory
        return []
    names = ascii_lowercase[: len(shape)]
    return [reorder(kernel, shape, names, "".join(names[at] for at in order))]


def _batch_norm(kernel: Kernel) -> list[Plan]:
    backward, last = "Grad" in kernel.op, kernel.attributes.get("data_format", "NHWC") == "NHWC"
    shape = kernel.inputs[1 if backward else 0]
    batch, height, width, channels = shape if last else [shape[at] for at in (0, 2, 3, 1)]
    training = bool(kernel.attributes.get("is_training", True))
    flags = ("" if training else "G") + "S" + ("R" if kernel.op.endswith("Ex") else "")
    tag = "acdb" if last else "abcd"
    return [
        Plan(
            "batch_normalization",
            "bnorm_tbb_jit:avx2" if last else "ncsp_bnorm:any",
            "backward" if backward else "forward_training" if training else "forward_inference",
            (("data", kernel.dtype, tag), ("diff", kernel.dtype if backward else "", tag)),
            f"mb{batch}ic{channels}ih{height}iw{width}",
            8 * prod(shape),
            8 * prod(shape),
            auxiliary=f"flags:{flags}",
        )
    ]


MODELS: dict[str, Callable[[Kernel], list[Plan]]] = {
    "_MklMatMul": _matmul,
    "_MklBatchMatMulV2": _matmul,
    "_MklNativeFusedMatMul": _fused_matmul,
    "_MklEinsum": _einsum,
    "_MklSoftmax": _softmax,
    "_MklTranspose": _transpose,
    "_MklNativeFusedBatchNormV3": _batch_norm,
    "_MklNativeFusedBatchNormEx": _batch_norm,
    "_MklNativeFusedBatchNormGradV3": _batch_norm,
}
"""The model of each kernel's primitives; convolutions.py adds its own."""
