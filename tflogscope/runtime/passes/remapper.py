"""The remapper: products with a bias and an activation after them become one op. See
`core/grappler/optimizers/remapper.cc`, for CPUs with oneDNN. NB: neither the normalization of
inference nor one more addend, and the same without oneDNN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.core.dtypes import bfloat16, float32
from tflogscope.runtime.core.shapes import known
from tflogscope.runtime.passes.graph import Graph, topological
from tflogscope.runtime.passes.rules import ADDITIONS
from tflogscope.runtime.passes.shapes import Properties


class _Fused(NamedTuple):
    """What a product becomes."""

    type: str
    activations: frozenset[str]
    """Those that may follow the bias."""
    attributes: tuple[str, ...]
    """Those that it keeps."""


_WINDOW = ("T", "strides", "padding", "explicit_paddings", "dilations", "data_format")
_PRODUCTS = {
    "MatMul": _Fused(
        "_FusedMatMul",
        frozenset("Relu Relu6 Elu LeakyRelu Tanh Sigmoid".split()),
        ("T", "transpose_a", "transpose_b"),
    ),
    "Conv2D": _Fused(
        "_FusedConv2D",
        frozenset("Relu Relu6 Elu LeakyRelu".split()),
        (*_WINDOW, "use_cudnn_on_gpu"),
    ),
    "DepthwiseConv2dNative": _Fused(
        "_FusedDepthwiseConv2dNative", frozenset("Relu Relu6 Elu".split()), _WINDOW
    ),
}
_DTYPES = frozenset({float32, bfloat16})


def remap(graph: Graph) -> None:
    """Fuse what fits a pattern: the last node of the graph first."""
    properties = Properties(graph)
    for name in reversed(topological(graph)):
        if name not in graph or _has_controls(graph, graph[name]):
            continue
        if not _fuse_product(graph, graph[name], properties):
            _fuse_normalization(graph, graph[name])


def _has_controls(graph: Graph, node: NodeDef) -> bool:
    """Does it wait for others, or do others wait for it?"""
    return bool(node.controls) or bool(graph.control_readers(node.name))


def _only_inside(graph: Graph, node: NodeDef) -> bool:
    """Can it go into another op: does nobody else read it?"""
    once = len(graph.data_readers(node.name, 0)) <= 1
    return once and not _has_controls(graph, node) and node.name not in graph.kept


# -- products


def _fuse_product(graph: Graph, last: NodeDef, properties: Properties) -> bool:
    """Is it a product and its bias, perhaps with an activation?"""
    activates = last.type in _PRODUCTS["MatMul"].activations
    adding = graph.source(last, 0) if activates else last
    found = _biased(graph, adding, properties)
    if found is None or (activates and not _only_inside(graph, adding)):
        return False
    product, bias = found
    fused = _PRODUCTS[product.type]
    if activates and last.type not in fused.activations:
        return False
    ops = ("BiasAdd", last.type) if activates else ("BiasAdd",)
    graph.rewire(last, [*product.inputs[:2], bias])
    graph.retype(last, fused.type, _attributes(product, ops, last))
    for name in {adding.name, product.name} - {last.name}:
        graph.remove(name)
    return True


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


def _attributes(product: NodeDef, ops: tuple[str, ...], last: NodeDef) -> dict[str, Any]:
    given = product.attributes
    copied = {name: given[name] for name in _PRODUCTS[product.type].attributes if name in given}
    alpha = last.attributes.get("alpha", 0.2)
    made = {"fused_ops": ops, "num_args": 1, "epsilon": 0.0, "leakyrelu_alpha": alpha}
    return copied | made


# -- batch normalization


def _fuse_normalization(graph: Graph, node: NodeDef) -> None:
    """A Relu goes into the normalization before it, and leaves an Identity behind."""
    norm = graph.source(node, 0) if node.type == "Relu" else node
    fits = norm is not node and norm.type == "FusedBatchNormV3" and norm.dtypes[0] in _DTYPES
    if not fits or not _only_inside(graph, norm):
        return
    names = ("T", "U", "is_training", "data_format", "epsilon", "exponential_avg_factor")
    attributes = {name: norm.attributes[name] for name in names if name in norm.attributes}
    attributes |= {"activation_mode": "Relu", "num_side_inputs": 0}
    graph.retype(norm, "_FusedBatchNormEx", attributes)
    graph.retype(node, "Identity", {"T": norm.attributes["T"]})
