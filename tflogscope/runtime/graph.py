"""Graphs: a node for each op that was called while the graph was the current context. Nothing runs.

A `Graph` is a context (see context.py): its `create_operation` adds a node. A function's graph
(`function/func_graph.py`) also captures tensors from outside and keeps stateful ops in order.

Told about: `Graph` and `Operation` of `tensorflow/python/framework/ops.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tflogscope.runtime import context, telling
from tflogscope.runtime.errors import MissingName, missing_attribute
from tflogscope.runtime.graph_def import GraphDef, NodeDef, graph_def, node_def
from tflogscope.runtime.names import check_scope_name
from tflogscope.runtime.operations import Inference, OpDef
from tflogscope.runtime.refusing import refusal
from tflogscope.runtime.stacks import called_from
from tflogscope.runtime.tensors import HandleData, SymbolicTensor, Tensor, uid

__all__ = ["Graph", "Node"]


class Node:
    """An op in a graph."""

    __slots__ = (
        *(
            "__weakref__",
            "attributes",
            "control_inputs",
            "definition",
            "device",
            "frames",
            "gradient_function",
        ),
        *("graph", "inputs", "name", "outputs"),
    )

    def __init__(
        self,
        graph: Graph,
        definition: OpDef,
        name: str,
        inputs: Sequence[SymbolicTensor],
        attributes: dict[str, Any],
        control_inputs: Sequence[Node],
        device: str,
    ) -> None:
        self.graph = graph
        self.definition = definition
        self.name = name
        self.inputs = tuple(inputs)
        self.attributes = attributes
        self.control_inputs = list(control_inputs)
        self.device = device
        self.frames = called_from()
        """Where in the user's program it was made."""
        self.outputs: list[SymbolicTensor] = []
        self.gradient_function = graph.gradient_functions.get(definition.type)
        """Its own gradient function, where it is not that of its type: of a function's call."""

    @property
    def type(self) -> str:
        """The op's type."""
        return self.definition.type

    def get_attr(self, name: str) -> Any:
        """One attribute. Raises ValueError if it has none of that name."""
        if name not in self.attributes:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return self.attributes[name]

    def add_control_input(self, node: Node) -> None:
        """Run that node first."""
        if node is not self and node not in self.control_inputs:
            self.control_inputs.append(node)

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it in a session, the default one if none is given. Raises ValueError without one."""
        from tflogscope.runtime.sessions import run_node

        run_node(self, feed_dict, session)

    @property
    def node_def(self) -> NodeDef:
        """The node as data."""
        return node_def(self)

    def __getattr__(self, name: str) -> Any:
        return missing_attribute("tf.Operation", name)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class ControlGroup:
    """The nodes of one `control_dependencies` block, and those that were made in it, which follow
    them already.
    """

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.made: set[Node] = set()


class Graph:
    """Nodes in the order of their creation."""

    building_function = False
    orders_effects = False
    """Will what is made in it get control inputs, so that stateful ops stay in order?"""

    def __init__(self) -> None:
        self.uid = uid()
        self.nodes: list[Node] = []
        self.known_values: dict[tuple[str, int], Any] = {}
        """What shape functions have asked for: refining.py."""
        self._by_name: dict[str, Node] = {}
        self._used: dict[str, int] = {}
        self.scope_name = ""
        self._control: list[ControlGroup] = []
        self.seed: int | None = None
        self.gradient_functions: dict[str, Any] = {}
        self._marks: dict[str, Any] = {}
        self.collections: dict[str, list[Any]] = {}
        self.finalized = False

    # -- as a context ----------------------------------------------------------

    def create_operation(
        self,
        definition: OpDef,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        name: str | None,
    ) -> Node:
        """Add a node. Raises ValueError if the op's shape function refuses the inputs, RuntimeError
        if the graph is finalized.
        """
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        captured = [self.capture(tensor) for tensor in inputs]
        full_name = (
            name[:-1] if name and name.endswith("/") else self.unique_name(name or definition.type)
        )
        inference = Inference(definition.type, tuple(captured), attributes)
        try:
            specs = definition.infer(inference)
        except ValueError:
            raise refusal(full_name, definition, inference) from None
        node = Node(
            self,
            definition,
            full_name,
            captured,
            attributes | self._marks,
            self._control_inputs(captured),
            context.requested_device(),
        )
        node.outputs = [_output(node, index, spec) for index, spec in enumerate(specs)]
        self.nodes.append(node)
        self._by_name[full_name] = node
        for group in self._control:
            group.made.add(node)
        if telling.listener is not None:
            telling.listener.node_added(node)
        return node

    def asks_elsewhere(self, type: str, inputs: Sequence[Tensor]) -> bool:
        """Will an op of this type be a node of another graph, that of its inputs?"""
        del type, inputs
        return False

    def scope(self, name: str | None) -> Any:
        """A name scope of this graph."""
        return self.name_scope(name)

    def capture(self, tensor: Tensor, name: str | None = None) -> SymbolicTensor:
        """The tensor as one of this graph. Raises ValueError for one of another graph."""
        del name
        if isinstance(tensor, SymbolicTensor) and tensor.op.graph is self:
            return tensor
        raise ValueError(f"{tensor!r} is not an element of this graph.")

    # -- names -----------------------------------------------------------------

    def unique_name(self, name: str, *, mark_as_used: bool = True) -> str:
        """`name` within the current scope, with `_1`, `_2`, … after it if it is taken (in any case
        of letters).
        """
        if self.scope_name:
            name = f"{self.scope_name}/{name}"
        key = name.lower()
        count = self._used.get(key, 0)
        if mark_as_used:
            self._used[key] = count + 1
        if count == 0:
            return name
        taken = key
        while taken in self._used:
            taken = f"{key}_{count}"
            count += 1
        if mark_as_used:
            self._used[taken] = 1
            self._used[key] = count
        return f"{name}_{count - 1}"

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Names of nodes made in it start with the scope's, which is made unique unless it ends in
        `/`.
        """
        previous = self.scope_name
        if not name:
            self.scope_name = ""
        elif name.endswith("/"):
            self.scope_name = name[:-1]
        else:
            check_scope_name(name, inner=bool(previous))
            self.scope_name = self.unique_name(name)
        try:
            yield self.scope_name + "/" if self.scope_name else ""
        finally:
            self.scope_name = previous

    @contextmanager
    def marked(self, **attributes: Any) -> Iterator[None]:
        """Nodes made in it get these attributes too."""
        previous, self._marks = self._marks, attributes
        try:
            yield
        finally:
            self._marks = previous

    # -- control dependencies --------------------------------------------------

    @contextmanager
    def control_dependencies(self, nodes: Sequence[Any] | None) -> Iterator[None]:
        """Nodes made in it run after these; None: after none of those asked for so far."""
        previous = self._control
        if nodes is None:
            self._control = []
        else:
            wanted = [node for node in map(self._control_node, nodes) if node is not None]
            for node in wanted:
                node.attributes["_has_manual_control_dependencies"] = True
            self._control = [*previous, ControlGroup(wanted)]
        try:
            yield
        finally:
            self._control = previous

    def _control_node(self, value: Any) -> Node | None:
        if isinstance(value, Node):
            return value
        made_by = getattr(value, "op", None)
        if isinstance(made_by, Node) and made_by.graph is self:
            return made_by  # a tensor's, or the assignment that gave a variable
        value = getattr(value, "handle", value)  # a variable
        return self.capture(value).op if isinstance(value, Tensor) else None

    def _control_inputs(self, inputs: Sequence[SymbolicTensor]) -> list[Node]:
        """The control inputs asked for, less those on which the node depends anyway, through an
        input.
        """
        makers = {tensor.op for tensor in inputs}
        chosen: dict[Node, None] = {}
        for group in self._control:
            if not makers & group.made:
                chosen.update(dict.fromkeys(node for node in group.nodes if node not in makers))
        return list(chosen)

    # -- looking at it ---------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make it the current context: ops called in it become its nodes."""
        with context.enter(self):
            yield self

    def finalize(self) -> None:
        """From now on no node is added."""
        self.finalized = True

    def get_operations(self) -> list[Node]:
        """All nodes."""
        return list(self.nodes)

    def as_graph_def(self, from_version: Any = None, add_shapes: bool = False) -> GraphDef:
        """The graph as data."""
        if from_version is not None or add_shapes:
            raise MissingName("tf.Graph.as_graph_def", "only of whole graphs, without shapes")
        return graph_def(self)

    def __getattr__(self, name: str) -> Any:
        return missing_attribute("tf.Graph", name)

    def get_operation_by_name(self, name: str) -> Node:
        """The node of that name. Raises KeyError if there is none."""
        if name not in self._by_name:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._by_name[name]

    def get_tensor_by_name(self, name: str) -> SymbolicTensor:
        """The tensor `node:index`. Raises KeyError if there is none."""
        node, _, index = name.rpartition(":")
        return self.get_operation_by_name(node).outputs[int(index)]


def _output(node: Node, index: int, spec: Any) -> SymbolicTensor:
    tensor = SymbolicTensor(node, index, spec[0], spec[1])
    if len(spec) > 2:
        handle: HandleData | None = spec[2]
        tensor.handle_data = handle
    return tensor


# As TensorFlow names it where a type is printed.
Node.__module__ = "tensorflow.python.framework.ops"
Node.__name__ = Node.__qualname__ = "Operation"
