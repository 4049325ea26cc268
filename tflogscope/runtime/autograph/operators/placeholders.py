"""Loop variables that get their first value inside the loop: in a graph they need one before it, of
the same kind.

    for i in tf.range(n):
        y = x[i]            # y is undefined before the loop, and read after it
    return y

One iteration is traced on trial, to learn what `y` is; then it starts as zeros of that kind.
Told about: `_try_handling_undefineds` of autograph/operators/control_flow.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import nest
from tflogscope.runtime.autograph.operators.checks import check_loop_inputs
from tflogscope.runtime.autograph.operators.variables import Undefined, UndefinedReturnValue
from tflogscope.runtime.context import current
from tflogscope.runtime.control_flow.structures import is_tensor
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.library import arrays
from tflogscope.runtime.shapes import TensorShape

Values = tuple[Any, ...]


def initial_values(
    body: Callable[[], None],
    get_state: Callable[[], Values],
    set_state: Callable[[Values], None],
    before: Values,
    missing: Sequence[bool],
    invariants: Sequence[Any],
    names: Sequence[str],
) -> tuple[bool, Values, Sequence[Any]]:
    """Values that stand in for those that are missing, and the shape invariants which they need.

    Also whether that worked: then the loop has to run at least once. Raises ValueError if it did
    not and a value is needed.
    """
    traced: Values | None = None
    worked, message, values, extra = False, None, before, [None] * len(before)
    try:
        with FuncGraph("tmp").as_default():
            set_state(tuple(nest.map_structure(_placeholder_like, value) for value in before))
            body()
            traced = get_state()
        pairs = [
            _stand_in(like, invariant, value) if absent else (value, None)
            for value, absent, like, invariant in zip(
                before, missing, traced, invariants, strict=True
            )
        ]
        values, extra = tuple(value for value, _ in pairs), [invariant for _, invariant in pairs]
        worked = True
    except (UnboundLocalError, TypeError, ValueError, KeyError) as error:
        message = (
            "Note: AutoGraph tried to define it automatically, but ran into a "
            f"{type(error).__name__}: {error}"
        )
    finally:
        set_state(values)
    check_loop_inputs(values, names, traced, message)
    return worked, values, extra


def _placeholder_like(value: Any) -> Any:
    if isinstance(value, bool | int | float | str | np.ndarray | np.generic):
        tensor = convert_to_tensor(value)
        return placeholder(current(), tensor.dtype, tensor.shape)  # type: ignore[arg-type]
    return value


def _stand_in(like: Any, invariant: Any, before: Any) -> tuple[Any, Any]:
    """Zeros like `like`, and the shape invariant that its unknown dimensions need."""
    if like is None or isinstance(like, Undefined | UndefinedReturnValue):
        return before, None
    if isinstance(like, bool | int | float):
        return type(like)(0), None
    if is_tensor(like):
        shape = TensorShape(invariant) if invariant is not None else like.shape
        if shape.rank is None:
            return arrays.zeros([], like.dtype), shape
        known = [
            wanted if dim is None else dim for dim, wanted in zip(like.shape, shape, strict=True)
        ]
        zeros = arrays.zeros([dim or 0 for dim in known], like.dtype)
        return zeros, None if like.shape.is_fully_defined() else shape
    if isinstance(like, list | tuple | dict):
        parts = nest.flatten(like)
        wanted = [None] * len(parts) if invariant is None else nest.flatten(invariant)
        pairs = [_stand_in(part, shape, None) for part, shape in zip(parts, wanted, strict=True)]
        values, shapes = (
            nest.pack_sequence_as(like, list(column)) for column in zip(*pairs, strict=True)
        )
        return values, shapes
    raise TypeError(
        f"Found an unsupported type '{type(like).__name__}' while creating placeholder for {like}. "
        "Supported types include Tensor, int, float, bool, list, tuple or dict."
    )
