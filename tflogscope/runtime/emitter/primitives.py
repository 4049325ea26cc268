"""Which primitives of oneDNN a kernel runs, and on what: `_MklMatMul` on [2, 3] and [3, 4] is
`gemm_api,2x3:3x4`. `_ROWS` says what is always the same of a primitive, `MODELS` which function
finds the rest for a kernel. See `core/kernels/mkl/mkl_matmul_ops_common.h`, `mkl_conv_ops.cc`,
`mkl_pooling_ops_common.h` and their neighbours. NB: memory formats and implementations are those of a
plain case; oneDNN chooses them by size, shape and CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_lowercase
from typing import Any, NamedTuple

from tflogscope.runtime.emitter.dialects import Dialect

Shape = tuple[int, ...]
_ROWS = {
    "gemm_api": ("", "undef", "src:ab wei:ab dst:ab", ""),
    "matmul": ("brg_matmul:avx512_core", "undef", "src:{tag} wei:{tag} dst:{tag}", ""),
    "inner_product": ("x64:gemm:jit", "forward", "src:ab wei:ba bia:a dst:ab", ""),
    "reorder": ("jit:uni", "undef", "src:{tag} dst:{to}", ""),
    "convolution": ("brgconv:avx512_core", "forward", "src:{tag} wei:{wei} bia:{bias} dst:{tag}",
                    "alg:convolution_direct"),
    "pooling": ("jit:avx512_core", "forward", "src:{tag} dst:{tag} ws:", "alg:pooling_{which}"),
    "softmax": ("jit:avx512_core", "forward_inference", "src:{tag} dst:{tag}",
                "alg:softmax_accurate axis:{axis}"),
    "batch_normalization": ("bnorm_tbb_jit:avx2", "forward", "data:{tag} diff:{diff}",
                            "flags:{flags}"),
}  # fmt: skip
"""Of each primitive its implementation, its direction, memories, auxiliary information."""
_WITH_ATTRIBUTES = frozenset({"matmul", "inner_product", "convolution"})
_POSTS = {"Relu": "relu", "Elu": "elu:1", "Tanh": "tanh", "Sigmoid": "logistic"}


class Plan(NamedTuple):
    """A primitive that a kernel is going to run."""

    kind: str
    implementation: str
    prop: str
    dtype: str
    memories: str
    """`src:ab wei:ba bia:`: names and formats; those without a format are not there."""
    problem: str
    attributes: str
    auxiliary: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that runs."""

    op: str
    attributes: Mapping[str, Any]
    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    dialect: Dialect
    order: Sequence[int]
    """Of a Transpose, the permutation."""

    @property
    def dtype(self) -> str:
        name = getattr(self.attributes.get("T"), "name", "")
        return {"bfloat16": "bf16", "float16": "f16"}.get(name, "f32")

    def plan(self, kind: str, problem: str, prop: str = "", **given: object) -> Plan:
        """A primitive: its row, with these blanks filled."""
        implementation, usual, memories, auxiliary = _ROWS[kind]
        if usual == "forward":
            usual = "forward_inference" if self.dialect.release == "2.8" else "forward_training"
        given = {"tag": "acdb", **given}
        memories, auxiliary = memories.format(**given), auxiliary.format(**given)
        fused, parts = self.attributes.get("fused_ops", ()), []
        if kind in _WITH_ATTRIBUTES:
            # who gives room for what is in between, and what is done to the result at once
            if "Backprop" not in self.op and self.dialect.release != "2.8":
                parts.append("attr-scratchpad:user")
            parts += [f"attr-post-ops:eltwise_{_POSTS[e]}" for e in fused if e in _POSTS]
        tail = problem, " ".join(parts), auxiliary
        return Plan(kind, implementation, prop or usual, self.dtype, memories, *tail)


def plans(kernel: Kernel) -> list[Plan]:
    """The primitives, in order; none for a kernel without, or for no data."""
    model = MODELS.get(kernel.op)
    if model is None or any(0 in shape for shape in (*kernel.inputs[:1], *kernel.outputs[:1])):
        return []
    return model(kernel)


