"""Tracing: the Python function is run once, with symbolic tensors, to build a graph. See
`func_graph_from_py_func` of `tensorflow/python/framework/func_graph.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.graph import Node
from tflogscope.runtime.core.tensors import SymbolicTensor, TensorSpec
from tflogscope.runtime.function.func_graph import (
    AutomaticControlDependencies,
    FuncGraph,
    placeholder,
)
from tflogscope.runtime.function.trace_types import Arguments
from tflogscope.runtime.function.variables import Variable, values_of
from tflogscope.runtime.library.slices import IndexedSlices


def make_placeholders(graph: FuncGraph, described: Arguments) -> Arguments:
    """What the Python function gets for its arguments."""

    def make(name: str, value: Any) -> Any:
        if isinstance(value, TensorSpec):
            label = value.name or name
            return placeholder(graph, value.dtype, value.shape, label, label)
        if isinstance(value, Variable):
            graph.capture(value.handle, name).op.attributes["_user_specified_name"] = name
        elif hasattr(value, "composite"):
            _, parts, made = value.composite()
            return made(*[placeholder(graph, e.dtype, e.shape, name, name) for e in parts])
        return value

    with context.enter(graph):
        return {
            name: nest.map_structure(partial(make, name), value)
            for name, value in described.items()
        }


def trace(
    graph: FuncGraph,
    python_function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    orders_effects: bool = True,
    op_return_value: Any = None,
) -> FuncGraph:
    """Run the function in the graph; its results become the graph's outputs.

    `args` may be TensorSpecs. `op_return_value` is the result in place of an operation. Raises
    TypeError for a result that is no tensor.
    """
    with context.enter(graph):
        graph.orders_effects = orders_effects
        order = AutomaticControlDependencies(graph) if orders_effects else None

        def argument(value: Any) -> Any:
            if isinstance(value, TensorSpec):
                return placeholder(graph, value.dtype, value.shape, value.name, value.name)
            return value

        def result(value: Any) -> Any:
            return _as_result(value, python_function, order, op_return_value)

        args, kwargs = nest.map_structure(argument, (tuple(args), dict(kwargs or {})))
        before = nest.flatten([args, kwargs])
        results = nest.map_structure(result, values_of(python_function(*args, **kwargs)))
        graph.inputs = _argument_tensors(graph, before) + graph.internal_captures
        graph.structured_outputs = results
        graph.outputs += [graph.capture(tensor) for tensor in result_tensors(results)]
        if order is not None:
            graph.control_outputs += order.finish()
    return graph


def _argument_tensors(graph: FuncGraph, leaves: list[Any]) -> list[SymbolicTensor]:
    found = []
    for leaf in leaves:
        parts = leaf.composite()[1] if hasattr(leaf, "composite") else [leaf]
        if isinstance(leaf, Variable):
            parts = [graph.pop_capture(leaf.handle)]
        found += [e for e in parts if isinstance(e, SymbolicTensor) and e.op.graph is graph]
    return found


def _as_result(value: Any, function: Any, order: Any, op_return_value: Any) -> Any:
    if value is None or hasattr(value, "flow"):  # a TensorArray
        return value
    if op_return_value is not None and isinstance(value, Node):
        with value.graph.control_dependencies([value]):
            value = context.execute("Identity", [op_return_value])[0]
    mark = (lambda tensor: tensor) if order is None else order.mark_as_return
    if _is_composite(value):
        return _of_parts(value, [mark(each) for each in _parts(value)])
    try:
        return mark(convert_to_tensor(value))
    except (TypeError, ValueError):
        raise TypeError(
            "To be compatible with tf.function, Python functions must return zero or more Tensors or "
            f"ExtensionTypes or None values; in compilation of {function}, found return value of "
            f"type {type(value).__name__}, which is not a Tensor or ExtensionType."
        ) from None


def _is_composite(value: Any) -> bool:
    return isinstance(value, IndexedSlices) or hasattr(value, "composite")


def _parts(value: Any) -> list[Any]:
    if hasattr(value, "composite"):
        return list(value.composite()[1])
    return [e for e in (value.values, value.indices, value.dense_shape) if e is not None]


def _of_parts(value: Any, parts: Sequence[Any]) -> Any:
    make = value.composite()[2] if hasattr(value, "composite") else IndexedSlices
    return make(*parts)


def result_tensors(results: Any) -> list[Any]:
    """The tensors that results are made of."""
    tensors: list[Any] = []
    for leaf in nest.flatten(results):
        if leaf is not None:
            tensors += _parts(leaf) if _is_composite(leaf) else [getattr(leaf, "flow", leaf)]
    return tensors


def packed(results: Any, tensors: Sequence[Any]) -> Any:
    """The same structure made of these tensors."""
    rest = iter(tensors)

    def leaf(value: Any) -> Any:
        if value is None:
            return None
        if _is_composite(value):
            return _of_parts(value, [next(rest) for _ in _parts(value)])
        return value.with_flow(next(rest)) if hasattr(value, "flow") else next(rest)

    return nest.map_structure(leaf, results)
