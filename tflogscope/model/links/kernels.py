"""Which oneDNN primitives a kernel can run, and which of its tensors they work on.

Read from TensorFlow's kernels (2.8 to 2.21), each entry with its file; checked against real logs.
What oneDNN runs inside a primitive (a gemm inside a convolution) prints no line and is not here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

OUTPUT = -1  # an operand that is the kernel's first output
_NO = None


@dataclass(frozen=True)
class Family:
    """Kernels that run the same primitives.

    `kernels` matches the kernel's whole name. A run has one primitive of `main`, if `once`, and
    any number of those in `beside`. `src`, `wei` and `dst` say which tensor of the node is which
    operand of the primitive: an input's number, OUTPUT, or None where that is not fixed.
    `product`: it multiplies matrices, `dst = src x wei`, or patches of `src` by filters.
    `blocks`: the kernel splits its work, so a primitive may have a part of the operands' size.
    `direction`: how the `prop_kind` of its main primitives begins (`forward_training`,
    `backward_weights`, …), which the kernel fixes when it makes them; "" if it's of no kind.
    """

    name: str
    kernels: str
    main: tuple[str, ...]
    beside: tuple[str, ...]
    source: str
    src: int | None = _NO
    wei: int | None = _NO
    dst: int | None = _NO
    product: str | None = None
    once: bool = True
    blocks: bool = False
    direction: str = ""


_MKL = r"_Mkl(?:Native|Eager)?"
_CONV = "Conv(?:2D|3D)|DepthwiseConv2dNative"
_EIGEN = "Eigen's contraction calls dnnl_sgemm (tsl/framework/contraction/eigen_contraction_kernel)"
_QUANTIZED = "kernels/mkl/mkl_quantized_conv_ops.cc, mkl_qmatmul_op.cc, onednn_fused_matmul_ops.cc"
_EIGEN_MATMUL = Family(
    "eigen_matmul",
    "(?:_Fused)?MatMul|BatchMatMul(?:V2|V3)?|SparseMatMul",
    ("gemm_api",),
    (),
    f"kernels/matmul_op_impl.h, matmul_op_fused.cc: {_EIGEN}",
    src=0,
    wei=1,
    dst=OUTPUT,
    product="matrices",
    once=False,
    blocks=True,
)

FAMILIES = (
    Family(
        "matmul",
        _MKL + "MatMul",
        ("gemm_api", "matmul"),
        ("reorder",),
        "kernels/mkl/mkl_matmul_op.cc: dnnl_sgemm for float, a matmul primitive for bfloat16",
        src=0,
        wei=1,
        dst=OUTPUT,
        product="matrices",
    ),
    Family(
        "fused_matmul",
        _MKL + "FusedMatMul",
        ("inner_product", "matmul"),
        ("reorder", "gemm_api"),
        "kernels/mkl/mkl_matmul_op_fused.cc",
        src=0,
        wei=1,
        dst=OUTPUT,
        product="matrices",
        direction="forward",
    ),
    Family(
        "batch_matmul",
        _MKL + "(?:Fused)?BatchMatMul(?:V2|V3)?",
        ("matmul",),
        ("reorder", "gemm_api"),
        "kernels/mkl/mkl_batch_matmul_op.cc",
        src=0,
        wei=1,
        dst=OUTPUT,
        product="matrices",
    ),
    Family(
        "einsum",
        _MKL + "Einsum",
        ("matmul",),
        ("reorder", "gemm_api"),
        "kernels/mkl/mkl_einsum_op.cc: transposes, reductions and a batch matmul",
        src=0,
        wei=1,
        dst=OUTPUT,
        blocks=True,
    ),
    Family(
        "convolution",
        _MKL + rf"(?:PadWith)?(?:Fused)?(?:{_CONV})(?:WithBias)?",
        ("convolution",),
        # Without a thread pool of more than one thread it goes to Eigen, and so to dnnl_sgemm.
        ("reorder", "gemm_api"),
        "kernels/mkl/mkl_conv_ops.cc",
        src=0,
        wei=1,
        dst=OUTPUT,
        direction="forward",
    ),
    Family(
        "convolution_input",
        _MKL + rf"(?:{_CONV})BackpropInput(?:V2)?(?:WithBias)?",
        ("convolution",),
        ("reorder", "gemm_api"),
        "kernels/mkl/mkl_conv_grad_input_ops.cc",
        src=OUTPUT,
        wei=1,
        dst=2,
        direction="backward_data",
    ),
    Family(
        "convolution_filter",
        _MKL + rf"(?:{_CONV})BackpropFilter(?:V2)?(?:WithBias)?",
        ("convolution",),
        ("reorder", "gemm_api"),
        "kernels/mkl/mkl_conv_grad_filter_ops.cc",
        src=0,
        wei=OUTPUT,
        dst=2,
        direction="backward_weights",
    ),
    Family(
        "pooling",
        _MKL + "(?:Max|Avg)Pool(?:3D)?",
        ("pooling",),
        ("reorder",),
        "kernels/mkl/mkl_maxpooling_op.cc, mkl_avgpooling_op.cc",
        src=0,
        dst=OUTPUT,
        direction="forward",
    ),
    Family(
        "max_pooling_gradient",
        _MKL + "MaxPool(?:3D)?Grad",
        ("pooling",),
        ("reorder",),
        "kernels/mkl/mkl_maxpooling_op.cc",
        src=OUTPUT,
        dst=2,
        direction="backward",
    ),
    Family(
        "average_pooling_gradient",
        _MKL + "AvgPool(?:3D)?Grad",
        ("pooling",),
        ("reorder",),
        "kernels/mkl/mkl_avgpooling_op.cc",
        src=OUTPUT,
        dst=1,
        direction="backward",
    ),
    Family(
        "softmax",
        _MKL + "(?:Log)?Softmax",
        ("softmax", "logsoftmax"),
        ("reorder",),
        "kernels/mkl/mkl_softmax_op.cc",
        src=0,
        dst=OUTPUT,
        direction="forward",
    ),
    Family(
        "batch_normalization",
        _MKL + "_?Fused(?:BatchNorm(?:V2|V3|Ex)?|InstanceNorm)",
        ("batch_normalization",),
        ("reorder",),
        "kernels/mkl/mkl_fused_batch_norm_op.cc, mkl_fused_instance_norm_op.cc",
        src=0,
        dst=OUTPUT,
        direction="forward",
    ),
    Family(
        "batch_normalization_gradient",
        _MKL + "FusedBatchNormGrad(?:V2|V3)?",
        ("batch_normalization",),
        ("reorder",),
        "kernels/mkl/mkl_fused_batch_norm_op.cc",
        src=1,
        dst=0,
        direction="backward",
    ),
    Family(
        "layer_normalization",
        _MKL + "LayerNorm",
        ("layer_normalization",),
        ("reorder",),
        "kernels/mkl/mkl_layer_norm_op.cc",
        src=0,
        dst=OUTPUT,
        direction="forward",
    ),
    Family(
        "transpose",
        _MKL + "(?:Conjugate)?Transpose",
        ("reorder",),
        (),
        "kernels/mkl/mkl_transpose_op.cc",
        src=0,
        dst=OUTPUT,
    ),
    Family(
        "eltwise",
        _MKL + "(?:Swish|FusedMish|(?:Leaky)?Relu6?(?:Grad)?|Elu(?:Grad)?|Tanh(?:Grad)?|Gelu|Mish)",
        ("eltwise", "binary"),
        ("reorder",),
        "kernels/mkl/mkl_eltwise_activation_base_op.h, mkl_swish_op.cc, mkl_relu_op.cc",
        src=0,
        dst=OUTPUT,
        once=False,
    ),
    Family(
        "arithmetic",
        _MKL + "(?:AddN|AddV2|Add|Sub|Mul|Maximum|SquaredDifference)",
        ("sum", "binary"),
        ("reorder",),
        "kernels/mkl/mkl_aggregate_ops.cc, mkl_cwise_ops_common.cc",
        dst=OUTPUT,
        once=False,
    ),
    Family(
        "concat",
        _MKL + "(?:Quantized)?Concat(?:V2)?",
        ("concat",),
        ("reorder",),
        "kernels/mkl/mkl_concat_op.cc",
        dst=OUTPUT,
    ),
    Family(
        "lrn", _MKL + "LRN(?:Grad)?", ("lrn",), ("reorder",), "kernels/mkl/mkl_lrn_op.cc", src=0
    ),
    Family(
        "quantize",
        _MKL + "(?:QuantizeV2|Dequantize|Requantize\\w*)",
        ("reorder",),
        (),
        "kernels/mkl/mkl_quantize_op.cc, mkl_dequantize_op.cc",
        src=0,
        dst=OUTPUT,
        once=False,
    ),
    Family(
        "quantized",
        _MKL + r"\w*Quantized\w+|_(?:Fused)?Quantized(?:Conv|MatMul|Batch|Depthwise)\w+",
        ("convolution", "inner_product", "matmul", "pooling", "concat"),
        ("reorder",),
        _QUANTIZED,
        once=False,
    ),
    Family(
        "layout",
        r"_Mkl(?:ToTf|InputConversion|Reshape|Slice|Identity)",
        ("reorder",),
        (),
        "kernels/mkl/mkl_tfconv_op.h, mkl_slice_op.cc (TensorFlow before 2.8)",
        once=False,
    ),
    _EIGEN_MATMUL,
    replace(
        _EIGEN_MATMUL,
        name="eigen_convolution",
        kernels="(?:_Fused)?Conv(?:2D|3D)?|Fused(?:ResizeAnd)?PadConv2D",
        source=f"kernels/conv_ops_fused_impl.h, conv_ops_fused_image_transform.cc: {_EIGEN}",
        product="patches",
    ),
    Family(
        "eigen_convolution_gradient",
        "Conv(?:2D|3D)Backprop(?:Input|Filter)(?:V2)?",
        ("gemm_api",),
        (),
        f"kernels/conv_grad_input_ops.h, conv_grad_filter_ops.cc: {_EIGEN}",
        once=False,
        blocks=True,
    ),
    Family(
        "eigen_contraction",
        "Einsum|XlaEinsum|(?:Block)?LSTM\\w*|(?:AU)?GRU\\w*|\\w*AUGRU\\w*|Qr|MatrixSquareRoot",
        ("gemm_api",),
        (),
        f"kernels/linalg/einsum_op_impl.h, rnn/blas_gemm.h: {_EIGEN}",
        once=False,
        blocks=True,
    ),
    Family(
        "eigen_lrn",
        "LRN(?:Grad)?",
        ("gemm_api",),
        (),
        f"kernels/lrn_op.cc, LaunchLRN and LaunchLRNGrad, multiply by a band matrix: {_EIGEN}",
        once=False,
        blocks=True,
    ),
    # What XLA compiled calls Eigen's contraction or oneDNN itself; no kernel has its name.
    Family(
        "compiled",
        "_XlaRun|_XlaCompile|XlaLaunch(?:V2)?|XlaCompileOnDemand",
        (),
        (),
        "compiler/jit/kernels/xla_ops.cc; xla/service/cpu/runtime_matmul_f32.cc",
        once=False,
        blocks=True,
    ),
    # A rewritten kernel that is not listed (a newer release, say) may run anything.
    Family("other", r"_Mkl\w+", (), (), "the name", once=False, blocks=True),
)

_DIRECTIONS = ("forward", "backward")  # how a prop_kind begins that says something

COMPILED = next(number for number, entry in enumerate(FAMILIES) if entry.name == "compiled")
# Kernels whose own work is a reorder: transposes and quantization that the program asked for.
REORDERING = tuple(number for number, entry in enumerate(FAMILIES) if entry.main == ("reorder",))
# Of a node that calls a function made with jit_compile=True (compiler/jit/defs.cc).
COMPILED_ATTRIBUTE = "_XlaMustCompile=true"

_PATTERNS = tuple(re.compile(family.kernels) for family in FAMILIES)


def family_of(kernel: str) -> int:
    """Return the number of the kernel's family in FAMILIES, -1 if it runs no primitives."""
    for number, pattern in enumerate(_PATTERNS):
        if pattern.fullmatch(kernel):
            return number
    return -1


