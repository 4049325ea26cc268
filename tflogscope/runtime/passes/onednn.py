"""Which ops oneDNN has kernels for in TensorFlow 2.13, and what those are called.

Told about: `GetMklOpName` and `IsMklOp` of `core/graph/mkl_graph_util.h`.
"""

from __future__ import annotations

from tflogscope.runtime.dtypes import DType, bfloat16, complex64, complex128, float32, float64

__all__ = ["KERNELS", "has_kernel", "onednn_name"]

_PLAIN = frozenset(
    {
        *("ConjugateTranspose", "BatchMatMul", "BatchMatMulV2", "Einsum", "MatMul", "Transpose"),
        *("QuantizeV2", "Dequantize", "Softmax"),
    }
)
_FUSED = {
    "_FusedConv2D": "_MklNativeFusedConv2D",
    "_FusedConv3D": "_MklNativeFusedConv3D",
    "_FusedDepthwiseConv2dNative": "_MklNativeFusedDepthwiseConv2dNative",
    "_FusedMatMul": "_MklNativeFusedMatMul",
    "_FusedBatchNormEx": "_MklNativeFusedBatchNormEx",
    "__MklDummyConv2DWithBias": "_MklNativeConv2DWithBias",
    "__MklDummyPadWithConv2D": "_MklNativePadWithConv2D",
    "__MklDummyPadWithFusedConv2D": "_MklNativePadWithFusedConv2D",
    "__MklDummyConv2DBackpropFilterWithBias": "_MklNativeConv2DBackpropFilterWithBias",
}
_USUAL = frozenset({float32, bfloat16})
_MOVED = frozenset({float32, float64, complex64, complex128, bfloat16})

KERNELS: dict[str, frozenset[DType]] = {
    **dict.fromkeys(_FUSED, _USUAL),
    **dict.fromkeys(("Transpose", "ConjugateTranspose"), _MOVED),
    **dict.fromkeys(
        (
            *("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Softmax"),
            *("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"),
            *("Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"),
            *("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter"),
            *("DepthwiseConv2dNativeBackpropInput",),
            *("AvgPool", "AvgPoolGrad", "AvgPool3D", "AvgPool3DGrad"),
            *("MaxPool", "MaxPoolGrad", "MaxPool3D", "MaxPool3DGrad"),
            *("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
            *("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
        ),
        _USUAL,
    ),
}
"""The ops that have one, and the dtypes it takes. NB: element-wise ops had one when tensors were
kept in oneDNN's blocked format, before 2.8; their names are looked up still, and not found.
"""


def onednn_name(type: str) -> str:
    """What the op is called if oneDNN runs it."""
    if type in _FUSED:
        return _FUSED[type]
    if type in _PLAIN or type.startswith("Quantized"):
        return f"_Mkl{type}"
    return f"_MklNative{type}"


def has_kernel(type: str, dtype: object) -> bool:
    """Is there a kernel of oneDNN for the op and dtype?"""
    return dtype in KERNELS.get(type, ())
