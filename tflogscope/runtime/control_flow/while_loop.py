"""`tf.while_loop`: a While node with functions for its condition and its body. Eagerly it is
Python's `while`.

The node has two inputs before the loop's variables: a counter and the largest number of iterations.
What the functions capture are inputs after them, which the body gives back as they are. Told about:
`python/ops/while_loop.py` and `while_v2.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import context, nest
from tflogscope.runtime.control_flow.branches import (
    BranchGraph,
    as_function,
    captured_inputs,
    function_name,
    has_stateful,
    read_only,
    scalar,
    through_function,
    trace_branch,
)
from tflogscope.runtime.control_flow.structures import (
    copy_handle_data,
    is_tensor,
    packed,
    to_flows,
    to_tensors,
)
from tflogscope.runtime.control_flow.tensor_array import TensorArray
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.dtypes import int32
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.tensors import Tensor, TensorSpec

__all__ = ["build_while", "while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """The loop variables after `while cond(*loop_vars): loop_vars = body(*loop_vars)`.

    `shape_invariants`: for each variable what its shape keeps to. Raises TypeError for what is no
    function, ValueError if a variable's shape does not keep, TypeError if its dtype changes.
    """
    del swap_memory
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if context.executing_eagerly():
        return _eager_loop(cond, body, loop_vars, maximum_iterations)
    loop = _Loop(cond, body, to_tensors(loop_vars), shape_invariants, maximum_iterations)
    return loop.build(name or "while", parallel_iterations, back_prop)


def _eager_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: Any
) -> Any:
    if maximum_iterations is not None:
        return _limited_eager_loop(
            cond, body, loop_vars, int(convert_to_tensor(maximum_iterations))
        )
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    _as_tensors(loop_vars)  # TensorFlow asks for the type of each
    structure = list(loop_vars)
    while cond(*loop_vars):
        loop_vars = body(*loop_vars)
        nest.assert_same_structure(structure, list(loop_vars))
    # A variable that the body gave as a Python value is a tensor after the loop.
    return _as_tensors(loop_vars)


def _limited_eager_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: int
) -> Any:
    """With a counter as a further variable, and an op LogicalAnd for each test."""

    def limited_cond(counter: int, state: Any) -> Any:
        return call("LogicalAnd", counter < limit, cond(*state))

    def counting_body(counter: int, state: Any) -> Any:
        return counter + 1, body(*state)

    return _eager_loop(limited_cond, counting_body, (0, loop_vars), None)[1]


def _as_tensors(structure: Any) -> Any:
    return nest.map_structure(
        lambda leaf: (
            leaf if isinstance(leaf, TensorArray) or is_tensor(leaf) else convert_to_tensor(leaf)
        ),
        structure,
    )


class _Loop:
    """A loop on its way to become a node."""

    def __init__(
        self,
        cond: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        shape_invariants: Any,
        maximum_iterations: Any,
    ) -> None:
        self.cond, self.body, self.loop_vars, self.limit = cond, body, loop_vars, maximum_iterations
        self.flat: list[Tensor] = nest.flatten(to_flows(loop_vars))
        self.shapes = self._shapes(shape_invariants)

    def _shapes(self, invariants: Any) -> list[TensorShape]:
        if invariants is None:
            return [tensor.shape for tensor in self.flat]
        given = _flat_invariants(self.loop_vars, invariants)
        return [
            tensor.shape if shape is None else shape
            for tensor, shape in zip(self.flat, given, strict=True)
        ]

    def build(self, name: str, parallel_iterations: int, back_prop: bool) -> Any:
        with context.name_scope(name) as scope:
            names = [function_name(scope, part) for part in ("cond", "body")]
            limit = convert_to_tensor(
                -1 if self.limit is None else self.limit, int32, "maximum_iterations"
            )
            counter = constant(
                0, limit.dtype if self.limit is not None else None, name="loop_counter"
            )
            specs = [TensorSpec.from_tensor(counter), TensorSpec.from_tensor(limit)]
            specs += [
                TensorSpec(shape, tensor.dtype)
                for shape, tensor in zip(self.shapes, self.flat, strict=True)
            ]
            condition = trace_branch(BranchGraph(names[0]), self._condition, specs)
            body_graph = BranchGraph(names[1])
            body_graph.is_while_body = True
            self.body_graph, self.condition_graph = body_graph, condition
            trace_branch(body_graph, self._body, specs)
            captured = body_graph.external_captures
            body_graph.outputs += body_graph.internal_captures
            _capture_unused(condition, captured[len(condition.external_captures) :])
            inputs = [counter, limit, *self.flat, *captured]
            self._check(body_graph, inputs)
            shapes = [tensor.shape for tensor in body_graph.outputs]
            shapes[2 : 2 + len(self.flat)] = self.shapes
            outputs = build_while(
                inputs, condition, body_graph, shapes, parallel_iterations, scope, len(shapes)
            )
            if not context.inside_function():
                outputs = [arrays.identity(output) for output in outputs]
        results = outputs[2 : 2 + len(self.flat)]
        if not back_prop:
            results = [arrays.stop_gradient(result) for result in results]
        return packed(self.loop_vars, results)

    def _condition(self, counter: Tensor, limit: Tensor, *flat: Tensor) -> Tensor:
        condition: Tensor = self.cond(*packed(self.loop_vars, flat))
        if is_tensor(condition):
            condition = scalar(condition)
        if self.limit is None:
            return condition
        return call("LogicalAnd", counter < limit, condition)

    def _body(self, counter: Tensor, limit: Tensor, *flat: Tensor) -> list[Tensor]:
        copy_handle_data(self.flat, flat)
        for tensor in self.condition_graph.external_captures:
            self.body_graph.capture(tensor)
        results = self.body(*packed(self.loop_vars, flat))
        if not nest.is_nested(results):
            results = [results]
        nest.assert_same_structure(results, self.loop_vars, check_types=False)
        return [counter + 1, limit, *nest.flatten(to_flows(results))]

    def _check(self, body: FuncGraph, inputs: Sequence[Tensor]) -> None:
        for result, shape, tensor in zip(body.outputs[2:], self.shapes, self.flat, strict=False):
            if not _keeps(result.shape, shape):
                raise ValueError(
                    f"Input tensor `{getattr(tensor, 'name', tensor)}` enters the loop with shape "
                    f"{shape}, but has shape {result.shape} after one iteration. To allow the "
                    "shape to vary across iterations, use the `shape_invariants` argument of "
                    "tf.while_loop to specify a less-specific shape."
                )
        for inner, result, tensor in zip(body.inputs, body.outputs, inputs, strict=True):
            if inner.dtype is not result.dtype:
                name = getattr(tensor, "name", tensor)
                raise TypeError(
                    f"Loop var {name} enters the loop with type {inner.dtype} but has type "
                    f"{result.dtype} after 1 iteration. {name} type should remain constant."
                )


def _flat_invariants(loop_vars: Any, invariants: Any) -> list[TensorShape | None]:
    """One shape for each tensor of the loop's variables: a shape may stand for a whole variable,
    None for its own.
    """
    flat: list[TensorShape | None] = []
    for variable, invariant in zip(loop_vars, invariants, strict=True):
        if nest.is_nested(variable) and nest.is_nested(invariant):
            children = (
                [variable[key] for key in sorted(variable)]
                if isinstance(variable, dict)
                else list(variable)
            )
            shapes = (
                [invariant[key] for key in sorted(invariant)]
                if isinstance(invariant, dict)
                else list(invariant)
            )
            flat += _flat_invariants(children, shapes)
        elif invariant is None or isinstance(variable, TensorArray):
            flat += [None] * len(nest.flatten(variable))
        else:
            flat.append(
                invariant.shape if isinstance(invariant, TensorSpec) else TensorShape(invariant)
            )
    return flat


def _keeps(shape: TensorShape, to: TensorShape) -> bool:
    """Is the shape as specific as that one, or more?"""
    if to.rank is None:
        return True
    return shape.rank == to.rank and all(
        b is None or a == b for a, b in zip(shape, to, strict=True)
    )


def _capture_unused(condition: FuncGraph, tensors: Sequence[Tensor]) -> None:
    """Lets the condition take what only the body uses."""
    if not tensors:
        return
    prefix = f"{condition.name}___redundant_placeholder"
    for at, tensor in enumerate(tensors):
        internal = placeholder(condition, tensor.dtype, UNKNOWN, f"{prefix}{at}")
        condition.add_capture(tensor, internal)


def build_while(
    inputs: Sequence[Tensor],
    condition: FuncGraph,
    body: FuncGraph,
    shapes: Sequence[TensorShape],
    parallel_iterations: int,
    name: str,
    original_outputs: int,
) -> list[Tensor]:
    """A While node with these graphs; `original_outputs` of its outputs are not there for the
    gradient.
    """
    type_ = "While" if has_stateful(condition, body) else "StatelessWhile"

    def make(tensors: Sequence[Tensor]) -> list[Tensor]:
        attributes = {
            "T": tuple(tensor.dtype for tensor in tensors),
            "cond": as_function(condition),
            "body": as_function(body),
            "output_shapes": tuple(shapes),
            "parallel_iterations": parallel_iterations,
            "_lower_using_switch_merge": True,
            "_num_original_outputs": original_outputs,
            **read_only([condition, body], 0),
        }
        with context.name_scope(name) as scope:
            outputs = context.execute(type_, captured_inputs(tensors), attributes, scope)
        copy_handle_data(body.outputs, outputs)
        condition.outer = body.outer = context.current()
        return outputs

    return through_function(make, inputs)
