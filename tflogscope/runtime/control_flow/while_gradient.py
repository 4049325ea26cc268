"""The gradient of While: a loop that goes backwards, as many iterations as the forward loop made.

What the gradient of an iteration needs from within it is kept by the forward loop in lists: it
pushes a value in each iteration, and the loop backwards pops them, the last first. The node of the
forward loop is rewritten to have these lists as loop variables. Told about: `_WhileGrad` and
`_WhileBodyGradFuncGraph` of `python/ops/while_v2.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime import context, tape
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.control_flow.branches import (
    BranchGraph,
    as_function,
    gradient_name,
    output_node,
)
from tflogscope.runtime.control_flow.rewritten import extend_outputs, resource_input
from tflogscope.runtime.control_flow.structures import copy_handle_data
from tflogscope.runtime.control_flow.tensor_list_gradients import empty_list
from tflogscope.runtime.control_flow.while_loop import build_while
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import resource
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.tracing import trace
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.gradients.backprop import zeros_like, zeros_of_variable
from tflogscope.runtime.gradients.symbolic import gradients_of
from tflogscope.runtime.graph import Node
from tflogscope.runtime.indexed_slices import IndexedSlices, dense
from tflogscope.runtime.library import arrays
from tflogscope.runtime.operations import OpDef
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.tensors import SymbolicTensor, Tensor, TensorSpec

__all__: list[str] = []

_ASKING_FOR_SHAPE = frozenset(
    {"Shape", "Size", "Rank", "TensorListElementShape", "TensorListLength"}
)
"""Small ops about big values: it is cheaper to keep their result than the value."""


@gradient("StatelessWhile")
@gradient("While")
def _while_gradient(op: Any, *grads: Any) -> list[Any]:
    node = output_node(op)
    condition, body = node.attributes["cond"].graph, node.attributes["body"].graph
    condition_name = node.attributes["cond"].name
    name = gradient_name(body.name)
    outputs_before = len(body.outputs)
    original = node.attributes["_num_original_outputs"]
    wanted = _wanted_gradients(op, node, body, grads[:original])
    triples = [
        each for each in zip(body.outputs, body.inputs, wanted, strict=False) if each[2] is not None
    ]

    counter = constant(0, node.outputs[0].dtype, name="grad_counter")
    arguments = [counter, node.inputs[1], node.outputs[0], *(grad for _, _, grad in triples)]
    graph = LoopGradientGraph(name, node, condition, body)
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in arguments]
    trace(graph, lambda *values: _iteration(values, triples, body), specs)
    copy_handle_data(arguments, graph.inputs)
    graph.finish()

    if graph.new_inputs:
        _rewrite(node, condition, body, graph.new_inputs, outputs_before)
    node.attributes["_num_original_outputs"] = len(node.outputs)
    inputs = [*arguments, *(_outside(tensor, body, node) for tensor in graph.external_captures)]
    if op is node:  # no tape kept the node as it was
        condition_name = node.attributes["cond"].name
    backward = _backward_condition(gradient_name(condition_name), inputs)
    results_ = build_while(
        inputs,
        backward,
        graph,
        [tensor.shape for tensor in graph.outputs],
        node.attributes["parallel_iterations"],
        f"{node.name}_grad",
        len(graph.outputs),
    )
    found = iter([arrays.identity(result) for result in results_][3:])
    return [None if grad is None else next(found) for grad in wanted] + [None] * (
        len(node.inputs) - len(wanted)
    )


def _wanted_gradients(op: Any, node: Node, body: FuncGraph, grads: Sequence[Any]) -> list[Any]:
    """The gradients of the outputs of the loop; None for what no gradient flows through."""
    wanted = [
        _prepared(grad, inner, before, after)
        for grad, inner, before, after in zip(
            grads, body.outputs, node.inputs, node.outputs, strict=False
        )
    ]
    skipped = getattr(op, "skip_input_indices", None) or ()
    first_capture = len(body.inputs) - len(body.internal_captures)
    for index in skipped:
        if first_capture <= index < len(wanted):
            wanted[index] = None
    return wanted


def _prepared(grad: Any, inner: SymbolicTensor, before: Tensor, after: Tensor) -> Any:
    if not _trainable(inner):
        return None
    if grad is None and after.dtype.name in {"resource", "variant"} and _has_zeros(before):
        return zeros_of_variable(after, before) if after.dtype is resource else zeros_like(after)
    return dense(grad) if isinstance(grad, IndexedSlices) else grad


def _trainable(tensor: SymbolicTensor) -> bool:
    if not tape.differentiable(tensor):
        return False
    if tensor.op.type == "TensorListPopBack" and tensor.value_index == 0:
        return tape.trainable(tensor.op.attributes["element_dtype"])
    return True


def _has_zeros(tensor: Tensor) -> bool:
    return tensor.dtype.name != "resource" or tensor.handle_data is not None


def _iteration(values: Sequence[Tensor], triples: Sequence[Any], body: FuncGraph) -> list[Any]:
    """One iteration backwards: the gradients of an iteration's inputs from those of its outputs."""
    counter, limit, total, *grads = values
    found = gradients_of(
        [output for output, _, _ in triples],
        [source for _, source, _ in triples],
        grads,
        source=body,
        zeros=True,
    )
    # NB: TensorFlow keeps the slices of a gather's gradient as three loop variables; here they
    # become a plain tensor.
    plain = [dense(grad) if isinstance(grad, IndexedSlices) else grad for grad in found]
    return [counter + 1, limit, total, *plain]


