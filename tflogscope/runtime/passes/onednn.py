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
_COPIED = frozenset(
    "Conv2D Conv2DBackpropFilter Conv2DBackpropInput _FusedConv2D DepthwiseConv2dNative".split()
)
_NOT_COPIED = frozenset({"TArgs", "filter_format", "num_host_args"})
_USUAL = frozenset({float32, bfloat16})
_BACKPROPS = frozenset(
    "Conv2DBackpropFilter Conv2DBackpropInput DepthwiseConv2dNativeBackpropFilter "
    "DepthwiseConv2dNativeBackpropInput".split()
)
_NORMS = frozenset({"FusedBatchNormV3", "FusedBatchNormGradV3"})
_EAGER = _NORMS | _BACKPROPS | set("AvgPool AvgPoolGrad BatchMatMulV2 Conv2D DepthwiseConv2dNative Einsum MatMul".split())  # fmt: skip
"""Ops that are rewritten eagerly. NB: pools of the largest are not."""


def onednn_name(type: str) -> str:
    """What the op is called with oneDNN's kernel."""
    if type.startswith("__MklDummy"):
        return type.replace("__MklDummy", "_MklNative")
    return f"_Mkl{type}" if type in _PLAIN else f"_MklNative{type.removeprefix('_')}"


def eager_op(op: str, attributes: Mapping[str, Any]) -> str:
    """The op that runs where this one was called."""
    listed = op in _EAGER and attributes.get("T") in _USUAL
    explicit = op in _BACKPROPS and attributes.get("padding") == "EXPLICIT"
    return onednn_name(op) if listed and not explicit else op


def use_onednn(graph: Graph, report: Report) -> None:
    """Merge nodes that one kernel does together, then rename."""
    for name in reversed(topological(graph)):
        if name in graph:
            _merge_gradients(graph, graph[name])
    for name in topological(graph):
        _rewrite(graph, graph[name], report)


# -- merges


def _merge_gradients(graph: Graph, node: NodeDef) -> None:
    """The gradients of a filter and of a bias come from one kernel."""
    if node.type != "BiasAddGrad":
        return
    source = node.inputs[0]
    readers = graph.data_readers(*source)
    others = [each for each, at in readers if each.type == "Conv2DBackpropFilter" and at == 2]
    if not others or node.name in graph.kept or node.dtypes[0] not in _USUAL:
        return
    other = others[0]
    if other.attributes.get("padding") == "EXPLICIT":
        return
    type = "__MklDummyConv2DBackpropFilterWithBias"
    graph.rewire(other, other.inputs, [*other.controls, *node.controls])
    kept = {key: value for key, value in other.attributes.items() if key[:5] != "_has_"}
    graph.retype(other, type, kept)
    other.dtypes = (*other.dtypes, *node.dtypes)
    graph.replace_output((node.name, 0), (other.name, 1))
    for reader in graph.control_readers(node.name):
        graph.remove_control(reader, node.name)
        graph.add_control(reader, other.name)
    graph.remove(node.name)


# -- renaming


def _rewrite(graph: Graph, node: NodeDef, report: Report) -> None:
    types, fits = KERNELS.get(node.type, (frozenset(), None))
    if node.attributes.get("T") not in types or not (fits is None or fits(graph, node)):
        return
    old, attributes = node.type, dict(node.attributes)
    if old in _COPIED:  # these copy the attributes that they know; others keep all
        own = {key: value for key, value in attributes.items() if not key.startswith("_")}
        attributes = {key: value for key, value in own.items() if key not in _NOT_COPIED}
        attributes["__copied"] = True
    if old in _WITH_FILTER:
        attributes["is_filter_const"] = graph.source(node, 1).type == "Const"
    if old == "MaxPool":
        node.dtypes = (*node.dtypes[:1], uint8)
        readers = graph.data_readers(node.name, 0)
        attributes["workspace_enabled"] = any(
            each.type == "MaxPoolGrad" and at == 1 for each, at in readers
        )
    elif old == "MaxPoolGrad":
        graph.rewire(node, [*node.inputs, (node.inputs[1][0], 1)])
        attributes["workspace_enabled"] = True
    attributes["_kernel"] = LABEL
    graph.retype(node, onednn_name(old), attributes)
    report.rewritten[node.name] = old


def _not_explicit(graph: Graph, node: NodeDef) -> bool:
    return bool(node.attributes.get("padding") != "EXPLICIT")


def _fused_matmul(graph: Graph, node: NodeDef) -> bool:
    return not node.attributes.get("transpose_a", False)


def _pool(graph: Graph, node: NodeDef) -> bool:
    channel = 1 if node.attributes["data_format"].startswith("NC") else -1
    sizes = (node.attributes["ksize"], node.attributes["strides"])
    plain = all(size[0] == 1 and size[channel] == 1 for size in sizes)
    return plain and _not_explicit(graph, node)


def _pool_gradient(graph: Graph, node: NodeDef) -> bool:
    return graph.source(node, 1).type == "_MklNativeMaxPool" and _not_explicit(graph, node)


Condition = Callable[[Graph, NodeDef], bool]
KERNELS: dict[str, tuple[frozenset[Any], Condition | None]] = {
    **dict.fromkeys(
        "MatMul BatchMatMulV2 Einsum Softmax Conv2D DepthwiseConv2dNative AvgPool AvgPoolGrad "
        "FusedBatchNormV3 FusedBatchNormGradV3 _FusedConv2D _FusedDepthwiseConv2dNative "
        "_FusedBatchNormEx __MklDummyConv2DBackpropFilterWithBias".split(),
        (_USUAL, None),
    ),
    **dict.fromkeys(_BACKPROPS, (_USUAL, _not_explicit)),
    "Transpose": (_USUAL | {float64}, None),
    "_FusedMatMul": (_USUAL, _fused_matmul),
    "MaxPool": (_USUAL, _pool),
    "MaxPoolGrad": (_USUAL, _pool_gradient),
}
"""Ops with a kernel of oneDNN's: for which dtypes, and on which condition."""
