"""What all element-wise ops of two tensors share: their shape function, and the way back through
broadcasting.

Where an input was stretched, its gradient is the sum over the stretched dimensions. Which those are
tells the op BroadcastGradientArgs; where shapes are known, and equal, it is not needed.

Told about: `SmartBroadcastGradientArgs` and `_ShapesFullySpecifiedAndEqual` of
`python/ops/math_grad.py`, `util/bcast.h`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.context import current, executing_eagerly
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import TensorShape, broadcast_shapes, dims_text
from tflogscope.runtime.tensors import Tensor

__all__ = [
    "Reduction",
    "broadcast_gradient_args",
    "broadcast_kernel",
    "broadcast_shape",
    "by_op",
    "gradients_of_both",
    "reduced_to",
    "reductions",
    "same_known_shapes",
    "skips",
]

Array = NDArray[Any]


def broadcast_shape(i: Inference) -> TensorShape:
    """The shape of an element-wise op of two tensors. Raises ValueError if they don't fit."""
    return broadcast_shapes(i.shape(0), i.shape(1))


def broadcast_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function of two arrays as a kernel that refuses shapes that don't fit."""

    def kernel(x: Array, y: Array) -> Any:
        try:
            return function(x, y)
        except ValueError:
            raise incompatible(x, y) from None

    return kernel


def incompatible(x: Array, y: Array) -> InvalidArgumentError:
    """The error of two arrays that can't be broadcast."""
    return InvalidArgumentError(
        None, None, f"Incompatible shapes: {dims_text(x.shape)} vs. {dims_text(y.shape)}"
    )


def _longer(i: Inference) -> TensorShape:
    """As many dimensions as the longer of two shapes has."""
    sizes = [i.shape_of_rank(index, 1)[0] for index in (0, 1)]
    return TensorShape([None if None in sizes else max(sizes)])


@op("BroadcastArgs(s0: T, s1: T; T=int32) -> r0: T", shape=_longer)
def _broadcast_args(s0: Array, s1: Array) -> Array:
    return np.array(np.broadcast_shapes(tuple(s0), tuple(s1)), s0.dtype)


