"""The operators of tensors and variables: `x + y`, `x[1:]`, `-x`.

Which op an operator makes is said in `library/operators.py`, which fills `OPERATORS`; that is
written in terms of tensors, and so can't be imported here. NB: TensorFlow does the same by setting
methods on the class (`Tensor._override_operator`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["OPERATORS", "NotInPlace", "Operators"]

OPERATORS: dict[str, Callable[..., Any]] = {}
"""The function behind each operator: `OPERATORS["__add__"](x, y)`."""


class Operators:  # noqa: PLW1641 - who is hashable says so itself
    """What Python looks for when it meets an operator."""

    __slots__ = ()

    def _operand(self) -> Any:
        """The tensor that the operator is applied to; a variable's is its value."""
        return self

    def _operate(self, operator: str, *others: Any) -> Any:
        return OPERATORS[operator](self._operand(), *others)

    def __add__(self, other: Any) -> Any:
        return self._operate("__add__", other)

    def __radd__(self, other: Any) -> Any:
        return self._operate("__radd__", other)

    def __sub__(self, other: Any) -> Any:
        return self._operate("__sub__", other)

    def __rsub__(self, other: Any) -> Any:
        return self._operate("__rsub__", other)

    def __mul__(self, other: Any) -> Any:
        return self._operate("__mul__", other)

    def __rmul__(self, other: Any) -> Any:
        return self._operate("__rmul__", other)

    def __truediv__(self, other: Any) -> Any:
        return self._operate("__truediv__", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._operate("__rtruediv__", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._operate("__floordiv__", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._operate("__rfloordiv__", other)

    def __mod__(self, other: Any) -> Any:
        return self._operate("__mod__", other)

    def __rmod__(self, other: Any) -> Any:
        return self._operate("__rmod__", other)

    def __pow__(self, other: Any) -> Any:
        return self._operate("__pow__", other)

    def __rpow__(self, other: Any) -> Any:
        return self._operate("__rpow__", other)

    def __matmul__(self, other: Any) -> Any:
        return self._operate("__matmul__", other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._operate("__rmatmul__", other)

    def __and__(self, other: Any) -> Any:
        return self._operate("__and__", other)

    def __rand__(self, other: Any) -> Any:
        return self._operate("__rand__", other)

    def __or__(self, other: Any) -> Any:
        return self._operate("__or__", other)

    def __ror__(self, other: Any) -> Any:
        return self._operate("__ror__", other)

    def __xor__(self, other: Any) -> Any:
        return self._operate("__xor__", other)

    def __rxor__(self, other: Any) -> Any:
        return self._operate("__rxor__", other)

    def __lt__(self, other: Any) -> Any:
        return self._operate("__lt__", other)

    def __le__(self, other: Any) -> Any:
        return self._operate("__le__", other)

    def __gt__(self, other: Any) -> Any:
        return self._operate("__gt__", other)

    def __ge__(self, other: Any) -> Any:
        return self._operate("__ge__", other)

    def __eq__(self, other: object) -> Any:
        return self._operate("__eq__", other)

    def __ne__(self, other: object) -> Any:
        return self._operate("__ne__", other)

    def __neg__(self) -> Any:
        return self._operate("__neg__")

    def __abs__(self) -> Any:
        return self._operate("__abs__")

    def __invert__(self) -> Any:
        return self._operate("__invert__")

    def __getitem__(self, key: Any) -> Any:
        return self._operate("__getitem__", key)


def _refused(operator: str, example: str, instead: str) -> Callable[[Any, Any], NoReturn]:
    variable = example.partition(" ")[0]

    def refuse(self: Any, other: Any) -> NoReturn:
        del self, other
        raise RuntimeError(
            f"`{variable} {operator}= value` with `tf.Variable`s is not supported. Use `{instead}` "
            f"to modify the variable, or `out = {example}` if you need to get a new output Tensor."
        )

    return refuse


class NotInPlace:
    """A variable is not changed by `+=`: that would make a tensor of the name for it."""

    __slots__ = ()
    __iadd__ = _refused("+", "variable + value", "variable.assign_add(value)")
    # NB: the text says `*` for `-` in TensorFlow too.
    __isub__ = _refused("-", "variable * value", "variable.assign_sub(value)")
    __imul__ = _refused("*", "var * value", "var.assign(var * value)")
    __itruediv__ = _refused("/", "var / value", "var.assign(var / value)")
    __ipow__ = _refused("**", "var ** value", "var.assign(var ** value)")
