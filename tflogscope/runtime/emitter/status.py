"""An error as C++ prints it: `INVALID_ARGUMENT: indices[0] = 9 is not in [0, 4)`."""

from __future__ import annotations

from tflogscope.runtime.errors import OpError

__all__ = ["status"]

_BEGINNING = "Graph execution error:"


def status(error: BaseException) -> str:
    """The code in capitals, and the message without what Python adds to it."""
    if not isinstance(error, OpError):
        return f"UNKNOWN: {type(error).__name__}: {error}"
    name = type(error).__name__.removesuffix("Error")
    code = "".join(f"_{each}" if each.isupper() else each for each in name).strip("_").upper()
    message = error.message
    if message.startswith(_BEGINNING):
        lines = [line for line in message.split("\n") if line and not line.startswith("\t")]
        message = lines[-1]
    return f"{code}: {message}"
