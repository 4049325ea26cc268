"""What orders and gathers ops: `tf.no_op`, `tf.group`, `tf.tuple`, control dependencies.

Told about: `python/ops/control_flow_ops.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tflogscope.runtime import nest
from tflogscope.runtime.context import current, executing_eagerly, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.ops.call import call, call_node, control_dependencies
from tflogscope.runtime.tensors import SymbolicTensor, Tensor


def no_op(name: str | None = None) -> Any:
    """An op that does nothing: something to hang order on."""
    return call_node("NoOp", name=name)


def group(*inputs: Any, name: str | None = None) -> Any:
    """A node that has run when all of these have run; None eagerly. Raises TypeError for what is no
    node.
    """
    if executing_eagerly():
        return None
    with op_scope(name, "group_deps") as name:
        leaves = nest.flatten(list(inputs))
        for leaf in leaves:
            if not hasattr(leaf, "device"):
                raise TypeError(
                    f"'inputs' should be zero or more (nested) Tensors. Received '{leaf}' with "
                    f"type '{type(leaf)}'."
                )
        with control_dependencies(leaves):
            return no_op(name=name)


@contextmanager
def colocated_with(tensor: Any) -> Iterator[None]:
    """Nodes made in it are marked to be where the tensor's node is: `ops.colocate_with`."""
    graph: Any = current()
    if not isinstance(tensor, SymbolicTensor) or executing_eagerly():
        yield
        return
    own = (f"loc:@{tensor.op.name}",)
    with graph.marked(_class=tensor.op.attributes.get("_class", own)):
        yield


def with_dependencies(
    dependencies: Sequence[Any], output_tensor: Tensor, name: str | None = None
) -> Tensor:
    """The same tensor, but not before these have run."""
    if executing_eagerly():
        return output_tensor
    with op_scope(name, "control_dependency") as name, control_dependencies(dependencies):
        return call("Identity", output_tensor, name=name)


def tuple_of(tensors: Any, control_inputs: Any = None, name: str | None = None) -> Any:
    """The same tensors, none before all of them have been computed."""
    if executing_eagerly():
        return tensors
    with op_scope(name, "tuple"):
        converted = [each if each is None else convert_to_tensor(each) for each in tensors]
        nodes = {each.op.name: each.op for each in converted if each is not None}
        nodes |= {each.op.name: each.op for each in control_inputs or ()}
        if not nodes:
            raise ValueError(f"'tensors' must have at least one Tensor. Received: {tensors}.")
        order = {
            node.name: place for place, node in enumerate(next(iter(nodes.values())).graph.nodes)
        }
        gate = group(*sorted(nodes.values(), key=lambda node: order[node.name]))
        return [each if each is None else with_dependencies([gate], each) for each in converted]
