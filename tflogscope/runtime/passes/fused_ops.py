"""The ops that only passes make, with kernels put together from those of the ops they stand for.

A fused op computes what its ops computed one after the other; `_Mkl…` ops compute what the op
computed that they replace. So a pass never changes a value.

Told about: `core/ops/mkl_nn_ops.cc`, `core/kernels/matmul_op_fused.cc`, `core/kernels/mkl`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tflogscope.runtime.dtypes import uint8
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.operations import Inference, bind, lookup, register
from tflogscope.runtime.passes.onednn import KERNELS, onednn_name
from tflogscope.runtime.shapes import UNKNOWN

__all__: list[str] = []

Specs = Sequence[Any]
_BASES = {
    "_FusedMatMul": "MatMul",
    "_FusedConv2D": "Conv2D",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "_FusedConv3D": "Conv3D",
}


def _run(type: str, attributes: dict[str, Any], *inputs: Any) -> Any:
    """What the kernel of another op computes."""
    result = bind(lookup(type), {"explicit_paddings": (), **attributes})(*inputs)
    return result[0] if isinstance(result, list) and len(result) == 1 else result


def _specs(type: str, i: Inference, count: int | None = None) -> Specs:
    """What another op's shape function says of the first inputs."""
    return lookup(type).infer(Inference(type, i.inputs[:count], i.attributes))


def _contraction_specs(type: str, i: Inference) -> Specs:
    return _specs(type, i, 2)


def _gelu(x: Any, *, approximate: bool) -> Any:
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    if approximate:
        cube = x.dtype.type(0.044715) * x * x * x
        return half * x * (one + np.tanh(x.dtype.type(np.sqrt(2 / np.pi)) * (x + cube)))
    return half * x * (one + _run("Erf", {}, x * x.dtype.type(np.sqrt(0.5))))


def _continued(result: Any, rest: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """What follows the contraction in a fused op."""
    others = list(rest)
    for op in attributes["fused_ops"]:
        if op in {"BiasAdd", "Add", "Mul"}:
            other = others.pop(0)
            result = result * other if op == "Mul" else result + other
        elif op == "FusedBatchNorm":
            norm = {"epsilon": attributes["epsilon"], "is_training": False, "data_format": "NHWC"}
            norm["exponential_avg_factor"] = 1.0
            result = _run("FusedBatchNormV3", norm, result, *others[:4])[0]
        elif op.startswith("Gelu"):
            result = _gelu(result, approximate=op == "GeluApproximate")
        else:
            result = _run(op, {"alpha": attributes.get("leakyrelu_alpha", 0.2)}, result)
    return result


def _fused(base: str) -> Callable[..., Any]:
    def kernel(a: Any, b: Any, *rest: Any, **attributes: Any) -> Any:
        return _continued(_run(base, attributes, a, b), rest, attributes)

    return kernel


def _unary_ops(x: Any, *, op_names: Sequence[str]) -> Any:
    for name in op_names:
        x = _run(name, {}, x)
    return x


def _norm_and_relu(*inputs: Any, **attributes: Any) -> Any:
    y, *rest = _run("FusedBatchNormV3", attributes, *inputs)
    return (np.maximum(y, y.dtype.type(0)), *rest)


def _norm_specs(i: Inference) -> Specs:
    return lookup("FusedBatchNormV3").infer(i)


def _layer_norm(x: Any, gamma: Any, beta: Any, *, epsilon: float) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = np.square(x - mean).mean(-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + x.dtype.type(epsilon))
    return (scaled * gamma + beta).astype(x.dtype)


def _same(i: Inference) -> Specs:
    return [(i.dtype(0), i.shape(0))]


def _pad_and(base: str) -> Callable[..., Any]:
    def kernel(x: Any, filters: Any, *rest: Any, **attributes: Any) -> Any:
        *others, paddings = rest
        return _run(base, attributes, np.pad(x, paddings), filters, *others)

    return kernel


def _filter_and_bias(x: Any, sizes: Any, grad: Any, **attributes: Any) -> Any:
    bias = _run("BiasAddGrad", {"data_format": attributes["data_format"]}, grad)
    return _run("Conv2DBackpropFilter", attributes, x, sizes, grad), bias


def _register_fused() -> None:
    for type, base in _BASES.items():
        _enter(type, partial(_contraction_specs, base), _fused(base))
    _enter("_UnaryOpsComposition", _same, _unary_ops)
    _enter("_FusedBatchNormEx", _norm_specs, _norm_and_relu)
    _enter("_MklSwish", _same, lambda x: x * _run("Sigmoid", {}, x))
    _enter("_MklFusedMish", _same, lambda x: x * np.tanh(_run("Softplus", {}, x)))
    _enter("_MklLayerNorm", _same, _layer_norm)
    _enter(
        "_MklFusedBatchMatMulV2",
        partial(_contraction_specs, "BatchMatMulV2"),
        _fused("BatchMatMulV2"),
    )
    _enter("_MklNativePadWithConv2D", lambda i: [(i.dtype(0), UNKNOWN)], _pad_and("Conv2D"))
    _enter(
        "_MklNativePadWithFusedConv2D",
        lambda i: [(i.dtype(0), UNKNOWN)],
        _pad_and("_FusedConv2D"),
    )
    _enter(
        "_MklNativeConv2DBackpropFilterWithBias",
        lambda i: [(i.dtype(0), UNKNOWN)] * 2,
        _filter_and_bias,
    )
    _enter(
        "_MklNativeConv2DWithBias",
        lambda i: _specs("Conv2D", i, 2),
        lambda x, k, b, **attributes: _run("Conv2D", attributes, x, k) + b,
    )


def _enter(type: str, infer: Callable[[Inference], Specs], kernel: Callable[..., Any]) -> None:
    register(type, infer, kernel, attributes=("T",))


def _register_onednn() -> None:
    """For each op that oneDNN has a kernel for, the op that stands for it."""
    for type in KERNELS:
        name = onednn_name(type)
        try:
            base = lookup(type)
            lookup(name)
        except NotInThisRuntime as missing:
            if name not in str(missing):
                continue  # this runtime does not have the op itself
        else:
            continue
        if type in {"MaxPool", "MaxPool3D"}:
            _enter(name, partial(_pool_specs, type), partial(_pool, type))
        elif type in {"MaxPoolGrad", "MaxPool3DGrad"}:
            _enter(name, partial(_pool_gradient_specs, type), partial(_pool_gradient, type))
        else:
            register(name, base.infer, base.kernel, attributes=base.attributes, types=base.types)


def _pool_specs(type: str, i: Inference) -> Specs:
    return [*_specs(type, i), (uint8, UNKNOWN)]


def _pool_gradient_specs(type: str, i: Inference) -> Specs:
    return _specs(type, i, 3)


def _pool(type: str, x: Any, **attributes: Any) -> Any:
    """NB: oneDNN's second output remembers where the maxima were; nothing here needs that."""
    return _run(type, attributes, x), np.zeros(0, np.uint8)


def _pool_gradient(
    type: str, before: Any, after: Any, grad: Any, workspace: Any = None, **attributes: Any
) -> Any:
    del workspace
    return _run(type, attributes, before, after, grad)


register(
    "_Arg",
    lambda i: [(i.attributes["T"], UNKNOWN)],
    lambda: None,
    attributes=("T", "index"),
    stateful=True,
)
register("_Retval", lambda _: [], lambda value: None, attributes=("T", "index"), stateful=True)  # noqa: ARG005
_register_fused()
_register_onednn()
