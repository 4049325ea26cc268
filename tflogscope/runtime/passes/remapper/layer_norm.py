"""Layer normalisation as Keras writes it: a batch normalisation of the rows, with scale and offset.

Told about: `FindMklLayerNorm` of `remapper.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.dtypes import bfloat16, float32
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.remapper.patterns import Fusing, Op, kept, match

__all__ = ["layer_norm"]

_NORM = Op(
    "FusedBatchNormV3",
    "norm",
    (
        Op("Reshape", "rows", (kept("*", "input"), kept("*", "row_shape"))),
        Op("Fill", "ones", (kept("*", "size"), kept("Const", "one"))),
        Op("Fill", "zeros", (kept("*", "size"), kept("Const", "zero"))),
        kept("Const", "empty"),
        kept("Const", "empty"),
    ),
)
_LAYER_NORM = Op(
    "AddV2",
    "output",
    (
        kept("*", "beta"),
        Op(
            "Mul",
            "scaled",
            (Op("Reshape", "back", (_NORM, kept("*", "shape"))), kept("*", "gamma")),
        ),
    ),
)


def layer_norm(fusing: Fusing, node: Node) -> bool:
    """All of it at once."""
    found = match(fusing, _LAYER_NORM, node)
    if found is None or node.dtypes[0] not in {float32, bfloat16}:
        return False
    norm, back, scaled = found["norm"], found["back"], found["scaled"]
    if (
        not norm.attributes.get("is_training")
        or (fusing.shape(found["rows"].inputs[0]).rank or 0) < 2
    ):
        return False
    gamma = next(each for each in scaled.inputs if each[0] != back.name)
    beta = next(each for each in node.inputs if each[0] != scaled.name)
    inputs = [found["rows"].inputs[0], gamma, beta]
    attributes = {"T": node.dtypes[0], "epsilon": norm.attributes["epsilon"]}
    gone = [found[label] for label in ("rows", "ones", "zeros", "norm", "back", "scaled")]
    fusing.fuse(node, "_MklLayerNorm", inputs, attributes, gone)
    return True
