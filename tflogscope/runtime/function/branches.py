"""`tf.cond`: each branch is traced into a function of its own; the gradient is another conditional. See `tensorflow/python/ops/cond_v2.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.core import context, nest, tape
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.graph import Node
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import set_gradient
from tflogscope.runtime.core.tensors import EagerTensor, HandleData, SymbolicTensor, TensorSpec, uid
from tflogscope.runtime.function.backprop import gradients_of, zeros_like
from tflogscope.runtime.function.concrete import ConcreteFunction, GraphFunction
from tflogscope.runtime.function.func_graph import (
    READ_ONLY,
    FuncGraph,
    extend_outputs,
    packed,
    placeholder,
    read_only_inputs,
    trace,
)
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import dense

Function = Callable[[], Any]
_WRAPPER = "cflow_gradient_wrapper"


class BranchGraph(FuncGraph):
    """The graph of a branch, or of a loop's condition or body."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        with context.init_scope():
            outside_is_eager = context.executing_eagerly()
        if outside_is_eager:
            self.scope_name = context.current_scope()


class BackwardGraph(BranchGraph):
    """The graph of the gradient of `forward`, whose values it can't capture as they are."""

    def __init__(self, name: str, forward: FuncGraph) -> None:
        super().__init__(name)
        self.forward = forward
        self._known: dict[int, Any] = {}

    def capture_symbolic(self, tensor: Any, name: str) -> SymbolicTensor:
        if getattr(tensor, "graph", None) is not self.forward:
            return super().capture_symbolic(tensor, name)
        if tensor.op.type == "Identity" and self.is_while_body:
            return self.capture_symbolic(tensor.op.inputs[0], name)
        if tensor.uid not in self._known and tensor.op.type == "Const":
            with context.enter(self):
                self._known[tensor.uid] = constant(known_value(tensor), tensor.dtype)
        elif tensor.uid not in self._known:
            self._known[tensor.uid] = self.from_within(tensor, name)
        found: SymbolicTensor = self._known[tensor.uid]
        return found

    def capture_outside(self, tensor: Any, name: str) -> SymbolicTensor:
        """A tensor that is known outside of `forward`, too."""
        return super().capture_symbolic(tensor, name)

    def from_within(self, tensor: SymbolicTensor, name: str) -> Any:
        """What a value of `forward` is here."""
        raise NotImplementedError


def trace_branch(
    graph: FuncGraph, function: Callable[..., Any], args: Any = (), **options: Any
) -> Any:
    """Trace a branch; side effects are ordered in it if they are around it."""
    orders = getattr(context.current(), "orders_effects", False)
    return trace(graph, function, args, orders_effects=orders, **options)


def function_name(scope: str, part: str) -> str:
    return f"{scope}{part}_{uid()}".replace("/", "_")


def has_effects(*graphs: FuncGraph) -> bool:
    """Does one of them do more than compute?"""
    return any(node.definition.stateful for graph in graphs for node in graph.nodes)


def through_function(make: Callable[[Any], list[Any]], inputs: Sequence[Any]) -> list[Any]:
    """Call `make` with the inputs, within a function if a higher-order gradient may be wanted."""
    name = getattr(context.current(), "name", "")
    if tape.could_record(inputs) == 2 and _WRAPPER not in name:

        def wrapped(tensors: Any) -> list[Any]:
            copy_handle_data(inputs, tensors)
            return make(tensors)

        graph = FuncGraph(_WRAPPER)
        trace(graph, wrapped, [[TensorSpec.from_tensor(each) for each in inputs]])
        return list(ConcreteFunction(graph).call_flat(inputs))
    return make(inputs)


def captured_inputs(tensors: Sequence[Any]) -> list[Any]:
    """Eager tensors as captured by the current graph."""
    graph = context.current()
    return [
        graph.capture(tensor, f"input_{at}") if isinstance(tensor, EagerTensor) else tensor
        for at, tensor in enumerate(tensors)
    ]


def read_only(graphs: Sequence[FuncGraph], first: int) -> dict[str, Any]:
    """Which resources none of them writes, as an attribute."""
    common = set.intersection(*(set(read_only_inputs(graph)) for graph in graphs))
    return {READ_ONLY: tuple(sorted(index + first for index in common))}


