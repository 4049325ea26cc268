"""Jacobians: one backward pass for each element of the target, all of them at once.

The pass is traced for an element that is not known, and vectorized. Where that can't be (an op for
which there is no rule; `experimental_use_pfor=False`), the elements are done one by one.

Told about: `GradientTape.jacobian` of `tensorflow/python/eager/backprop.py`. NB: there the one by
one is a `while_loop`, which makes other ops than these, with the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime import nest
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.gradients.backprop import backpropagate
from tflogscope.runtime.ops.call import call

if TYPE_CHECKING:
    from tflogscope.runtime.gradients.gradient_tape import GradientTape

__all__ = ["batch_jacobian", "jacobian"]


def jacobian(
    tape: GradientTape, target: Any, sources: Any, unconnected: Any, *, at_once: bool
) -> Any:
    """For each source the derivatives of all elements of the target; None where no gradient flows.

    Raises RuntimeError for a tape that was used up, NotInThisRuntime for a target of unknown shape.
    """
    from tflogscope.runtime.library import arrays, joining

    tape.recorded()
    shape = arrays.shape(target)
    with tape.ensure_recording():
        flat = call("Reshape", target, [-1])
    rows = _rows(tape, flat, nest.flatten(sources), unconnected, axis=0, at_once=at_once)
    results = []
    for each in rows:
        inner: Any = None if each is None else arrays.shape(each)
        results.append(
            None if each is None else call("Reshape", each, joining.concat([shape, inner[1:]], 0))
        )
    return nest.pack_sequence_as(sources, results)


def batch_jacobian(
    tape: GradientTape, target: Any, source: Any, unconnected: Any, *, at_once: bool
) -> Any:
    """For each example of the batch the derivatives of its target with respect to its source.

    Raises ValueError if the batches differ, NotInThisRuntime for a target of unknown shape.
    """
    from tflogscope.runtime.library import arrays, debugging, joining
    from tflogscope.runtime.library.linalg import transpose
    from tflogscope.runtime.ops.call import control_dependencies

    if target.shape[0] != source.shape[0]:
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape "
            f"({source.shape}) to match."
        )
    if not target.shape.is_fully_defined():
        raise NotInThisRuntime("The Jacobian of a target of unknown shape")
    size = target.shape[0]
    width = target.shape.num_elements() // size
    source_shape: Any = arrays.shape(source)
    with tape.ensure_recording():
        same = debugging.assert_equal(size, source_shape[0])
        with control_dependencies([] if same is None else [same]):
            flat = call("Reshape", target, [size, width])
    rows = _rows(tape, flat, [source], unconnected, axis=1, at_once=at_once)[0]
    shape = joining.concat([target.shape.as_list(), source_shape[1:]], 0)
    if rows is None:
        return arrays.zeros(shape, target.dtype)
    by_row = arrays.reshape(rows, [width, size, -1])
    return arrays.reshape(transpose(by_row, [1, 0, 2]), shape)


def _rows(
    tape: GradientTape,
    target: Any,
    sources: list[Any],
    unconnected: Any,
    *,
    axis: int,
    at_once: bool,
) -> list[Any]:
    """For each source the gradients of the slices of the target along that axis, stacked."""
    from tflogscope.runtime.library import arrays, joining, slicing
    from tflogscope.runtime.vectorizing import NotVectorized, pfor

    count = target.shape[axis]
    if count is None:
        raise NotInThisRuntime("The Jacobian of a target of unknown shape")
    handles = [getattr(source, "handle", source) for source in sources]
    zeros = getattr(unconnected, "value", unconnected) == "zero"

    def gradients(index: Any) -> list[Any]:
        with tape.ensure_recording():
            element = slicing.gather(target, index, axis=axis)
        found = backpropagate(tape.recorded(), [element], handles)
        if not zeros:
            return found
        pairs = zip(found, sources, strict=True)
        return [arrays.zeros_like(source) if grad is None else grad for grad, source in pairs]

    if at_once:
        try:
            return pfor(gradients, count)  # type: ignore[no-any-return]
        except NotVectorized:
            pass
    passes: Sequence[Any] = [gradients(index) for index in range(count)]
    return [
        None if grads[0] is None else joining.stack([_dense(grad) for grad in grads])
        for grads in zip(*passes, strict=True)
    ]


def _dense(grad: Any) -> Any:
    from tflogscope.runtime.conversion import convert_to_tensor

    return convert_to_tensor(grad)
