"""oneDNN's ops for TensorFlow's: the layout pass, over the graph of each component function.

First nodes are merged that oneDNN has one primitive for (padding and convolution, the gradients of
filter and bias), then each node whose op is in the table is renamed, if its rule allows that and
there is a kernel for its dtype. Nothing but the name changes: tensors are in TensorFlow's format.

Told about: `MklLayoutRewritePass` of `core/common_runtime/mkl_layout_pass.cc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime import telling
from tflogscope.runtime.dtypes import int32, uint8
from tflogscope.runtime.passes.graph import MutableGraph, Node, topological
from tflogscope.runtime.passes.onednn import has_kernel, onednn_name

__all__ = ["use_onednn"]

LABEL = "MklNameChangeOp"
_EXPLICIT_REFUSED = frozenset(
    {
        *("Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3DBackpropFilterV2"),
        *("DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput"),
        *("MaxPool", "MaxPoolGrad", "MaxPool3D", "MaxPool3DGrad"),
    }
)
_FILTERS = frozenset(
    {
        *("Conv2D", "Conv3D", "DepthwiseConv2dNative", "_FusedConv2D", "_FusedConv3D"),
        *("_FusedDepthwiseConv2dNative", "_FusedMatMul", "__MklDummyPadWithConv2D"),
        *("__MklDummyPadWithFusedConv2D", "__MklDummyConv2DWithBias"),
    }
)
"""The ops whose new node says whether the filter is a constant."""
_COPIED = frozenset({"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "_FusedConv2D"}) | {
    "DepthwiseConv2dNative"
}
"""NB: attributes of these are copied one by one, so that those that start with `_` get lost."""
_NOT_COPIED = frozenset({"TArgs", "filter_format", "num_host_args"})
_ELEMENTWISE = frozenset({"Relu", "Relu6", "Elu", "LeakyRelu"})
_CONVOLUTION_FUSIONS = frozenset(
    {
        ("BiasAdd",),
        *((activation,) for activation in _ELEMENTWISE),
        *(("BiasAdd", each) for each in (*_ELEMENTWISE, "_MklSwish", "Add")),
        *(("BiasAdd", "Add", activation) for activation in _ELEMENTWISE),
        ("FusedBatchNorm",),
        *(("FusedBatchNorm", each) for each in (*_ELEMENTWISE, "_MklSwish")),
    }
)
_DEPTHWISE_FUSIONS = frozenset(
    {("BiasAdd",), *(("BiasAdd", each) for each in ("Relu", "Relu6", "Elu"))}
)


def use_onednn(graph: MutableGraph) -> None:
    """Merge and rename what oneDNN can do."""
    for name in reversed(topological(graph) or list(graph.nodes)):
        if name in graph:
            _merge(graph, graph[name])
    for name in topological(graph) or list(graph.nodes):
        _rewrite(graph, graph[name])


# -- merges --------------------------------------------------------------------------------------


def _merge(graph: MutableGraph, node: Node) -> None:
    if node.type == "BiasAddGrad":
        _merge_gradients(graph, node)
    elif node.type in {"Conv2D", "_FusedConv2D"}:
        _merge_padding(graph, node)
    elif node.type == "BiasAdd":
        _merge_bias(graph, node)


def _merge_padding(graph: MutableGraph, node: Node) -> None:
    padding = graph.source(node, 0)
    if padding.type != "Pad" or not _read_once(graph, padding) or padding.device != node.device:
        return
    fits = node.attributes.get("padding") == "VALID" and has_kernel("Conv2D", node.dtypes[0])
    fused = node.type == "_FusedConv2D"
    if not fits or (fused and node.attributes.get("num_args") != 1):
        return
    if padding.attributes.get("Tpaddings", int32) is not int32:
        return
    inputs = [padding.inputs[0], *node.inputs[1:], padding.inputs[1]]
    dropped = _NOT_COPIED | {"explicit_paddings"}
    kept = {
        key: value
        for key, value in node.attributes.items()
        if key not in dropped and not key.startswith("_")
    }
    attributes = {**kept, "Tpaddings": int32}
    type = f"__MklDummyPadWith{'Fused' if fused else ''}Conv2D"
    _told_merge(padding, node, type)
    graph.rewire(node, inputs, [*node.controls, *padding.controls])
    graph.retype(node, type, attributes)
    graph.remove(padding.name)


def _merge_bias(graph: MutableGraph, node: Node) -> None:
    convolution = graph.source(node, 0)
    if convolution.type != "Conv2D" or not _read_once(graph, convolution):
        return
    if convolution.device != node.device or not has_kernel("Conv2D", node.dtypes[0]):
        return
    _told_merge(convolution, node, "__MklDummyConv2DWithBias")
    inputs = [*convolution.inputs, node.inputs[1]]
    graph.rewire(node, inputs, [*node.controls, *convolution.controls])
    graph.retype(node, "__MklDummyConv2DWithBias", convolution.attributes)
    graph.remove(convolution.name)


def _merge_gradients(graph: MutableGraph, node: Node) -> None:
    """The gradients of bias and filter come from the same gradient."""
    source = node.inputs[0]
    others = [
        reader
        for reader, at in graph.data_readers(source[0])
        if reader.type == "Conv2DBackpropFilter" and at == 2 and reader.inputs[2] == source
    ]
    if not others or node.name in graph.kept or others[0].device != node.device:
        return
    other = others[0]
    if other.attributes.get("padding") == "EXPLICIT" or not has_kernel("Conv2D", node.dtypes[0]):
        return
    type = "__MklDummyConv2DBackpropFilterWithBias"
    _told_merge(node, other, type)
    dropped = {
        name: value
        for name, value in other.attributes.items()
        if name != "_has_manual_control_dependencies"
    }
    graph.rewire(other, other.inputs, [*other.controls, *node.controls])
    graph.retype(other, type, dropped)
    other.dtypes = (*other.dtypes, *node.dtypes)
    graph.replace_output((node.name, 0), (other.name, 1))
    for reader in graph.control_readers(node.name):
        graph.remove_control(reader, node.name)
        graph.add_control(reader, other.name)
    graph.remove(node.name)


def _read_once(graph: MutableGraph, node: Node) -> bool:
    readers = graph.readers(node.name)
    return (
        len(readers) == 1
        and len(graph.data_readers(node.name)) == 1
        and node.name not in graph.kept
    )


def _told_merge(node: Node, other: Node, type: str) -> None:
    if telling.listener is not None:
        telling.listener.nodes_merged(node.name, other.name, type)


# -- rewrites ------------------------------------------------------------------------------------


def _rewrite(graph: MutableGraph, node: Node) -> None:
    rule = RULES.get(node.type)
    if (
        rule is None
        or "T" not in node.attributes
        or not has_kernel(node.type, node.attributes["T"])
    ):
        return
    if "GPU" in node.device:
        if telling.listener is not None:
            reason = "User has assigned a device that is not CPU."
            telling.listener.rewrite_refused(node.name, node.type, reason)
        return
    explicit = node.type in _EXPLICIT_REFUSED and node.attributes.get("padding") == "EXPLICIT"
    if explicit or not rule(graph, node):
        return
    old, new = node.type, onednn_name(node.type)
    attributes = dict(node.attributes)
    if old in _COPIED:
        attributes = {
            name: value
            for name, value in attributes.items()
            if not name.startswith("_") and name not in _NOT_COPIED
        }
        attributes["__copied"] = True
    if old in _FILTERS:
        attributes["is_filter_const"] = graph.source(node, 1).type == "Const"
    if old in {"MaxPool", "MaxPool3D", "MaxPoolGrad", "MaxPool3DGrad"}:
        attributes["workspace_enabled"] = _connect_workspace(graph, node)
    attributes["_kernel"] = LABEL
    graph.retype(node, new, attributes)
    if telling.listener is not None:
        telling.listener.node_rewritten(node.name, old, new, attributes)


def _connect_workspace(graph: MutableGraph, node: Node) -> bool:
    """A pool remembers where its maxima were, if its gradient is taken in the same graph."""
    if node.type in {"MaxPool", "MaxPool3D"}:
        node.dtypes = (*node.dtypes[:1], uint8)
        gradient = f"{node.type}Grad"
        return any(
            reader.type == gradient and at == 1 and reader.inputs[1] == (node.name, 0)
            for reader, at in graph.data_readers(node.name)
        )
    graph.rewire(node, [*node.inputs, (node.inputs[1][0], 1)])
    return True


def _always(graph: MutableGraph, node: Node) -> bool:  # noqa: ARG001 - a rule
    return True


def _fused_matmul(graph: MutableGraph, node: Node) -> bool:  # noqa: ARG001
    return not node.attributes.get("transpose_a", False)


def _fused_convolution(graph: MutableGraph, node: Node) -> bool:  # noqa: ARG001
    attributes = node.attributes
    return tuple(attributes["fused_ops"]) in _CONVOLUTION_FUSIONS and attributes.get(
        "data_format", "NHWC"
    ) in {"NHWC", "NCHW"}


def _fused_depthwise(graph: MutableGraph, node: Node) -> bool:  # noqa: ARG001
    return tuple(node.attributes["fused_ops"]) in _DEPTHWISE_FUSIONS


def _pool(graph: MutableGraph, node: Node) -> bool:  # noqa: ARG001
    """Not over the batch, nor over channels."""
    sizes: Any = (node.attributes["ksize"], node.attributes["strides"])
    channel = 1 if node.attributes.get("data_format", "NHWC").startswith("NC") else -1
    return all(size[0] == 1 and size[channel] == 1 for size in sizes)


def _pool_gradient(graph: MutableGraph, node: Node) -> bool:
    """Only if the pool itself is oneDNN's, because of what that remembers."""
    return graph.source(node, 1).type == onednn_name(node.type.removesuffix("Grad"))


