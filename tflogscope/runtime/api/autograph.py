"""`tf.autograph`."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api import autograph_experimental as experimental
from tflogscope.runtime.api.missing import missing


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Nothing: the conversion keeps no log."""
    del level, alsologtostdout


def trace(*args: Any) -> None:
    """Print the arguments, while tracing."""
    print(*args)  # noqa: T201 - that is what it is for


__all__ = ["experimental"]
__getattr__ = missing("tf.autograph")
