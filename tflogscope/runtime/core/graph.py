"""Graphs: a node for each op that was called while the graph was the current context. Nothing runs.

A `Graph` is a context (see context.py): its `create_operation` adds a node. A function's graph
(`function/func_graph.py`) also captures tensors from outside and keeps stateful ops in order. See
`Graph` and `Operation` of `tensorflow/python/framework/ops.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.dtypes import DType
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.registry import OpDef, lookup
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.core.tensors import HandleData, SymbolicTensor, Tensor


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


# The graph of a function once it is traced: what passes rewrite and the executor runs. See
# `FunctionDef` and `NodeDef` of `core/framework/function.proto`, `node_def.proto`.

Endpoint = tuple[str, int]
"""An output: the node's name and which."""


@dataclass(slots=True, eq=False)
class NodeDef:
    """A node. Its type and edges change as passes rewrite the graph."""

    name: str
    type: str
    inputs: list[Endpoint] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    dtypes: tuple[DType, ...] = ()
    shape: TensorShape = UNKNOWN
    """What is known of an `_Arg`'s shape."""
    handle_data: HandleData | None = None
    """What a handle leads to, and what a list holds, that this node gives."""

    @property
    def definition(self) -> OpDef:
        return lookup(self.type)

    def copy(self, name: str) -> NodeDef:
        """Another node like it."""
        inputs, controls, attributes = list(self.inputs), list(self.controls), dict(self.attributes)
        return replace(self, name=name, inputs=inputs, controls=controls, attributes=attributes)


@dataclass(slots=True, eq=False)
class FunctionDef:
    """A function: `_Arg` nodes, what computes, `_Retval` nodes."""

    name: str
    nodes: list[NodeDef]
    must_run: tuple[str, ...] = ()
    """Nodes with side effects, which run whether or not a result needs them."""
    attributes: dict[str, Any] = field(default_factory=dict)
    plan: Any = None
    """How it runs, once the executor has made it ready."""

    def of_type(self, type: str) -> list[NodeDef]:
        """The nodes of that type, by their index: the arguments or the results."""
        found = [node for node in self.nodes if node.type == type]
        return sorted(found, key=lambda node: node.attributes["index"])

    @property
    def stateful(self) -> bool:
        """Does it do more than compute?"""
        return any(
            node.attributes.get("_stateful", node.definition.stateful) for node in self.nodes
        )


def define(
    name: str,
    nodes: Iterable[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    must_run: Sequence[Any] = (),
    attributes: dict[str, Any] | None = None,
) -> FunctionDef:
    """The function of a graph's nodes, from these of its tensors to those. A placeholder that is an
    input becomes an `_Arg`.
    """
    places = {id(tensor.op): index for index, tensor in enumerate(inputs)}
    made = [_argument(tensor, index) for index, tensor in enumerate(inputs)]
    made += [_node(node) for node in nodes if id(node) not in places]
    taken = {node.name for node in made}
    for index, tensor in enumerate(outputs):
        label = f"{tensor.op.name}_retval"
        while label in taken:
            label += "_"
        taken.add(label)
        source = (tensor.op.name, tensor.value_index)
        made.append(NodeDef(label, "_Retval", [source], [], {"T": tensor.dtype, "index": index}))
    return FunctionDef(name, made, tuple(node.name for node in must_run), attributes or {})


def _argument(tensor: Any, index: int) -> NodeDef:
    kept = {key: value for key, value in tensor.op.attributes.items() if key.startswith("_")}
    kept |= {"T": tensor.dtype, "index": index}
    found = NodeDef(tensor.op.name, "_Arg", attributes=kept, dtypes=(tensor.dtype,))
    found.shape, found.handle_data = tensor.shape, tensor.handle_data
    return found


def _node(node: Any) -> NodeDef:
    inputs = [(tensor.op.name, tensor.value_index) for tensor in node.inputs]
    controls = [control.name for control in node.control_inputs]
    found = NodeDef(node.name, node.type, inputs, controls, dict(node.attributes), node.device)
    found.dtypes = tuple(tensor.dtype for tensor in node.outputs)
    found.handle_data = next((t.handle_data for t in node.outputs if t.handle_data), None)
    return found