def _norm_and_relu(graph: MutableGraph, node: Node) -> bool:  # noqa: ARG001
    attributes = node.attributes
    return attributes.get("num_side_inputs") == 0 and attributes.get("activation_mode") == "Relu"


RULES: dict[str, Callable[[MutableGraph, Node], bool]] = {
    **dict.fromkeys(
        (
            *("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Softmax"),
            *("Transpose", "ConjugateTranspose"),
            *("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"),
            *("Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"),
            *("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter"),
            *("DepthwiseConv2dNativeBackpropInput",),
            *("AvgPool", "AvgPoolGrad", "AvgPool3D", "AvgPool3DGrad"),
            *("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
            *("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
            *("_FusedConv3D", "__MklDummyConv2DWithBias", "__MklDummyPadWithConv2D"),
            *("__MklDummyPadWithFusedConv2D", "__MklDummyConv2DBackpropFilterWithBias"),
        ),
        _always,
    ),
    "_FusedMatMul": _fused_matmul,
    "_FusedConv2D": _fused_convolution,
    "_FusedDepthwiseConv2dNative": _fused_depthwise,
    "MaxPool": _pool,
    "MaxPool3D": _pool,
    "MaxPoolGrad": _pool_gradient,
    "MaxPool3DGrad": _pool_gradient,
    "_FusedBatchNormEx": _norm_and_relu,
}
"""Which ops are rewritten, and when. Ops that are not in it stay as they are; so do those that
have no kernel for the dtype.
"""
