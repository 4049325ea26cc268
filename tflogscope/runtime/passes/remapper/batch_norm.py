"""Batch normalisation behind a convolution, or before an activation; or taken apart.

Told about: `FindConv2DWithBatchNorm`, `FindFusedBatchNormEx` and `AddBatchNormNodes` of
`remapper.cc`.
"""

from __future__ import annotations

import numpy as np

from tflogscope.runtime.dtypes import bfloat16, float32
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.remapper.contractions import fused_attributes, supported
from tflogscope.runtime.passes.remapper.patterns import Fusing

__all__ = ["convolution_norm", "convolution_norm_activation", "norm_activation", "split"]

_NORMS = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
_ACTIVATIONS = frozenset({"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"})


def _convolution_before(fusing: Fusing, node: Node) -> Node | None:
    """The convolution that this normalisation, not in training, is the only reader of."""
    if node.type not in _NORMS or node.attributes.get("is_training", True):
        return None
    if fusing.has_controls(node) or node.attributes.get("U", float32) is not float32:
        return None
    if any(reader.inputs[at][1] for reader, at in fusing.graph.data_readers(node.name)):
        return None
    convolution = fusing.graph.source(node, 0)
    if convolution.type != "Conv2D" or not fusing.inner(convolution, node):
        return None
    return convolution if supported(fusing, convolution) else None


def convolution_norm(fusing: Fusing, node: Node) -> bool:
    """Convolution and normalisation."""
    convolution = _convolution_before(fusing, node)
    if convolution is None:
        return False
    _fuse(fusing, node, node, convolution, ("FusedBatchNorm",), [])
    return True


def convolution_norm_activation(fusing: Fusing, node: Node) -> bool:
    """Convolution, normalisation and activation."""
    if node.type not in _ACTIVATIONS or fusing.has_controls(node):
        return False
    norm = fusing.graph.source(node, 0)
    convolution = _convolution_before(fusing, norm)
    if convolution is None or not fusing.inner(norm, node):
        return False
    _fuse(fusing, node, norm, convolution, ("FusedBatchNorm", node.type), [norm])
    return True


def _fuse(
    fusing: Fusing,
    last: Node,
    norm: Node,
    convolution: Node,
    ops: tuple[str, ...],
    gone: list[Node],
) -> None:
    attributes = fused_attributes(convolution, ops, 4, norm.attributes["epsilon"])
    if last.type == "LeakyRelu":
        attributes["leakyrelu_alpha"] = last.attributes["alpha"]
    inputs = [*convolution.inputs[:2], *norm.inputs[1:5]]
    fusing.fuse(last, "_FusedConv2D", inputs, attributes, [convolution, *gone])
    last.dtypes = last.dtypes[:1]


def norm_activation(fusing: Fusing, node: Node) -> bool:
    """Normalisation and relu: the normalisation does both, an identity is left of the relu.

    NB: on a CPU only with oneDNN.
    """
    if node.type != "Relu" or fusing.has_controls(node) or not fusing.onednn:
        return False
    norm = fusing.graph.source(node, 0)
    if norm.type not in _NORMS or norm.dtypes[0] not in {float32, bfloat16}:
        return False
    if norm.attributes.get("U", float32) is not float32 or fusing.has_controls(norm):
        return False
    if node.inputs[0][1] or norm.name in fusing.graph.kept or not _read_once_for_data(fusing, norm):
        return False
    names = ("T", "is_training", "data_format", "epsilon", "exponential_avg_factor")
    attributes = {name: norm.attributes[name] for name in names if name in norm.attributes}
    attributes |= {
        "U": norm.attributes.get("U", norm.attributes["T"]),
        "activation_mode": "Relu",
        "num_side_inputs": 0,
    }
    fusing.fuse(norm, "_FusedBatchNormEx", list(norm.inputs), attributes, [])
    fusing.graph.retype(node, "Identity", {"T": norm.attributes["T"]})
    fusing.done.add(node.name)
    return True


def _read_once_for_data(fusing: Fusing, norm: Node) -> bool:
    readers = [
        reader
        for reader, at in fusing.graph.data_readers(norm.name)
        if reader.inputs[at][1] == 0 and reader.type not in {"Shape", "Rank"}
    ]
    return len(readers) <= 1


def split(fusing: Fusing, node: Node) -> bool:
    """A normalisation with constants is a product and a sum: most of it is known before."""
    if node.type not in _NORMS or node.attributes.get("is_training", True):
        return False
    if node.dtypes[0] is not float32 or node.attributes.get("data_format", "NHWC") != "NHWC":
        return False
    graph = fusing.graph
    known = [graph[name].type == "Const" for name, _ in node.inputs[:5]]
    if not (known[1] and known[4]) and sum(known) < 4:
        return False
    readers = graph.data_readers(node.name)
    if any(reader.inputs[at][1] for reader, at in readers):
        return False
    _split(fusing, node)
    return True


def _split(fusing: Fusing, node: Node) -> None:
    graph, dtype = fusing.graph, node.dtypes[0]
    x, scale, offset, mean, variance = node.inputs[:5]
    plain = {"T": dtype}

    def add(label: str, type: str, *inputs: tuple[str, int]) -> tuple[str, int]:
        name = f"{node.name}/{label}"
        graph.add(Node(name, type, list(inputs), [], dict(plain), node.device, (dtype,)))
        return name, 0

    epsilon = np.array(node.attributes["epsilon"], dtype.as_numpy_dtype)
    constant = Node(
        f"{node.name}/Const",
        "Const",
        attributes={"value": epsilon, "dtype": dtype},
        device=node.device,
        dtypes=(dtype,),
    )
    graph.add(constant)
    total = add("VarPlusEpsilon", "Add", variance, (constant.name, 0))
    scaled = add("Scaled", "Mul", add("Inv", "Rsqrt", total), scale)
    product = add("Mul", "Mul", x, scaled)
    rest = add("Offset", "Sub", offset, add("Mul2", "Mul", mean, scaled))
    graph.rewire(node, [product, rest])
    graph.retype(node, "Add", plain)
    node.dtypes = (dtype,)
    fusing.done.add(node.name)
