"""Where a control edge can begin that stands for a data edge.

Told about: `ConstantFolding::AddControlDependency`.
"""

from __future__ import annotations

from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.graph import MutableGraph, Node

__all__ = ["control_anchor"]


def control_anchor(graph: MutableGraph, endpoint: Endpoint) -> str:
    """The node to wait for instead of reading that output: its node, or of a Switch an identity
    behind it, because only one of its two outputs is ever there.
    """
    name, output = endpoint
    source = graph[name]
    if source.type not in {"Switch", "_SwitchN"}:
        return name
    # NB: TensorFlow means to take an identity that is there already, and never finds one.
    anchor = f"ConstantFoldingCtrl/{name}_{output}"
    if anchor not in graph:
        dtype = source.dtypes[output]
        graph.add(
            Node(
                anchor,
                "Identity",
                [endpoint],
                attributes={"T": dtype},
                device=source.device,
                dtypes=(dtype,),
            )
        )
    return anchor
