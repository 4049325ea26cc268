"""`tf.while_loop`: condition and body are traced into functions. Its gradient is a loop that goes
back: what it needs of the forward loop is pushed on lists there, and popped here. See
`tensorflow/python/ops/while_v2.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.core import context, nest, tape
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import int32
from tflogscope.runtime.core.graph import Node
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import OpDef, set_gradient
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import SymbolicTensor, TensorSpec
from tflogscope.runtime.function.backprop import gradients_of, zeros_like
from tflogscope.runtime.function.branches import (
    BranchGraph,
    copy_handle_data,
    execute_functions,
    outside,
)
from tflogscope.runtime.function.concrete import GraphFunction
from tflogscope.runtime.function.func_graph import (
    FuncGraph,
    extend_outputs,
    packed,
    placeholder,
    tensors_of,
    trace,
)
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import dense
from tflogscope.runtime.ops.lists import shape_input


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    parallel_iterations: int = 10,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """The loop variables once `cond(*loop_vars)` no longer holds. Raises ValueError if the body
    changes their shapes or types.
    """
    if context.executing_eagerly():
        return _eagerly(cond, body, loop_vars, maximum_iterations)
    loop_vars = nest.map_structure(_as_tensor, loop_vars)
    flat = tensors_of(loop_vars)
    with context.name_scope(name or "while") as scope:
        limited = maximum_iterations is not None
        most = maximum_iterations if limited else -1
        limit = convert_to_tensor(most, int32, "maximum_iterations")
        counter = constant(0, limit.dtype if limited else None, name="loop_counter")
        specs = [TensorSpec.from_tensor(each) for each in (counter, limit)]
        specs += [TensorSpec(tensor.shape, tensor.dtype) for tensor in flat]
        condition, inner = BranchGraph(f"{scope}cond"), BranchGraph(f"{scope}body")

        def test(counter: Any, limit: Any, *values: Any) -> Any:
            held = cond(*packed(loop_vars, values))
            return O.LogicalAnd(counter < limit, held) if limited else held

        def step(counter: Any, limit: Any, *values: Any) -> list[Any]:
            copy_handle_data(flat, values)
            for tensor in condition.external_captures:
                inner.capture(tensor)
            results = body(*packed(loop_vars, values))
            results = results if nest.is_nested(results) else [results]
            nest.assert_same_structure(results, loop_vars, check_types=False)
            return [counter + 1, limit, *tensors_of(nest.map_structure(_as_tensor, results))]

        orders = getattr(context.current(), "orders_effects", False)
        trace(condition, test, specs, orders_effects=orders)
        trace(inner, step, specs, orders_effects=orders)
        captured = inner.external_captures
        inner.outputs += inner.internal_captures
        for at, tensor in enumerate(captured[len(condition.external_captures) :]):
            label = f"{condition.name}___redundant_placeholder{at}"
            condition.add_capture(tensor, placeholder(condition, tensor.dtype, UNKNOWN, label))
        for given, result in zip(flat, inner.outputs[2:], strict=False):
            if given.dtype is not result.dtype or not result.shape.is_subtype_of(given.shape):
                raise ValueError(f"{given}, a loop variable, is {result} after one iteration")
        inputs = [counter, limit, *flat, *captured]
        shapes = [
            tensor.shape for tensor in (counter, limit, *flat, *inner.outputs[len(flat) + 2 :])
        ]
        outputs = _run(inputs, condition, inner, shapes, parallel_iterations, scope)
    return packed(loop_vars, outputs[2 : 2 + len(flat)])


def _as_tensor(value: Any) -> Any:
    return value if hasattr(value, "composite") else convert_to_tensor(value)


def _eagerly(cond: Any, body: Any, loop_vars: Any, limit: Any) -> Any:
    for _ in itertools.count() if limit is None else range(int(limit)):
        if not cond(*loop_vars):
            break
        loop_vars = body(*loop_vars)
        loop_vars = loop_vars if isinstance(loop_vars, (list, tuple)) else [loop_vars]
    return nest.map_structure(_as_tensor, loop_vars)


def _run(
    inputs: Any, condition: Any, body: Any, shapes: Any, parallel_iterations: int, name: str
) -> list[Any]:
    """The node of the loop; its outputs."""
    others: dict[str, Any] = {"T": tuple(tensor.dtype for tensor in inputs)}
    others |= {"output_shapes": tuple(shapes), "parallel_iterations": parallel_iterations}
    functions = {"cond": condition, "body": body}
    return execute_functions("While", name, functions, [], inputs, **others)


# -- the gradient


@set_gradient("While", "StatelessWhile")
def _gradient(op: Any, *grads: Any) -> list[Any]:
    node: Node = op.outputs[0].op
    condition, body = (node.attributes[each].attributes["_graph"] for each in ("cond", "body"))
    before = len(body.outputs)
    wanted: list[Any] = []  # the gradients with which the variables begin their way back
    for grad, inner, after in zip(grads, body.outputs, node.outputs, strict=False):
        if not tape.differentiable(inner):
            wanted.append(None)
        elif grad is None and not after.dtype.is_array and after.handle_data is not None:
            wanted.append(zeros_like(after))
        else:
            wanted.append(dense(grad))
    every = zip(body.outputs, body.inputs, wanted, strict=False)
    triples = [each for each in every if each[2] is not None]
    counter = constant(0, node.outputs[0].dtype, name="grad_counter")
    arguments = [counter, node.inputs[1], node.outputs[0], *(grad for _, _, grad in triples)]
    graph = _GradientGraph(f"{body.name}_grad", node, condition, body)

    def step(counter: Any, limit: Any, total: Any, *given: Any) -> list[Any]:
        targets, sources = ([each[k] for each in triples] for k in (0, 1))
        pairs = zip(gradients_of(body, targets, sources, given), sources, strict=True)
        found = [zeros_like(each) if grad is None else dense(grad) for grad, each in pairs]
        return [counter + 1, limit, total, *found]

    trace(graph, step, [TensorSpec(each.shape, each.dtype) for each in arguments])
    copy_handle_data(arguments, graph.inputs)
    graph.outputs += [graph.rest.get(each.uid, each) for each in graph.internal_captures]
    if graph.new_inputs:  # the forward loop gives the lists, too
        for each, label in ((condition, "cond"), (body, "body")):
            each.name += "_rewritten"
            node.attributes[label] = GraphFunction(each.name, each, {}).definition
        node.attributes["T"] = tuple(tensor.dtype for tensor in body.outputs)
        added = tuple(tensor.shape for tensor in body.outputs[before:])
        node.attributes["output_shapes"] = (*node.attributes["output_shapes"], *added)
        node.inputs = (*node.inputs, *graph.new_inputs)
        extend_outputs(node, body.outputs)
    inputs = [*arguments, *(outside(each, body, node) for each in graph.external_captures)]
    back = BranchGraph(f"{condition.name}_grad")
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]
    trace(back, lambda counter, limit, total, *_: counter < total, specs)
    shapes = [tensor.shape for tensor in graph.outputs]
    parallel = node.attributes["parallel_iterations"]
    outputs = _run(inputs, back, graph, shapes, parallel, f"{node.name}_grad")
    found = iter([arrays.identity(output) for output in outputs][3:])
    rest = [None] * (len(node.inputs) - len(wanted))
    return [None if grad is None else next(found) for grad in wanted] + rest


_ASKING_FOR_SHAPE = frozenset("Shape Size Rank TensorListElementShape TensorListLength".split())


class _GradientGraph(BranchGraph):
    """The body of the loop that goes back. What it needs of the forward body it pops from a list on
    which that pushes it.
    """

    def __init__(self, name: str, node: Node, condition: FuncGraph, body: BranchGraph) -> None:
        super().__init__(name)
        self.node, self.condition, self.forward = node, condition, body
        self.new_inputs: list[Any] = []
        self.rest: dict[int, Any] = {}
        """By what is captured: what the next iteration gets, if that is another list."""
        self._known: dict[int, Any] = {}

    def asks_elsewhere(self, type: str, inputs: Sequence[Any]) -> bool:
        """Is it about the shape of a forward value? It is made there: a shape needs less room."""
        kept, forward = self.forward.lists, self.forward
        own = [getattr(e, "graph", None) is forward and e.uid not in kept for e in inputs]
        return type in _ASKING_FOR_SHAPE and all(own)

    def create_operation(self, definition: OpDef, inputs: Any, attributes: Any, name: Any) -> Node:
        if not self.asks_elsewhere(definition.type, inputs):
            return super().create_operation(definition, inputs, attributes, name)
        key, made = (definition.type, name, *(tensor.uid for tensor in inputs)), self.forward.lists
        if key not in made:
            with context.enter(self.forward):
                given = definition, inputs, attributes, name and name.rstrip("/")
                made[key] = self.forward.create_operation(*given)
        found: Node = made[key]
        return found

    def capture_symbolic(self, tensor: Any, name: str) -> SymbolicTensor:
        forward = self.forward
        if getattr(tensor, "graph", None) is not forward:
            return super().capture_symbolic(tensor, name)
        if tensor.op.type == "Identity":
            return self.capture_symbolic(tensor.op.inputs[0], name)
        if all(any(tensor is each for each in side) for side in (forward.inputs, forward.outputs)):
            return super().capture_symbolic(tensor, name)  # it never changes
        if tensor.uid not in self._known:
            with context.enter(self):
                if tensor.op.type == "Const":
                    self._known[tensor.uid] = constant(known_value(tensor), tensor.dtype)
                else:
                    captured = super().capture_symbolic(self._list(tensor), name)
                    rest, value = O.TensorListPopBack(captured, -1, element_dtype=tensor.dtype)
                    self.rest[captured.uid], value.handle_data = rest, tensor.handle_data
                    self._known[tensor.uid] = value
        found: SymbolicTensor = self._known[tensor.uid]
        return found

    def _list(self, tensor: SymbolicTensor) -> Any:
        """The list on which the forward loop pushes the value."""
        lists, outer = self.forward.lists, self.forward.outer
        if tensor.uid not in lists:
            label = f"{tensor.name}/accumulator".replace(":", "_")
            with context.enter(outer), outer.control_dependencies(None):
                given = shape_input(tensor.shape), self.node.inputs[1]
                empty = O.EmptyTensorList(*given, element_dtype=tensor.dtype, name=label)
            self.new_inputs.append(empty)
            with context.enter(self.forward):
                lists[tensor.uid] = O.TensorListPushBack(empty, tensor)
            self.forward.outputs.append(lists[tensor.uid])
            with context.enter(self.condition):
                self.condition.capture(empty)
        return lists[tensor.uid]
