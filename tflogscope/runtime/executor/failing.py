"""A kernel that fails ends the step; the error says which node it was.

Told about: `error_interpolation.py` and `_attach_error_message` of `executor.cc`.
NB: TensorFlow also prints the Python stack of the node's creation; this runtime keeps none.
"""

from __future__ import annotations

from tflogscope.runtime.errors import OpError
from tflogscope.runtime.function.definition import NodeDef

__all__ = ["ORIGINAL", "located"]

ORIGINAL = "_original_node"
"""The attribute of a node that was inlined: what it was called in its own function."""

_BEGINNING = "Graph execution error:\n\n"


def located(error: OpError, node: NodeDef | None) -> OpError:
    """The same error, naming the node; one that names a node already is left as it is."""
    if node is None or error.message.startswith(_BEGINNING):
        return error
    name = node.attributes.get(ORIGINAL, node.name)
    message = (
        f"{_BEGINNING}Detected at node '{name}' defined at (most recent call last):\n<stack traces "
        f"unavailable>\nNode: '{name}'\n{error.message}\n\t [[{{{{node {name}}}}}]]"
    )
    return type(error)(None, None, message)
