"""Tells of the runs in which constants are computed: step -1, on a graph made for that.

The graph holds copies of the nodes that are computed, a `_Recv` node for each value that is known
already, and a `_Send` node for each that is wanted. Values have been computed by then: nothing runs
here.

Told about: `GraphRunner::Run` of `core/common_runtime/graph_runner.cc`, `RecvFetchRewrite` of
`core/graph/subgraph.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime import telling
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.definition import Endpoint, NodeDef
from tflogscope.runtime.operations import lookup, register
from tflogscope.runtime.shapes import UNKNOWN

__all__ = ["STEP", "tell_run"]

STEP = -1
_DEVICE = "/device:CPU:0"


def tell_run(
    function: str,
    fed: Sequence[tuple[Endpoint, DType, Any]],
    nodes: Sequence[NodeDef],
    values: Mapping[str, Sequence[Any]],
    wanted: Sequence[Endpoint],
) -> None:
    """Tell that these nodes, inputs first, ran for these endpoints, with known values `fed`."""
    listener = telling.listener
    if listener is None:
        return
    run = [NodeDef("_SOURCE", lookup("NoOp"), (), (), {}, "", ())]
    outputs = dict(values)
    for (name, output), dtype, value in fed:
        attributes = _addresses(name, output) | {"tensor_type": dtype}
        received = f"_recv_{name}_{output}"
        run.append(NodeDef(received, lookup("_Recv"), (), (), attributes, "", (dtype,)))
        outputs[received] = [value]
    sends: dict[str, list[NodeDef]] = {}
    dtypes = {node.name: node.dtypes for node in nodes}
    for name, output in wanted:
        attributes = {"T": dtypes[name][output]} | _addresses(name, output)
        send = f"_send_{name}_{output}"
        source = ((name, output),)
        sends.setdefault(name, []).append(
            NodeDef(send, lookup("_Send"), source, (), attributes, "", ())
        )
    for node in nodes:
        run += [node, *sends.get(node.name, [])]
    listener.constants_run(function, run)
    for each in run:
        listener.node_started(STEP, each)
        listener.node_done(STEP, each, outputs.get(each.name, []))


def _addresses(name: str, output: int) -> dict[str, Any]:
    return {
        "client_terminated": True,
        "recv_device": _DEVICE,
        "send_device": _DEVICE,
        "tensor_name": f"{name}:{output}",
    }


register("_Recv", lambda i: [(i.attributes["tensor_type"], UNKNOWN)], lambda: None, stateful=True)
register("_Send", lambda _: [], lambda value: None, attributes=("T",), stateful=True)  # noqa: ARG005
