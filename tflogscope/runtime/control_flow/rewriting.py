"""A function's graph while it is being rewritten: nodes that can be changed, added and replaced.

Who consumes a replaced node is not looked up: the node remembers what stands for its outputs now,
and the end of the rewriting follows that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.definition import Endpoint, FunctionDef, NodeDef, Origin
from tflogscope.runtime.operations import OpDef, lookup

if TYPE_CHECKING:
    from tflogscope.runtime.function.graph_function import GraphFunction

__all__ = ["Rewriting", "Value", "Work", "copy_in"]


@dataclass(slots=True, eq=False)
class Work:
    """A node at work on."""

    name: str
    op: OpDef
    inputs: list[Value]
    controls: list[Work]
    attributes: dict[str, Any]
    device: str
    dtypes: list[DType]
    outputs: list[Value] | None = None
    """What stands for its outputs, once it is replaced."""
    done: Work | None = None
    """What runs when all that replaced it has run."""
    origin: Origin | None = None

    @property
    def type(self) -> str:
        """The op's type."""
        return self.op.type


Value = tuple[Work, int]
"""One output of a node."""


class Rewriting:
    """The graph of a function, rewritten in place; `nodes` only grows, those replaced are left out
    at the end.
    """

    def __init__(self, definition: FunctionDef) -> None:
        self.definition = definition
        self._names_made = 0
        self._arguments, self.nodes, self._results = copy_in(definition)

    def new_name(self, prefix: str) -> str:
        """A name that no node has: `prefix/_N`. Told about: `Graph::NewName`."""
        self._names_made += 1
        return f"{prefix}/_{self._names_made - 1}"

    def source_name(self, value: Value) -> str:
        """The name of the node that gives this value now."""
        return _followed(value)[0].name

    def add(
        self,
        name: str,
        type: str,
        inputs: Sequence[Value],
        dtypes: Sequence[DType],
        attributes: Mapping[str, Any] | None = None,
    ) -> Work:
        """A new node."""
        op = lookup(type)
        full = dict(attributes or {})
        if "T" in op.attributes and dtypes:
            full = {"T": dtypes[0], **full}
        node = Work(name, op, list(inputs), [], full, "", list(dtypes))
        self.nodes.append(node)
        return node

    def add_call(
        self,
        name: str,
        function: GraphFunction,
        inputs: Sequence[Value],
        after: Sequence[Work],
        like: Work,
    ) -> Work:
        """A new node that calls `function`; it is inlined later."""
        dtypes = [tensor.dtype for tensor in function.outputs]
        node = self.add(name, "PartitionedCall", inputs, dtypes, {"f": function})
        node.controls += after
        node.device = like.device
        return node

    def replace(self, node: Work, outputs: Sequence[Value], done: Work) -> None:
        """Let these outputs stand for those of `node`, and `done` for "it has run"; a NoOp keeps
        the name.
        """
        node.outputs, node.done = list(outputs), done
        # It may be a control result of the function, which is known by its name.
        self.add(node.name, "NoOp", [], []).controls.append(done)

    def finished(self) -> FunctionDef:
        """The function as it is now."""
        old = self.definition
        return FunctionDef(
            old.name,
            tuple(_frozen(argument) for argument in self._arguments),
            tuple(_frozen(node) for node in self.nodes if node.done is None),
            tuple(_endpoint(_followed(value)) for value in self._results),
            old.control_results,
            old.attributes,
            argument_types=old.argument_types,
            result_names=old.result_names,
        )


def copy_in(
    definition: FunctionDef, prefix: str = ""
) -> tuple[list[Work], list[Work], list[Value]]:
    """The arguments, nodes and results of a function as nodes to work on, their names after
    `prefix`.
    """
    made = {
        node.name: Work(
            prefix + node.name,
            node.op,
            [],
            [],
            dict(node.attributes),
            node.device,
            list(node.dtypes),
            origin=_inlined(node.origin, definition.name) if prefix else node.origin,
        )
        for node in (*definition.arguments, *definition.nodes)
    }
    for node in (*definition.arguments, *definition.nodes):
        made[node.name].inputs = [(made[name], output) for name, output in node.inputs]
        made[node.name].controls = [made[name] for name in node.control_inputs if name in made]
    arguments = [made[node.name] for node in definition.arguments]
    return (
        arguments,
        [made[node.name] for node in definition.nodes],
        [(made[name], at) for name, at in definition.results],
    )


def _inlined(origin: Origin | None, function: str) -> Origin | None:
    return origin if origin is None or origin.function else origin._replace(function=function)


def _followed(value: Value) -> Value:
    node, output = value
    while node.outputs is not None:
        node, output = node.outputs[output]
    return node, output


def _endpoint(value: Value) -> Endpoint:
    return value[0].name, value[1]


def _frozen(node: Work) -> NodeDef:
    controls = []
    for control in node.controls:
        while control.done is not None:
            control = control.done  # noqa: PLW2901
        controls.append(control.name)
    return NodeDef(
        node.name,
        node.op,
        tuple(_endpoint(_followed(value)) for value in node.inputs),
        tuple(dict.fromkeys(controls)),
        node.attributes,
        node.device,
        tuple(node.dtypes),
        node.origin,
    )
