"""Ops that follow each other become one fused op, which keeps the name of the last of them.

    contractions.py   convolutions and matrix products with bias, addition, activation
    batch_norm.py     batch normalisation behind a convolution or before an activation
    activations.py    activations that are written in several ops; attention scores
    layer_norm.py     layer normalisation as Keras writes it
    patterns.py       how a pattern of ops is looked for

The patterns are tried on each node, the last node first. With oneDNN there are more of them: an
addition of a vector counts as a bias, and some activations exist there only.

Told about: `core/grappler/optimizers/remapper.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.passes.graph import MutableGraph, depth_first
from tflogscope.runtime.passes.remapper import activations, batch_norm, contractions, layer_norm
from tflogscope.runtime.passes.remapper.patterns import Fusing, Pattern
from tflogscope.runtime.passes.shapes import Properties

__all__ = ["remap"]

ONEDNN: tuple[Pattern, ...] = (
    contractions.bias_addition_activation,
    contractions.fused_leaky_relu,
    contractions.bias_addition,
    activations.gelu,
    activations.mish,
    activations.attention_scores,
    activations.leaky_relu,
    activations.swish,
    layer_norm.layer_norm,
)
"""Tried first, and with oneDNN only; in TensorFlow's order."""

ALWAYS: tuple[Pattern, ...] = (
    contractions.bias,
    contractions.bias_activation,
    contractions.squeeze_bias,
    batch_norm.convolution_norm,
    batch_norm.convolution_norm_activation,
    batch_norm.norm_activation,
    batch_norm.split,
)


def remap(graph: MutableGraph, *, onednn: bool = True) -> None:
    """Fuse what can be fused. Raises PassFailed where TensorFlow makes a broken graph."""
    order = depth_first(graph)
    graph.reorder(order)
    fusing = Fusing(graph, Properties(graph), onednn)
    patterns = (*ONEDNN, *ALWAYS) if onednn else ALWAYS
    for name in reversed(order):
        if name not in graph or name in fusing.done:
            continue
        for pattern in patterns:
            if pattern(fusing, graph[name]):
                break
    graph.erase({name for name in fusing.gone if name in graph and not graph.readers(name)})
