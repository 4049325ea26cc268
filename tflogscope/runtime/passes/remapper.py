"""The remapper: products with a bias and an activation after them become one op. See
`core/grappler/optimizers/remapper.cc`, for CPUs with oneDNN. NB: neither
normalizations nor one more addend, and the same without oneDNN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.core.dtypes import bfloat16, float32
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