def copy_handle_data(sources: Any, targets: Any) -> None:
    """What a handle leads to is the same."""
    for source, target in zip(sources, targets, strict=False):
        target.handle_data = target.handle_data or source.handle_data


def cond(pred: Any, true_fn: Function, false_fn: Function, name: Any = None) -> Any:
    """`true_fn()` if `pred` holds, else `false_fn()`. Raises ValueError if they don't give alike."""
    if context.executing_eagerly():
        with context.name_scope(name or "cond"):
            return true_fn() if convert_to_tensor(pred) else false_fn()
    with context.name_scope(name or "cond") as scope:
        names = [function_name(scope, part) for part in ("true", "false")]
        index = convert_to_tensor(pred)
        index = index if index.shape.rank == 0 else arrays.squeeze(index)
        functions = zip(names, (true_fn, false_fn), strict=True)
        branches = [trace_branch(BranchGraph(n), f, op_return_value=index) for n, f in functions]
        return build(index, branches, [each.external_captures for each in branches], scope)


def switch_case(
    branch_index: Any, branch_fns: Sequence[Function], name: str = "switch_case"
) -> Any:
    """The branch of that number, the last one for any other.

    NB: a conditional in a conditional; TensorFlow has an op for it, `Case`.
    """
    first, *others = branch_fns
    if not others:
        return first()
    with context.name_scope(name):
        index = convert_to_tensor(branch_index, name="branch_index")
        return cond(O.Equal(index, 0), first, lambda: switch_case(index - 1, others, name))


# -- the op


def build(index: Any, branches: Any, captures: Any, name: Any = None) -> Any:
    """The node that takes one of the branches; `captures` are the inputs of each."""
    nest.assert_same_structure(branches[0].structured_outputs, branches[-1].structured_outputs)
    common = _common_inputs(branches, captures)
    type_ = "If" if has_effects(*branches) else "StatelessIf"

    def make(tensors: Any) -> list[Any]:
        functions = [GraphFunction(branch.name, branch).definition for branch in branches]
        attributes = {
            "Tin": tuple(tensor.dtype for tensor in tensors),
            "then_branch": functions[0],
            "else_branch": functions[1],
            "_lower_using_switch_merge": True,
            **read_only(branches, 1),
            **_outputs_of(branches),
        }
        with context.name_scope(name or type_) as scope:
            outputs = context.execute(type_, [index, *captured_inputs(tensors)], attributes, scope)
        for branch in branches:
            branch.outer = context.current()
        for output, *inner in zip(outputs, *(branch.outputs for branch in branches), strict=True):
            output.handle_data = _merged_data(*inner)
        return outputs

    outputs = [arrays.identity(output) for output in through_function(make, common)]
    return packed(branches[0].structured_outputs, outputs)


def _merged_data(one: Any, other: Any) -> HandleData | None:
    first, second = one.handle_data, other.handle_data
    if first is None or second is None:
        return None
    return HandleData(first.shape.most_specific_compatible_shape(second.shape), first.dtype)


def _outputs_of(branches: Sequence[FuncGraph]) -> dict[str, Any]:
    pairs = zip(branches[0].outputs, branches[1].outputs, strict=True)
    shapes = [one.shape.most_specific_compatible_shape(other.shape) for one, other in pairs]
    dtypes = tuple(tensor.dtype for tensor in branches[0].outputs)
    return {"Tout": dtypes, "output_shapes": tuple(shapes)}


def _common_inputs(branches: Sequence[FuncGraph], captures: Sequence[Sequence[Any]]) -> list[Any]:
    """Both branches take what one of them needs."""
    common = {tensor.uid: tensor for tensors in captures for tensor in tensors}
    for branch, tensors in zip(branches, captures, strict=True):
        own = {tensor.uid: inner for tensor, inner in zip(tensors, branch.inputs, strict=True)}
        pairs = [
            (t, own[key] if key in own else placeholder(branch, t.dtype, t.shape))
            for key, t in common.items()
        ]
        branch.reset_captures(pairs)
    return list(common.values())


# -- the gradient: a conditional of the branches' gradients. What they need of the forward branches
#    leaves those as optionals, since only one of them has run.


