"""Comparison, logic and choosing: `tf.equal`, `tf.logical_xor`, `tf.where` and others.

Told about: `python/ops/math_ops.py`, `where`, `where_v2` and `boolean_mask` of
`python/ops/array_ops.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library import arrays, slicing
from tflogscope.runtime.library.reductions import reduce_prod
from tflogscope.runtime.ops.call import call, generated
from tflogscope.runtime.tensors import Tensor

bitwise_and = generated("BitwiseAnd")
bitwise_or = generated("BitwiseOr")
bitwise_xor = generated("BitwiseXor")
equal = generated("Equal")
greater = generated("Greater")
greater_equal = generated("GreaterEqual")
invert = generated("Invert")
left_shift = generated("LeftShift")
less = generated("Less")
less_equal = generated("LessEqual")
logical_and = generated("LogicalAnd")
logical_not = generated("LogicalNot")
logical_or = generated("LogicalOr")
not_equal = generated("NotEqual")
right_shift = generated("RightShift")


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Is just one of them true?"""
    either = call("LogicalOr", x, y)
    return call("LogicalAnd", either, call("LogicalNot", call("LogicalAnd", x, y)), name=name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """X where the condition holds, y elsewhere, with broadcasting; without x and y the coordinates
    where it holds.

    Raises ValueError if only one of x and y is given.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is not None:
        return call("SelectV2", condition, x, y, name=name)
    with op_scope(name, "Where") as name:
        condition = convert_to_tensor(condition, dtype_hint=dtypes.bool_, name="condition")
        return call("Where", condition, name=name)


def where_v1(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`tf.compat.v1.where`: no broadcasting, but of a condition for each row."""
    if x is None or y is None:
        return where(condition, x, y, name)
    return call("Select", condition, x, y, name=name)


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Tensor:
    """The parts of the tensor where the mask holds.

    Raises ValueError for a mask that does not fit.
    """
    with op_scope(name, "boolean_mask"):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        rank = mask.shape.rank
        if not rank:
            raise ValueError(
                "mask cannot be scalar."
                if rank == 0
                else "Number of mask dimensions must be specified, even if some dimensions are "
                "None.  E.g. shape=[None] is ok, but shape=None is not."
            )
        at = 0 if axis is None else axis
        if isinstance(at, Tensor):
            at = int(constant_value(at))  # type: ignore[arg-type]
        tensor.shape[at : at + rank].assert_is_compatible_with(mask.shape)
        leading = reduce_prod(arrays.shape(tensor)[at : at + rank], [0])
        from tflogscope.runtime.library.joining import concat

        before, after = arrays.shape(tensor)[:at], arrays.shape(tensor)[at + rank :]
        flat = arrays.reshape(tensor, concat([before, [leading], after], 0))
        known = tensor.shape[at : at + rank].num_elements()
        flat.set_shape(
            tensor.shape[:at].concatenate([known]).concatenate(tensor.shape[at + rank :])
        )
        kept = arrays.squeeze(where(arrays.reshape(mask, [-1])), axis=[1])
        return slicing.gather(flat, kept, axis=axis if axis is not None else 0)