def _backward_condition(name: str, inputs: Sequence[Tensor]) -> FuncGraph:
    graph = BranchGraph(name)
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]
    return trace(graph, lambda counter, limit, total, *_: counter < total, specs)  # noqa: ARG005


def _rewrite(
    node: Node,
    condition: FuncGraph,
    body: FuncGraph,
    new_inputs: Sequence[Any],
    outputs_before: int,
) -> None:
    """The forward loop with the lists as further variables."""
    condition.name += "_rewritten"
    body.name += "_rewritten"
    node.attributes["cond"], node.attributes["body"] = as_function(condition), as_function(body)
    node.attributes["T"] = tuple(tensor.dtype for tensor in body.outputs)
    shapes = [
        *node.attributes["output_shapes"],
        *(tensor.shape for tensor in body.outputs[outputs_before:]),
    ]
    node.attributes["output_shapes"] = tuple(shapes)
    node.inputs = (*node.inputs, *new_inputs)
    extend_outputs(node, body.outputs)


def _outside(tensor: Tensor, body: FuncGraph, node: Node) -> Tensor:
    """A list that the body makes is an output of the loop."""
    if isinstance(tensor, SymbolicTensor) and tensor.graph is body:
        for inner, outer in zip(body.outputs, node.outputs, strict=True):
            if inner is tensor:
                return outer
        raise ValueError(f"{tensor} is not an output of the loop {node.name}")
    return tensor


