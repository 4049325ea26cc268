"""Jacobians: one backward pass for each element of the target.

Told about: `GradientTape.jacobian` of `tensorflow/python/eager/backprop.py`. NB: TensorFlow traces
one such pass and rewrites it to do all elements at once (`pfor`); here they are done one by one,
which takes longer and makes other ops, with the same values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.runtime import nest
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.gradients.backprop import backpropagate, zeros_like
from tflogscope.runtime.ops.call import call

if TYPE_CHECKING:
    from tflogscope.runtime.gradients.gradient_tape import GradientTape

__all__ = ["batch_jacobian", "jacobian"]


def jacobian(tape: GradientTape, target: Any, sources: Any, unconnected: Any) -> Any:
    """For each source the derivatives of all elements of the target; None where no gradient flows.

    Raises RuntimeError for a tape that was used up, NotInThisRuntime for a target of unknown shape
    in a graph.
    """
    if not target.shape.is_fully_defined():
        raise NotInThisRuntime("The Jacobian of a target of unknown shape")
    shape = target.shape.as_list()
    with tape.ensure_recording():
        flat = call("Reshape", target, [-1])
    rows = _rows(tape, flat, nest.flatten(sources), unconnected, axis=0)
    results = [
        None
        if parts is None
        else call("Reshape", call("Pack", parts, axis=0), shape + parts[0].shape.as_list())
        for parts in rows
    ]
    return nest.pack_sequence_as(sources, results)


def batch_jacobian(tape: GradientTape, target: Any, source: Any, unconnected: Any) -> Any:
    """For each example of the batch the derivatives of its target with respect to its source.

    Raises ValueError if the batches differ.
    """
    if target.shape[0] != source.shape[0]:
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape "
            f"({source.shape}) to match."
        )
    shape = target.shape.as_list()
    with tape.ensure_recording():
        flat = call("Reshape", target, [shape[0], -1])
    parts = _rows(tape, flat, [source], unconnected, axis=1)[0]
    if parts is None:
        return None
    return call("Reshape", call("Pack", parts, axis=1), shape + source.shape.as_list()[1:])


def _rows(
    tape: GradientTape, target: Any, sources: list[Any], unconnected: Any, *, axis: int
) -> list[Any]:
    """For each source the gradients of the slices of the target along that axis."""
    handles = [getattr(source, "handle", source) for source in sources]
    passes = []
    for index in range(target.shape[axis]):
        with tape.ensure_recording():
            element = call("GatherV2", target, index, axis, batch_dims=0)
        passes.append(backpropagate(tape.recorded(), [element], handles))
    zeros = getattr(unconnected, "value", unconnected) == "zero"
    columns: list[Any] = []
    for handle, grads in zip(handles, zip(*passes, strict=True), strict=True):
        if all(grad is None for grad in grads):
            columns.append([zeros_like(handle)] * len(grads) if zeros else None)
        else:
            columns.append([zeros_like(handle) if grad is None else grad for grad in grads])
    return columns
