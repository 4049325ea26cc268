"""The remapper: products with a bias and an activation after them become one op. See
`core/grappler/optimizers/remapper.cc`, for CPUs with oneDNN. NB: neither
normalizations nor one more addend, and the same without oneDNN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tflogscope.runtime import ops as ops  # those that these are made of
from tflogscope.runtime.core.dtypes import bfloat16, float32, float64
from tflogscope.runtime.core.graph import Endpoint, NodeDef
from tflogscope.runtime.core.registry import Inference, alias, bind, lookup, op, registered
from tflogscope.runtime.core.shapes import known
from tflogscope.runtime.passes.graph import Graph, Properties, topological
from tflogscope.runtime.passes.rules import ADDITIONS


class _Fused(NamedTuple):
    """What a product becomes."""

    type: str
    activations: frozenset[str]
    """Those that may follow the bias."""
    attributes: tuple[str, ...]
    """Those that it keeps."""


_WINDOW = ("T", "strides", "padding", "explicit_paddings", "dilations", "data_format")
_ELUS = frozenset({"Relu", "Elu"})
_PRODUCTS = {
    "MatMul": _Fused(
        "_FusedMatMul",
        frozenset({"Relu", "Elu", "Tanh", "Sigmoid"}),
        ("T", "transpose_a", "transpose_b"),
    ),
    "Conv2D": _Fused("_FusedConv2D", _ELUS, (*_WINDOW, "use_cudnn_on_gpu")),
    "DepthwiseConv2dNative": _Fused("_FusedDepthwiseConv2dNative", _ELUS, _WINDOW),
}
_DTYPES = frozenset({float32, bfloat16})


def remap(graph: Graph) -> None:
    """Fuse what fits a pattern: the last node of the graph first."""
    properties = Properties(graph)
    for name in reversed(topological(graph)):
        if name not in graph or _has_controls(graph, graph[name]):
            continue
        _fuse_product(graph, graph[name], properties)


def _has_controls(graph: Graph, node: NodeDef) -> bool:
    """Does it wait for others, or do others wait for it?"""
    return bool(node.controls) or bool(graph.control_readers(node.name))


def _only_inside(graph: Graph, node: NodeDef) -> bool:
    """Can it go into another op: does nobody else read it?"""
    once = len(graph.data_readers(node.name, 0)) <= 1
    return once and not _has_controls(graph, node) and node.name not in graph.kept


# -- products


def _fuse_product(graph: Graph, last: NodeDef, properties: Properties) -> None:
    """A product and its bias, perhaps with an activation, if `last` is the end of such."""
    activates = last.type in _PRODUCTS["MatMul"].activations
    adding = graph.source(last, 0) if activates else last
    found = _biased(graph, adding, properties)
    if found is None or (activates and not _only_inside(graph, adding)):
        return
    product, bias = found
    fused = _PRODUCTS[product.type]
    if activates and last.type not in fused.activations:
        return
    ops = ("BiasAdd", last.type) if activates else ("BiasAdd",)
    graph.rewire(last, [*product.inputs[:2], bias])
    graph.retype(last, fused.type, _attributes(product, ops))
    for name in {adding.name, product.name} - {last.name}:
        graph.remove(name)


def _biased(graph: Graph, node: NodeDef, properties: Properties) -> tuple[NodeDef, Endpoint] | None:
    """The product and the bias that it adds."""
    places = (1,) if node.type == "BiasAdd" else (1, 0) if node.type in ADDITIONS else ()
    for place in places:
        product = graph.source(node, 1 - place)
        if product.type not in _PRODUCTS or product.dtypes[0] not in _DTYPES:
            continue
        shapes = [properties.shape(node.inputs[at]) for at in (1 - place, place)]
        last = product.attributes.get("data_format", "NHWC") == "NHWC"
        if node.type == "BiasAdd" or (last and _is_bias(*shapes)):
            return (product, node.inputs[place]) if _only_inside(graph, product) else None
    return None


def _is_bias(product: Any, added: Any) -> bool:
    """Is the second shape that of one number for each channel of the first?"""
    if not product.rank or not added.rank or product.rank < 2:
        return False
    fits = known(product[-1]) and product[-1] == added[-1] and added.rank <= max(product.rank, 3)
    return fits and all(size == 1 for size in added.dims[:-1]) and product.dims != added.dims


def _attributes(product: NodeDef, ops: tuple[str, ...]) -> dict[str, Any]:
    given = product.attributes
    copied = {name: given[name] for name in _PRODUCTS[product.type].attributes if name in given}
    return copied | {"fused_ops": ops, "num_args": 1, "epsilon": 0.0, "leakyrelu_alpha": 0.2}


# The layout pass: ops that oneDNN does better get its kernels; which ones do, in a function and
# eagerly. See `core/common_runtime/mkl_layout_pass.cc`, `core/common_runtime/eager/mkl_eager_op_rewrite.cc`.

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
