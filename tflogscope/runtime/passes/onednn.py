"""The layout pass: ops that oneDNN does better get its kernels; which ones do, in a function and
eagerly. See `core/common_runtime/mkl_layout_pass.cc`, `core/common_runtime/eager/mkl_eager_op_rewrite.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.dtypes import bfloat16, float32, float64, uint8
from tflogscope.runtime.passes.graph import Graph, topological
from tflogscope.runtime.passes.report import Report

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


def onednn_name(type: str) -> str:
    """What the op is called with oneDNN's kernel."""
    if type.startswith("__MklDummy"):
        return type.replace("__MklDummy", "_MklNative")
    return f"_Mkl{type}" if type in _PLAIN else f"_MklNative{type.removeprefix('_')}"


def eager_op(op: str, attributes: Mapping[str, Any]) -> str:
    """The op that runs where this one was called."""
    return onednn_name(op) if op in _EAGER and attributes.get("T") in _USUAL else op


def use_onednn(graph: Graph, report: Report) -> None:
    """Merge nodes that one kernel does together, then rename."""
    for node in graph:
        if node.type == "BiasAddGrad" and node.name not in graph.kept:
            _merge_gradients(graph, node)
    for name in topological(graph):
        _rewrite(graph, graph[name], report)


def _merge_gradients(graph: Graph, node: NodeDef) -> None:
    """The gradients of a filter and of a bias come from one kernel."""
    readers = graph.data_readers(*node.inputs[0])
    others = [each for each, at in readers if each.type == "Conv2DBackpropFilter" and at == 2]
    if not others or node.dtypes[0] not in _USUAL:
        return
    other = others[0]
    graph.rewire(other, other.inputs, [*other.controls, *node.controls])
    graph.retype(other, "__MklDummyConv2DBackpropFilterWithBias", other.attributes)
    other.dtypes = (*other.dtypes, *node.dtypes)
    graph.replace_output((node.name, 0), (other.name, 1))
    for reader in graph.control_readers(node.name):
        graph.redirect(reader, node.name, other.name)
    graph.remove(node.name)


def _rewrite(graph: Graph, node: NodeDef, report: Report) -> None:
    types, fits = KERNELS.get(node.type, (frozenset(), None))
    if node.attributes.get("T") not in types or not (fits is None or fits(graph, node)):
        return
    old, attributes = node.type, {**node.attributes, "_kernel": LABEL}
    if old in _WITH_FILTER:
        attributes["is_filter_const"] = graph.source(node, 1).type == "Const"
    elif old == "MaxPool":
        node.dtypes = (*node.dtypes[:1], uint8)
        readers = graph.data_readers(node.name, 0)
        attributes["workspace_enabled"] = any(
            each.type == "MaxPoolGrad" and at == 1 for each, at in readers
        )
    elif old == "MaxPoolGrad":
        graph.rewire(node, [*node.inputs, (node.inputs[1][0], 1)])
        attributes["workspace_enabled"] = True
    graph.retype(node, onednn_name(old), attributes)
    report.rewritten[node.name] = old


def _fused_matmul(graph: Graph, node: NodeDef) -> bool:
    return not node.attributes.get("transpose_a", False)


def _pool_gradient(graph: Graph, node: NodeDef) -> bool:
    return graph.source(node, 1).type == "_MklNativeMaxPool"


Condition = Callable[[Graph, NodeDef], bool]
KERNELS: dict[str, tuple[frozenset[Any], Condition | None]] = {
    **dict.fromkeys(_EAGER, (_USUAL, None)),
    **dict.fromkeys(
        "MaxPool Softmax _FusedConv2D _FusedDepthwiseConv2dNative _FusedBatchNormEx "
        "__MklDummyConv2DBackpropFilterWithBias".split(),
        (_USUAL, None),
    ),
    "Transpose": (_USUAL | {float64}, None),
    "_FusedMatMul": (_USUAL, _fused_matmul),
    "MaxPoolGrad": (_USUAL, _pool_gradient),
}
"""Ops with a kernel of oneDNN's: for which dtypes, and on which condition."""
