"""Variables that a function creates on its first call: their first values are computed outside it.

The trace holds the nodes that make the first value. They are copied, with all they need, into a
function `initialize_variables` of their own, which is run once; then the variable exists like any
other. Where that can't be done, since the value depends on an argument, a conditional node asks at
each call whether the variable has a value.

Told about: `eager/lift_to_graph.py`, `UnliftedInitializerVariable` and
`_initialize_uninitialized_variables` of `eager/polymorphic_function/polymorphic_function.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime import context
from tflogscope.runtime.copies import VariableAggregation, VariableSynchronization
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.compiler import TracingCompiler
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.graph import Node
from tflogscope.runtime.ops.call import call, call_node
from tflogscope.runtime.shapes import TensorShape, as_shape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor
from tflogscope.runtime.variables import Variable, initial_tensor

if TYPE_CHECKING:
    from tflogscope.runtime.function.concrete import ConcreteFunction

__all__ = ["NotLiftable", "UnliftedVariable", "call_with_condition", "initialise", "lift"]

Initialiser = tuple[Variable, Tensor]
"""A variable that has no value yet, and the tensor, within the trace, of its first value."""


class NotLiftable(Exception):
    """The first value of a variable depends on an argument of the function."""


class UnliftedVariable(Variable):
    """A variable created while a function is traced.

    Its resource is made at once, outside the function. The assignment of its first value becomes a
    conditional node, which runs only if lifting the value out fails.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        shape: Any = None,
        initialisers: list[Initialiser] | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        **_: Any,
    ) -> None:
        """Raises ValueError without an initial value."""
        if initial_value is None:
            raise ValueError(
                "`initial_value` must be a Tensor or a Python object convertible to a Tensor. Got "
                "None."
            )
        self.constraint = constraint
        self.synchronization = synchronization or VariableSynchronization.AUTO
        self.aggregation = aggregation or VariableAggregation.NONE
        self._trainable = True if trainable is None else trainable
        self._validate_shape = True
        with context.name_scope(name or "Variable") as scope:
            value = initial_tensor(initial_value, dtype)
        self._make_resource(
            name or "Variable", value.shape if shape is None else as_shape(shape), value.dtype
        )
        with context.name_scope(scope):
            self._assign_if_needed(value, initialisers)

    def _make_resource(self, name: str, shape: TensorShape, dtype: DType) -> None:
        with context.init_scope(), context.name_scope(name) as outer:
            self._set_name(outer[:-1])
            self._set_handle(shape, dtype, outer)

    def _assign_if_needed(self, value: Tensor, initialisers: list[Initialiser] | None) -> None:
        from tflogscope.runtime.control_flow.cond import cond
        from tflogscope.runtime.conversion import convert_to_tensor

        if initialisers is not None:
            initialisers.append((self, value))

        def assign() -> Tensor:
            with context.name_scope("Assign") as scope:
                call_node("AssignVariableOp", self.handle, value, name=scope)
            return convert_to_tensor(1)  # type: ignore[no-any-return]

        graph: Any = context.current()
        graph.capture(self.handle)
        cond(call("VarIsInitializedOp", self.handle), lambda: convert_to_tensor(0), assign)


def initialise(initialisers: Sequence[Initialiser]) -> None:
    """Give the variables their first values, by a function of its own. Raises NotLiftable if that
    can't be.
    """
    if not initialisers:
        return
    initialised = _are_initialised([variable for variable, _ in initialisers])
    missing = [pair for pair, done in zip(initialisers, initialised, strict=True) if not done]

    def initialize_variables() -> None:
        graph: Any = context.current()
        values: list[Any] = [value for _, value in missing]
        copies = lift(values, graph) if missing else {}
        for variable, value in missing:
            variable.assign(copies[value.uid], read_value=False)

    with context.init_scope():
        TracingCompiler(
            initialize_variables, "initialize_variables", autograph=False
        ).get_concrete_function()()


