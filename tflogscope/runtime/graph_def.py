"""A graph as data, and as text: `graph.as_graph_def()`, `print(op)`.

    node {
      name: "mul"
      op: "Mul"
      input: "x"
      ...

NB: TensorFlow's are protocol buffers, which can be changed, saved and read again; these can be
looked at. Attributes are in the order of their names, TensorFlow's in none. Told about:
`core/framework/{graph,node_def,attr_value}.proto`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tflogscope.runtime.dtypes import DType, of_array
from tflogscope.runtime.errors import MissingName
from tflogscope.runtime.node_text import (
    attribute_text,
    endpoint_text,
    escaped,
    function_name,
    type_name,
)
from tflogscope.runtime.shapes import TensorShape

if TYPE_CHECKING:
    from tflogscope.runtime.graph import Graph, Node

__all__ = ["AttrValue", "GraphDef", "NodeDef", "graph_def", "node_def"]

_PRODUCER = 1482
"""`TF_GRAPH_DEF_VERSION` of 2.13."""


@dataclass(frozen=True)
class AttrValue:
    """An attribute: one of its fields has the value."""

    field: str
    value: Any

    def __getattr__(self, name: str) -> Any:
        if name != self.field:
            raise MissingName(f"AttrValue.{name} of a value of the kind {self.field!r}")
        return self.value.as_datatype_enum if name == "type" else self.value


@dataclass(frozen=True)
class NodeDef:
    """A node."""

    name: str
    op: str
    input: list[str] = field(default_factory=list)
    device: str = ""
    attr: dict[str, AttrValue] = field(default_factory=dict)

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in _node_lines(self))


@dataclass(frozen=True)
class GraphDef:
    """The nodes of a graph."""

    node: list[NodeDef]

    def __str__(self) -> str:
        lines = [line for node in self.node for line in _block("node", _node_lines(node))]
        lines += _block("versions", [f"producer: {_PRODUCER}"])
        return "".join(f"{line}\n" for line in lines)

    def __getattr__(self, name: str) -> Any:
        raise MissingName(f"GraphDef.{name}")


def graph_def(graph: Graph) -> GraphDef:
    """The graph as it is now."""
    return GraphDef([node_def(node) for node in graph.nodes])


def node_def(node: Node) -> NodeDef:
    """The node as it is now."""
    inputs = [endpoint_text(tensor) for tensor in node.inputs]
    inputs += [f"^{control.name}" for control in node.control_inputs]
    shown = {key: each for key, each in node.attributes.items() if not key.startswith("__")}
    attributes = {key: _attribute(shown[key]) for key in sorted(shown)}
    return NodeDef(node.name, node.type, inputs, node.device, attributes)


def _attribute(value: Any) -> AttrValue:
    match value:
        case DType():
            return AttrValue("type", value)
        case bool() | np.bool_():
            return AttrValue("b", bool(value))
        case int() | np.integer():
            return AttrValue("i", int(value))
        case float():
            return AttrValue("f", value)
        case str() | bytes():
            return AttrValue("s", value.encode() if isinstance(value, str) else value)
        case TensorShape():
            return AttrValue("shape", value)
        case np.ndarray():
            return AttrValue("tensor", value)
        case list() | tuple():
            return AttrValue("list", [_attribute(each) for each in value])
    return AttrValue("func", value)


def _node_lines(node: NodeDef) -> Iterator[str]:
    yield from (f'name: "{node.name}"', f'op: "{node.op}"')
    yield from (f'input: "{each}"' for each in node.input)
    if node.device:
        yield f'device: "{node.device}"'
    for key, attribute in node.attr.items():
        value = _block("value", _value_lines(attribute))
        yield from _block("attr", [f'key: "{key}"', *value])


def _value_lines(attribute: AttrValue) -> list[str]:
    value = attribute.value
    match attribute.field:
        case "type":
            return [f"type: {type_name(value)}"]
        case "shape":
            return list(_block("shape", _shape_lines(value)))
        case "tensor":
            shape = _block("tensor_shape", _shape_lines(TensorShape(value.shape)))
            content = _contents(value)
            lines = [f"dtype: {type_name(of_array(value.dtype))}", *shape, *content]
            return list(_block("tensor", lines))
        case "list":
            return list(_block("list", [line for each in value for line in _value_lines(each)]))
        case "func":
            return list(_block("func", [f'name: "{function_name(value) or value}"']))
    return [f"{attribute.field}: {attribute_text(value)}"]


def _shape_lines(shape: TensorShape) -> list[str]:
    if shape.rank is None:
        return ["unknown_rank: true"]
    sizes = [-1 if each is None else each for each in shape.as_list()]
    return [line for size in sizes for line in _block("dim", [f"size: {size}"] if size else [])]


_FIELDS = {"f": "float", "i": "int", "u": "int", "b": "bool", "O": "string", "S": "string"}


def _contents(value: np.ndarray[Any, Any]) -> list[str]:
    """One number is told by itself, more as their bytes."""
    if value.size > 1 and value.dtype.kind != "O":
        return [f'tensor_content: "{escaped(value.tobytes())}"']
    name = _FIELDS.get(value.dtype.kind, value.dtype.name)
    if value.dtype.itemsize == 8 and name in {"int", "float"}:
        name = {"int": "int64", "float": "double"}[name]
    return [f"{name}_val: {_number(each)}" for each in value.ravel().tolist()]


def _number(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e16
    return attribute_text(int(value) if is_whole else value)


def _block(name: str, lines: Any) -> Iterator[str]:
    yield f"{name} {{"
    yield from (f"  {line}" for line in lines)
    yield "}"