@op(
    "BroadcastGradientArgs(s0: T, s1: T; T=int32) -> r0: T, r1: T",
    shape=lambda _: [TensorShape([None])] * 2,
)
def _broadcast_gradient_args(s0: Array, s1: Array) -> tuple[Array, Array]:
    """The dimensions along which each of two shapes was stretched."""
    rank = max(len(s0), len(s1))
    first = [1] * (rank - len(s0)) + [int(dim) for dim in s0]
    second = [1] * (rank - len(s1)) + [int(dim) for dim in s1]
    both = list(zip(first, second, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in both):
        raise InvalidArgumentError(
            None, None, f"Incompatible shapes: {dims_text(tuple(s0))} vs. {dims_text(tuple(s1))}"
        )
    # a dimension that is 1 in both counts as stretched in both
    result = (
        [k for k, (a, b) in enumerate(both) if a == 1],
        [k for k, (a, b) in enumerate(both) if b == 1],
    )
    if tuple(s0) == tuple(s1):
        result = [], []
    return np.array(result[0], s0.dtype), np.array(result[1], s0.dtype)


Reduction = tuple[Any, Any, bool]
"""For one input: its shape, the dimensions to sum over, and whether there is something to do at
all.
"""


def broadcast_gradient_args(s0: Any, s1: Any) -> tuple[Tensor, Tensor]:
    """The op: the dimensions that were stretched in each of two shapes."""
    first, second = results("BroadcastGradientArgs", s0, s1)
    return first, second


def gradients_of_both(
    record: OpRecord,
    grad: Any,
    gx: Callable[[], Any],
    gy: Callable[[], Any],
    *,
    shortcuts: bool = True,
) -> tuple[Any, Any]:
    """The gradients that `gx()` and `gy()` make, summed over what was stretched; None where nobody
    wants one. Without `shortcuts` both are made anyway.

    NB: later releases first make both, and then ask what was stretched; without `shortcuts` 2.13
    asks with an op even where shapes are known.
    """
    x, y = record.inputs
    if since(2, 15):
        made = [
            None if shortcuts and skips(record, index) else each()
            for index, each in enumerate((gx, gy))
        ]
        if all(each is None for each in made):
            return None, None
        pairs = zip(made, _later_reductions(x, y), strict=True)
        first, second = (each if each is None else summed(each, how) for each, how in pairs)
        return first, second
    of_x, of_y = reductions(x, y, grad) if shortcuts else by_op(x, y)
    first = None if shortcuts and skips(record, 0) else summed(gx(), of_x)
    return first, None if shortcuts and skips(record, 1) else summed(gy(), of_y)


def reduced_to(grad: Any, x: Tensor, output: Tensor) -> Any:
    """The gradient of an input that was stretched to the shape of an output, in later releases."""
    of_x, _ = _later_reductions(x, output)
    return summed(grad, of_x)


def by_op(x: Tensor, y: Tensor) -> tuple[Reduction, Reduction]:
    """What to do with the gradients, as an op says while the graph runs."""
    from tflogscope.runtime.library.arrays import shape

    sx, sy = shape(x), shape(y)
    rx, ry = broadcast_gradient_args(sx, sy)
    return (sx, rx, True), (sy, ry, True)


def _later_reductions(x: Tensor, y: Tensor) -> tuple[Reduction, Reduction]:
    """The same in later releases: known as soon as it is known where the ones are."""
    from tflogscope.runtime.library.arrays import shape

    sx, sy = shape(x), shape(y)
    known = None if executing_eagerly() else _stretched(x.shape, y.shape)
    if known is None:
        rx, ry = broadcast_gradient_args(sx, sy)
        return (sx, rx, True), (sy, ry, True)
    one, two = len(x.shape), len(y.shape)
    of_x, of_y = known
    return (sx, of_x, bool(of_x) or one < two), (sy, of_y, bool(of_y) or two < one)


def _stretched(x: TensorShape, y: TensorShape) -> tuple[list[int], list[int]] | None:
    """The dimensions along which each was stretched; None if that can't be known."""
    if x.rank is None or y.rank is None:
        return None
    rank = max(x.rank, y.rank)
    first = [1] * (rank - x.rank) + x.as_list()
    second = [1] * (rank - y.rank) + y.as_list()
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (one, other) in enumerate(zip(first, second, strict=True)):
        if one == 1 and other != 1:
            axes[0].append(axis)
        elif other == 1 and one != 1:
            axes[1].append(axis)
        elif one is None or other is None:
            return None
    return axes


def reductions(x: Tensor, y: Tensor, grad: Any) -> tuple[Reduction, Reduction]:
    """What to do with the gradients of `x` and `y`: in a graph with known shapes as Python
    constants.
    """
    from tflogscope.runtime.library.arrays import shape_internal

    if executing_eagerly() or not isinstance(grad, Tensor):
        return by_op(x, y)
    if not (x.shape.is_fully_defined() and y.shape.is_fully_defined()):
        sx, sy = shape_internal(x, optimize=False), shape_internal(y, optimize=False)
        rx, ry = broadcast_gradient_args(sx, sy)
        return (sx, rx, True), (sy, ry, True)
    return _known_reductions(x.shape.as_tuple(), y.shape.as_tuple(), grad)


def _known_reductions(
    sx: tuple[int, ...], sy: tuple[int, ...], grad: Tensor
) -> tuple[Reduction, Reduction]:
    # NB: the op is made all the same, once for each pair of shapes in a graph, though nothing reads
    # it
    known = current().__dict__.setdefault("_broadcast_gradient_args", {})
    if (sx, sy) not in known:
        found = broadcast_gradient_args(sx, sy)
        known[sx, sy] = tuple(tuple(int(k) for k in _folded(axes)) for axes in found)
    rx, ry = known[sx, sy]
    shape = grad.shape.as_tuple() if grad.shape.is_fully_defined() else None
    return (sx, rx, sx != shape), (sy, ry, sy != shape)


def _folded(tensor: Tensor) -> Sequence[Any]:
    value = folded_value(tensor)
    assert value is not None
    return value  # type: ignore[return-value]


def summed(grad: Tensor, reduction: Reduction) -> Tensor:
    """The gradient of an input: summed over the dimensions along which it was stretched, in its
    shape.
    """
    from tflogscope.runtime.library.arrays import reshape
    from tflogscope.runtime.library.reductions import reduce_sum

    shape, axes, needed = reduction
    return reshape(reduce_sum(grad, axes, keepdims=since(2, 15)), shape) if needed else grad


def same_known_shapes(x: Tensor, y: Tensor, grad: Any) -> bool:
    """Have all three the same shape, known in full?"""
    return (
        isinstance(grad, Tensor)
        and x.shape.is_fully_defined()
        and x.shape == y.shape
        and x.shape == grad.shape
    )


def skips(record: OpRecord, index: int) -> bool:
    """Does nobody want the gradient of that input?

    Only a tape knows; gradients of graphs make them all.
    """
    return index in (getattr(record, "skip_input_indices", None) or ())


def is_scalar(x: Tensor) -> bool:
    """Is it known to be a single value?"""
    return x.shape.rank == 0
