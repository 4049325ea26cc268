"""Ops and types of TensorFlow's oneDNN kernels: what the layout pass may rewrite, and what not.

The table of the pass: core/common_runtime/mkl_layout_pass.cc (`rinfo_`). Registered kernels,
with their types, as tensorflow.python.framework.kernels lists them in TensorFlow 2.8.4, 2.10.1,
2.11.1, 2.13.1, 2.15.1, 2.16.2, 2.20.0 and 2.21.0.
"""

from __future__ import annotations

POOLS = ("MaxPool", "MaxPool3D")
POOL_GRADIENTS = ("MaxPoolGrad", "MaxPool3DGrad")
QUANTIZE = ("QuantizeV2", "Dequantize")
FUSED_CONVOLUTIONS = ("_FusedConv2D", "_FusedConv3D", "_FusedDepthwiseConv2dNative")
CONVOLUTION_GRADIENTS = (
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv3DBackpropFilterV2",
    "Conv3DBackpropInputV2",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
)
# Ops that ran as oneDNN kernels only in later releases, with the version of oneDNN that the first
# of these has: the only version that a log tells.
LATER = {"Einsum": (2, 7, 0), "Softmax": (2, 7, 2)}
QUANTIZED = (
    "QuantizedAvgPool",
    "QuantizedConcatV2",
    "QuantizedConv2D",
    "QuantizedConv2DAndRelu",
    "QuantizedConv2DAndReluAndRequantize",
    "QuantizedConv2DAndRequantize",
    "QuantizedConv2DPerChannel",
    "QuantizedConv2DWithBias",
    "QuantizedConv2DWithBiasAndRelu",
    "QuantizedConv2DWithBiasAndReluAndRequantize",
    "QuantizedConv2DWithBiasAndRequantize",
    "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
    "QuantizedConv2DWithBiasSumAndRelu",
    "QuantizedConv2DWithBiasSumAndReluAndRequantize",
    "QuantizedDepthwiseConv2D",
    "QuantizedDepthwiseConv2DWithBias",
    "QuantizedDepthwiseConv2DWithBiasAndRelu",
    "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
    "QuantizedMatMulWithBias",
    "QuantizedMatMulWithBiasAndDequantize",
    "QuantizedMatMulWithBiasAndRelu",
    "QuantizedMatMulWithBiasAndReluAndRequantize",
    "QuantizedMatMulWithBiasAndRequantize",
    "QuantizedMaxPool",
)
# Ops that the pass has an entry for, with a kernel in all releases, or in the later ones.
WITH_KERNEL = (
    "AvgPool",
    "AvgPool3D",
    "AvgPool3DGrad",
    "AvgPoolGrad",
    "BatchMatMul",
    "BatchMatMulV2",
    "ConjugateTranspose",
    "Conv2D",
    "Conv3D",
    "DepthwiseConv2dNative",
    "FusedBatchNorm",
    "FusedBatchNormGrad",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
    "FusedBatchNormV2",
    "FusedBatchNormV3",
    "MatMul",
    "SparseMatrixMatMul",
    "Transpose",
    "_FusedBatchNormEx",
    "_FusedMatMul",
    *LATER,
    *POOLS,
    *POOL_GRADIENTS,
    *QUANTIZE,
    *FUSED_CONVOLUTIONS,
    *CONVOLUTION_GRADIENTS,
    *QUANTIZED,
)
# Entries whose kernel went with the blocked layout: `_MklAddV2` is there (to 2.15), the
# `_MklNativeAddV2` that GetMklOpName asks for since 2.8 never was.
WITHOUT_KERNEL = (
    "Add",
    "AddN",
    "AddV2",
    "Concat",
    "ConcatV2",
    "LRN",
    "LRNGrad",
    "LeakyRelu",
    "LeakyReluGrad",
    "Maximum",
    "Mul",
    "Relu",
    "Relu6",
    "Relu6Grad",
    "ReluGrad",
    "Requantize",
    "Slice",
    "SquaredDifference",
    "Sub",
    "Tanh",
    "TanhGrad",
)
# They only handed the blocked layout on; there is nothing in them that oneDNN could run.
PASSING_ON = ("Identity", "Reshape")
# Kernels that run what XLA compiled, and the one that compiles for `_XlaRun`.
XLA_OPS = ("XlaLaunch", "XlaLaunchV2", "_XlaRun")
XLA_COMPILERS = ("_XlaCompile",)
CALLS = ("PartitionedCall", "StatefulPartitionedCall")

# Types that IsMklOp lets through and a kernel is registered for; half precision is one more from
# 2.16 on, where the CPU has it, but for these ops.
FLOATS = ("DT_FLOAT", "DT_BFLOAT16")
HALF = "DT_HALF"
NO_HALF = (
    "AvgPool",
    "AvgPool3D",
    "AvgPool3DGrad",
    "AvgPoolGrad",
    "FusedBatchNormGrad",
    "FusedBatchNormGradV3",
)
TYPES = {
    **dict.fromkeys(WITH_KERNEL, FLOATS),
    **dict.fromkeys(
        ("Transpose", "ConjugateTranspose"),
        (*FLOATS, "DT_DOUBLE", "DT_COMPLEX64", "DT_COMPLEX128"),
    ),
    **dict.fromkeys(
        (*QUANTIZE, "QuantizedAvgPool", "QuantizedConcatV2", "QuantizedMaxPool"),
        ("DT_QINT8", "DT_QUINT8"),
    ),
    "SparseMatrixMatMul": ("DT_FLOAT",),
}