def families_of(kernels: pl.Series) -> NDArray[np.int64]:
    """`family_of` each kernel; the distinct names are few."""
    distinct = kernels.unique().drop_nulls().to_list()
    known = {kernel: family_of(kernel) for kernel in distinct}
    found = kernels.replace_strict(known, default=-1, return_dtype=pl.Int64)
    return found.fill_null(-1).to_numpy()


def roles(kinds: Sequence[tuple[str, str]]) -> NDArray[np.int8]:
    """Return a table, family by kind: 0 can't run it, 1 runs it beside, 2 as its main one.

    A kind is (primitive, prop_kind); a `prop_kind` that is "" or `undef` says nothing.
    """
    table = np.zeros((len(FAMILIES), len(kinds)), np.int8)
    for row, family in enumerate(FAMILIES):
        for column, (primitive, prop_kind) in enumerate(kinds):
            if primitive in family.main or not family.main:
                against = prop_kind.startswith(_DIRECTIONS)
                against &= not prop_kind.startswith(family.direction)
                table[row, column] = 0 if against else 2
            elif primitive in family.beside:
                table[row, column] = 1
    return table


ONCE = np.array([family.once for family in FAMILIES])
# Kernels of which it is not known what they run.
VAGUE = np.array([not family.main for family in FAMILIES])
BLOCKS = np.array([family.blocks for family in FAMILIES])
