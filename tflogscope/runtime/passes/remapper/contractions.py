"""Convolutions and matrix products with what follows: bias, an addition, an activation.

Told about: `FindContractionWith…` and `AddFusedContractionNode` of `remapper.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tflogscope.runtime.dtypes import bfloat16, float32, float64
from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.facts import ADDITIONS
from tflogscope.runtime.passes.failing import PassFailed
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.remapper.patterns import Fusing
from tflogscope.runtime.passes.shapes import same_shape

__all__ = [
    "attributes_of",
    "bias",
    "bias_activation",
    "bias_addition",
    "bias_addition_activation",
    "fused_attributes",
    "fused_leaky_relu",
    "squeeze_bias",
    "supported",
]

FUSED = {
    "MatMul": "_FusedMatMul",
    "Conv2D": "_FusedConv2D",
    "DepthwiseConv2dNative": "_FusedDepthwiseConv2dNative",
    "Conv3D": "_FusedConv3D",
}
_ONEDNN_ONLY = frozenset({"DepthwiseConv2dNative", "Conv3D"})
_COPIED = {
    "MatMul": ("T", "transpose_a", "transpose_b"),
    "Conv2D": (
        *("T", "strides", "padding", "explicit_paddings", "dilations", "data_format"),
        "use_cudnn_on_gpu",
    ),
    "DepthwiseConv2dNative": ("T", "strides", "padding", "dilations", "data_format"),
    "Conv3D": ("T", "strides", "padding", "dilations", "data_format"),
}
_ACTIVATIONS = frozenset({"Relu", "Relu6", "Elu", "LeakyRelu"})
_MATMUL_ACTIVATIONS = _ACTIVATIONS | {"Tanh", "Sigmoid"}
_DEPTHWISE_ACTIVATIONS = frozenset({"Relu", "Relu6", "Elu"})


@dataclass(frozen=True)
class _Biased:
    """A contraction, the node that adds the bias, and where the bias comes from."""

    contraction: Node
    adding: Node
    bias: Endpoint


def supported(fusing: Fusing, contraction: Node) -> bool:
    """Is there a fused kernel for its dtype and data format? `IsCpuCompatible…`."""
    if contraction.type not in FUSED or "GPU" in contraction.device:
        return False
    dtype = contraction.dtypes[0]
    if fusing.onednn:
        return dtype is float32 or dtype is bfloat16
    if contraction.type in _ONEDNN_ONLY:
        return False
    if contraction.type == "Conv2D":
        return dtype in {float32, float64} and contraction.attributes["data_format"] == "NHWC"
    return dtype is float32


def attributes_of(contraction: Node) -> dict[str, Any]:
    """What the fused op has of its contraction."""
    attributes = contraction.attributes
    return {name: attributes[name] for name in _COPIED[contraction.type] if name in attributes}


def fused_attributes(
    contraction: Node, ops: tuple[str, ...], arguments: int, epsilon: float = 0.0
) -> dict[str, Any]:
    """All attributes of the fused op, those with their default too."""
    dtype = contraction.attributes["T"]
    attributes = {
        **attributes_of(contraction),
        "fused_ops": ops,
        "num_args": arguments,
        "epsilon": epsilon,
        "leakyrelu_alpha": 0.2,
    }
    if contraction.type == "Conv2D":
        attributes |= {"num_host_args": 0, "TArgs": (dtype,) * arguments, "filter_format": "HWIO"}
    return attributes


def _biased(fusing: Fusing, node: Node, *, device: bool = True) -> _Biased | None:
    """A contraction with a bias, ending in this node."""
    if fusing.has_controls(node):
        return None
    place = 1 if node.type == "BiasAdd" else _bias_place(fusing, node)
    if place is None:
        return None
    contraction = fusing.graph.source(node, 1 - place)
    if contraction.type not in FUSED or not fusing.inner(contraction, node):
        return None
    if contraction.type in _ONEDNN_ONLY and not fusing.onednn:
        return None
    if device and not supported(fusing, contraction):
        return None
    return _Biased(contraction, node, node.inputs[place])


def _bias_place(fusing: Fusing, node: Node) -> int | None:
    """Which input of an addition is a bias, if one is: `IsBiasSemanticAdd`."""
    if not fusing.onednn or node.type not in ADDITIONS or len(node.inputs) != 2:
        return None
    for place in (1, 0):
        contraction = fusing.graph.source(node, 1 - place)
        if contraction.type in FUSED and contraction.attributes.get("data_format", "NHWC") in {
            *("NHWC", "NDHWC")
        }:
            return place if _is_bias(fusing, node.inputs[1 - place], node.inputs[place]) else None
    return None


def _is_bias(fusing: Fusing, contraction: Endpoint, added: Endpoint) -> bool:
    shape, other = fusing.shape(contraction), fusing.shape(added)
    if not shape.rank or not other.rank or shape.rank < 2:
        return False
    sizes, others = shape.as_list(), other.as_list()
    if sizes[-1] is None or sizes[-1] != others[-1] or other.rank > max(shape.rank, 3):
        return False
    return all(size == 1 for size in others[:-1]) and sizes != others


def bias(fusing: Fusing, node: Node) -> bool:
    """Contraction and bias."""
    found = _biased(fusing, node)
    if found is None:
        return False
    inputs = [*found.contraction.inputs[:2], found.bias]
    attributes = fused_attributes(found.contraction, ("BiasAdd",), 1)
    fusing.fuse(node, FUSED[found.contraction.type], inputs, attributes, [found.contraction])
    return True


def bias_activation(fusing: Fusing, node: Node) -> bool:
    """Contraction, bias and activation."""
    if fusing.has_controls(node) or node.type not in _MATMUL_ACTIVATIONS:
        return False
    adding = fusing.graph.source(node, 0)
    found = _biased(fusing, adding, device=False)
    if found is None or not fusing.inner(adding, node) or not supported(fusing, found.contraction):
        return False
    contraction = found.contraction
    allowed = _ACTIVATIONS
    if contraction.type == "DepthwiseConv2dNative":
        allowed = _DEPTHWISE_ACTIVATIONS
    elif contraction.type == "MatMul" and fusing.onednn:
        allowed = _MATMUL_ACTIVATIONS
    if node.type not in allowed:
        return False
    inputs = [*contraction.inputs[:2], found.bias]
    attributes = fused_attributes(contraction, ("BiasAdd", node.type), 1)
    if node.type == "LeakyRelu":
        attributes["leakyrelu_alpha"] = node.attributes["alpha"]
    fusing.fuse(node, FUSED[contraction.type], inputs, attributes, [contraction, adding])
    return True


def _with_addition(fusing: Fusing, node: Node) -> tuple[_Biased, Endpoint] | None:
    """Contraction, bias and the addition of a tensor of the same shape, ending in this node."""
    if fusing.has_controls(node) or len(node.inputs) != 2:
        return None
    if node.type in ADDITIONS:
        if not same_shape(*(fusing.shape(endpoint) for endpoint in node.inputs)):
            return None
    elif node.type != "AddN":
        return None
    if node.dtypes[0] is not float32 and node.dtypes[0] is not bfloat16:
        return None
    for place in range(2):
        adding = fusing.graph.source(node, place)
        found = _biased(fusing, adding, device=False)
        if found is not None and fusing.inner(adding, node):
            if found.contraction.type in _ONEDNN_ONLY - {"Conv3D"}:
                return None
            return found, node.inputs[1 - place]
    return None


def bias_addition(fusing: Fusing, node: Node) -> bool:
    """Contraction, bias and the addition of another tensor, as in residual networks."""
    found = _with_addition(fusing, node)
    if found is None:
        return False
    biased, other = found
    contraction = biased.contraction
    inputs = [*contraction.inputs[:2], biased.bias, other]
    attributes = fused_attributes(contraction, ("BiasAdd", "Add"), 2)
    gone = [contraction, biased.adding]
    fusing.fuse(node, FUSED[contraction.type], inputs, attributes, gone)
    return True


def bias_addition_activation(fusing: Fusing, node: Node) -> bool:
    """Contraction, bias, addition and activation."""
    if fusing.has_controls(node) or node.type not in _ACTIVATIONS:
        return False
    addition = fusing.graph.source(node, 0)
    found = _with_addition(fusing, addition)
    if found is None or not fusing.inner(addition, node):
        return False
    biased, other = found
    contraction = biased.contraction
    if contraction.type == "MatMul":
        raise PassFailed("a fused matrix product with addition and activation has no op")
    inputs = [*contraction.inputs[:2], biased.bias, other]
    attributes = fused_attributes(contraction, ("BiasAdd", "Add", node.type), 2)
    if node.type == "LeakyRelu":
        attributes["leakyrelu_alpha"] = node.attributes["alpha"]
    gone = [contraction, biased.adding, addition]
    fusing.fuse(node, FUSED[contraction.type], inputs, attributes, gone)
    return True


def fused_leaky_relu(fusing: Fusing, node: Node) -> bool:
    """A convolution that is fused already, and a leaky relu, made of a maximum, behind it."""
    if fusing.has_controls(node) or node.type != "LeakyRelu":
        return False
    convolution = fusing.graph.source(node, 0)
    if convolution.type != "_FusedConv2D" or not fusing.inner(convolution, node):
        return False
    ops = convolution.attributes["fused_ops"]
    if ops not in {("BiasAdd",), ("BiasAdd", "Add")}:
        return False
    attributes = dict(convolution.attributes)
    attributes["fused_ops"] = (*ops, "LeakyRelu")
    attributes["leakyrelu_alpha"] = node.attributes["alpha"]
    fusing.fuse(node, "_FusedConv2D", list(convolution.inputs), attributes, [convolution])
    return True


def squeeze_bias(fusing: Fusing, node: Node) -> bool:
    """A one-dimensional convolution: the bias moves before the squeeze."""
    if node.type != "BiasAdd" or fusing.has_controls(node):
        return False
    graph = fusing.graph
    squeeze = graph.source(node, 0)
    if squeeze.type != "Squeeze" or not fusing.inner(squeeze, node):
        return False
    convolution = graph.source(squeeze, 0)
    if convolution.type not in {"Conv2D", "Conv3D"} or not fusing.inner(convolution, node):
        return False
    channel = 3 if convolution.type == "Conv2D" else 4
    dims = squeeze.attributes.get("squeeze_dims", squeeze.attributes.get("axis", ()))
    if channel in dims or not supported(fusing, convolution):
        return False
    added = node.inputs[1]
    graph.rewire(node, [(convolution.name, 0)])
    graph.retype(node, "Squeeze", squeeze.attributes)
    graph.rewire(squeeze, [], [])
    fusing.done.update({node.name, squeeze.name})
    fusing.gone.append(squeeze.name)
    inputs = [*convolution.inputs[:2], added]
    attributes = fused_attributes(convolution, ("BiasAdd",), 1)
    fusing.fuse(convolution, FUSED[convolution.type], inputs, attributes, [])
    return True
