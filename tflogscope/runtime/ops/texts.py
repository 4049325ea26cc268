"""Strings, printing, assertions: the little that programs say while they run. See
`core/kernels/string_format_op.cc`, `logging_ops.cc`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.registry import op
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.ops.rules import invalid, scalar, unknown


def _each(function: Callable[..., Any], *arrays: Any) -> Any:
    """`function` of each element, as strings."""
    result = np.empty(np.broadcast_shapes(*(np.shape(each) for each in arrays)), object)
    flat = zip(*(np.broadcast_to(each, result.shape).ravel() for each in arrays), strict=True)
    result.ravel()[:] = [function(*each) for each in flat]
    return result


def shown(value: Any) -> str:
    """One element as `tf.print` shows it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    return f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)


def summary(array: Any, count: int) -> str:
    """`Tensor::SummarizeValue`: the first and last elements of each dimension, if there are many."""
    if array.ndim == 0:
        return shown(array[()])
    parts = [summary(part, count) for part in array]
    if count >= 0 and len(parts) > 2 * count:
        parts = [*parts[:count], "...", *parts[len(parts) - count :]]
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " "
    return f"[{between.join(parts)}]"


def _format(*inputs: Any, template: str, placeholder: str, summarize: int) -> Any:
    pieces = template.split(placeholder)
    texts = [*(summary(each, summarize) for each in inputs), ""]
    joined = "".join(a + b for a, b in zip(pieces, texts, strict=True))
    return np.array(joined.encode(), object)


def _print(input: Any, output_stream: str, end: str) -> None:
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(input[()].decode("utf-8", "replace") + end)
    stream.flush()


def _assert(condition: Any, *data: Any, summarize: int) -> None:
    if not condition:
        parts = " ".join(f"[{_flat(each, summarize)}]" for each in data)
        raise invalid(f"assertion failed: {parts}")


def _flat(array: Any, count: int) -> str:
    texts = [shown(each) for each in array.ravel()]
    return " ".join(texts[:count]) + ("..." if len(texts) > count >= 0 else "")


op("StringJoin(inputs: N*string; separator='') -> output: string",
   lambda i: broadcast_shapes(*(each.shape for each in i.inputs)),
   lambda *inputs, separator: _each(lambda *parts: separator.encode().join(parts),
                                    *inputs))  # fmt: skip
op("StringFormat(inputs: list(T); template='%s', placeholder='%s', summarize=3) -> output: string",
   scalar, _format)  # fmt: skip
op("PrintV2(input: string; output_stream='stderr', end='\\n')", unknown, _print, stateful=True)
op("Assert(condition: bool, data: list(T); summarize=3)", unknown, _assert, stateful=True)
