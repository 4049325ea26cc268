"""The operators of tensors: which op `x + y` or `x[1:]` makes.

In graphs the op of an operator is named in small letters, `add`, after the operator's scope.

Told about: `_OverrideBinaryOperatorHelper`, `tensor_equals` and others of `python/ops/math_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library import arithmetic, elementary, slicing
from tflogscope.runtime.library.comparison import logical_xor
from tflogscope.runtime.library.linalg import matmul
from tflogscope.runtime.ops.call import call, generated
from tflogscope.runtime.tensors import OPERATORS, Tensor

Binary = Callable[..., Any]


def _operator(function: Binary, name: str) -> Binary:
    def operator(x: Any, y: Any) -> Any:
        with op_scope(None, name) as scope:
            try:
                return function(x, y, name=scope)
            except (TypeError, ValueError):
                # the other side may be something that knows how to add a tensor to itself
                reverse = getattr(type(y), f"__r{name}__", None)
                if reverse is None or isinstance(y, Tensor):
                    raise
                result = reverse(y, x)
                if result is NotImplemented:
                    raise
                return result

    return operator


def _reversed(function: Binary, name: str) -> Binary:
    def operator(y: Tensor, x: Any) -> Any:
        with op_scope(None, name) as scope:
            x = convert_to_tensor(x, y.dtype, name="x")
            return function(x, y, name=scope)

    return operator


def _by_type(logical: Binary, bitwise: str) -> Binary:
    def function(x: Any, y: Any, name: str | None = None) -> Any:
        if x.dtype is dtypes.bool_:
            return logical(x, y, name=name)
        # NB: TensorFlow does not hand the name on here, so the op is named `and/BitwiseAnd`
        return call(bitwise, x, y)

    return function


def _invert(x: Tensor) -> Tensor:
    return call("LogicalNot" if x.dtype is dtypes.bool_ else "Invert", x)


def _equal(x: Tensor, y: Any) -> Any:
    return False if y is None else call("Equal", x, y, incompatible_shape_error=False)


def _not_equal(x: Tensor, y: Any) -> Any:
    return True if y is None else call("NotEqual", x, y, incompatible_shape_error=False)


_BINARY: dict[str, Binary] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.floormod,
    "pow": arithmetic.pow,
    "matmul": matmul,
    "and": _by_type(generated("LogicalAnd"), "BitwiseAnd"),
    "or": _by_type(generated("LogicalOr"), "BitwiseOr"),
    "xor": _by_type(logical_xor, "BitwiseXor"),
}

for _name, _function in _BINARY.items():
    OPERATORS[f"__{_name}__"] = _operator(_function, _name)
    OPERATORS[f"__r{_name}__"] = _reversed(_function, _name)

OPERATORS.update(
    __abs__=elementary.abs,
    __eq__=_equal,
    __ge__=generated("GreaterEqual"),
    __getitem__=slicing.getitem,
    __gt__=generated("Greater"),
    __invert__=_invert,
    __le__=generated("LessEqual"),
    __lt__=generated("Less"),
    __ne__=_not_equal,
    __neg__=generated("Neg"),
)
