"""The ops that passes make: fused ones, and oneDNN's, which compute what those of TensorFlow do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime import ops as ops  # those that these are made of
from tflogscope.runtime.core.registry import Inference, alias, bind, lookup, op, registered
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.passes.onednn import KERNELS, onednn_name


def _run(type: str, attributes: dict[str, Any], *inputs: Any) -> Any:
    return bind(lookup(type), {"explicit_paddings": (), **attributes})(*inputs)


def _product_shape(base: str) -> Callable[[Inference], Any]:
    return lambda i: lookup(base).shape(Inference(i.inputs[:2], i.attributes))


def _fused(base: str) -> Callable[..., Any]:
    def kernel(a: Any, b: Any, bias: Any, **attributes: Any) -> Any:
        y = _run(base, attributes, a, b) + bias
        for each in attributes["fused_ops"][1:]:
            y = _run(each, {"alpha": attributes["leakyrelu_alpha"]}, y)
        return y

    return kernel


def _norm_and_relu(*inputs: Any, **attributes: Any) -> Any:
    y, *rest = _run("FusedBatchNormV3", attributes, *inputs)
    return (np.maximum(y, y.dtype.type(0)), *rest)


def _filter_and_bias(x: Any, sizes: Any, grad: Any, **attributes: Any) -> Any:
    bias = _run("BiasAddGrad", {"data_format": attributes["data_format"]}, grad)
    return _run("Conv2DBackpropFilter", attributes, x, sizes, grad), bias


for _base in ("MatMul", "Conv2D", "DepthwiseConv2dNative"):
    op(f"_Fused{_base}(a: T, b: T, args: num_args*T; fused_ops) -> product: T",
       _product_shape(_base), _fused(_base))  # fmt: skip
op("_FusedBatchNormEx(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, m: U, v: U, r1: U, "
   "r2: U, r3: U", lookup("FusedBatchNormV3").shape, _norm_and_relu)  # fmt: skip
op("__MklDummyConv2DBackpropFilterWithBias(x: T, sizes: int32, g: T) -> y: T, bias: T",
   lambda _: [UNKNOWN] * 2, _filter_and_bias)  # fmt: skip
for _type in KERNELS:
    if not registered(onednn_name(_type)):
        alias(onednn_name(_type), _type)
