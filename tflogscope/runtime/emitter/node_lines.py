"""A node as the log shows it: `{{node MatMul}} = _MklMatMul[T=DT_FLOAT, …](x, w, ^init)`.

Told about: `SummarizeNodeDef` of `core/framework/node_def_util.cc`, `Node::DebugString`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.function.definition import FunctionDef, NodeDef
from tflogscope.runtime.node_text import attribute_text

__all__ = ["NodeLines", "debug_text", "summary"]

_NO_DEVICE = frozenset({"_Arg", "_Retval"})
_STRIPPED = frozenset({"Const", "HostConst"})
_UNMARKED = frozenset({"_Retval"})
"""Nodes made after the pass that marks nodes with reference variables."""


def summary(
    name: str,
    op: str,
    attributes: Mapping[str, Any],
    inputs: Sequence[str],
    device: str = CPU,
    *,
    marked: bool = True,
) -> str:
    """The text of a node."""
    shown = {
        key: attribute_text(value) for key, value in attributes.items() if not key.startswith("__")
    }
    if marked and op not in _UNMARKED and "__copied" not in attributes:
        shown["_XlaHasReferenceVars"] = "false"
    parts = [f"{key}={shown[key]}" for key in sorted(shown)]
    if device and op not in _NO_DEVICE:
        parts.append(f'_device="{device}"')
    return f"{{{{node {name}}}}} = {op}[{', '.join(parts)}]({', '.join(inputs)})"


def debug_text(name: str, number: int, text: str) -> str:
    """A node of a C++ graph, as the layout pass prints it."""
    return (
        f"{{name:'{name}' id:{number} op device:{{requested: '{CPU}', assigned: '{CPU}'}} "
        f"def:{{{text}}}}}"
    )


class NodeLines:
    """The texts and numbers of the nodes of a function that is ready to run."""

    def __init__(self, definition: FunctionDef, dialect: Dialect) -> None:
        self.texts: dict[str, str] = {}
        """As the node stands in the graph."""
        self.running: dict[str, str] = {}
        """As its kernel says, where that is something else."""
        self.numbers: dict[str, int] = {}
        nodes = list(definition.prologue)
        seen = {node.name for node in nodes}
        nodes += [node for node in definition.nodes if node.name not in seen]
        number = 0
        for node in nodes:
            self.numbers[node.name] = number
            number += 2 if number == 0 else 1  # 1 is the sink
            self.texts[node.name] = node_summary(node, dialect)
            if node.type in _STRIPPED:
                self.running[node.name] = node_summary(node, dialect, running=True)
        self.count = number


def node_summary(
    node: NodeDef, dialect: Dialect, *, marked: bool = True, running: bool = False
) -> str:
    """The text of a node of a function; `running`: as its kernel, once made, knows itself.

    A constant's kernel drops what it does not need: `StripTensorDataFromNodeDef` of
    `core/kernels/constant_op.cc`.
    """
    if running and node.type in _STRIPPED:
        kept = {"dtype": node.attributes["dtype"]}
        return summary(node.name, node.type, kept, (), node.device or CPU, marked=False)
    inputs = [f"{name}:{output}" if output else name for name, output in node.inputs]
    inputs += [f"^{name}" for name in node.control_inputs]
    if node.name == "_SOURCE":
        return "{{node _SOURCE}} = NoOp[]()"
    attributes = attributes_of(node.type, node.attributes, dialect)
    return summary(node.name, node.type, attributes, inputs, node.device or CPU, marked=marked)


def attributes_of(op: str, attributes: Mapping[str, Any], dialect: Dialect) -> Mapping[str, Any]:
    """The attributes that the op has in that release."""
    if dialect.matmul_gradients and op in {"MatMul", "_MklMatMul"}:
        return {"grad_a": False, "grad_b": False, **attributes}
    return attributes