class _GradientGraph(BackwardGraph):
    def __init__(self, name: str, forward: FuncGraph) -> None:
        super().__init__(name, forward)
        self.optionals: dict[int, Any] = {}
        self.is_new = False

    def from_within(self, tensor: SymbolicTensor, name: str) -> Any:
        if self._is_passed(tensor):
            return self.capture_outside(tensor, name)
        captured = self.capture_outside(self._optional(tensor), name)
        with context.enter(self):
            options = {"output_types": (tensor.dtype,), "output_shapes": (tensor.shape,)}
            value = O.OptionalGetValue(captured, **options)[0]
        value.handle_data = tensor.handle_data
        return value

    def _is_passed(self, tensor: Any) -> bool:
        return any(tensor is other for other in (*self.forward.inputs, *self.forward.outputs))

    def _optional(self, tensor: SymbolicTensor) -> Any:
        made = [n.outputs[0] for n in tensor.consumers() if n.type == "OptionalFromValue"]
        before = [each for each in made if self._is_passed(each)]  # of a gradient taken before
        if not before:
            with context.enter(self.forward):
                before = [O.OptionalFromValue([tensor])]
            self.is_new = True
        self.optionals[tensor.uid] = before[0]
        return before[0]


@set_gradient("If", "StatelessIf")
def _gradient(op: Any, *grads: Any) -> list[Any]:
    node: Node = op.outputs[0].op
    names = "then_branch", "else_branch"
    branches: list[Any] = [node.attributes[name].attributes["_graph"] for name in names]
    graphs = []
    for branch in branches:
        copy_handle_data(node.inputs[1:], branch.inputs)
        branch.reset_captures(list(zip(node.inputs[1:], branch.inputs, strict=True)))
        graph = _GradientGraph(f"{branch.name}_grad_{uid()}", branch)
        trace(graph, lambda branch=branch: _branch_gradients(branch, grads))
        graphs.append(graph)
    _agree(branches, graphs)
    if any(graph.is_new for graph in graphs):
        _extend(node, names, branches, graphs)
    captures = [
        [outside(tensor, branch, node, node.inputs[1:]) for tensor in graph.external_captures]
        for branch, graph in zip(branches, graphs, strict=True)
    ]
    return [None, *build(node.inputs[0], graphs, captures)]


def _branch_gradients(branch: FuncGraph, grads: Sequence[Any]) -> list[Any]:
    pairs = zip(branch.outputs, grads, strict=False)
    wanted = [(output, grad) for output, grad in pairs if tape.differentiable(output)]
    targets, given = [output for output, _ in wanted], [grad for _, grad in wanted]
    found = gradients_of(branch, targets, branch.inputs, given)
    return [None if grad is None else dense(grad) for grad in found]


def _agree(branches: Sequence[FuncGraph], graphs: Sequence[Any]) -> None:
    """Zeros where only the other branch has a gradient."""
    structures = [graph.structured_outputs for graph in graphs]
    for at, (one, other) in enumerate(zip(*structures, strict=True)):
        for branch, graph, grads in zip(branches, graphs, structures, strict=True):
            if grads[at] is None and (one is not None or other is not None):
                with context.enter(graph):
                    grads[at] = zeros_like(branch.inputs[at])
    for graph in graphs:
        graph.outputs = [graph.capture(g) for g in graph.structured_outputs if g is not None]


def _extend(node: Node, names: Any, branches: Sequence[Any], graphs: Sequence[Any]) -> None:
    """The branches give the optionals, too, as many each."""
    count = max(len(graph.optionals) for graph in graphs)
    for name, branch, graph in zip(names, branches, graphs, strict=True):
        with context.enter(branch):
            none = [O.OptionalNone() for _ in range(count - len(graph.optionals))]
        branch.outputs += [*graph.optionals.values(), *none]
        branch.name += "_rewritten"
        node.attributes[name] = GraphFunction(branch.name, branch).definition
    node.attributes |= _outputs_of(branches)
    extend_outputs(node, branches[0].outputs)


def outside(tensor: Any, graph: FuncGraph, node: Node, inputs: Sequence[Any] = ()) -> Any:
    """What a tensor of the graph is outside the node that runs it."""
    pairs = *zip(graph.outputs, node.outputs, strict=True), *zip(graph.inputs, inputs, strict=False)
    return next((outer for inner, outer in pairs if inner is tensor), tensor)
