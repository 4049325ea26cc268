"""`tf.while_loop`: condition and body are traced into functions. Its gradient is a loop that goes
back: what it needs of the forward loop is pushed on lists there, and popped here. See
`tensorflow/python/ops/while_v2.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.core import context, nest, tape
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import int32, resource
from tflogscope.runtime.core.graph import Node
from tflogscope.runtime.core.registry import OpDef, set_gradient
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import SymbolicTensor, Tensor, TensorSpec, uid
from tflogscope.runtime.function.backprop import gradients_of, zeros_like
from tflogscope.runtime.function.branches import (
    BackwardGraph,
    BranchGraph,
    captured_inputs,
    copy_handle_data,
    function_name,
    has_effects,
    outside,
    read_only,
    through_function,
    trace_branch,
)
from tflogscope.runtime.function.concrete import GraphFunction
from tflogscope.runtime.function.func_graph import (
    FuncGraph,
    extend_outputs,
    packed,
    placeholder,
    trace,
)
from tflogscope.runtime.function.trace_types import tensors_of
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import dense
from tflogscope.runtime.ops.lists import shape_input


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """The loop variables once `cond(*loop_vars)` no longer holds. Raises ValueError if the body
    changes their shapes or types.
    """
    del swap_memory
    if context.executing_eagerly():
        return _eagerly(cond, body, loop_vars, maximum_iterations)
    loop_vars = nest.map_structure(_as_tensor, loop_vars)
    flat = tensors_of(loop_vars)
    shapes = [tensor.shape for tensor in flat]
    if shape_invariants is not None:
        shapes = [TensorShape(each) for each in nest.flatten(shape_invariants)]
    with context.name_scope(name or "while") as scope:
        names = [function_name(scope, part) for part in ("cond", "body")]
        limited = maximum_iterations is not None
        limit = convert_to_tensor(
            maximum_iterations if limited else -1, int32, "maximum_iterations"
        )
        counter = constant(0, limit.dtype if limited else None, name="loop_counter")
        specs = [TensorSpec.from_tensor(each) for each in (counter, limit)]
        specs += [TensorSpec(s, t.dtype) for s, t in zip(shapes, flat, strict=True)]
        condition, inner = BranchGraph(names[0]), BranchGraph(names[1])
        inner.is_while_body = True

        def test(counter: Any, limit: Any, *values: Any) -> Any:
            held = cond(*packed(loop_vars, values))
            if isinstance(held, Tensor) and held.shape.rank != 0:
                held = arrays.squeeze(held)
            return O.LogicalAnd(counter < limit, held) if limited else held

        def step(counter: Any, limit: Any, *values: Any) -> list[Any]:
            copy_handle_data(flat, values)
            for tensor in condition.external_captures:
                inner.capture(tensor)
            results = body(*packed(loop_vars, values))
            results = results if nest.is_nested(results) else [results]
            nest.assert_same_structure(results, loop_vars, check_types=False)
            return [counter + 1, limit, *tensors_of(nest.map_structure(_as_tensor, results))]

        trace_branch(condition, test, specs)
        trace_branch(inner, step, specs)
        captured = inner.external_captures
        inner.outputs += inner.internal_captures
        for at, tensor in enumerate(captured[len(condition.external_captures) :]):
            label = f"{condition.name}___redundant_placeholder{at}"
            condition.add_capture(tensor, placeholder(condition, tensor.dtype, UNKNOWN, label))
        inputs = [counter, limit, *flat, *captured]
        _check(inner, shapes)
        given = [tensor.shape for tensor in inner.outputs]
        given[2 : 2 + len(flat)] = shapes
        outputs = _build(inputs, condition, inner, given, parallel_iterations, scope)
    results = outputs[2 : 2 + len(flat)]
    return packed(loop_vars, results)


def _as_tensor(value: Any) -> Any:
    return value if hasattr(value, "composite") else convert_to_tensor(value)


def _eagerly(cond: Any, body: Any, loop_vars: Any, limit: Any) -> Any:
    left = None if limit is None else int(convert_to_tensor(limit))
    while left != 0 and cond(*loop_vars):
        loop_vars = body(*loop_vars)
        loop_vars = loop_vars if isinstance(loop_vars, (list, tuple)) else [loop_vars]
        left = None if left is None else left - 1
    return nest.map_structure(_as_tensor, loop_vars)


def _check(body: FuncGraph, shapes: Sequence[TensorShape]) -> None:
    for inner, result, shape in zip(body.inputs[2:], body.outputs[2:], shapes, strict=False):
        if inner.dtype is not result.dtype or not result.shape.is_subtype_of(shape):
            raise ValueError(
                f"A loop variable of {inner.dtype} and shape {shape} is of {result.dtype} and shape "
                f"{result.shape} after one iteration. `shape_invariants` allow other shapes."
            )


def _build(
    inputs: Any, condition: Any, body: Any, shapes: Any, parallel_iterations: int, name: str
) -> list[Any]:
    """The node of the loop; its outputs."""
    type_ = "While" if has_effects(condition, body) else "StatelessWhile"

    def make(tensors: Any) -> list[Any]:
        attributes = {
            "T": tuple(tensor.dtype for tensor in tensors),
            "cond": GraphFunction(condition.name, condition).definition,
            "body": GraphFunction(body.name, body).definition,
            "output_shapes": tuple(shapes),
            "parallel_iterations": parallel_iterations,
            "_lower_using_switch_merge": True,
            "_num_original_outputs": len(body.outputs),
            **read_only([condition, body], 0),
        }
        with context.name_scope(name) as scope:
            outputs = context.execute(type_, captured_inputs(tensors), attributes, scope)
        copy_handle_data(body.outputs, outputs)
        condition.outer = body.outer = context.current()
        return outputs

    return through_function(make, inputs)


# -- the gradient


@set_gradient("While", "StatelessWhile")
def _gradient(op: Any, *grads: Any) -> list[Any]:
    node: Node = op.outputs[0].op
    condition, body = (node.attributes[each].attributes["_graph"] for each in ("cond", "body"))
    before, original = len(body.outputs), node.attributes["_num_original_outputs"]
    wanted = [
        _prepared(grad, inner, after)
        for grad, inner, after in zip(grads[:original], body.outputs, node.outputs, strict=False)
    ]
    first_capture = len(body.inputs) - len(body.internal_captures)
    for index in getattr(op, "skip_input_indices", None) or ():
        if first_capture <= index < len(wanted):
            wanted[index] = None
    parts = zip(body.outputs, body.inputs, wanted, strict=False)
    triples = [each for each in parts if each[2] is not None]
    counter = constant(0, node.outputs[0].dtype, name="grad_counter")
    arguments = [counter, node.inputs[1], node.outputs[0], *(grad for _, _, grad in triples)]
    graph = _GradientGraph(f"{body.name}_grad_{uid()}", node, condition, body)

    def step(counter: Any, limit: Any, total: Any, *given: Any) -> list[Any]:
        targets, sources = ([each[k] for each in triples] for k in (0, 1))
        pairs = zip(gradients_of(body, targets, sources, given), sources, strict=True)
        found = [zeros_like(each) if grad is None else dense(grad) for grad, each in pairs]
        return [counter + 1, limit, total, *found]

    trace(graph, step, [TensorSpec(each.shape, each.dtype) for each in arguments])
    copy_handle_data(arguments, graph.inputs)
    graph.finish()
    if graph.new_inputs:
        _rewrite(node, condition, body, graph.new_inputs, before)
    node.attributes["_num_original_outputs"] = len(node.outputs)
    inputs = [*arguments, *(outside(each, body, node) for each in graph.external_captures)]
    back = BranchGraph(f"{condition.name}_grad_{uid()}")
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]
    trace(back, lambda counter, limit, total, *_: counter < total, specs)
    shapes = [tensor.shape for tensor in graph.outputs]
    parallel = node.attributes["parallel_iterations"]
    outputs = _build(inputs, back, graph, shapes, parallel, f"{node.name}_grad")
    found = iter([arrays.identity(output) for output in outputs][3:])
    rest = [None] * (len(node.inputs) - len(wanted))
    return [None if grad is None else next(found) for grad in wanted] + rest


def _prepared(grad: Any, inner: Any, after: Any) -> Any:
    """The gradient with which one variable begins its way back; None if it has none."""
    popped = inner.op.type == "TensorListPopBack" and inner.value_index == 0
    if popped and not tape.trainable(inner.op.attributes["element_dtype"]):
        return None
    if not tape.differentiable(inner):
        return None
    known = after.dtype is not resource or after.handle_data is not None
    if grad is None and not after.dtype.is_array and known:
        return zeros_like(after)
    return None if grad is None else dense(grad)


def _rewrite(node: Node, condition: Any, body: Any, new_inputs: Any, before: int) -> None:
    """The forward loop gives the lists, too."""
    for graph, label in ((condition, "cond"), (body, "body")):
        graph.name += "_rewritten"
        node.attributes[label] = GraphFunction(graph.name, graph).definition
    node.attributes["T"] = tuple(tensor.dtype for tensor in body.outputs)
    added = tuple(tensor.shape for tensor in body.outputs[before:])
    node.attributes["output_shapes"] = (*node.attributes["output_shapes"], *added)
    node.inputs = (*node.inputs, *new_inputs)
    extend_outputs(node, body.outputs)


_ASKING_FOR_SHAPE = frozenset("Shape Size Rank TensorListElementShape TensorListLength".split())


class _GradientGraph(BackwardGraph):
    """The body of the loop that goes back."""

    is_while_body = True

    def __init__(self, name: str, node: Node, condition: FuncGraph, body: FuncGraph) -> None:
        super().__init__(name, body)
        self.node, self.condition = node, condition
        self.new_inputs: list[Any] = []
        self._given_back: dict[int, Any] = {}

    def finish(self) -> None:
        """What was captured goes round, as it is or with an element popped."""
        self.outputs += [self._given_back[internal.uid] for internal in self.internal_captures]

    def create_operation(self, definition: OpDef, inputs: Any, attributes: Any, name: Any) -> Node:
        """A node; one that asks for the shape of a forward value is made there, since the shape needs
        less room than the value.
        """
        if not self.asks_elsewhere(definition.type, inputs):
            return super().create_operation(definition, inputs, attributes, name)
        key = (definition.type, tuple(t.uid for t in inputs), name, tuple(attributes.items()))
        moved: dict[Any, Node] = self.forward.__dict__.setdefault("moved_nodes", {})
        if key not in moved:
            with context.enter(self.forward):
                given = definition, inputs, attributes, name and name.rstrip("/")
                moved[key] = self.forward.create_operation(*given)
        return moved[key]

    def asks_elsewhere(self, type: str, inputs: Sequence[Any]) -> bool:
        """Is it about values of the forward body?"""
        return type in _ASKING_FOR_SHAPE and all(
            isinstance(each, SymbolicTensor)
            and each.op.graph is self.forward
            and _accumulator(each, self.forward) is None
            for each in inputs
        )

    def capture(self, tensor: Any, name: str | None = None) -> SymbolicTensor:
        captured = super().capture(tensor, name)
        if captured is not tensor and getattr(tensor, "graph", None) is not self.forward:
            self._given_back.setdefault(captured.uid, captured)
        return captured

    def from_within(self, tensor: SymbolicTensor, name: str) -> Any:
        both = (self.forward.inputs, self.forward.outputs)
        if all(any(tensor is each for each in side) for side in both):  # it never changes
            captured = self.capture_outside(tensor, name)
            self._given_back[captured.uid] = captured
            return captured
        if tensor.dtype is resource:
            at = next(k for k, each in enumerate(self.forward.inputs) if each is tensor)
            return self.capture(self.node.inputs[at])
        kept = _accumulator(tensor, self.forward)
        captured = self.capture_outside(self._new_list(tensor) if kept is None else kept, name)
        with context.enter(self):
            rest, value = O.TensorListPopBack(captured, -1, element_dtype=tensor.dtype)
        self._given_back[captured.uid] = rest
        value.handle_data = tensor.handle_data
        return value

    def _new_list(self, tensor: SymbolicTensor) -> Any:
        """A list that the forward loop pushes the value on."""
        outer, label = self.forward.outer, f"{tensor.name}/accumulator".replace(":", "_")
        with context.enter(outer), outer.control_dependencies(None):
            given = shape_input(tensor.shape), self.node.inputs[1]
            empty = O.EmptyTensorList(*given, element_dtype=tensor.dtype, name=label)
        self.new_inputs.append(empty)
        with context.enter(self.forward):
            pushed = O.TensorListPushBack(empty, tensor)
        self.forward.outputs.append(pushed)
        with context.enter(self.condition):
            self.condition.capture(empty)
        return pushed


def _accumulator(tensor: SymbolicTensor, graph: FuncGraph) -> Any:
    """The list that the value is pushed on already."""
    for consumer in tensor.consumers():
        if consumer.type == "TensorListPushBack":
            pushed = consumer.outputs[0]
            for source, output in zip(graph.inputs, graph.outputs, strict=False):
                through = output.op.type == "Identity" and output.op.inputs[0] is pushed
                if source is consumer.inputs[0] and (output is pushed or through):
                    return output
    return None
