"""Backwards over a graph: `tf.gradients`, and what builds the backward function of a traced
function.

New nodes are added for the gradients: in the name scope `gradients`, those of a node below
`NODE_grad`. A node's turn comes when all nodes between it and the targets have had theirs.

Told about: `_GradientsHelper` of `tensorflow/python/ops/gradients_util.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tflogscope.runtime import context, tape
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.gradients.backprop import zeros_like, zeros_of_variable
from tflogscope.runtime.gradients.registry import gradient_function
from tflogscope.runtime.graph import Graph, Node
from tflogscope.runtime.tensors import EagerTensor, SymbolicTensor, Tensor

__all__ = ["gradients_of"]


def gradients_of(
    targets: Sequence[Any],
    sources: Sequence[Any],
    given: Sequence[Any] | None = None,
    *,
    source: Graph | None = None,
    stop_at: Sequence[Tensor] = (),
    zeros: bool = False,
    colocate: bool = False,
    gate: bool = False,
    name: str = "gradients",
) -> list[Any]:
    """The gradients of the targets (together) with respect to each source, as nodes of the current
    graph.

    `given`: the gradients of the targets, instead of ones. `source` is the graph of the targets, if
    it is another: the new nodes then capture from it. `stop_at`: tensors to take as constants.
    `gate`: no gradient of a node is used before all of them are there. None where no gradient
    flows, or zeros if `zeros`. Raises LookupError for an op without a gradient
    function.
    """
    targets = [getattr(target, "handle", target) for target in targets]
    sources = [getattr(each, "handle", each) for each in sources]
    with context.name_scope(name):
        context.current().unique_name("uid")  # type: ignore[attr-defined] # as TensorFlow does, for its colocation
        walk = _Walk(
            targets, sources, source or context.current(), stop_at, colocate=colocate, gate=gate
        )
        given = _given(targets, given, colocate=colocate)
        gradients: dict[int, list[Any]] = {}
        for target, gradient in zip(targets, given, strict=True):
            gradients.setdefault(target.uid, []).append(gradient)
        walk.run(gradients)
        results = [_total(gradients.get(each.uid)) for each in sources]
        if zeros:
            results = [
                zeros_like(s) if r is None else r for r, s in zip(results, sources, strict=True)
            ]
        return results


def _given(targets: Sequence[Tensor], given: Sequence[Any] | None, *, colocate: bool) -> list[Any]:
    """The gradients of the targets: those given, under a name of this graph, or ones."""
    from tflogscope.runtime.library import arrays
    from tflogscope.runtime.ops.call import call

    results = []
    for index, target in enumerate(targets):
        value = None if given is None else given[index]
        with _colocated(target, colocate=colocate):
            if value is None:
                ones = arrays.ones(arrays.shape(target), target.dtype, name=f"grad_ys_{index}")
                results.append(ones)
            else:
                results.append(call("Identity", value, name=f"grad_ys_{index}"))
    return results


def _colocated(tensor: Tensor, *, colocate: bool) -> AbstractContextManager[None]:
    """Nodes made in it are marked to be where the tensor's node is, as `tf.gradients` does."""
    from tflogscope.runtime.library.grouping import colocated_with

    return colocated_with(tensor) if colocate else nullcontext()


