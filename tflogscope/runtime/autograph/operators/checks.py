"""Conditions must be scalars, branches must agree, loop variables must stay what they are: said in
the user's words.

TensorFlow: the `_verify_…` functions of autograph/operators/control_flow.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.autograph.operators.variables import Undefined, UndefinedReturnValue
from tflogscope.runtime.control_flow.structures import is_tensor
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import bool_
from tflogscope.runtime.library import arrays
from tflogscope.runtime.nest import assert_same_structure, flatten
from tflogscope.runtime.shapes import TensorShape, as_shape

LEGAL_LOOP_TYPES = "Tensor, int, float, bool or a list, tuple or dict thereof"


def scalar_condition(condition: Any, what: str) -> Any:
    """The condition as a scalar tensor of bool. Raises ValueError."""
    condition = convert_to_tensor(condition)
    hint = "to check for None, use `is not None`"
    if condition.dtype is not bool_:
        raise ValueError(
            f"condition of {what} expected to be `tf.bool` scalar, got {condition}"
            f"; to use as boolean Tensor, use `tf.cast`; {hint}"
        )
    if condition.shape.rank == 0:
        return condition
    if (
        condition.shape.rank
        and np.prod([dim for dim in condition.shape.as_list() if dim is not None]) > 1
    ):
        raise ValueError(
            f"condition of {what} expected to be `tf.bool` scalar, got {condition}; {hint}"
        )
    return arrays.reshape(condition, [])


def check_branch(values: Sequence[Any], names: Sequence[str], which: str) -> None:
    """Raises ValueError if a block left a variable without a value."""
    for name, value in zip(names, values, strict=False):
        if isinstance(value, Undefined):
            raise ValueError(f"'{name}' must also be initialized in the {which} branch")
        if isinstance(value, UndefinedReturnValue):
            raise ValueError(f"the {which} branch must also have a return statement.")


def check_branches(body: Sequence[Any], orelse: Sequence[Any], names: Sequence[str]) -> None:
    """Raises TypeError if the blocks of an `if` leave different kinds of values."""
    for name, left, right in zip(names, body, orelse, strict=False):
        try:
            assert_same_structure(left, right)
        except (ValueError, TypeError) as error:
            raise TypeError(
                f"'{name}' must have the same nested structure in the main and else "
                f"branches:\n\n{error}"
            ) from error
        for one, other in zip(flatten(left), flatten(right), strict=True):
            check_output(name, one, other)


def check_output(name: str, body: Any, orelse: Any) -> None:
    """Raises ValueError or TypeError if the two could not be the same output of a `tf.cond`."""
    if body is None:
        raise ValueError(f"'{name}' is None at the end of the main branch.")
    if orelse is None:
        raise ValueError(f"'{name}' is None at the end of the else branch.")
    body, orelse = _tensor(body), _tensor(orelse)
    if is_tensor(body) and is_tensor(orelse) and body.dtype is not orelse.dtype:
        raise TypeError(
            f"'{name}' has dtype {body.dtype.name} in the main branch, but dtype "
            f"{orelse.dtype.name} in the else branch"
        )


def check_loop_inputs(
    values: Sequence[Any],
    names: Sequence[str],
    first: Sequence[Any] | None = None,
    extra: str | None = None,
) -> None:
    """Raises ValueError for a variable without a value before a loop. `first`: their values after
    one iteration.
    """
    for name, value, after in zip(names, values, first or [None] * len(values), strict=True):
        if isinstance(value, UndefinedReturnValue):
            if after:
                raise ValueError(
                    f"the return value from a TensorFlow loop may only be a {LEGAL_LOOP_TYPES}; "
                    f"got {type(after)}"
                )
            raise NotImplementedError(
                "a return statement cannot be placed inside this TensorFlow loop; this may happen "
                "if a return statement depends on a static Python condition such as a "
                "hyperparameter"
            )
        message = None
        if value is None:
            message = f"'{name}' is not allowed to be None before the loop"
        elif isinstance(value, Undefined):
            message = f"'{name}' must be defined before the loop" + (f"\n{extra}" if extra else "")
        if message:
            raise ValueError(message)


def check_loop_variables(
    before: Sequence[Any],
    entry: Sequence[Any],
    after: Sequence[Any],
    names: Sequence[str],
    options: Mapping[str, Any],
    *,
    check_shapes: bool = True,
) -> None:
    """Raises TypeError or ValueError if an iteration changes what a loop variable is: structure,
    dtype, shape.
    """
    invariants = options.get("shape_invariants") or [None] * len(names)
    for name, initial, first, last, invariant in zip(
        names, before, entry, after, invariants, strict=True
    ):
        for one, other in ((initial, first), (first, last)):
            try:
                assert_same_structure(one, other)
            except (ValueError, TypeError) as error:
                raise TypeError(
                    f"'{name}' does not have the same nested structure after one "
                    f"iteration.\n\n{error}"
                ) from error
        shapes = flatten(invariant) if invariant is not None else [None] * len(flatten(first))
        for values in zip(flatten(initial), flatten(first), flatten(last), shapes, strict=True):
            _check_loop_variable(name, *values, check_shapes)


def _check_loop_variable(
    name: str, initial: Any, entry: Any, after: Any, invariant: Any, check_shapes: bool
) -> None:
    if after is None:
        raise ValueError(f"'{name}' is None at the end of the iteration.")
    initial, entry, after = _tensor(initial), _tensor(entry), _tensor(after)
    if not (is_tensor(entry) and is_tensor(after)):
        return
    if entry.dtype is not after.dtype:
        raise TypeError(
            f"'{name}' has dtype {entry.dtype.name} before the loop, but dtype {after.dtype.name} "
            "after one iteration"
        )
    if not check_shapes:
        return
    if invariant is None:
        if not _is_subshape(after.shape, entry.shape):
            raise ValueError(
                f"'{name}' has shape {entry.shape} before the loop, but shape {after.shape} after "
                "one iteration. Use tf.autograph.experimental.set_loop_options to set shape "
                "invariants."
            )
        return
    for shape, when in (
        (initial.shape, "before the loop, which"),
        (after.shape, "after one iteration, which"),
    ):
        if not _is_subshape(shape, as_shape(invariant)):
            raise ValueError(
                f"'{name}' has shape {shape} {when} does not conform with the shape invariant "
                f"{invariant}."
            )


def _is_subshape(left: TensorShape, right: TensorShape) -> bool:
    """Whether `left` is as specific as `right` or more."""
    if right.rank is None:
        return True
    if left.rank != right.rank:
        return False
    return all(known is None or dim == known for dim, known in zip(left, right, strict=True))


def _tensor(value: Any) -> Any:
    return (
        convert_to_tensor(value)
        if isinstance(value, bool | int | float | str | np.ndarray)
        else value
    )
