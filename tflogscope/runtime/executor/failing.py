"""A kernel that fails ends the step; the error says which node it was, and where in the user's
program that was made.

Told about: `error_interpolation.py` and `_attach_error_message` of `executor.cc`.
"""

from __future__ import annotations

from tflogscope.runtime import stacks
from tflogscope.runtime.errors import OpError
from tflogscope.runtime.function.definition import NodeDef

__all__ = ["located"]

_BEGINNING = "Graph execution error:\n\n"


def located(error: OpError, node: NodeDef | None) -> OpError:
    """The same error, naming the node; one that names a node already is left as it is."""
    if node is None or error.message.startswith(_BEGINNING):
        return error
    name, where = node.name, ""
    if node.origin is not None:
        name = node.origin.name
        where = (
            f"Detected at node '{name}' defined at (most recent call last):\n"
            f"{stacks.text(node.origin.frames)}\nNode: '{name}'\n"
        )
    message = f"{_BEGINNING}{where}{error.message}\n\t [[{{{{node {name}}}}}]]"
    return type(error)(None, None, message)