class LoopGradientGraph(BranchGraph):
    """The gradient of an iteration: what it needs from within the iteration it pops from a list."""

    is_while_body = True

    def __init__(self, name: str, node: Node, condition: FuncGraph, body: FuncGraph) -> None:
        super().__init__(name)
        self.node, self.condition, self.forward = node, condition, body
        self.new_inputs: list[Tensor] = []
        """The empty lists with which the forward loop begins."""
        self._known: dict[int, SymbolicTensor] = {}
        self._given_back: dict[int, SymbolicTensor] = {}
        self._moved: dict[Any, Any] = {}

    def finish(self) -> None:
        """What is captured is a variable of this loop too: a list without what was popped, all else
        as it is.
        """
        for internal in self.internal_captures:
            self.outputs.append(self._given_back[internal.uid])

    def create_operation(
        self,
        definition: OpDef,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        name: str | None,
    ) -> Node:
        """Lets the forward loop ask for shapes, rather than keep the value to ask here."""
        if self.asks_elsewhere(definition.type, inputs):
            return self._in_forward(definition, inputs, attributes, name)
        return super().create_operation(definition, inputs, attributes, name)

    def asks_elsewhere(self, type: str, inputs: Sequence[Tensor]) -> bool:
        """Is it about the shape of values of an iteration of the forward loop?"""
        return type in _ASKING_FOR_SHAPE and all(self._is_within(tensor) for tensor in inputs)

    def _is_within(self, tensor: Tensor) -> bool:
        return (
            isinstance(tensor, SymbolicTensor)
            and tensor.graph is self.forward
            and accumulator(tensor, self.forward) is None
        )

    def _in_forward(
        self,
        definition: OpDef,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        name: str | None,
    ) -> Node:
        asked = (definition.type, tuple(tensor.uid for tensor in inputs))
        key = (*asked, name, tuple(attributes.items()))
        moved: dict[Any, Node] = self.forward.__dict__.setdefault("moved_nodes", {})
        if key not in moved:
            with context.enter(self.forward):
                full = name.rstrip("/") if name else None
                moved[key] = self.forward.create_operation(definition, inputs, attributes, full)
        return moved[key]

    def capture(self, tensor: Tensor, name: str | None = None) -> SymbolicTensor:
        """What stands for this tensor here."""
        if isinstance(tensor, SymbolicTensor) and tensor.graph is self:
            return tensor
        if tensor.uid in self._known:
            return self._known[tensor.uid]
        captured = super().capture(tensor, name)
        if not (isinstance(tensor, SymbolicTensor) and tensor.graph is self.forward):
            self._given_back.setdefault(captured.uid, captured)
            self._known[tensor.uid] = captured
        return captured

    def capture_symbolic(self, tensor: Tensor, name: str) -> SymbolicTensor:
        """A value of an iteration as what is popped from its list; constants are copied, what never
        changes is taken once.
        """
        if not isinstance(tensor, SymbolicTensor) or tensor.graph is not self.forward:
            return super().capture_symbolic(tensor, name)
        while tensor.op.type == "Identity":  # the list of the value itself will do
            tensor = tensor.op.inputs[0]
        if tensor.uid not in self._known:
            self._known[tensor.uid] = self._from_within(tensor, name)
        return self._known[tensor.uid]

    def _from_within(self, tensor: SymbolicTensor, name: str) -> SymbolicTensor:
        if any(tensor is each for each in self.forward.inputs) and any(
            tensor is each for each in self.forward.outputs
        ):
            captured = super().capture_symbolic(tensor, name)
            self._given_back[captured.uid] = captured
            return captured
        if tensor.op.type == "Const":
            with context.enter(self):
                return constant(constant_value(tensor), tensor.dtype)  # type: ignore[return-value]
        if tensor.dtype.name == "resource":
            return self.capture(self.node.inputs[resource_input(tensor, self.forward)])
        kept = accumulator(tensor, self.forward)
        if kept is None:
            kept = self._new_list(tensor)
        captured = super().capture_symbolic(kept, name)
        with context.enter(self):
            popped = results("TensorListPopBack", captured, -1, element_dtype=tensor.dtype)
        self._given_back[captured.uid] = popped.output_handle
        value: SymbolicTensor = popped.tensor
        value.handle_data = tensor.handle_data
        return value

    def _new_list(self, tensor: SymbolicTensor) -> SymbolicTensor:
        """The forward loop gets a list more, to which its body pushes that value."""
        outer: Any = self.forward.outer
        with context.enter(outer), outer.control_dependencies(None):
            name = f"{tensor.name}/accumulator".replace(":", "_")
            empty = empty_list(tensor.shape, tensor.dtype, self.node.inputs[1], name)
        self.new_inputs.append(empty)
        with context.enter(self.forward):
            pushed: SymbolicTensor = call("TensorListPushBack", empty, tensor)  # type: ignore[assignment]
        self.forward.outputs.append(pushed)
        with context.enter(self.condition):
            self.condition.capture(empty)
        return pushed


def accumulator(tensor: SymbolicTensor, graph: FuncGraph) -> SymbolicTensor | None:
    """The list to which the body pushes this value in each iteration, if it does."""
    for consumer in tensor.consumers():
        if consumer.type != "TensorListPushBack":
            continue
        pushed = consumer.outputs[0]
        for source, output in zip(graph.inputs, graph.outputs, strict=False):
            if source is consumer.inputs[0] and (
                output is pushed or _is_identity_of(output, pushed)
            ):
                return output
    return None


def _is_identity_of(tensor: SymbolicTensor, other: SymbolicTensor) -> bool:
    return tensor.op.type == "Identity" and tensor.op.inputs[0] is other
