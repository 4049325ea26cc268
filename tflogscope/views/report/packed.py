"""Columns of numbers, made small enough for a page: byte planes, packed with gzip, in base64.

Bytes of the same weight are stored together: most high bytes are zero, and gzip makes
little of them. `assets/data.js` reads this.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_LEVEL = 4  # 6 takes twice the time for 2 %


class Columns:
    """Columns of integers, each less than 2**53, for numbers in JavaScript hold no more."""

    def __init__(self) -> None:
        self.layout: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []

    def add(self, name: str, values: Integers, *, delta: bool = False) -> None:
        """Add a column; with `delta` as differences, for values that are near those before."""
        if delta:
            values = np.diff(values, prepend=0)
        signed = bool(len(values)) and int(values.min()) < 0
        if signed:
            values = np.where(values < 0, -2 * values - 1, 2 * values)
        most = int(values.max()) if len(values) else 0
        width = max((most.bit_length() + 7) // 8, 1)
        planes = values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
        self._parts.append(np.ascontiguousarray(planes.T).tobytes())
        self.layout[name] = {
            "count": len(values),
            "width": width,
            "delta": delta,
            "signed": signed,
        }

    def joined(self) -> bytes:
        """All columns, in the order in which they were added."""
        return b"".join(self._parts)


def packed(data: bytes) -> str:
    """Bytes as a text that JSON holds as it is."""
    return base64.b64encode(gzip.compress(data, _LEVEL, mtime=0)).decode("ascii")


def json_block(value: object) -> str:
    """JSON that is safe inside a script element: no `<` can end it, none can begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
