"""Python's built-in functions, of tensors. Told about: autograph/operators/py_builtins.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.control_flow.cond import cond
from tflogscope.runtime.control_flow.structures import is_tensor
from tflogscope.runtime.control_flow.tensor_array import TensorArray
from tflogscope.runtime.dtypes import float32, int32, string
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.ops.call import call


def abs_(value: Any) -> Any:
    """`abs(value)`."""
    return elementary.abs(value) if is_tensor(value) else abs(value)


def float_(value: Any = 0) -> Any:
    """`float(value)`: of a tensor, a cast."""
    return _number(value, float32) if is_tensor(value) else float(value)


def int_(value: Any = 0, *base: int) -> Any:
    """`int(value)`: of a tensor, a cast."""
    return _number(value, int32) if is_tensor(value) else int(value, *base)


def _number(value: Any, dtype: Any) -> Any:
    if value.dtype is string:
        return call("StringToNumber", value, out_type=dtype)
    return elementary.cast(value, dtype)


def len_(value: Any) -> Any:
    """`len(value)`: of a tensor, its first dimension: a Python number if that is known."""
    if isinstance(value, TensorArray):
        return value.size()
    if not is_tensor(value):
        return len(value)
    if value.shape.rank and value.shape[0] is not None:
        return value.shape[0]
    if value.shape.rank == 0:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {value.shape}")
    if value.shape.rank:
        return arrays.shape(value)[0]
    return cond(arrays.rank(value) > 0, lambda: arrays.shape(value)[0], lambda: 0)


def range_(*arguments: Any) -> Any:
    """`range(…)`: of tensors, `tf.range`, empty as in Python where the limit is below the start."""
    if not any(map(is_tensor, arguments)):
        return range(*arguments)
    if len(arguments) == 1:
        return arrays.range(call("Maximum", arguments[0], 0))
    if len(arguments) == 2:
        return arrays.range(arguments[0], call("Maximum", *arguments))
    return arrays.range(*arguments)


OVERLOADS: dict[Callable[..., Any], Callable[..., Any]] = {
    abs: abs_,
    float: float_,
    int: int_,
    len: len_,
    range: range_,
}
"""The built-in functions that mean something else for tensors."""


def register(
    builtin: Callable[..., Any],
    types: type,
    function: Callable[..., Any],
    which: slice = slice(1),
) -> None:
    """`builtin(x, …)` in converted code is `function(x, …)` if these arguments (`which`; the first)
    are all of these types: `enumerate(dataset)`.
    """
    fallback = OVERLOADS.get(builtin, builtin)

    def overload(*arguments: Any, **named: Any) -> Any:
        asked = arguments[which]
        chosen = function if asked and all(isinstance(x, types) for x in asked) else fallback
        return chosen(*arguments, **named)

    OVERLOADS[builtin] = overload
