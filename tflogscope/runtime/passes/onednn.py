"""The layout pass: ops that oneDNN does better get its kernels; which ones do, in a function and
eagerly. See `core/common_runtime/mkl_layout_pass.cc`, `core/common_runtime/eager/mkl_eager_op_rewrite.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime import ops as ops  # those that these are made of
from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.dtypes import bfloat16, float32, float64
from tflogscope.runtime.core.registry import Inference, alias, bind, lookup, op, registered
from tflogscope.runtime.passes.graph import Graph, topological

LABEL = "MklNameChangeOp"
"""`_kernel` of the rewritten nodes."""
_PLAIN = frozenset({"BatchMatMulV2", "Einsum", "MatMul", "Transpose", "Softmax"})
"""Ops that become `_MklX`; others become `_MklNativeX`."""
_WITH_FILTER = frozenset(
    "Conv2D DepthwiseConv2dNative _FusedConv2D _FusedDepthwiseConv2dNative _FusedMatMul".split()
)
_USUAL = frozenset({float32, bfloat16})
_EAGER = frozenset(
    "AvgPool AvgPoolGrad BatchMatMulV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput "
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
    "Einsum FusedBatchNormV3 FusedBatchNormGradV3 MatMul".split()
)
"""Ops that are rewritten eagerly. NB: pools of the largest are not."""


@dataclass
class Report:
    """What the passes did to a function, as far as the log speaks of it."""

    nodes: list[NodeDef] = field(default_factory=list)
    """What will run."""
    rewritten: dict[str, str] = field(default_factory=dict)
    """By name, the ops that nodes were which got a kernel of oneDNN's."""
    runs: list[list[NodeDef]] = field(default_factory=list)
    """The graphs of constants that the runtime ran at step −1."""


def onednn_name(type: str) -> str:
    """What the op is called with oneDNN's kernel."""
    return f"_Mkl{type}" if type in _PLAIN else f"_MklNative{type.removeprefix('_')}"


def eager_op(op: str, attributes: Mapping[str, Any]) -> str:
    """The op that runs where this one was called."""
    return onednn_name(op) if op in _EAGER and attributes.get("T") in _USUAL else op


def use_onednn(graph: Graph, report: Report) -> None:
    """Rename. NB: the gradients of a filter and of its bias stay apart."""
    for name in topological(graph):
        _rewrite(graph, graph[name], report)


def _rewrite(graph: Graph, node: NodeDef, report: Report) -> None:
    turned = node.type == "_FusedMatMul" and node.attributes.get("transpose_a")
    if turned or node.attributes.get("T") not in KERNELS.get(node.type, ()):
        return
    old, attributes = node.type, {**node.attributes, "_kernel": LABEL}
    if old in _WITH_FILTER:
        attributes["is_filter_const"] = graph.source(node, 1).type == "Const"
    graph.retype(node, onednn_name(old), attributes)
    report.rewritten[node.name] = old


KERNELS: dict[str, frozenset[Any]] = {
    **dict.fromkeys(_EAGER, _USUAL),
    **dict.fromkeys(
        "MaxPool MaxPoolGrad Softmax _FusedMatMul _FusedConv2D _FusedDepthwiseConv2dNative".split(),
        _USUAL,
    ),
    "Transpose": _USUAL | {float64},
}
"""Ops with a kernel of oneDNN's: for which dtypes."""


# The ops that passes make: fused ones, and oneDNN's, which compute what those of TensorFlow do.


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