class _Walk:
    """The nodes between sources and targets, and how many followers each still waits for."""

    def __init__(
        self,
        targets: Sequence[Tensor],
        sources: Sequence[Tensor],
        source: Any,
        stop_at: Sequence[Tensor],
        *,
        colocate: bool,
        gate: bool,
    ) -> None:
        self._source = source
        self._gate = gate
        self._colocate = colocate
        self._sources = {tensor.uid for tensor in sources}
        self._from = _nodes(sources)
        self._to = _nodes(targets)
        self._stop = set(_nodes(stop_at))
        reached = self._reached()
        self._reachable_targets = [node for node in self._to if node in reached]
        self._pending = self._count(reached)

    def run(self, gradients: dict[int, list[Any]]) -> None:
        """Call the gradient functions; each tensor's gradients are collected in `gradients`."""
        queue: deque[Node] = deque()
        for node in dict.fromkeys(self._reachable_targets):
            if not self._pending.get(node, 0):
                queue.append(node)
        stop = self._stop | {node for node in self._from if not self._follows_another(node)}
        while queue:
            node = queue.popleft()
            with _colocated(node.outputs[0], colocate=self._colocate):
                grads = [_aggregated(gradients, output) for output in node.outputs]
                if any(grad is not None for grad in grads) and node not in stop:
                    self._differentiate(node, grads, gradients)
            queue.extend(self._done(node))

    def _differentiate(self, node: Node, grads: list[Any], gradients: dict[int, list[Any]]) -> None:
        function = node.gradient_function
        if function is None:
            try:
                function = gradient_function(node.type)
            except LookupError:
                raise LookupError(
                    f"No gradient defined for operation'{node.name}' (op type: {node.type}). In "
                    "general every operation must have an associated `@tf.RegisterGradient` for "
                    "correct autodiff, which this op is lacking."
                ) from None
        if function is None:
            return
        for index, output in enumerate(node.outputs):
            if (
                index < len(grads)
                and grads[index] is None
                and tape.differentiable(output)
                and _has_zeros(output)
            ):
                grads[index] = _zeros_like(output)
        with context.name_scope(f"{node.name}_grad"):
            results = function(node, *grads)
            results = results if isinstance(results, (list, tuple)) else [results]
            if self._gate:
                results = _gated(results)
        self._collect(node, results, gradients)

    def _collect(self, node: Node, results: Sequence[Any], gradients: dict[int, list[Any]]) -> None:
        """Note what flows to each input."""
        if len(results) != len(node.inputs) and node.type not in ("While", "StatelessWhile"):
            raise ValueError(
                f"Num gradients {len(results)} generated for op {node} do not match num inputs "
                f"{len(node.inputs)}"
            )
        for tensor, gradient in zip(self._inputs(node), results, strict=False):
            if gradient is None or isinstance(tensor, EagerTensor):
                continue
            if isinstance(gradient, SymbolicTensor) and tensor.dtype.is_array:
                gradient.set_shape(tensor.shape)
            gradients.setdefault(tensor.uid, []).append(gradient)

    def _done(self, node: Node) -> list[Node]:
        freed = []
        for tensor in self._symbolic_inputs(node):
            self._pending[tensor.op] = self._pending.get(tensor.op, 0) - 1
            if self._pending[tensor.op] == 0:
                freed.append(tensor.op)
        return freed

    def _reached(self) -> set[Node]:
        """All nodes that a change of a source could change."""
        consumers: dict[int, list[Node]] = {}
        for graph in self._graphs():
            for node in graph.nodes:
                for tensor in self._inputs(node):
                    consumers.setdefault(tensor.uid, []).append(node)
        reached: set[Node] = set()
        queue = deque(self._from)
        while queue:
            node = queue.popleft()
            if node in reached:
                continue
            reached.add(node)
            for output in node.outputs:
                if tape.differentiable(output):
                    queue.extend(consumers.get(output.uid, ()))
        return reached

    def _graphs(self) -> list[Any]:
        """The graph of the targets, and those outside it."""
        graphs, graph = [], self._source
        while isinstance(graph, Graph):
            graphs.append(graph)
            graph = getattr(graph, "outer", None)
        return graphs

    def _count(self, reached: set[Node]) -> dict[Node, int]:
        between: dict[Node, None] = {}
        queue = deque(self._to)
        while queue:
            node = queue.popleft()
            if node in reached and node not in between:
                between[node] = None
                queue.extend(tensor.op for tensor in self._symbolic_inputs(node))
        pending: dict[Node, int] = {}
        for node in between:
            for tensor in self._symbolic_inputs(node):
                if tensor.op in between:
                    pending[tensor.op] = pending.get(tensor.op, 0) + 1
        return pending

    def _follows_another(self, node: Node) -> bool:
        return any(self._pending.get(tensor.op, 0) > 0 for tensor in self._symbolic_inputs(node))

    def _inputs(self, node: Node) -> list[Tensor]:
        """A node's inputs; for a captured tensor that is no source, what was captured."""
        return [
            tensor if tensor.uid in self._sources else _uncaptured(tensor) for tensor in node.inputs
        ]

    def _symbolic_inputs(self, node: Node) -> list[SymbolicTensor]:
        return [tensor for tensor in self._inputs(node) if isinstance(tensor, SymbolicTensor)]


def _gated(results: Sequence[Any]) -> Sequence[Any]:
    """The same gradients, of which none is there before all are: so nobody changes a variable that
    another of them still reads.
    """
    from tflogscope.runtime.library.grouping import tuple_of

    several = sum(each is not None for each in results) > 1
    return tuple_of(results) if several else results


def _nodes(tensors: Sequence[Tensor]) -> list[Node]:
    return [tensor.op for tensor in tensors if isinstance(tensor, SymbolicTensor)]


def _uncaptured(tensor: Tensor) -> Tensor:
    """What a function's placeholder stands for outside, if it is a capture."""
    if isinstance(tensor, SymbolicTensor) and tensor.op.type == "Placeholder":
        for external, internal in getattr(tensor.op.graph, "captures", ()):
            if internal is tensor:
                return _uncaptured(external)
    return tensor


def _has_zeros(tensor: Tensor) -> bool:
    return tensor.dtype.name != "resource" or tensor.handle_data is not None


def _zeros_like(output: SymbolicTensor) -> Any:
    """The gradient of an output that the targets do not depend on. Told about: `_ZerosLikeV2`."""
    from tflogscope.runtime.library import arrays
    from tflogscope.runtime.ops.call import call

    if output.dtype.name == "resource":
        return zeros_of_variable(output, output)
    if getattr(output.op.graph, "is_while_body", False) and output.dtype.name != "variant":
        # ZerosLike would need the value, and so make the loop keep it for each iteration.
        if output.shape.is_fully_defined():
            return constant(0, output.dtype, output.shape)
        return arrays.zeros(call("Shape", output), output.dtype)
    with context.op_scope(None, "zeros_like") as name:
        return arrays.marked_zeros(call("ZerosLike", output, name=name))


def _aggregated(gradients: dict[int, list[Any]], output: Tensor) -> Any:
    """The sum of an output's gradients, which replaces them."""
    found = gradients.get(output.uid)
    if not found:
        return None
    total = _total(found)
    gradients[output.uid] = [total]
    return total


def _total(gradients: list[Any] | None) -> Any:
    if not gradients:
        return None
    if len(gradients) == 1:
        return gradients[0]
    from tflogscope.runtime.indexed_slices import add_gradients

    with _colocated(gradients[0], colocate=True):
        return add_gradients(gradients)
