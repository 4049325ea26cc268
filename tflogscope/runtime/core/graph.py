"""Graphs: a node for each op that was called while the graph was the current context. Nothing runs.

A `Graph` is a context (see context.py): its `create_operation` adds a node. A function's graph
(`function/func_graph.py`) also captures tensors from outside and keeps stateful ops in order. See
`Graph` and `Operation` of `tensorflow/python/framework/ops.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.registry import OpDef
from tflogscope.runtime.core.tensors import SymbolicTensor, Tensor


class Node:
    """An op in a graph."""

    def __init__(
        self,
        graph: Graph,
        definition: OpDef,
        name: str,
        inputs: Sequence[SymbolicTensor],
        attributes: dict[str, Any],
        control_inputs: Sequence[Node],
    ) -> None:
        self.graph, self.definition, self.name = graph, definition, name
        self.type = definition.type
        self.inputs, self.attributes = tuple(inputs), attributes
        self.control_inputs = list(control_inputs)
        self.device = context.requested_device()
        self.outputs: list[SymbolicTensor] = []
        self.gradient_function: Any = None
        """Its own gradient function, where it is not that of its type: of a function's call."""

    def add_control_input(self, node: Node) -> None:
        if node is not self and node not in self.control_inputs:
            self.control_inputs.append(node)

    def __getattr__(self, name: str) -> Any:
        return missing("tf.Operation", name)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class Graph:
    """Nodes in the order of their creation."""

    building_function = False
    is_while_body = False

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.scope_name = ""
        self.seed: int | None = None
        self.collections: dict[str, list[Any]] = {}
        self._used: dict[str, int] = {}
        self._control: list[tuple[list[Node], set[Node]]] = []
        """For each `control_dependencies` block its nodes, and those made in it, which follow them
        already.
        """

    def create_operation(
        self, definition: OpDef, inputs: Sequence[Tensor], attributes: dict[str, Any], name: Any
    ) -> Node:
        """Add a node. Raises ValueError if the op's shape rule refuses the inputs."""
        captured = [self.capture(tensor) for tensor in inputs]
        whole = bool(name) and name.endswith("/")
        full_name = name[:-1] if whole else self.unique_name(name or definition.type)
        try:
            specs = definition.infer(captured, attributes)
        except ValueError as error:
            where = f"'{{{{node {full_name}}}}} = {definition.type}'"
            shapes = ", ".join(str(each.shape) for each in captured)
            raise ValueError(f"{error} for {where} with input shapes: {shapes}.") from None
        # the control inputs asked for, less those on which the node depends anyway
        makers, controls = {tensor.op for tensor in captured}, dict[Node, None]()
        for nodes, made in self._control:
            if not makers & made:
                controls |= dict.fromkeys(node for node in nodes if node not in makers)
        node = Node(self, definition, full_name, captured, attributes, list(controls))
        for index, (dtype, shape, *handle) in enumerate(specs):
            node.outputs.append(SymbolicTensor(node, index, dtype, shape))
            node.outputs[-1].handle_data = handle[0] if handle else None
        self.nodes.append(node)
        for _, made in self._control:
            made.add(node)
        return node

    def capture(self, tensor: Any, name: str | None = None) -> SymbolicTensor:
        """The tensor as one of this graph. Raises ValueError for one of another graph."""
        del name
        if isinstance(tensor, SymbolicTensor) and tensor.op.graph is self:
            return tensor
        raise ValueError(f"{tensor!r} is not an element of this graph.")

    def unique_name(self, name: str) -> str:
        """`name` within the current scope, with `_1`, `_2`, … after it if it is taken (in any case
        of letters).
        """
        if self.scope_name:
            name = f"{self.scope_name}/{name}"
        key = taken = name.lower()
        count = self._used.get(key, 0)
        while taken in self._used:
            count, taken = count + 1, f"{key}_{count}"
        self._used |= {taken: 1, key: max(count, 1)}
        return name if taken == key else f"{name}_{count - 1}"

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Names of nodes made in it start with the scope's, which is made unique unless it ends in
        `/`.
        """
        previous = self.scope_name
        whole = not name or name.endswith("/")
        self.scope_name = (name or "").rstrip("/") if whole else self.unique_name(str(name))
        try:
            yield self.scope_name + "/" if self.scope_name else ""
        finally:
            self.scope_name = previous

    @contextmanager
    def control_dependencies(self, nodes: Sequence[Any] | None) -> Iterator[None]:
        """Nodes made in it run after these; None: after none of those asked for so far."""
        previous = self._control
        wanted = [node for node in map(self._control_node, nodes or ()) if node is not None]
        for node in wanted:
            node.attributes["_has_manual_control_dependencies"] = True
        self._control = [] if nodes is None else [*previous, (wanted, set())]
        try:
            yield
        finally:
            self._control = previous

    def _control_node(self, value: Any) -> Node | None:
        if isinstance(value, Node):
            return value
        made_by = vars(value).get("op") if hasattr(value, "handle") else None
        if isinstance(made_by, Node) and made_by.graph is self:
            return made_by  # the assignment that gave a variable
        value = getattr(value, "handle", value)
        return self.capture(value).op if isinstance(value, Tensor) else None

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make it the current context: ops called in it become its nodes."""
        with context.enter(self):
            yield self

    def __getattr__(self, name: str) -> Any:
        return missing("tf.Graph", name)


def control_dependencies(inputs: Sequence[Any] | None) -> Any:
    """`tf.control_dependencies`: nodes made in it run after these. Eagerly order is kept anyway."""
    if context.executing_eagerly():
        return context.name_scope((context.current_scope() + "/").lstrip("/"))
    return context.current().control_dependencies(inputs)
