"""The ops that passes make: fused ones, and oneDNN's, which compute what those of TensorFlow do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime import ops as ops  # those that these are made of
from tflogscope.runtime.core.registry import Inference, alias, bind, lookup, op, registered
from tflogscope.runtime.passes.onednn import KERNELS, onednn_name


def _run(type: str, attributes: dict[str, Any], *inputs: Any) -> Any:
    return bind(lookup(type), {"explicit_paddings": (), **attributes})(*inputs)


def _product_shape(base: str) -> Callable[[Inference], Any]:
    return lambda i: lookup(base).shape(Inference(i.inputs[:2], i.attributes))


def _fused(base: str) -> Callable[..., Any]:
    def kernel(a: Any, b: Any, bias: Any, **attributes: Any) -> Any:
        y = _run(base, attributes, a, b) + bias
        for each in attributes["fused_ops"][1:]:
            y = _run(each, {}, y)
        return y

    return kernel


for _base in ("MatMul", "Conv2D", "DepthwiseConv2dNative"):
    op(f"_Fused{_base}(a: T, b: T, args: num_args*T; fused_ops) -> product: T",
       _product_shape(_base), _fused(_base))  # fmt: skip
for _type in KERNELS:
    if not registered(onednn_name(_type)):
        alias(onednn_name(_type), _type)
