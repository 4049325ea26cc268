"""How a traced function is differentiated: a backward function is traced from its graph, and a
forward function gives, beside the results, what the backward one needs. See
`tensorflow/python/eager/polymorphic_function/concrete_function.py` (`_DelayedRewriteGradientFunctions`,
`_TapeGradientFunctions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime.core import context, tape
from tflogscope.runtime.core.dtypes import variant
from tflogscope.runtime.core.tensors import SymbolicTensor, uid
from tflogscope.runtime.function.backprop import shape_and_dtype, zeros_like
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.function.symbolic import gradients_of
from tflogscope.runtime.function.tracing import result_tensors
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slopes import dense

_Pair = tuple[Any, Any]
"""The forward function, and the backward one with what it captured."""


class Gradients:
    """The gradient functions of one traced function, made when they are asked for."""

    def __init__(
        self,
        graph: FuncGraph,
        inference: Any,
        attributes: Mapping[str, Any],
        make: Callable[..., Any],
    ) -> None:
        self._graph, self._inference, self._attributes = graph, inference, attributes
        self._make = make
        self._count = len(graph.outputs)
        """How many results it has; a gradient adds further outputs."""
        self._for_tape: dict[bool, tuple[_Pair, list[Any]]] = {}
        self._delayed: dict[int, _Pair] = {}

    def call(self, arguments: Sequence[Any]) -> list[Any]:
        """The results; a tape that watches an argument remembers the call."""
        watching, eagerly = tape.could_record(arguments), context.executing_eagerly()
        if watching == 2 or (watching and eagerly):
            (forward, backward), inner = self._functions(higher_order=watching == 2)
            outputs = self._call_node(forward, arguments)
            self._record(outputs, arguments, backward, inner)
            return outputs
        outputs = self._call_node(self._inference, arguments)
        if watching and outputs:
            node = outputs[0].op
            name = self._inference.name
            tape.record(tape.Entry(name, arguments, outputs, {}, lambda *g: self.rewrite(node, *g)))
        return outputs

    def _call_node(self, function: Any, arguments: Sequence[Any]) -> list[Any]:
        """Call it; a node that it becomes knows whose gradient to ask for."""
        graph = context.current()
        if not isinstance(graph, FuncGraph):
            return list(function(arguments))
        calls = dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), self.rewrite)
        previous, graph.gradient_functions = graph.gradient_functions, calls
        try:
            return list(function(arguments))
        finally:
            graph.gradient_functions = previous

    # -- a tape looks on while it is called: the forward function runs at once

    def _functions(self, *, higher_order: bool) -> tuple[_Pair, list[Any]]:
        if higher_order not in self._for_tape:
            graph = self._graph
            outputs = list(graph.outputs[: self._count])
            if higher_order:  # what one gradient adds can be differentiated, too
                outputs = []
                while any(tape.differentiable(each) for each in graph.outputs[len(outputs) :]):
                    outputs = list(graph.outputs)
                    self._build(outputs)
            pair = self._build(outputs)
            self._for_tape[higher_order] = pair, list(graph.outputs[: len(pair[0].outputs)])
        return self._for_tape[higher_order]

    def _build(self, outputs: Sequence[SymbolicTensor]) -> _Pair:
        trainable = [output for output in outputs if tape.differentiable(output)]
        backward = FuncGraph(f"__backward_{self._graph.name}_{uid()}", outer=self._graph)
        with context.enter(backward):
            given = []
            for output in trainable:
                shape, dtype = shape_and_dtype(output)
                given.append(placeholder(backward, dtype, shape))
                given[-1].handle_data = output.handle_data if dtype is variant else None
            grads = gradients_of(trainable, list(self._graph.inputs), given, source=self._graph)
        self._keep_captured(backward)
        backward.inputs = given + backward.internal_captures
        backward.outputs = [backward.capture(each) for each in result_tensors(grads)]
        backward.structured_outputs = grads
        return self._pair(backward)

    def _pair(self, backward: FuncGraph) -> _Pair:
        name = f"__forward_{self._graph.name}_{uid()}"
        function = self._make(backward, {**self._attributes, "forward_function_name": name})
        attributes = {**self._attributes, "backward_function_name": function.name}
        return type(self._inference)(name, self._graph, attributes), function

    def _keep_captured(self, backward: FuncGraph) -> None:
        """What the gradient needs becomes an output of the function."""
        known = {output.uid for output in self._graph.outputs}
        for tensor in backward.external_captures:
            inner = isinstance(tensor, SymbolicTensor) and tensor.op.graph is self._graph
            if inner and tensor.uid not in known:
                known.add(tensor.uid)
                self._graph.outputs.append(tensor)

    def _record(
        self, outputs: Sequence[Any], arguments: Sequence[Any], backward: Any, inner: Sequence[Any]
    ) -> None:
        outer = {each.uid: output for each, output in zip(inner, outputs, strict=True)}
        captured = [outer.get(tensor.uid, tensor) for tensor in backward.captured_inputs]
        wanted = len(backward.inputs) - len(backward.captured_inputs)
        recorded: list[Any] = []
        skipped: set[int] = set()
        for index, output in enumerate(outputs):
            if len(recorded) - len(skipped) < wanted:
                recorded.append(output)
                skipped |= set() if tape.differentiable(output) else {index}
        # made now, so that the values themselves need not be kept for it
        variants = {k: zeros_like(e) for k, e in enumerate(recorded) if e.dtype is variant}

        def call(*gradients: Any) -> Any:
            if not backward.outputs:
                return backward.structured_outputs
            given = []
            for index, gradient in enumerate(gradients):
                if index in skipped:
                    continue
                if gradient is None:
                    known = index in variants
                    gradient = variants[index] if known else _zeros(recorded[index])  # noqa: PLW2901
                given.append(dense(gradient))
            return backward.call_flat(given, captured)

        tape.record(tape.Entry(self._inference.name, arguments, recorded, {}, call))

    # -- a node of it is differentiated later: the node calls the forward function from then on

    def rewrite(self, node: Any, *gradients: Any) -> Any:
        """The gradient function of a node that calls the function."""
        forward, backward = self._later(len(gradients))
        if not backward.outputs:
            return backward.structured_outputs
        node.attributes["f"] = forward.definition
        node.attributes["Tout"] = tuple(tensor.dtype for tensor in forward.outputs)
        node.attributes["output_shapes"] = tuple(tensor.shape for tensor in forward.outputs)
        for index in range(len(node.outputs), len(forward.outputs)):
            inner = forward.outputs[index]
            node.outputs.append(SymbolicTensor(node, index, inner.dtype, inner.shape))
            node.outputs[-1].handle_data = inner.handle_data
        pairs = zip(self._graph.outputs, node.outputs, strict=False)
        outer = {inner.uid: output for inner, output in pairs}
        captured = [outer.get(tensor.uid, tensor) for tensor in backward.captured_inputs]
        given = [
            zeros_like(output) if gradient is None else dense(gradient)
            for gradient, output in zip(gradients, node.outputs, strict=False)
            if tape.differentiable(output)
        ]
        return backward.call_flat(given, captured)

    def _later(self, count: int) -> _Pair:
        if count not in self._delayed:
            self._delayed[count] = self._build(self._graph.outputs[:count])
        return self._delayed[count]


def _zeros(tensor: Any) -> Any:
    shape, dtype = shape_and_dtype(tensor)
    return arrays.zeros(shape, dtype) if shape.is_fully_defined() else zeros_like(tensor)
