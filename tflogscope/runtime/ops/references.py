"""Variables as TensorFlow 1 had them: the op `VariableV2` gives a reference to the value, which
`Identity` reads and `Assign` changes.

Told about: `core/kernels/variable_ops.cc`, `core/kernels/assign_op.h`.
NB: in TensorFlow a reference has the dtype `float_ref`, and what `Identity` gives is the variable's
own memory, that a later assignment may still change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import FailedPreconditionError
from tflogscope.runtime.gradients import not_differentiable
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.resources import Resource, named
from tflogscope.runtime.shapes import SCALAR, TensorShape

__all__ = ["GIVES_REFERENCE", "TAKES_REFERENCE", "dereferenced"]

TAKES_REFERENCE = frozenset(
    {
        *("Assign", "AssignAdd", "AssignSub", "IsVariableInitialized"),
        *("ApplyAdam", "ApplyGradientDescent", "ApplyMomentum"),
    }
)
"""Ops with an input that is a reference."""
GIVES_REFERENCE = (TAKES_REFERENCE | {"VariableV2"}) - {"IsVariableInitialized"}
"""Ops whose output is one. Any other op that reads it is given the value."""

Array = NDArray[Any]


class _Reference(Resource):
    """A variable's value, as `VariableV2` gives it."""

    __slots__ = ()


def dereferenced(value: Any) -> Any:
    """Of a reference the value; anything else as it is. Raises FailedPreconditionError if the
    variable has no value yet.
    """
    if not isinstance(value, _Reference):
        return value
    if value.value is None:
        raise FailedPreconditionError(
            None, None, f"Attempting to use uninitialized value {value.name}"
        )
    return value.value


@op(
    "VariableV2(; container='', dtype, shape, shared_name='') -> ref: dtype",
    shape=lambda i: TensorShape(i.attributes["shape"]),
    stateful=True,
)
def _variable(shared_name: str, dtype: DType, shape: Any) -> Resource:
    return named(shared_name, dtype, TensorShape(shape), _Reference)


@op("IsVariableInitialized(ref: dtype; dtype) -> is_initialized: bool",
    shape=lambda _: SCALAR, stateful=True)  # fmt: skip
def _is_initialized(ref: Resource) -> Array:
    return np.array(ref.value is not None)


@op(
    "Assign(ref: T, value: T; use_locking=True, validate_shape=True) -> output_ref: T",
    shape=lambda i: i.shape(1),
    stateful=True,
)
def _assign(ref: Resource, value: Array) -> Resource:
    ref.value = dereferenced(value)
    return ref


for _type, _function in {"AssignAdd": np.add, "AssignSub": np.subtract}.items():

    @op(f"{_type}(ref: T, value: T; use_locking=False) -> output_ref: T", stateful=True)
    def _change(ref: Resource, value: Array, _function: Any = _function) -> Resource:
        ref.value = _function(dereferenced(ref), dereferenced(value))
        return ref


@op(
    "ApplyGradientDescent(var: T, alpha: T, delta: T; use_locking=False) -> out: T",
    stateful=True,
)
def _gradient_descent(var: Resource, alpha: Array, delta: Array) -> Resource:
    var.value = np.asarray(dereferenced(var) - alpha * delta, delta.dtype)
    return var


@op(
    "ApplyMomentum(var: T, accum: T, lr: T, grad: T, momentum: T; use_locking=False, "
    "use_nesterov=False) -> out: T",
    stateful=True,
)
def _momentum(
    var: Resource, accum: Resource, lr: Array, grad: Array, momentum: Array, use_nesterov: bool
) -> Resource:
    speed = _put(accum, dereferenced(accum) * momentum + grad)
    return _less(var, (grad + speed * momentum if use_nesterov else speed) * lr)


@op(
    "ApplyAdam(var: T, m: T, v: T, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "
    "epsilon: T, grad: T; use_locking=False, use_nesterov=False) -> out: T",
    stateful=True,
)
def _adam(
    var: Resource, m: Resource, v: Resource, beta1_power: Any, beta2_power: Any, lr: Array,
    beta1: Array, beta2: Array, epsilon: Array, grad: Array, use_nesterov: bool,
) -> Resource:  # fmt: skip
    rate = lr * np.sqrt(1 - dereferenced(beta2_power)) / (1 - dereferenced(beta1_power))
    first = _put(m, dereferenced(m) + (grad - dereferenced(m)) * (1 - beta1))
    second = _put(v, dereferenced(v) + (grad * grad - dereferenced(v)) * (1 - beta2))
    step = first * beta1 + (1 - beta1) * grad if use_nesterov else first
    return _less(var, rate * step / (np.sqrt(second) + epsilon))


def _put(var: Resource, value: Any) -> Any:
    """The new value, in the dtype of the old one."""
    var.value = np.asarray(value, dereferenced(var).dtype)
    return var.value


def _less(var: Resource, step: Any) -> Resource:
    _put(var, dereferenced(var) - step)
    return var


not_differentiable("VariableV2", "Assign", "AssignAdd", "AssignSub")
