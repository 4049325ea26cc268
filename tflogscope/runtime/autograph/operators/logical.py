"""`and`, `or`, `not` and `a if c else b`, of tensors and of anything else.

Told about: autograph/operators/logical.py and conditional_expressions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.autograph.operators.checks import check_output
from tflogscope.runtime.control_flow.cond import cond as tf_cond
from tflogscope.runtime.control_flow.structures import is_tensor
from tflogscope.runtime.ops.call import call

Thunk = Callable[[], Any]


def not_(value: Any) -> Any:
    """`not value`."""
    return call("LogicalNot", value) if is_tensor(value) else not value


def and_(left: Thunk, right: Thunk) -> Any:
    """`left and right`: the right side is evaluated only if the left is true."""
    value = left()
    return tf_cond(value, right, lambda: value) if is_tensor(value) else value and right()


def or_(left: Thunk, right: Thunk) -> Any:
    """`left or right`: the right side is evaluated only if the left is false."""
    value = left()
    return tf_cond(value, lambda: value, right) if is_tensor(value) else value or right()


def if_exp(condition: Any, body: Thunk, orelse: Thunk, text: str) -> Any:
    """`body if condition else orelse`; `text` is how the user wrote the condition."""
    if not is_tensor(condition):
        return body() if condition else orelse()
    results: dict[str, Any] = {}

    def branch(value: Thunk, which: str) -> Thunk:
        def traced() -> Any:
            results[which] = value()
            if len(results) == 2:
                check_output(text, results["main"], results["else"])
            return results[which]

        return traced

    return tf_cond(condition, branch(body, "main"), branch(orelse, "else"))
