"""Gradients of a graph, node by node: what the gradient of a function is made by. See `_GradientsHelper`
of `tensorflow/python/ops/gradients_util.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.core import context, tape
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.graph import Graph, Node
from tflogscope.runtime.core.registry import gradient_of
from tflogscope.runtime.core.tensors import EagerTensor, SymbolicTensor
from tflogscope.runtime.function.backprop import shape_and_dtype, total, zeros_like
from tflogscope.runtime.library import arrays


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", **_: Any
) -> list[Any]:
    """`tf.gradients`: of the sum of `ys`."""
    several = isinstance(ys, (list, tuple)), isinstance(xs, (list, tuple))
    given = grad_ys if grad_ys is None or isinstance(grad_ys, (list, tuple)) else [grad_ys]
    return gradients_of(ys if several[0] else [ys], xs if several[1] else [xs], given, name=name)


def gradients_of(
    targets: Sequence[Any],
    sources: Sequence[Any],
    given: Sequence[Any] | None = None,
    *,
    source: Graph | None = None,
    zeros: bool = False,
    name: str = "gradients",
) -> list[Any]:
    """The gradients of nodes in `source`, made in the current graph; None, or zeros, where nothing
    connects them. Raises LookupError for an op that has no gradient.
    """
    targets, sources = ([getattr(each, "handle", each) for each in e] for e in (targets, sources))
    with context.name_scope(name):
        found: dict[int, list[Any]] = {}
        for index, target in enumerate(targets):
            value = None if given is None else given[index]
            label = f"grad_ys_{index}"
            if value is None:
                value = arrays.ones(arrays.shape(target), target.dtype, name=label)
            else:
                value = O.Identity(value, name=label)
            found.setdefault(target.uid, []).append(value)
        _Walk(targets, sources, source or context.current()).run(found)
        results = [total(found.get(each.uid)) for each in sources]
        if zeros:
            pairs = zip(results, sources, strict=True)
            results = [zeros_like(s) if r is None else r for r, s in pairs]
        return results


class _Walk:
    """From the targets back to the sources, through the nodes that connect them."""

    def __init__(self, targets: Sequence[Any], sources: Sequence[Any], source: Any) -> None:
        self._graph = source
        self._sources = {tensor.uid for tensor in sources}
        self._from = [each.op for each in sources if isinstance(each, SymbolicTensor)]
        self._to = [each.op for each in targets if isinstance(each, SymbolicTensor)]
        reached = self._reached()
        self._targets = [node for node in self._to if node in reached]
        self._pending = self._count(reached)

    def run(self, found: dict[int, list[Any]]) -> None:
        """Add to `found` the gradients of all tensors on the way, by uid."""
        queue = deque(n for n in dict.fromkeys(self._targets) if not self._pending.get(n, 0))
        stop = {
            node
            for node in self._from
            if not any(self._pending.get(each.op, 0) > 0 for each in self._symbolic(node))
        }
        while queue:
            node = queue.popleft()
            grads = [_aggregated(found, output) for output in node.outputs]
            if node not in stop and any(grad is not None for grad in grads):
                self._differentiate(node, grads, found)
            for tensor in self._symbolic(node):
                self._pending[tensor.op] = self._pending.get(tensor.op, 0) - 1
                if self._pending[tensor.op] == 0:
                    queue.append(tensor.op)

    def _differentiate(self, node: Node, grads: list[Any], found: dict[int, list[Any]]) -> None:
        function = node.gradient_function or gradient_of(node.type)
        if function is None:
            return
        for index, output in enumerate(node.outputs[: len(grads)]):
            known = output.dtype.name != "resource" or output.handle_data is not None
            if grads[index] is None and tape.differentiable(output) and known:
                grads[index] = _zeros(output)
        with context.name_scope(f"{node.name}_grad"):
            results = function(node, *grads)
        results = results if isinstance(results, (list, tuple)) else [results]
        for tensor, grad in zip(self._inputs(node), results, strict=False):
            if grad is None or isinstance(tensor, EagerTensor):
                continue
            if isinstance(grad, SymbolicTensor) and tensor.dtype.is_array:
                grad.set_shape(tensor.shape)
            found.setdefault(tensor.uid, []).append(grad)

    def _reached(self) -> set[Node]:
        """The nodes that depend on a source."""
        consumers: dict[int, list[Node]] = {}
        graph = self._graph
        while isinstance(graph, Graph):
            for node in graph.nodes:
                for tensor in self._inputs(node):
                    consumers.setdefault(tensor.uid, []).append(node)
            graph = getattr(graph, "outer", None)
        reached: set[Node] = set()
        queue = deque(self._from)
        while queue:
            node = queue.popleft()
            if node not in reached:
                reached.add(node)
                for output in node.outputs:
                    if tape.differentiable(output):
                        queue.extend(consumers.get(output.uid, ()))
        return reached

    def _count(self, reached: set[Node]) -> dict[Node, int]:
        """For how many nodes each one has to wait."""
        between: dict[Node, None] = {}
        queue = deque(self._to)
        while queue:
            node = queue.popleft()
            if node in reached and node not in between:
                between[node] = None
                queue.extend(tensor.op for tensor in self._symbolic(node))
        pending: dict[Node, int] = {}
        for node in between:
            for tensor in self._symbolic(node):
                if tensor.op in between:
                    pending[tensor.op] = pending.get(tensor.op, 0) + 1
        return pending

    def _inputs(self, node: Node) -> list[Any]:
        return [t if t.uid in self._sources else _uncaptured(t) for t in node.inputs]

    def _symbolic(self, node: Node) -> list[SymbolicTensor]:
        return [tensor for tensor in self._inputs(node) if isinstance(tensor, SymbolicTensor)]


def _uncaptured(tensor: Any) -> Any:
    """A capture as the tensor outside that it is."""
    if isinstance(tensor, SymbolicTensor) and tensor.op.type == "Placeholder":
        for external, internal in tensor.op.graph.__dict__.get("_captures", {}).values():
            if internal is tensor:
                return _uncaptured(external)
    return tensor


def _zeros(output: SymbolicTensor) -> Any:
    if output.dtype.name == "resource":
        return arrays.zeros(O.VariableShape(output), shape_and_dtype(output)[1])
    if getattr(output.op.graph, "is_while_body", False) and output.dtype.name != "variant":
        # ZerosLike would need the value, and so make the loop keep it for each iteration
        if output.shape.is_fully_defined():
            return constant(0, output.dtype, output.shape)
        return arrays.zeros(O.Shape(output), output.dtype)
    with context.op_scope(None, "zeros_like") as scope:
        return O.ZerosLike(output, name=scope)


def _aggregated(found: dict[int, list[Any]], output: Any) -> Any:
    if not found.get(output.uid):
        return None
    found[output.uid] = [total(found[output.uid])]
    return found[output.uid][0]