def _are_initialised(variables: Sequence[Variable]) -> list[bool]:
    """Asked eagerly, and stacked into one tensor to be read once."""
    with context.init_scope():
        states = [call("VarIsInitializedOp", variable.handle) for variable in variables]
        return [bool(state) for state in call("Pack", states, axis=0).numpy()]  # type: ignore[attr-defined]


def call_with_condition(
    initialisers: Sequence[Initialiser],
    without_creation: Callable[..., Any],
    first: ConcreteFunction,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    tensors: Sequence[Any],
) -> Any:
    """Call the trace that assigns first values, unless the variables have theirs: decided when it
    runs.
    """
    from tflogscope.runtime.control_flow.cond import cond

    def fn_with_cond(inner_args: Any, inner_kwargs: Any, inner_filtered_flat_args: Any) -> Any:
        condition: Any = True
        for variable, _ in initialisers:
            condition = call("LogicalAnd", condition, call("VarIsInitializedOp", variable.handle))
        return cond(
            condition,
            lambda: without_creation(*inner_args, **inner_kwargs),
            lambda: first.call_flat(inner_filtered_flat_args, first.captured_inputs),
        )

    return TracingCompiler(fn_with_cond, "fn_with_cond")(tuple(args), dict(kwargs), list(tensors))


def lift(tensors: Sequence[SymbolicTensor], graph: FuncGraph) -> dict[int, SymbolicTensor]:
    """Copy the nodes that make these tensors, with all they need, into the graph; the copy of each
    tensor, by its id.

    Raises NotLiftable if they need a placeholder that is no capture.
    """
    source: Any = tensors[0].op.graph
    captured = {internal.uid: external for external, internal in getattr(source, "captures", ())}
    copies: dict[int, SymbolicTensor] = {}
    nodes: dict[Node, Node] = {}
    with context.enter(graph):
        for node in reversed(_order(tensors)):
            if node in nodes:
                continue
            output = node.outputs[0] if node.outputs else None
            if output is not None and output.uid in captured:
                copies[output.uid] = graph.capture(captured[output.uid])
                continue
            if node.type == "Placeholder":
                raise NotLiftable(
                    f"A SymbolicTensor {output} is needed to initialise a variable created in a "
                    "function."
                )
            nodes[node] = _copied(node, copies, nodes, graph)
    return copies


def _copied(
    node: Node, copies: dict[int, SymbolicTensor], nodes: dict[Node, Node], graph: FuncGraph
) -> Node:
    inputs = [copies[tensor.uid] for tensor in node.inputs]
    with graph.control_dependencies([nodes[each] for each in node.control_inputs if each in nodes]):
        copy = graph.create_operation(
            node.definition, inputs, dict(node.attributes), f"{graph.unique_name(node.name)}/"
        )
    for old, new in zip(node.outputs, copy.outputs, strict=True):
        copies[old.uid] = new
        new.handle_data = old.handle_data
    return copy


def _order(tensors: Sequence[SymbolicTensor]) -> list[Node]:
    """The nodes needed, each after those that need it, and those without inputs at the very end."""
    users: dict[Node, set[Node]] = {}
    stack, seen = [tensor.op for tensor in tensors], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        for needed in _needs(node):
            users.setdefault(needed, set()).add(node)
            stack.append(needed)
    ordered: list[Node] = []
    marked: set[Node] = set()
    stack = [tensor.op for tensor in tensors if tensor.op not in users]
    while stack:
        node = stack.pop()
        if node in marked:
            continue
        marked.add(node)
        ordered.append(node)
        stack += [needed for needed in _needs(node) if users[needed] <= marked]
    ordered += [tensor.op for tensor in tensors if tensor.op not in marked]
    return sorted(ordered, key=lambda node: not _needs(node))


def _needs(node: Node) -> list[Node]:
    return [tensor.op for tensor in node.inputs] + list(node.control_inputs)
