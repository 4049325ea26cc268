"""Differentiating a call: the function is split into a forward and a backward function.

The backward function needs values from within the forward one (the input of a `tanh`, say); they
become further outputs of the forward function, which is therefore another function than the one
that is called when no tape watches.

    called eagerly, a tape watches:  `__forward_f_12` now, `__inference___backward_f_10_13` when
                                     the gradient is asked for
    called in a graph:               the call's node is `__inference_f_9` first; if a gradient is
                                     asked for later, the node is rewritten to call
                                     `__forward_f_12`, and a call of the backward function added
    a persistent tape, or tapes      as eagerly, but the backward function takes gradients of the
    within tapes:                    further outputs too, so that it can be differentiated itself

Told about: `_DelayedRewriteGradientFunctions`, `_FirstOrderTapeGradientFunctions`,
`_HigherOrderTapeGradientFunctions` of `eager/polymorphic_function/monomorphic_function.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime import context, tape
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import variant
from tflogscope.runtime.function.func_graph import FuncGraph, captured_from, placeholder
from tflogscope.runtime.function.graph_function import GraphFunction
from tflogscope.runtime.function.tracing import result_tensors, trace
from tflogscope.runtime.gradients.backprop import shape_and_dtype, zeros_like
from tflogscope.runtime.gradients.symbolic import gradients_of
from tflogscope.runtime.graph import Node
from tflogscope.runtime.tensors import SymbolicTensor, Tensor, TensorSpec, uid

if TYPE_CHECKING:
    from tflogscope.runtime.function.concrete import ConcreteFunction

__all__ = ["DelayedRewrite", "TapeFunctions"]


class DelayedRewrite:
    """For calls within a graph: the forward function is made when a gradient is asked for."""

    def __init__(
        self, graph: FuncGraph, inference: GraphFunction, attributes: Mapping[str, Any]
    ) -> None:
        self._graph = graph
        self._inference = inference
        self._attributes = attributes
        self._pairs: dict[int, tuple[GraphFunction, ConcreteFunction]] = {}

    def forward(self) -> GraphFunction:
        """What the call's node calls at first."""
        return self._inference

    def record(self, outputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Tell the tapes how gradients go back through the call."""
        if outputs:
            node: Node = outputs[0].op  # type: ignore[attr-defined]
            tape.record_operation(
                self._inference.name,
                outputs,
                arguments,
                lambda *gradients: self.rewrite(node, *gradients),
            )

    def rewrite(self, node: Node, *gradients: Any) -> Any:
        """Let the node call the forward function; the gradients of its inputs, by a call of the
        backward function.
        """
        forward, backward = self._pair(len(gradients))
        if not backward.outputs:
            return backward.structured_outputs
        node.attributes["f"] = forward
        node.attributes["Tout"] = tuple(tensor.dtype for tensor in forward.outputs)
        for index in range(len(node.outputs), len(forward.outputs)):
            inner = forward.outputs[index]
            output = SymbolicTensor(node, index, inner.dtype, inner.shape)
            output.handle_data = inner.handle_data
            node.outputs.append(output)
        outer = {
            inner.uid: output
            for inner, output in zip(self._graph.outputs, node.outputs, strict=False)
        }
        captured = [outer.get(tensor.uid, tensor) for tensor in backward.captured_inputs]
        trainable = zip(gradients, node.outputs, strict=False)
        given = [
            zeros_like(output) if gradient is None else _dense(gradient)
            for gradient, output in trainable
            if tape.differentiable(output)
        ]
        return backward.call_flat(given, captured)

    def make(self) -> None:
        """Make forward and backward function now."""
        self._pair(len(self._graph.outputs))

    def _pair(self, count: int) -> tuple[GraphFunction, ConcreteFunction]:
        """The forward function and the backward function that takes the gradients of its first
        `count` outputs.
        """
        if count not in self._pairs:
            outputs = [
                output for output in self._graph.outputs[:count] if tape.differentiable(output)
            ]
            specs = [TensorSpec(*shape_and_dtype(output)) for output in outputs]
            with context.enter(self._graph):
                backward = FuncGraph(f"__backward_{self._graph.name}_{uid()}")
                inputs = list(self._graph.inputs)
                trace(
                    backward,
                    lambda *grads: gradients_of(outputs, inputs, grads, source=self._graph),
                    specs,
                )
                _keep_captured(self._graph, backward)
                self._pairs[count] = _make_pair(self._graph, backward, self._attributes)
        return self._pairs[count]


class TapeFunctions:
    """For calls that a tape watches: forward and backward function are fixed at the first such
    call.
    """

    def __init__(
        self,
        graph: FuncGraph,
        attributes: Mapping[str, Any],
        *,
        higher_order: bool,
    ) -> None:
        self._graph = graph
        self._attributes = attributes
        # Further ones that another gradient added count too.
        self._result_count = len(graph.outputs)
        self._higher_order = higher_order
        self._pair: tuple[GraphFunction, ConcreteFunction] | None = None
        self._forward_outputs: list[SymbolicTensor] = []

    def forward(self) -> GraphFunction:
        """The forward function."""
        return self._functions()[0]

    def record(self, outputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Tell the tapes how gradients go back through the call that gave these outputs."""
        backward = self._functions()[1]
        outer = {
            inner.uid: output for inner, output in zip(self._forward_outputs, outputs, strict=True)
        }
        captured = [outer.get(tensor.uid, tensor) for tensor in backward.captured_inputs]
        wanted = len(backward.inputs) - len(backward.captured_inputs)
        recorded, skipped = _recorded(outputs, wanted)
        # Made now, so that the values themselves need not be kept for it.
        variants = {
            index: zeros_like(output)
            for index, output in enumerate(outputs)
            if output.dtype is variant
        }
        tape.record_operation(
            self.forward().name,
            recorded,
            arguments,
            _call_backward(backward, captured, recorded, skipped, variants),
        )

    def _functions(self) -> tuple[GraphFunction, ConcreteFunction]:
        if self._pair is None:
            self._pair = (
                self._build_higher_order() if self._higher_order else self._build(self._results())
            )
            self._forward_outputs = list(self._graph.outputs[: len(self._pair[0].outputs)])
        return self._pair

    def _results(self) -> list[SymbolicTensor]:
        return list(self._graph.outputs[: self._result_count])

    def _build_higher_order(self) -> tuple[GraphFunction, ConcreteFunction]:
        """As long as building the backward function adds outputs to the forward one, differentiate
        those too.
        """
        outputs: list[SymbolicTensor] = []
        while any(tape.differentiable(output) for output in self._graph.outputs[len(outputs) :]):
            outputs = list(self._graph.outputs)
            self._build(outputs)
        return self._build(outputs)

    def _build(self, outputs: Sequence[SymbolicTensor]) -> tuple[GraphFunction, ConcreteFunction]:
        trainable = [output for output in outputs if tape.differentiable(output)]
        backward = FuncGraph(f"__backward_{self._graph.name}_{uid()}", outer=self._graph)
        with context.enter(backward):
            given = []
            for output in trainable:
                shape, dtype = shape_and_dtype(output)
                given.append(placeholder(backward, dtype, shape))
                given[-1].handle_data = output.handle_data if dtype.name == "variant" else None
            grads = gradients_of(trainable, list(self._graph.inputs), given, source=self._graph)
        _keep_captured(self._graph, backward)
        backward.inputs = given + backward.internal_captures
        # NB: a gather's gradient leaves the function as the slices it is: its tensors are outputs.
        backward.outputs = [backward.capture(each) for each in result_tensors(grads)]
        backward.structured_outputs = grads
        return _make_pair(self._graph, backward, self._attributes)


def _make_pair(
    graph: FuncGraph, backward: FuncGraph, attributes: Mapping[str, Any]
) -> tuple[GraphFunction, ConcreteFunction]:
    from tflogscope.runtime.function.concrete import ConcreteFunction

    name = f"__forward_{graph.name}_{uid()}"
    function = ConcreteFunction(backward, {**attributes, "forward_function_name": name})
    forward = GraphFunction(
        name,
        graph,
        graph.inputs,
        graph.outputs,
        {**attributes, "backward_function_name": function.name},
    )
    return forward, function


def _keep_captured(graph: FuncGraph, backward: FuncGraph) -> None:
    """What the backward function took from the forward graph becomes an output of the forward
    function.
    """
    known = {output.uid for output in graph.outputs}
    for tensor in captured_from(graph, backward.external_captures):
        if tensor.uid not in known:
            known.add(tensor.uid)
            graph.outputs.append(tensor)  # type: ignore[arg-type]


def _recorded(outputs: Sequence[Tensor], wanted: int) -> tuple[list[Tensor], set[int]]:
    """The outputs of which the backward function takes gradients, and the places among them of
    those it doesn't.
    """
    recorded: list[Tensor] = []
    skipped: set[int] = set()
    count = 0
    for index, output in enumerate(outputs):
        if count < wanted:
            recorded.append(output)
        if tape.differentiable(output):
            count += 1
        else:
            skipped.add(index)
    return recorded, skipped


def _call_backward(
    backward: ConcreteFunction,
    captured: Sequence[Tensor],
    recorded: Sequence[Tensor],
    skipped: set[int],
    variants: Mapping[int, Any],
) -> Callable[..., Any]:
    def zeros(index: int) -> Any:
        return variants[index] if index in variants else _zeros(recorded[index])

    def call(*gradients: Any) -> Any:
        if not backward.outputs:
            return backward.structured_outputs
        given = [
            zeros(index) if gradient is None else _dense(gradient)
            for index, gradient in enumerate(gradients)
            if index not in skipped
        ]
        return backward.call_flat(given, captured)

    return call


def _zeros(tensor: Tensor) -> Any:
    from tflogscope.runtime.library import arrays

    shape, dtype = shape_and_dtype(tensor)
    return zeros_like(tensor) if not shape.is_fully_defined() else arrays.zeros(shape, dtype)


def _dense(gradient: Any) -> Any:
    return gradient if isinstance(gradient, Tensor) else convert_to_tensor(gradient)
