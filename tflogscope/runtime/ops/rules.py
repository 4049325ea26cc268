"""What several rows of the table have in common: shape rules; how the gradient of an op that
broadcast its inputs is summed to their shapes. See `core/framework/common_shape_fns.cc`,
`tensorflow/python/ops/math_grad.py` (`SmartBroadcastGradientArgs`, `_ReduceGradientArgs`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly
from tflogscope.runtime.core.errors import InvalidArgumentError
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import Inference
from tflogscope.runtime.core.shapes import SCALAR, UNKNOWN, TensorShape, merged
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.numbers import reduce_sum


def same(i: Inference) -> TensorShape:
    return i.shape(0)


def scalar(_: Inference) -> TensorShape:
    return SCALAR


def unknown(_: Inference) -> TensorShape:
    return UNKNOWN


def broadcast(i: Inference) -> TensorShape:
    return broadcast_shapes(i.shape(0), i.shape(1))


def agreed(i: Inference) -> TensorShape:
    shape = i.shape(0)
    for each in i.inputs[1:]:
        shape.assert_is_compatible_with(each.shape)
        shape = merged(shape, each.shape)
    return shape


def invalid(text: str) -> Exception:
    error: Exception = InvalidArgumentError(None, None, text)
    return error


def known_int(tensor: Any) -> int | None:
    """The one number that a tensor is, if that is known."""
    value = known_value(tensor)
    return None if value is None else int(np.ravel(value)[0])


# -- the gradient of what was broadcast

Reduction = tuple[Any, Any] | None
"""The shape of the input and the axes along which it was broadcast; None if it was not."""


def skipped(op: Any) -> Any:
    """The inputs of which no gradient is wanted."""
    return getattr(op, "skip_input_indices", None) or ()


def of_scalar(op: Any) -> bool:
    """Is the second input one number, of which no gradient is wanted?"""
    return 1 in skipped(op) and op.inputs[1].shape.rank == 0


def same_known_shapes(x: Any, y: Any, grad: Any) -> bool:
    """Was nothing broadcast, for sure?"""
    known = isinstance(grad, Tensor) and x.shape.is_fully_defined()
    return known and x.shape == y.shape == grad.shape


def both(
    op: Any, grad: Any, gx: Callable[[], Any], gy: Callable[[], Any], *, always: bool = False
) -> list[Any]:
    """Two gradients, each summed to the shape of its input; none that is not wanted, but `always`.

    NB: as TensorFlow 2.13 does it; since 2.15 axes are found while tracing if ranks are known.
    """
    x, y = op.inputs
    reductions = by_op(x, y) if always else _reductions(x, y, grad)
    left_out = () if always else skipped(op)
    makers = enumerate(zip((gx, gy), reductions, strict=True))
    return [None if at in left_out else summed(make(), r) for at, (make, r) in makers]


def by_op(x: Any, y: Any, *, optimize: bool = True) -> tuple[Reduction, Reduction]:
    """An op says which axes when it runs."""
    sx, sy = arrays.shape(x, optimize=optimize), arrays.shape(y, optimize=optimize)
    rx, ry = O.BroadcastGradientArgs(sx, sy)
    return (sx, rx), (sy, ry)


def _reductions(x: Any, y: Any, grad: Any) -> tuple[Reduction, Reduction]:
    if executing_eagerly() or not (x.shape.is_fully_defined() and y.shape.is_fully_defined()):
        return by_op(x, y, optimize=False)
    shapes = [np.array(each.shape.sizes(), np.int32) for each in (x, y)]
    pairs = zip(shapes, stretched(*shapes), strict=True)
    one, other = (None if tuple(s) == grad.shape.dims else (s, axes) for s, axes in pairs)
    return one, other


def stretched(s0: Any, s1: Any) -> tuple[Any, Any]:
    """Along which axes of the result each of the two shapes was broadcast."""
    rank = max(len(s0), len(s1))
    first, second = ([1] * (rank - len(s)) + s.tolist() for s in (s0, s1))
    ones = [] if s0.tolist() == s1.tolist() else range(rank)
    found = [np.array([k for k in ones if d[k] == 1], s0.dtype) for d in (first, second)]
    return found[0], found[1]


def summed(grad: Any, reduction: Reduction) -> Any:
    """The gradient summed over these axes."""
    if reduction is None:
        return grad
    shape, axes = reduction
    return arrays.reshape(reduce_sum(grad, axes), shape)
