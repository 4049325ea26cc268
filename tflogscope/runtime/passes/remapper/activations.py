"""Activations that programs write in several ops, and the scores of attention.

Told about: `FindMatMulBiasAddAndGelu`, `FindSoftplusAndTanhAndMul`, `FindFusedBatchMatMul`,
`FindMulAndMaximum` and `FindSigmoidAndMul` of `remapper.cc`.
"""

from __future__ import annotations

import numpy as np

from tflogscope.runtime.dtypes import bfloat16, float32
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.remapper.contractions import attributes_of
from tflogscope.runtime.passes.remapper.patterns import Fusing, Op, kept, match, near

__all__ = ["attention_scores", "gelu", "leaky_relu", "mish", "swish"]

_BIASED = Op("BiasAdd", "bias_add", (Op("MatMul", "matmul"), kept("*", "bias")))
_ERF = Op(
    "Add|AddV2",
    "erf_plus_one",
    (
        Op(
            "Erf",
            "erf",
            (Op("Mul", "scaled", (Op("BiasAdd", "bias_add"), kept("Cast|Const", "root_of_half"))),),
        ),
        kept("Cast|Const", "one"),
    ),
)
_ERFC = Op(
    "Erfc",
    "erfc",
    (
        Op(
            "Mul",
            "scaled",
            (Op("Neg", "minus", (Op("BiasAdd", "bias_add"),)), kept("Cast|Const", "root_of_half")),
        ),
    ),
)


def _half_of_input_times(factor: Op) -> tuple[Op, Op]:
    """½·x·factor, whichever product comes first."""
    half = kept("Cast|Const", "one_half")
    return (
        Op("Mul", "output", (Op("Mul", "half", (factor, half)), _BIASED)),
        Op("Mul", "output", (factor, Op("Mul", "half", (_BIASED, half)))),
    )


_GELU = _half_of_input_times(_ERF)
"""½·x·(1 + erf(x/√2))."""
_GELU_COMPLEMENT = _half_of_input_times(_ERFC)
"""½·x·erfc(-x/√2): as later releases write it."""

_FUSED = Op("_FusedMatMul", "matmul")
_CUBE = Op(
    "Mul",
    "mul",
    (
        Op("Mul", "empirical_times_matmul", (kept("Const", "empirical"), _FUSED)),
        Op("Square", "square", (_FUSED,)),
    ),
)
_TANH = Op(
    "Add|AddV2",
    "tanh_plus_one",
    (
        Op(
            "Tanh",
            "tanh",
            (
                Op(
                    "Mul",
                    "times_root",
                    (
                        Op("Add|AddV2", "matmul_plus_mul", (_FUSED, _CUBE)),
                        kept("Const", "root_of_two_over_pi"),
                    ),
                ),
            ),
        ),
        kept("Const", "one"),
    ),
)
_GELU_APPROXIMATE = Op(
    "Mul", "output", (Op("Mul", "half", (_TANH, kept("Const", "one_half"))), _FUSED)
)
_CONSTANTS = {
    "root_of_half": 0.707106,
    "root_of_two_over_pi": 0.797884,
    "one": 1.0,
    "one_half": 0.5,
    "empirical": 0.044715,
}
_MISH = Op(
    "Mul",
    "mul",
    (Op("Tanh", "tanh", (Op("Softplus", "softplus", (kept("*", "input"),)),)), kept("*", "input")),
)
_SWISH = Op("Mul", "mul", (Op("Sigmoid", "sigmoid", (kept("*", "input"),)), kept("*", "input")))
_LEAKY = Op(
    "Maximum",
    "maximum",
    (Op("Mul", "mul", (kept("*", "input"), kept("Const|Cast", "alpha"))), kept("*", "input")),
)
_SCORES = Op(
    "Add|AddV2",
    "output",
    (
        Op("Mul", "mul", (Op("BatchMatMulV2", "matmul"), kept("*", "factor"))),
        kept("*", "addend"),
    ),
)


