"""How ops write values as text: `tf.print`, `tf.strings.format`, failed assertions.

Told about: `Tensor::SummarizeValue` of `core/framework/tensor.cc`, `FloatToBuffer` of
`tsl/platform/numbers.cc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["element_text", "flat_summary", "nested_summary"]

Array = NDArray[Any]


def element_text(element: Any, *, quoted: bool) -> str:
    """One element: floats as short as they can be read back."""
    if isinstance(element, (bytes, str)):
        text = (
            element.decode("utf-8", "backslashreplace") if isinstance(element, bytes) else element
        )
        return f'"{_escaped(text)}"' if quoted else text
    if isinstance(element, (bool, np.bool_)):
        return "1" if element else "0"
    if isinstance(element, (float, np.floating)):
        return _float_text(element)
    if isinstance(element, (complex, np.complexfloating)):
        return "?"  # which TensorFlow does not know how to write
    return str(element)


def _escaped(text: str) -> str:
    table = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
    return "".join(table.get(letter, letter) for letter in text)


def _float_text(value: Any) -> str:
    if np.isnan(value):
        return "nan" if not np.signbit(value) else "-nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    kind = type(value) if isinstance(value, np.floating) else np.float64
    few, many = (15, 17) if kind is np.float64 else (6, 9)
    text = f"{float(value):.{few}g}"
    return text if kind(float(text)) == value else f"{float(value):.{many}g}"


def nested_summary(value: Any, summarize: int) -> str:
    """As `tf.print` has it: nested brackets, of each dimension the first and last `summarize` (-1:
    all).
    """
    if isinstance(value, (bytes, str)):
        value = np.array(value, object)
    ends = value.size if summarize == -1 else summarize
    return _nested(value, ends, 0, value.ndim)


def _nested(value: Any, ends: int, depth: int, rank: int) -> str:
    if depth == rank:
        return element_text(value[()] if hasattr(value, "dtype") else value, quoted=True)
    gap = " " if depth == rank - 1 else "\n" * (rank - 1 - depth) + " " * (depth + 1)
    count = len(value)
    shown = [_nested(value[k], ends, depth + 1, rank) for k in range(min(ends, count))]
    if count > 2 * ends:
        shown.append("...")
    shown += [
        _nested(value[k], ends, depth + 1, rank) for k in range(max(ends, count - ends), count)
    ]
    return "[" + gap.join(shown) + "]"


def flat_summary(value: Array, summarize: int) -> str:
    """As failed assertions have it: so many elements, rows in brackets."""
    limit = value.size if summarize < 0 else min(summarize, value.size)
    if value.ndim <= 1:
        text = " ".join(element_text(each, quoted=False) for each in value.reshape(-1)[:limit])
        return text + ("..." if value.size > limit else "")
    left = [limit]
    text = _rows(value, left)
    return text + ("..." if value.size > limit else "")


def _rows(value: Array, left: list[int]) -> str:
    """Each part of the first dimension in brackets, until no more elements are to be shown."""
    parts = []
    for part in value:
        if left[0] <= 0:
            break
        if part.ndim == 0:
            parts.append(element_text(part[()], quoted=False))
            left[0] -= 1
        else:
            parts.append(f"[{_rows(part, left)}]")
    return (" " if value.ndim == 1 else "").join(parts)
