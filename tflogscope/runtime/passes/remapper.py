"""The remapper: products with a bias, an activation or a normalisation after them become one op. See
`core/grappler/optimizers/remapper.cc`, for CPUs with oneDNN. NB: not the normalisation of inference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tflogscope.runtime.core.definition import Endpoint, NodeDef
from tflogscope.runtime.core.dtypes import bfloat16, float32, float64
from tflogscope.runtime.core.shapes import known
from tflogscope.runtime.passes.graph import Graph, depth_first
from tflogscope.runtime.passes.shapes import Properties, same_shape
from tflogscope.runtime.passes.simplify import ADDITIONS

_FUSED = {
    "MatMul": "_FusedMatMul",
    "Conv2D": "_FusedConv2D",
    "DepthwiseConv2dNative": "_FusedDepthwiseConv2dNative",
}
_COPIED = {
    "MatMul": ("T", "transpose_a", "transpose_b"),
    "Conv2D": (
        *("T", "strides", "padding", "explicit_paddings", "dilations", "data_format"),
        "use_cudnn_on_gpu",
    ),
    "DepthwiseConv2dNative": ("T", "strides", "padding", "dilations", "data_format"),
}
_ACTIVATIONS = {
    "MatMul": frozenset({"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"}),
    "Conv2D": frozenset({"Relu", "Relu6", "Elu", "LeakyRelu"}),
    "DepthwiseConv2dNative": frozenset({"Relu", "Relu6", "Elu"}),
}
_NORM = "FusedBatchNormV3"


@dataclass
class _Fusing:
    """The graph, and what has been done to it. Without oneDNN only some patterns are tried."""

    graph: Graph
    properties: Properties
    onednn: bool
    done: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)

    def has_controls(self, node: NodeDef) -> bool:
        """Does it wait for others, or do others wait for it?"""
        return bool(node.controls) or bool(self.graph.control_readers(node.name))

    def inner(self, node: NodeDef, like: NodeDef) -> bool:
        """Can it go into another op: does nobody else read it?"""
        once = len(self.graph.data_readers(node.name, 0)) <= 1
        free = not self.has_controls(node) and node.name not in self.graph.kept
        return once and free and node.dtypes[:1] == like.dtypes[:1]

    def fuse(
        self, last: NodeDef, type: str, inputs: Sequence[Endpoint], attributes: Any, *gone: NodeDef
    ) -> bool:
        """Make the last node the fused op; the others go."""
        self.graph.rewire(last, inputs)
        self.graph.retype(last, type, attributes)
        self.done.add(last.name)
        for node in gone:
            self.done.add(node.name)
            self.gone.append(node.name)
            self.graph.rewire(node, [], [])
        return True


def remap(graph: Graph, *, onednn: bool) -> None:
    """Fuse what fits a pattern: the last node of the graph first, for each the first pattern."""
    order = depth_first(graph)
    graph.reorder(order)
    fusing = _Fusing(graph, Properties(graph), onednn)
    patterns = (*_ONEDNN, *_ALWAYS) if onednn else _ALWAYS
    for name in reversed(order):
        if name in graph and name not in fusing.done:
            any(pattern(fusing, graph[name]) for pattern in patterns)
    graph.erase({name for name in fusing.gone if name in graph and not graph.readers(name)})


# -- a product and its bias


class _Biased(NamedTuple):
    product: NodeDef
    adding: NodeDef
    bias: Endpoint


def _supported(fusing: _Fusing, product: NodeDef) -> bool:
    dtype = product.dtypes[0]
    if fusing.onednn:
        return dtype in {float32, bfloat16}
    if product.type == "Conv2D":
        return dtype in {float32, float64} and product.attributes["data_format"] == "NHWC"
    return product.type == "MatMul" and dtype is float32


def _attributes(
    product: NodeDef, ops: tuple[str, ...], arguments: int, last: NodeDef
) -> dict[str, Any]:
    given = product.attributes
    copied = {name: given[name] for name in _COPIED[product.type] if name in given}
    alpha = last.attributes["alpha"] if last.type == "LeakyRelu" else 0.2
    made = {"fused_ops": ops, "num_args": arguments, "epsilon": 0.0, "leakyrelu_alpha": alpha}
    if product.type == "Conv2D":
        made |= {"num_host_args": 0, "TArgs": (given["T"],) * arguments, "filter_format": "HWIO"}
    return copied | made


def _biased(fusing: _Fusing, node: NodeDef) -> _Biased | None:
    """Is this a product plus a bias?"""
    place = 1 if node.type == "BiasAdd" else _bias_place(fusing, node)
    if place is None or fusing.has_controls(node):
        return None
    product = fusing.graph.source(node, 1 - place)
    if product.type not in _FUSED or not fusing.inner(product, node):
        return None
    return _Biased(product, node, node.inputs[place]) if _supported(fusing, product) else None


def _bias_place(fusing: _Fusing, node: NodeDef) -> int | None:
    if not fusing.onednn or node.type not in ADDITIONS:
        return None
    for place in (1, 0):
        product = fusing.graph.source(node, 1 - place)
        last = product.attributes.get("data_format", "NHWC") == "NHWC"
        if product.type in _FUSED and last:
            shapes = [fusing.properties.shape(node.inputs[at]) for at in (1 - place, place)]
            return place if _is_bias(*shapes) else None
    return None


def _is_bias(product: Any, added: Any) -> bool:
    """Is the second shape that of one number for each channel of the first?"""
    if not product.rank or not added.rank or product.rank < 2:
        return False
    fits = known(product[-1]) and product[-1] == added[-1] and added.rank <= max(product.rank, 3)
    return fits and all(size == 1 for size in added.dims[:-1]) and product.dims != added.dims


def _bias(fusing: _Fusing, node: NodeDef) -> bool:
    found = _biased(fusing, node)
    if found is None:
        return False
    inputs = [*found.product.inputs[:2], found.bias]
    attributes = _attributes(found.product, ("BiasAdd",), 1, node)
    return fusing.fuse(node, _FUSED[found.product.type], inputs, attributes, found.product)


def _bias_activation(fusing: _Fusing, node: NodeDef) -> bool:
    if fusing.has_controls(node) or node.type not in _ACTIVATIONS["MatMul"]:
        return False
    adding = fusing.graph.source(node, 0)
    found = _biased(fusing, adding)
    if found is None or not fusing.inner(adding, node):
        return False
    product = found.product
    if node.type not in _ACTIVATIONS[product.type]:
        return False
    inputs = [*product.inputs[:2], found.bias]
    attributes = _attributes(product, ("BiasAdd", node.type), 1, node)
    return fusing.fuse(node, _FUSED[product.type], inputs, attributes, product, adding)


def _bias_addition(fusing: _Fusing, node: NodeDef) -> bool:
    """A product, a bias, and one more tensor of that shape."""
    if fusing.has_controls(node) or len(node.inputs) != 2 or node.type not in ADDITIONS | {"AddN"}:
        return False
    shapes = [fusing.properties.shape(endpoint) for endpoint in node.inputs]
    if node.type != "AddN" and not same_shape(*shapes):
        return False
    for place in range(2):
        adding = fusing.graph.source(node, place)
        found = _biased(fusing, adding)
        if found is not None and fusing.inner(adding, node):
            product = found.product
            if product.type == "DepthwiseConv2dNative":
                return False
            inputs = [*product.inputs[:2], found.bias, node.inputs[1 - place]]
            attributes = _attributes(product, ("BiasAdd", "Add"), 2, node)
            return fusing.fuse(node, _FUSED[product.type], inputs, attributes, product, adding)
    return False


# -- batch normalisation


def _norm_activation(fusing: _Fusing, node: NodeDef) -> bool:
    if node.type != "Relu" or fusing.has_controls(node) or not fusing.onednn:
        return False
    norm = fusing.graph.source(node, 0)
    if norm.type != _NORM or norm.dtypes[0] not in {float32, bfloat16} or node.inputs[0][1]:
        return False
    readers = fusing.graph.data_readers(norm.name, 0)
    others = [reader for reader, _ in readers if reader.type not in {"Shape", "Rank"}]
    if fusing.has_controls(norm) or norm.name in fusing.graph.kept or len(others) > 1:
        return False
    names = ("T", "U", "is_training", "data_format", "epsilon", "exponential_avg_factor")
    attributes = {name: norm.attributes[name] for name in names if name in norm.attributes}
    attributes |= {"activation_mode": "Relu", "num_side_inputs": 0}
    fusing.fuse(norm, "_FusedBatchNormEx", list(norm.inputs), attributes)
    fusing.graph.retype(node, "Identity", {"T": norm.attributes["T"]})
    fusing.done.add(node.name)
    return True


_Pattern = Callable[[_Fusing, NodeDef], bool]
_ONEDNN: tuple[_Pattern, ...] = (_bias_addition,)
_ALWAYS: tuple[_Pattern, ...] = (
    _bias,
    _bias_activation,
    _norm_activation,
)