def gelu(fusing: Fusing, node: Node) -> bool:
    """Matrix product, bias and Gaussian error linear unit.

    NB: the exact one only in bfloat16: what oneDNN computes is not exact enough for float32, but
    for the form of later releases. The
    one with a hyperbolic tangent is found in the second round, behind a fused product.
    """
    if node.type != "Mul":
        return False
    for pattern in (*_GELU, *_GELU_COMPLEMENT):
        found = match(fusing, pattern, node)
        if found is None:
            continue
        if "erfc" in found or found["matmul"].dtypes[0] is bfloat16:
            inputs = [*found["matmul"].inputs, found["bias_add"].inputs[1]]
            return _fuse_gelu(fusing, node, found, inputs, "GeluExact")
    found = match(fusing, _GELU_APPROXIMATE, node)
    if found is None or found["matmul"].attributes["fused_ops"] != ("BiasAdd",):
        return False
    return _fuse_gelu(fusing, node, found, found["matmul"].inputs, "GeluApproximate")


def _fuse_gelu(
    fusing: Fusing,
    node: Node,
    found: dict[str, Node],
    inputs: list[tuple[str, int]],
    activation: str,
) -> bool:
    matmul = found["matmul"]
    if matmul.attributes.get("transpose_a"):
        return False
    known = {label: found[label] for label in _CONSTANTS if label in found}
    if not all(near(constant, _CONSTANTS[label]) for label, constant in known.items()):
        return False
    names = ("T", "transpose_a", "transpose_b")
    attributes = attributes_of(matmul) if matmul.type == "MatMul" else {}
    attributes |= {name: matmul.attributes[name] for name in names}
    attributes |= {"fused_ops": ("BiasAdd", activation), "num_args": 1, "epsilon": 0.0}
    attributes["leakyrelu_alpha"] = 0.2
    stay = {*known, "output", "bias"}
    gone = [each for label, each in found.items() if label not in stay]
    fusing.fuse(node, "_FusedMatMul", list(inputs), attributes, gone)
    return True


def mish(fusing: Fusing, node: Node) -> bool:
    """Mish: x · tanh(softplus(x))."""
    return _of_itself(fusing, node, _MISH, "_MklFusedMish", ("tanh", "softplus"))


def swish(fusing: Fusing, node: Node) -> bool:
    """Swish: x · sigmoid(x)."""
    return _of_itself(fusing, node, _SWISH, "_MklSwish", ("sigmoid",))


def _of_itself(fusing: Fusing, node: Node, pattern: Op, type: str, gone: tuple[str, ...]) -> bool:
    """A tensor times a function of it."""
    found = match(fusing, pattern, node)
    if found is None or node.dtypes[0] not in {float32, bfloat16}:
        return False
    inputs = found[gone[-1]].inputs[:1]
    if not any(endpoint == inputs[0] for endpoint in node.inputs):
        return False
    fusing.fuse(node, type, inputs, {"T": node.dtypes[0]}, [found[label] for label in gone])
    return True


def leaky_relu(fusing: Fusing, node: Node) -> bool:
    """max(x, α·x)."""
    found = match(fusing, _LEAKY, node)
    if found is None or node.dtypes[0] not in {float32, bfloat16}:
        return False
    value = found["alpha"].attributes.get("value")
    if value is None or np.size(value) != 1 or found["alpha"].type != "Const":
        return False
    alpha = float(np.ravel(value)[0])
    if not 0 <= alpha <= 1:
        return False
    place = 0 if fusing.graph.source(node, 1) is found["mul"] else 1
    attributes = {"T": node.dtypes[0], "alpha": alpha}
    fusing.fuse(node, "LeakyRelu", [node.inputs[place]], attributes, [found["mul"]])
    return True


def attention_scores(fusing: Fusing, node: Node) -> bool:
    """Query times key, scaled, and a mask added: of four dimensions, the mask's second being 1."""
    found = match(fusing, _SCORES, node)
    if found is None:
        return False
    matmul, product = found["matmul"], found["mul"]
    if matmul.dtypes[0] not in {float32, bfloat16}:
        return False
    factor = next(each for each in product.inputs if each[0] != matmul.name)
    addend = next(each for each in node.inputs if each[0] != product.name)
    mask = fusing.shape(addend)
    if fusing.shape(factor).num_elements() != 1 or fusing.shape((matmul.name, 0)).rank != 4:
        return False
    if mask.rank != 4 or mask[1] != 1:
        return False
    attributes = {name: matmul.attributes.get(name, False) for name in ("adj_x", "adj_y")}
    attributes |= {"T": matmul.attributes["T"], "fused_ops": ("Mul", "Add"), "num_args": 2}
    attributes |= {"epsilon": 0.0, "leakyrelu_alpha": 0.2}
    inputs = [*matmul.inputs, factor, addend]
    fusing.fuse(node, "_MklFusedBatchMatMulV2", inputs, attributes, [matmul, product])
    return True
