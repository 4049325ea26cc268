"""An error as C++ prints it: `INVALID_ARGUMENT: indices[0] = 9 is not in [0, 4)`."""

from __future__ import annotations

from tflogscope.runtime.errors import OpError
from tflogscope.runtime.executor.failing import reason

__all__ = ["status"]


def status(error: BaseException) -> str:
    """The code in capitals, and what the kernel said."""
    if not isinstance(error, OpError):
        return f"UNKNOWN: {type(error).__name__}: {error}"
    name = type(error).__name__.removesuffix("Error")
    code = "".join(f"_{each}" if each.isupper() else each for each in name).strip("_").upper()
    return f"{code}: {reason(error.message)}"
