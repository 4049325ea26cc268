"""Errors in a layer's `call` also say in which layer they happened, with which arguments.

Told about: `inject_argument_info_in_traceback` of `keras/src/utils/traceback_utils.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.keras.layers.checking import explained

__all__ = ["explaining"]


def explaining(call: Callable[..., Any], layer: Any) -> Callable[..., Any]:
    """`call` with such errors; what was said before is in bold."""
    where = f"{type(layer).__name__}.call()"
    start = f"Exception encountered when calling {where}.\n\n\x1b[1m"
    return explained(call, layer, (start, f"\x1b[0m\n\nArguments received by {where}:\n"))
