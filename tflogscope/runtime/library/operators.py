"""What `x + y` means for tensors. See `tensorflow/python/ops/tensor_math_operator_overrides.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.calls import O, call, generated
from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.tensors import OPERATORS
from tflogscope.runtime.library import numbers
from tflogscope.runtime.library.matrices import matmul
from tflogscope.runtime.library.slices import getitem

Binary = Callable[..., Any]


def _operator(function: Binary, name: str) -> Binary:
    def operator(x: Any, y: Any) -> Any:
        with op_scope(None, name) as scope:
            return function(x, y, name=scope)

    return operator


def _reversed(function: Binary, name: str) -> Binary:
    def converted(y: Any, x: Any, name: Any) -> Any:
        return function(convert_to_tensor(x, y.dtype, name="x"), y, name=name)

    return _operator(converted, name)


def _equal(type: str) -> Binary:
    def function(x: Any, y: Any) -> Any:
        return type == "NotEqual" if y is None else call(type, x, y, incompatible_shape_error=False)

    return function


_BINARY: dict[str, Binary] = {
    "add": numbers.add,
    "sub": generated("Sub"),
    "mul": generated("Mul"),
    "truediv": numbers.truediv,
    "floordiv": numbers.floordiv,
    "mod": generated("FloorMod"),
    "pow": numbers.pow_,
    "matmul": matmul,
    "and": generated("LogicalAnd"),
    "or": generated("LogicalOr"),
}
for _name, _function in _BINARY.items():
    OPERATORS[_name] = _operator(_function, _name)
    OPERATORS[f"r{_name}"] = _reversed(_function, _name)
OPERATORS.update(
    abs=numbers.abs_,
    neg=O.Neg,
    invert=O.LogicalNot,
    eq=_equal("Equal"),
    ne=_equal("NotEqual"),
    lt=O.Less,
    le=O.LessEqual,
    gt=O.Greater,
    ge=O.GreaterEqual,
    getitem=getitem,
)
