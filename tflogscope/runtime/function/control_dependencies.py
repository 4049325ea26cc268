"""Automatic control dependencies: stateful ops of a function run, and run in program order.

A graph alone says only which values an op needs. So that `v.assign(1.0); return v.read_value()`
means in a function what it means in Python, each op that touches a resource gets a control input
from the last one that changed it, stateful ops without a resource (`tf.print`) are chained, and all
that must run is a control output of the function. An op that only computes gets no such edge: if
nobody needs it, it is not run (the guide's *non-strict execution*).

Told about: `framework/auto_control_deps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.context import execute
from tflogscope.runtime.graph import Graph, Node
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import SymbolicTensor

__all__ = ["READ_ONLY", "AutomaticControlDependencies", "read_only_inputs"]

READ_ONLY = "_read_only_resource_inputs"
"""The attribute of a call that says through which inputs the called function only reads a resource.
"""

READS = frozenset(
    {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"}
)

# TensorFlow leaves the old random ops free: they may be in initialisers, which are lifted out of
# the order of the program. The others have no effect to be ordered.
UNORDERED = frozenset(
    {
        *("CudnnRNN", "CudnnRNNBackprop", "CudnnRNNV3", "CudnnRNNBackpropV3"),
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomGamma",
        "RandomGammaGrad",
        "RandomPoisson",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)


class AutomaticControlDependencies:
    """Used around a trace: what is added to the graph in it gets its control inputs at the end."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._first = len(graph.nodes)
        self._returned: list[SymbolicTensor] = []

    def mark_as_return(self, tensor: Any) -> Any:
        """An `Identity` of the tensor: what is returned, once all that must run has run."""
        result: Any = call("Identity", tensor)
        self._returned.append(result)
        return result

    def finish(self) -> list[Node]:
        """Add the control inputs; the nodes that must run."""
        must_run = self._order(self._graph.nodes[self._first :])
        if must_run and self._returned:
            done = execute_no_op(self._graph, must_run)
            for tensor in self._returned:
                tensor.op.add_control_input(done)
        return must_run

    def _order(self, nodes: Sequence[Node]) -> list[Node]:
        must_run: list[Node] = []
        consumed = {tensor.uid for node in self._graph.nodes for tensor in node.inputs}
        last_write: dict[int | None, Node] = {}
        reads: dict[int, list[Node]] = {}
        for node in nodes:
            stateful = is_stateful(node)
            if stateful and (
                node.type not in READS or any(t.uid in consumed for t in node.outputs)
            ):
                must_run.append(node)
            resources = _resources(node)
            for handle, only_read in resources:
                before = last_write.get(handle)
                if before is not None:
                    node.add_control_input(before)
                if only_read:
                    reads.setdefault(handle, []).append(node)
                else:
                    for reader in reads.pop(handle, []):
                        node.add_control_input(reader)
                    last_write[handle] = node
            if stateful and not resources:
                if None in last_write:
                    node.add_control_input(last_write[None])
                last_write[None] = node
        return must_run


def execute_no_op(graph: Graph, after: Sequence[Node]) -> Node:
    """A `NoOp` that has run when these have: the returned values wait for it."""
    execute("NoOp", [])
    node = graph.nodes[-1]
    for other in after:
        node.add_control_input(other)
    return node


def is_stateful(node: Node) -> bool:
    """Must it run, and in order?"""
    return node.definition.stateful and node.type not in UNORDERED


def read_only_inputs(graph: Any) -> list[int]:
    """Of a function's inputs those resources that it only reads."""
    written: set[Any] = set()
    for node in graph.nodes:
        written.update(handle for handle, only_read in _resources(node) if not only_read)
    return [
        index
        for index, tensor in enumerate(graph.inputs)
        if tensor.dtype.name == "resource" and tensor.uid not in written
    ]


def _resources(node: Node) -> list[tuple[int, bool]]:
    """The resources that a node takes, each once, and whether it only reads them."""
    read_only = node.attributes.get(READ_ONLY, ())
    found: dict[int, bool] = {}
    for index, tensor in enumerate(node.inputs):
        if tensor.dtype.name == "resource":
            only_read = node.type in READS or index in read_only
            found[tensor.uid] = found.get(tensor.uid, True) and only_read
    return list(found.items())
