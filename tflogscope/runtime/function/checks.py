"""Assertions and printing: `tf.debugging.assert_equal`, `tf.print`. See
`tensorflow/python/ops/check_ops.py`, `logging_ops.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import current, executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import int32, string
from tflogscope.runtime.core.errors import InvalidArgumentError
from tflogscope.runtime.core.nest import flatten, is_nested
from tflogscope.runtime.function.branches import cond
from tflogscope.runtime.library.numbers import reduce_all


def Assert(condition: Any, data: Any, name: Any = None) -> Any:  # noqa: N802
    """Refuse to go on unless the condition holds. Raises InvalidArgumentError, eagerly at once."""
    if executing_eagerly():
        if not condition:
            texts = "\n".join(str(np.asarray(convert_to_tensor(each))) for each in data)
            raise InvalidArgumentError(None, None, f"Expected {condition} to be true: {texts}")
        return None
    with op_scope(name, "Assert"):
        tensors = [convert_to_tensor(each) for each in data]

        def failing() -> Any:
            O.Assert(condition, data, name="Assert")
            return current().nodes[-1]

        def passing() -> Any:
            O.NoOp()
            return current().nodes[-1]

        if all(each.dtype in {string, int32} for each in tensors):
            return failing()
        condition = convert_to_tensor(condition, name="Condition")
        return cond(condition, passing, failing, name="AssertGuard").op


def comparison(symbol: str, scope: str, op: str) -> Callable[..., Any]:
    """The assertion that a comparison holds for all elements."""

    def check(x: Any, y: Any, message: str | None = None) -> Any:
        with op_scope(None, scope):
            hint = getattr(y, "dtype", None)
            x, y = convert_to_tensor(x, name="x", dtype_hint=hint), convert_to_tensor(y, name="y")
            told = f"Condition x {symbol} y did not hold element-wise:"
            data = [x, y]
            if not executing_eagerly():
                data = [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            prefix = [] if message is None else [message]
            return Assert(reduce_all(call(op, x, y)), [*prefix, told, *data])

    return check


def print_v2(
    *inputs: Any,
    output_stream: Any = sys.stderr,
    sep: str = " ",
    end: str = "\n",
    summarize: int = 3,
) -> Any:
    """`tf.print`."""
    tensors: list[Any] = []
    template = sep.join(_template(each, tensors) for each in inputs)
    stream = "stdout" if output_stream is sys.stdout or output_stream == "stdout" else "stderr"
    text = O.StringFormat(tensors, template=template, placeholder="{}", summarize=summarize)
    return O.PrintV2(text, output_stream=stream, end=end)


def _template(value: Any, tensors: list[Any]) -> str:
    if is_nested(value):
        return f"[{', '.join(_template(each, tensors) for each in flatten(value))}]"
    if hasattr(value, "dtype"):
        tensors.append(convert_to_tensor(value))
        return "{}"
    return str(value).replace("{}", "{ }") if not isinstance(value, str) else value
