"""What several rows of the table have in common: shape rules; how the gradient of an op that
broadcast its inputs is summed to their shapes. See `core/framework/common_shape_fns.cc`,
`tensorflow/python/ops/math_grad.py` (`SmartBroadcastGradientArgs`, `_ReduceGradientArgs`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import current, executing_eagerly
from tflogscope.runtime.core.errors import InvalidArgumentError
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import Inference
from tflogscope.runtime.core.release import since
from tflogscope.runtime.core.shapes import SCALAR, UNKNOWN, TensorShape, merged
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.numbers import reduce_sum


def same(i: Inference) -> TensorShape:
    """The shape of the first input."""
    return i.shape(0)


def scalar(_: Inference) -> TensorShape:
    """One value."""
    return SCALAR


def unknown(_: Inference) -> TensorShape:
    """Nothing is known before it has run."""
    return UNKNOWN


def broadcast(i: Inference) -> TensorShape:
    """Element by element."""
    return broadcast_shapes(i.shape(0), i.shape(1))


def agreed(i: Inference) -> TensorShape:
    """All inputs have the same shape."""
    shape = i.shape(0)
    for each in i.inputs[1:]:
        shape.assert_is_compatible_with(each.shape)
        shape = merged(shape, each.shape)
    return shape


def invalid(text: str) -> Exception:
    """What a kernel raises."""
    error: Exception = InvalidArgumentError(None, None, text)
    return error


def known_int(tensor: Any) -> int | None:
    """The one number that a tensor is, if that is known."""
    value = known_value(tensor)
    return None if value is None else int(np.ravel(value)[0])


# -- the gradient of what was broadcast

Reduction = tuple[Any, Any, bool]
"""The shape of the input, the axes along which it was broadcast, and whether there are any."""


def same_known_shapes(x: Any, y: Any, grad: Any) -> bool:
    """Was nothing broadcast, for sure?"""
    known = isinstance(grad, Tensor) and x.shape.is_fully_defined()
    return known and x.shape == y.shape == grad.shape


def of_scalar(op: Any) -> bool:
    """Is the second input one number, of which no gradient is wanted?"""
    return 1 in _skipped(op) and op.inputs[1].shape.rank == 0


def _skipped(op: Any) -> Any:
    return getattr(op, "skip_input_indices", None) or ()


def both(
    op: Any, grad: Any, gx: Callable[[], Any], gy: Callable[[], Any], *, shortcuts: bool = True
) -> list[Any]:
    """Two gradients, each summed to the shape of its input; none that is not wanted."""
    x, y = op.inputs
    skipped = _skipped(op) if shortcuts else ()
    if since(2, 15):
        made = [None if 0 in skipped else gx(), None if 1 in skipped else gy()]
        if made == [None, None]:
            return made
        reductions = _later_reductions(x, y)
        return [e if e is None else summed(e, r) for e, r in zip(made, reductions, strict=True)]
    of_x, of_y = _reductions(x, y, grad) if shortcuts else by_op(x, y)
    first = None if 0 in skipped else summed(gx(), of_x)
    return [first, None if 1 in skipped else summed(gy(), of_y)]


def by_op(x: Any, y: Any) -> tuple[Reduction, Reduction]:
    """The axes as an op says when it runs."""
    sx, sy = arrays.shape(x), arrays.shape(y)
    rx, ry = O.BroadcastGradientArgs(sx, sy)
    return (sx, rx, True), (sy, ry, True)


def _reductions(x: Any, y: Any, grad: Any) -> tuple[Reduction, Reduction]:
    if executing_eagerly() or not isinstance(grad, Tensor):
        return by_op(x, y)
    if not (x.shape.is_fully_defined() and y.shape.is_fully_defined()):
        sx, sy = arrays.shape(x, optimize=False), arrays.shape(y, optimize=False)
        rx, ry = O.BroadcastGradientArgs(sx, sy)
        return (sx, rx, True), (sy, ry, True)
    # NB: the op is made all the same, once for each pair of shapes in a graph, and nothing reads it
    sx, sy = x.shape.sizes(), y.shape.sizes()
    cache = current().__dict__.setdefault("broadcast_gradient_args", {})
    if (sx, sy) not in cache:
        O.BroadcastGradientArgs(sx, sy)
        cache[sx, sy] = _stretched(np.array(sx, np.int32), np.array(sy, np.int32))
    rx, ry = cache[sx, sy]
    shape = grad.shape.sizes() if grad.shape.is_fully_defined() else None
    return (sx, rx, sx != shape), (sy, ry, sy != shape)


def _stretched(s0: Any, s1: Any) -> tuple[Any, Any]:
    """Along which axes of the result each of the two was broadcast: the kernel of the op, too."""
    rank = max(len(s0), len(s1))
    first, second = ([1] * (rank - len(s)) + s.tolist() for s in (s0, s1))
    if any(a != b and 1 not in {a, b} for a, b in zip(first, second, strict=True)):
        raise invalid(f"Incompatible shapes: {s0.tolist()} vs. {s1.tolist()}")
    same = s0.tolist() == s1.tolist()
    axes = (
        [] if same else [k for k, dim in enumerate(dims) if dim == 1] for dims in (first, second)
    )
    one, other = (np.array(each, s0.dtype) for each in axes)
    return one, other


stretched = _stretched


def _later_reductions(x: Any, y: Any) -> tuple[Reduction, Reduction]:
    """Since 2.15: axes that are known are found while tracing."""
    sx, sy = arrays.shape(x), arrays.shape(y)
    axes: Any = None
    if not executing_eagerly() and x.shape.rank is not None and y.shape.rank is not None:
        axes = _known_axes(x.shape.as_list(), y.shape.as_list())
    if axes is None:
        rx, ry = O.BroadcastGradientArgs(sx, sy)
        return (sx, rx, True), (sy, ry, True)
    one, two = len(x.shape), len(y.shape)
    return (sx, axes[0], bool(axes[0]) or one < two), (sy, axes[1], bool(axes[1]) or two < one)


def _known_axes(x: list[Any], y: list[Any]) -> Any:
    rank = max(len(x), len(y))
    pairs = zip([1] * (rank - len(x)) + x, [1] * (rank - len(y)) + y, strict=True)
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (one, other) in enumerate(pairs):
        if one == 1 and other != 1:
            axes[0].append(axis)
        elif other == 1 and one != 1:
            axes[1].append(axis)
        elif one is None or other is None:
            return None
    return axes


def summed(grad: Any, reduction: Reduction) -> Any:
    """The gradient summed over these axes."""
    shape, axes, needed = reduction
    if not needed:
        return grad
    return arrays.reshape(reduce_sum(grad, axes, keepdims=since(2, 15)), shape)
