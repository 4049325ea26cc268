"""Convolutions that Keras 3 hands to XLA, though a kernel of oneDNN's could run them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import where
from tflogscope.model.findings.finding import Finding, claim_nodes, most, total
from tflogscope.model.pipeline import Evidence

# keras/src/backend/tensorflow/nn.py, conv: grouped convolutions, and 3-D ones of channels_first,
# run in a function of this name with jit_compile=True. So does their gradient.
_BY_KERAS, _GRADIENT = r"\bf=__\w*_conv_xla_\d", r"\bf=__\w*_backward__conv_xla_\d"
_LAYER = r"([^/]+)/(?:Stateful)?PartitionedCall$"
_OF_GRADIENTS = threshold("xla-convolution.gradients_share")


def convolution_findings(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that run such functions; what their gradients take can be saved."""
    definitions = evidence.executions.runs.definitions
    gradients, nodes = (
        evidence.nodes.filter(pl.col("attributes").str.contains(pattern))
        for pattern in (_GRADIENT, _BY_KERAS)
    )
    if nodes.is_empty():
        return
    less = _OF_GRADIENTS * float(gradients[ranked_by(nodes)].sum())
    of_gradients = where(definitions["attributes"].str.contains(_GRADIENT))
    time, claims = claim_nodes(evidence, of_gradients, less)
    is_forward = ~pl.col("attributes").str.contains(_GRADIENT)
    layers = most(nodes.filter(is_forward)["node"].str.extract(_LAYER, 1))
    facts = {
        "layers": layers,
        "took": total(nodes[ranked_by(nodes)]),
        "gradients": gradients.height,
        "leads": True,
    }
    subject, at = layers[0] if layers else "_conv_xla", nodes["ran_at"].to_list()
    yield Finding("xla-convolution", subject, nodes.height, time, at, facts, claims=claims)
