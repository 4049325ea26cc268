r"""A kernel that fails ends the step; the error says which node it was, and where in the user's
program that was made.

The executor only names the node, and functions on the way out themselves:
`{{function_node __inference_f_7}} indices = 9 is not in [0, 3)\n\t [[{{node GatherV2}}]]`. Of such
tags Python makes the stack, once the error reaches who called the outermost function: if it finds
that function named in the message, and the node in its graph, or in that of a function named
further on. So nothing is said of functions with names that tags can't have (`<lambda>`), and of
nodes of a dataset's functions, which are run by no call.

Told about: `AttachDef` of `core/framework/op_kernel.cc`, `error_interpolation.py`,
`_InterpolateFunctionError` of `eager/polymorphic_function/atomic_function.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tflogscope.runtime import stacks
from tflogscope.runtime.errors import OpError

if TYPE_CHECKING:
    from tflogscope.runtime.function.definition import NodeDef
    from tflogscope.runtime.graph import Graph, Node

__all__ = ["explained", "explained_by_call", "failed_node", "in_function", "located", "reason"]

_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.\-/]*?"
_TAG = re.compile(rf"{{{{(?P<type>{_NAME}) (?P<name>{_NAME})}}}}")
_FUNCTION_TAG = re.compile(rf"{{{{function_node {_NAME}}}}}")


def located(error: OpError, node: NodeDef | None) -> OpError:
    """The same error, naming the node: as a tag if the message has none yet."""
    if node is None:
        return error
    text = node.name
    if "{{node " not in error.message:
        origin = node.origin
        text = f"{{{{node {origin.name if origin else text}}}}}"
        if origin is not None and origin.function:
            text = f"{{{{function_node {origin.function}}}}}{text}"
    return type(error)(None, None, f"{error.message}\n\t [[{text}]]")


def in_function(error: OpError, function: str) -> OpError:
    """The same error, now that the function which it ended is left."""
    return type(error)(None, None, f"{{{{function_node {function}}}}} {error.message}")


def reason(message: str) -> str:
    """What the kernel said, without what was added on the way out."""
    while message.startswith("{{function_node "):
        message = message.partition("}} ")[2]
    return message.partition("\n\t [[")[0]


def failed_node(message: str, graph: Graph) -> Node | None:
    """The node of the graph that the message names, if it names one. Told about: `_do_call` of
    `python/client/session.py`.
    """
    for tag in _TAG.finditer(message):
        if tag["type"] == "node":
            try:
                return graph.get_operation_by_name(tag["name"])
            except KeyError:
                continue
    return None


def explained(message: str, graph: Graph) -> str:
    """The message for the user: with the places where the nodes that it names were made."""
    told = ["Graph execution error:", ""]
    for tag in _TAG.finditer(message):
        name = tag["name"]
        try:
            node = graph.get_operation_by_name(name)
        except KeyError:
            continue
        if tag["type"] == "node":
            told.append(f"Detected at node {name!r} defined at (most recent call last):")
            told.append(f"{stacks.text(node.frames)}\nNode: {name!r}")
    told.append(_FUNCTION_TAG.sub("", message).strip())
    return "\n".join(told)


def explained_by_call(
    message: str, name: str, graph: Graph, graph_of: Callable[[str], Graph | None]
) -> str:
    """The same after a call of the function `name`, whose graph is `graph`, if the message names
    it. `graph_of` gives the graphs of others.
    """
    found = None
    for tag in _TAG.finditer(message):
        if tag["type"] == "function_node" and tag["name"] == name:
            found = graph
        elif tag["type"] == "function_node" and found is not None:
            found = graph_of(tag["name"]) or found
    return message if found is None else explained(message, found)
