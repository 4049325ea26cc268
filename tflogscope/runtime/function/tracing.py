"""Tracing: the Python function is run once, with placeholders, and what it calls becomes a graph.

Everything in the function that is not an op happens now and only now: a `print` prints once per
trace.

Told about: `func_graph_from_py_func` of `framework/func_graph.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime import composites, context, nest
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.control_dependencies import AutomaticControlDependencies
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.function.signature import Bound, FunctionType
from tflogscope.runtime.function.trace_types import VariableType
from tflogscope.runtime.graph import Node
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor, TensorSpec
from tflogscope.runtime.variables import Variable, values_of

__all__ = ["make_placeholders", "result_tensors", "trace"]


class ArgumentNaming:
    """Makes the placeholders for one argument: they have its name."""

    def __init__(self, graph: FuncGraph, name: str, variables: Sequence[Any]) -> None:
        self._graph = graph
        self._name = name
        self._variables = variables

    def tensor(self, dtype: DType, shape: TensorShape, name: str | None) -> SymbolicTensor:
        """A placeholder."""
        name = name or self._name
        return placeholder(self._graph, dtype, shape, name, name)

    def variable(self, type: VariableType) -> Any:
        """The variable that is passed, its handle captured: used in the function otherwise, it is
        the same one.
        """
        variable = self._variables[type.alias]
        handle = self._graph.capture(variable.handle, self._name)
        handle.op.attributes["_user_specified_name"] = self._name
        return variable


def make_placeholders(graph: FuncGraph, type: FunctionType, variables: Sequence[Any] = ()) -> Bound:
    """The arguments with which the Python function is traced. `variables` are those among the real
    arguments.
    """
    with context.enter(graph):
        return type.placeholders(lambda name: ArgumentNaming(graph, name, variables))


def trace(
    graph: FuncGraph,
    python_function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    control_dependencies: bool = True,
    op_return_value: Tensor | None = None,
) -> FuncGraph:
    """Run the Python function with these arguments in the graph; its results are the graph's
    outputs.

    `args` and `kwargs` hold placeholders of the graph, or TensorSpecs to make such from, and any
    other values. `op_return_value` replaces nodes and None in the results (loops and branches need
    it). Raises TypeError for a result that is no tensor, ValueError if the function changes a list
    or dictionary it was given.
    """
    kwargs = dict(kwargs or {})
    with context.enter(graph):
        graph.orders_effects = control_dependencies
        dependencies = AutomaticControlDependencies(graph) if control_dependencies else None
        args, kwargs = _from_specs(graph, args), _from_specs(graph, kwargs)
        before = _leaves(args, kwargs)
        copies = nest.map_structure(lambda leaf: leaf, (args, kwargs))
        results = values_of(python_function(*args, **kwargs))
        results = nest.map_structure(
            lambda value: _as_result(value, python_function, dependencies, op_return_value), results
        )
        if not _same(before, _leaves(args, kwargs)):
            raise _mutated(python_function, copies, (args, kwargs))
        graph.inputs = _argument_tensors(graph, before) + graph.internal_captures
        graph.structured_outputs = results
        graph.outputs += [graph.capture(tensor) for tensor in result_tensors(results)]
        if dependencies is not None:
            graph.control_outputs += dependencies.finish()
    return graph


def _from_specs(graph: FuncGraph, values: Any) -> Any:
    """The same structure with a placeholder for each TensorSpec."""

    def convert(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            return placeholder(graph, value.dtype, value.shape, value.name, value.name)
        return value

    return nest.map_structure(convert, values)


def _leaves(args: Any, kwargs: Any) -> list[Any]:
    return nest.flatten([args, kwargs])


def _same(before: list[Any], after: list[Any]) -> bool:
    return len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))


def _mutated(python_function: Callable[..., Any], before: Any, after: Any) -> ValueError:
    """`before` and `after`: positional arguments and those by keyword. Told about:
    `check_func_mutation`.
    """
    signature = inspect.signature(python_function)
    old, new = (signature.bind(*args, **kwargs).arguments for args, kwargs in (before, after))
    changed = [name for name in new if not _same(_leaves(old[name], {}), _leaves(new[name], {}))]
    name = getattr(python_function, "__qualname__", python_function)
    return ValueError(
        f"{name}{signature} should not modify its Python input arguments. Modifying a copy is "
        f"allowed. The following parameter(s) were modified: {', '.join(changed)}"
    )


def _argument_tensors(graph: FuncGraph, leaves: list[Any]) -> list[SymbolicTensor]:
    """The placeholders among the arguments, each once; a variable's is no capture any more."""
    found: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, SymbolicTensor):
            found.append(leaf)
        elif isinstance(leaf, Variable):
            handle = graph.pop_capture(leaf.handle)
            if handle is not None:
                found.append(handle)
        elif composites.is_composite(leaf):
            found += composites.components(leaf)
    return [
        tensor
        for tensor in found
        if isinstance(tensor, SymbolicTensor) and tensor.op.graph is graph
    ]


def _as_result(
    value: Any,
    python_function: Callable[..., Any],
    dependencies: AutomaticControlDependencies | None,
    op_return_value: Tensor | None,
) -> Any:
    if value is None:
        return None
    if op_return_value is not None and isinstance(value, Node):
        with value.graph.control_dependencies([value]):
            value = context.execute("Identity", [op_return_value])[0]
    if hasattr(value, "flow") and hasattr(value, "stack"):  # a TensorArray
        return value
    if composites.is_composite(value):
        return _composite_result(value, dependencies)
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            "To be compatible with tf.function, Python functions must return zero or more Tensors "
            f"or ExtensionTypes or None values; in compilation of {python_function}, found return "
            f"value of type {type(value).__name__}, which is not a Tensor or ExtensionType."
        ) from None
    return tensor if dependencies is None else dependencies.mark_as_return(tensor)


def _composite_result(value: Any, dependencies: AutomaticControlDependencies | None) -> Any:
    parts = composites.components(value)
    if dependencies is not None:
        parts = [dependencies.mark_as_return(part) for part in parts]
    return composites.from_components(composites.type_spec(value), parts)


def result_tensors(results: Any) -> list[Tensor]:
    """The tensors of the results, also those of which others are made."""
    tensors: list[Tensor] = []
    for leaf in nest.flatten(results):
        if leaf is None:
            continue
        if composites.is_composite(leaf):
            tensors += composites.components(leaf)
        else:
            tensors.append(getattr(leaf, "flow", leaf))
    return tensors
