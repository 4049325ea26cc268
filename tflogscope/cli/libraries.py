"""How the libraries of this process are set, which programs that it records must not inherit."""

from __future__ import annotations

import os
import sys

from tflogscope.digits import whole

_SETTINGS = {
    # NumPy's linear algebra is not used here; its threads would only wait, and busily.
    "OPENBLAS_NUM_THREADS": "1",
    # Nor do more threads of polars help: its queries are small, and they wait busily, too.
    "POLARS_MAX_THREADS": "1",
    # Nor more of its heaps, each of which keeps what is free for itself.
    "_RJEM_MALLOC_CONF": "narenas:1",
    # The streaming engine wakes threads for each part of a plan: it takes five times as long.
    "POLARS_ENGINE_AFFINITY": "in-memory",
}
_M_ARENA_MAX = -8  # malloc.h of glibc
_before: dict[str, str | None] = {}  # what the user had set instead, if anything


def set_libraries() -> None:
    """Set them, before one is imported, as far as the user has not."""
    for name, value in _SETTINGS.items():
        given = os.environ.get(name)
        # polars ends the process at a number of threads that is none.
        if given is None or (name == "POLARS_MAX_THREADS" and not whole(given)):
            _before.setdefault(name, given)
            os.environ[name] = value


def given_environment() -> dict[str, str]:
    """The environment as the user gave it."""
    given = {**os.environ, **_before}
    return {name: value for name, value in given.items() if value is not None}


def share_a_heap() -> None:
    """Give all threads one heap of glibc's: what one of them gives back, another one can take."""
    if sys.platform == "linux":
        from ctypes import CDLL  # not for --help

        if mallopt := getattr(CDLL(None), "mallopt", None):
            mallopt(_M_ARENA_MAX, 1)
