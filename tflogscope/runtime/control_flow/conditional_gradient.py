"""The gradient of If and Case: a conditional with the gradients of the branches as branches.

The gradient of a branch needs values from within the branch. They become outputs of it, wrapped as
optionals, since the other branch does not have them; the conditional of the forward pass is
rewritten to give them. Told about: `_IfGrad`, `_CaseGrad` and `_CondGradFuncGraph` of
`python/ops/cond_v2.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tflogscope.runtime import context, nest, tape
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.control_flow import optionals  # noqa: F401 - registers OptionalFromValue, …
from tflogscope.runtime.control_flow.branches import (
    BranchGraph,
    as_function,
    gradient_name,
    output_node,
)
from tflogscope.runtime.control_flow.case import build_case
from tflogscope.runtime.control_flow.cond import build_cond, output_shapes
from tflogscope.runtime.control_flow.rewritten import extend_outputs, resource_input
from tflogscope.runtime.control_flow.structures import copy_handle_data
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.tracing import trace
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.gradients.backprop import zeros_like
from tflogscope.runtime.gradients.symbolic import gradients_of
from tflogscope.runtime.graph import Node
from tflogscope.runtime.indexed_slices import IndexedSlices, dense
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.tensors import SymbolicTensor, Tensor

__all__: list[str] = []


class BranchGradientGraph(BranchGraph):
    """The gradient of a branch: what it needs from within the branch it takes as an optional."""

    def __init__(self, name: str, forward: FuncGraph) -> None:
        super().__init__(name)
        self.forward = forward
        self.optionals: dict[int, SymbolicTensor] = {}
        """For each value from within the branch the optional that holds it, in the branch's graph.
        """
        self.needs_rewrite = False
        self._unwrapped: dict[int, SymbolicTensor] = {}

    def capture_symbolic(self, tensor: Tensor, name: str) -> SymbolicTensor:
        """A value of the branch as what is in its optional; constants are copied."""
        if (
            not isinstance(tensor, SymbolicTensor)
            or tensor.graph is not self.forward
            or self._is_passed(tensor)
        ):
            return super().capture_symbolic(tensor, name)
        if tensor.uid not in self._unwrapped:
            self._unwrapped[tensor.uid] = self._from_within(tensor, name)
        return self._unwrapped[tensor.uid]

    def _is_passed(self, tensor: SymbolicTensor) -> bool:
        """Is it an input or output of the branch anyway?"""
        return any(tensor is other for other in (*self.forward.inputs, *self.forward.outputs))

    def _from_within(self, tensor: SymbolicTensor, name: str) -> SymbolicTensor:
        if tensor.op.type == "Const":
            with context.enter(self):
                return constant(constant_value(tensor), tensor.dtype)  # type: ignore[return-value]
        if tensor.dtype.name == "resource":
            index = resource_input(tensor, self.forward)
            return super().capture_symbolic(self.forward.inputs[index], name)
        optional = self._optional(tensor)
        captured = super().capture_symbolic(optional, name)
        with context.enter(self):
            shapes, types = (tensor.shape,), (tensor.dtype,)
            value: SymbolicTensor = results(
                "OptionalGetValue", captured, output_types=types, output_shapes=shapes
            )[0]
        value.handle_data = tensor.handle_data
        return value

    def _optional(self, tensor: SymbolicTensor) -> SymbolicTensor:
        if tensor.uid not in self.optionals:
            for node in tensor.consumers():  # from a gradient taken before
                if node.type == "OptionalFromValue" and self._is_passed(node.outputs[0]):
                    self.optionals[tensor.uid] = node.outputs[0]
                    return node.outputs[0]
            with context.enter(self.forward):
                self.optionals[tensor.uid] = call("OptionalFromValue", [tensor])  # type: ignore[assignment]
            self.needs_rewrite = True
        return self.optionals[tensor.uid]


@gradient("StatelessIf")
@gradient("If")
def _if_gradient(op: Any, *grads: Any) -> list[Any]:
    node = output_node(op)
    branches = _branches(node, [node.attributes["then_branch"], node.attributes["else_branch"]])
    graphs = _gradient_graphs(branches, grads)
    if any(graph.needs_rewrite for graph in graphs):
        _add_optionals(branches, graphs)
        node.attributes["then_branch"], node.attributes["else_branch"] = _rewritten(node, branches)
    inputs = [_inputs(branch, graph, node) for branch, graph in zip(branches, graphs, strict=True)]
    return [None, *build_cond(node.inputs[0], graphs, inputs)]


@gradient("StatelessCase")
@gradient("Case")
def _case_gradient(op: Any, *grads: Any) -> list[Any]:
    node = output_node(op)
    branches = _branches(node, node.attributes["branches"])
    graphs = _gradient_graphs(branches, grads)
    if any(graph.needs_rewrite for graph in graphs):
        _add_optionals(branches, graphs)
        node.attributes["branches"] = tuple(_rewritten(node, branches))
    inputs = [_inputs(branch, graph, node) for branch, graph in zip(branches, graphs, strict=True)]
    return [None, *build_case(node.inputs[0], graphs, inputs, "gradient")]


def _branches(node: Node, functions: Sequence[Any]) -> list[FuncGraph]:
    """The graphs of the branches, their inputs those of the node as it is now."""
    graphs = [function.graph for function in functions]
    for graph in graphs:
        copy_handle_data(node.inputs[1:], graph.inputs)
        graph.reset_captures(list(zip(node.inputs[1:], graph.inputs, strict=True)))
    return graphs


def _gradient_graphs(
    branches: Sequence[FuncGraph], grads: Sequence[Any]
) -> list[BranchGradientGraph]:
    graphs = []
    for branch in branches:
        graph = BranchGradientGraph(gradient_name(branch.name), branch)
        trace(graph, partial(_branch_gradient, branch, grads))
        graphs.append(graph)
    _agree(branches, graphs)
    return graphs


def _branch_gradient(branch: FuncGraph, grads: Sequence[Any]) -> list[Any]:
    pairs = [
        (output, grad)
        for output, grad in zip(branch.outputs, grads, strict=False)
        if tape.differentiable(output)
    ]
    found = gradients_of(
        [output for output, _ in pairs], branch.inputs, [grad for _, grad in pairs], source=branch
    )
    # NB: TensorFlow lets slices (of a gather) out of a branch if both give such; here they become a
    # plain tensor.
    return [dense(grad) if isinstance(grad, IndexedSlices) else grad for grad in found]


def _agree(branches: Sequence[FuncGraph], graphs: Sequence[BranchGradientGraph]) -> None:
    """Where one branch has a gradient and another has none, that is zeros."""
    structures = [graph.structured_outputs for graph in graphs]
    for at in range(len(structures[0])):
        if any(grads[at] is not None for grads in structures):
            for branch, graph, grads in zip(branches, graphs, structures, strict=True):
                if grads[at] is None:
                    with context.enter(graph):
                        grads[at] = zeros_like(branch.inputs[at])
    for graph in graphs:
        graph.outputs = [
            grad for grad in nest.flatten(graph.structured_outputs) if grad is not None
        ]


def _add_optionals(branches: Sequence[FuncGraph], graphs: Sequence[BranchGradientGraph]) -> None:
    """Each branch gives the optionals that its gradient needs; they share outputs, and one with
    fewer gives empty ones.
    """
    count = max(len(graph.optionals) for graph in graphs)
    for branch, graph in zip(branches, graphs, strict=True):
        own = list(graph.optionals.values())
        with context.enter(branch):
            own += [call("OptionalNone") for _ in range(count - len(own))]  # type: ignore[misc]
        branch.outputs += own


def _rewritten(node: Node, branches: Sequence[FuncGraph]) -> list[Any]:
    """Functions of the branches as they are now; the node gets the outputs that they have more."""
    for branch in branches:
        branch.name += "_rewritten"
    node.attributes["Tout"] = tuple(tensor.dtype for tensor in branches[0].outputs)
    node.attributes["output_shapes"] = output_shapes(branches)
    extend_outputs(node, branches[0].outputs)
    return [as_function(branch) for branch in branches]


def _inputs(branch: FuncGraph, graph: BranchGradientGraph, node: Node) -> list[Tensor]:
    """What the gradient of the branch takes, as tensors of the graph where the node is."""
    return [_outside(tensor, branch, node) for tensor in graph.external_captures]


def _outside(tensor: Tensor, branch: FuncGraph, node: Node) -> Tensor:
    if not isinstance(tensor, SymbolicTensor) or tensor.graph is not branch:
        return tensor
    for inner, outer in (
        *zip(branch.outputs, node.outputs, strict=True),
        *zip(branch.inputs, node.inputs[1:], strict=True),
    ):
        if inner is tensor:
            return outer
    raise ValueError(f"{tensor} is neither an input nor an output of the branch {branch}")