def by(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


# -- products


def _product(kernel: Kernel, a: Shape, b: Shape, swap_a: Any, swap_b: Any) -> list[Plan]:
    rows, depth = (a[-1], a[-2]) if swap_a else (a[-2], a[-1])
    columns = b[-2] if swap_b else b[-1]
    leading = [(1,) * (len(other) - len(own)) + own[:-2] for own, other in ((a, b), (b, a))]
    batch = tuple(max(each) for each in zip(*leading, strict=True))
    x, y, z = (*leading[0], rows, depth), (*leading[1], depth, columns), (*batch, rows, columns)
    problem = f"{by(x)}:{by(y)}"
    if kernel.dtype == "f32" and len(z) == 2 and kernel.op == "_MklMatMul":
        return [kernel.plan("gemm_api", problem)]
    problem += f":{by(z)}" if kernel.dialect.old_onednn else ""
    return [kernel.plan("matmul", problem, tag=ascii_lowercase[: len(z)])]


def _matmul(kernel: Kernel) -> list[Plan]:
    names = ("adj_x", "adj_y") if "Batch" in kernel.op else ("transpose_a", "transpose_b")
    return _product(kernel, *kernel.inputs[:2], *(kernel.attributes.get(n) for n in names))


def _fused_matmul(kernel: Kernel) -> list[Plan]:
    (rows, depth), b = kernel.inputs[:2]
    columns = b[0] if kernel.attributes.get("transpose_b") else b[1]
    return [kernel.plan("inner_product", f"mb{rows}ic{depth}oc{columns}")]


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
    parts, padded = [], kernel.attributes.get("padding") != "VALID"
    for at, axis in enumerate("hw"):
        place = 1 + at
        stride, into, out = kernel.attributes["strides"][place], image[place], result[place]
        before = max(0, (out - 1) * stride + size[at] - into) // 2 if padded else 0
        sizes = {"i": into, "o": out, "k": size[at], "s": stride, "d": 0, "p": before}
        parts.append("".join(f"{each}{axis}{number}" for each, number in sizes.items()))
    return "_".join(parts)


def _convolution(kernel: Kernel) -> list[Plan]:
    """A convolution; its weights are put in another order first, and the gradient's afterwards."""
    op, image, weights, result = kernel.op, kernel.inputs[0], kernel.inputs[1], kernel.outputs[0]
    prop = ""
    if "BackpropFilter" in op:
        prop, weights, result = "backward_weights", result, kernel.inputs[2]
    elif "BackpropInput" in op:
        prop, image, result = "backward_data", result, kernel.inputs[2]
    batch, _, _, depth = result
    channels, size = image[3], weights[:2]
    depthwise = "Depthwise" in op
    plain, blocked = ("decab", "Abcde16a") if depthwise else ("cdba", "Acdb16a")
    main = kernel.plan(
        "convolution",
        f"{f'g{channels}' if depthwise else ''}mb{batch}_ic{channels}oc{depth}_"
        + _window(kernel, image, result, size),
        prop,
        wei=blocked,
        bias="a" if "Fused" in op else "",
    )
    shape = (channels, depth // channels, 1, *size) if depthwise else (depth, channels, *size)
    if prop == "backward_weights":
        return [main, kernel.plan("reorder", by(shape), tag=blocked, to=plain)]
    return [kernel.plan("reorder", by(shape), tag=plain, to=blocked), main]


def _pooling(kernel: Kernel) -> list[Plan]:
    largest, image, result, prop = "Max" in kernel.op, kernel.inputs[0], kernel.outputs[0], ""
    if "Grad" in kernel.op:
        image, result = result, kernel.inputs[2 if largest else 1]
        prop = "backward_data"
    batch, _, _, channels = image
    size = kernel.attributes["ksize"][1:3]
    problem = f"mb{batch}ic{channels}_{_window(kernel, image, result, size)}"
    which = "max" if largest else "avg_exclude_padding"
    return [kernel.plan("pooling", problem, prop or "forward_training", which=which)]


# -- others


def _softmax(kernel: Kernel) -> list[Plan]:
    shape = kernel.inputs[0]
    tag, axis = ascii_lowercase[: len(shape)], len(shape) - 1
    return [kernel.plan("softmax", by(shape), tag=tag, axis=axis)]


def _transpose(kernel: Kernel) -> list[Plan]:
    shape, order = kernel.inputs[0], kernel.order
    moved = [at for at in order if shape[at] > 1]
    if moved == sorted(moved):  # nothing moves in memory
        return []
    names = ascii_lowercase[: len(shape)]
    turned = "".join(names[at] for at in order)
    return [kernel.plan("reorder", by(shape), tag=names, to=turned)]


def _batch_norm(kernel: Kernel) -> list[Plan]:
    backward = "Grad" in kernel.op
    batch, rows, columns, channels = kernel.inputs[1 if backward else 0]
    training = bool(kernel.attributes.get("is_training", True))
    flags = "S" if training else "GS"
    prop = "backward" if backward else "forward_training" if training else "forward_inference"
    diff, problem = "acdb" if backward else "", f"mb{batch}ic{channels}ih{rows}iw{columns}"
    return [kernel.plan("batch_normalization", problem, prop, diff=diff, flags=flags)]


_TABLE: dict[Callable[[Kernel], list[Plan]], str] = {
    _matmul: "MatMul BatchMatMulV2",
    _fused_matmul: "NativeFusedMatMul",
    _einsum: "Einsum",
    _softmax: "Softmax",
    _transpose: "Transpose",
    _batch_norm: "NativeFusedBatchNormV3 NativeFusedBatchNormGradV3",
    _convolution: "NativeConv2D NativeFusedConv2D NativeConv2DBackpropInput "
    "NativeConv2DBackpropFilter NativeDepthwiseConv2dNative "
    "NativeFusedDepthwiseConv2dNative NativeDepthwiseConv2dNativeBackpropFilter "
    "NativeDepthwiseConv2dNativeBackpropInput",
    _pooling: "NativeMaxPool NativeMaxPoolGrad NativeAvgPool NativeAvgPoolGrad",
}
MODELS = {f"_Mkl{name}": model for model, names in _TABLE.items() for name in names.split()}

# -- as each version writes them. See `src/common/verbose.cpp` of oneDNN

_TEMPLATE = (
    "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,"
    "problem_desc,exec_time"
)


def header(dialect: Dialect, threads: int) -> list[str]:
    """What comes layout the first primitive."""
    version = dialect.onednn
    count = "" if version < "2.6" else f",nthr:{threads}"
    template = "info,prim_template" if version < "3.3" else "primitive,info,template"
    texts = (
        f"info,oneDNN v{version} (commit N/A)",
        f"info,cpu,runtime:threadpool{count}",
        "info,cpu,isa:Intel AVX-512 with Intel DL Boost and bfloat16 support",
        "info,gpu,runtime:none",
        f"{template}:{_TEMPLATE}",
    )
    return [f"{dialect.mark},{text}" for text in texts]


def line(plan: Plan, milliseconds: float, dialect: Dialect) -> str:
    """The line of a primitive that has run."""
    gemm, old = plan.kind == "gemm_api", dialect.old_onednn
    joint = "_" if gemm or dialect.onednn < "3.6" else ":"  # gemm_api has kept the old way
    layout = ":f0" if gemm or old else "::f0"
    absent = "undef::undef::f0" if gemm or old else "undef::undef:::"
    memories = []
    for name, _, tag in (each.partition(":") for each in plan.memories.split()):
        described = f"{plan.dtype}::blocked:{tag}{layout}" if tag else absent
        memories.append(f"{name}{joint}{described}")
    attributes = plan.attributes + " " * bool(plan.attributes and dialect.onednn < "3.5")
    kind = f"{plan.kind}_v2" if old and plan.kind in {"pooling", "softmax"} else plan.kind
    fields = [kind, plan.implementation, plan.prop, " ".join(memories), attributes]
    if not (gemm and old):  # NB: 2.7 leaves a field out
        fields.append(plan.auxiliary)
    fields += [plan.problem, f"{milliseconds:g}"]
    component = "" if dialect.onednn < "3.3" else "primitive,"
    return f"{dialect.mark},{component}exec,cpu,{','.join(fields)}"
