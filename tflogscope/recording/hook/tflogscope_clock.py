"""Takes the time of each call of a graph function, in a run of the program that writes no log.

It runs inside the program, see `tflogscope_lines.py`. At the end of the process it adds a line of
JSON to the file that TFLOGSCOPE_CLOCK names for each function: its name without the number at its
end, how many later calls it had, and their median in µs. The first call of each trace is left out.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

from tflogscope_finder import (  # type: ignore[import-not-found]  # it is beside this file
    FUNCTIONS,
    Finder,
    in_place_of,
)

_taken: dict[str, list[float]] = {}  # seconds, by full name


def _timed(original: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The function of C++ that runs the op, or the function, whose name is argument `at`."""

    def execute(*args: Any) -> Any:
        name = args[at]
        if isinstance(name, bytes):
            name = name.decode()
        if not str(name).startswith(FUNCTIONS):
            return original(*args)
        began = perf_counter()
        result = original(*args)
        _taken.setdefault(name, []).append(perf_counter() - began)
        return result

    return execute


def _patch_tfe(module: Any) -> None:
    for name, at in ("Execute", 2), ("ExecuteCancelable", 2):
        original = getattr(module, f"TFE_Py_{name}")
        setattr(module, f"TFE_Py_{name}", in_place_of(original, _timed(original, at), module))


def _write() -> None:
    later: dict[str, list[float]] = {}
    for name, taken in _taken.items():
        later.setdefault(name.rpartition("_")[0], []).extend(taken[1:])
    with contextlib.suppress(OSError), open(os.environ["TFLOGSCOPE_CLOCK"], "a") as file:
        for name, taken in later.items():
            if taken:
                median = sorted(taken)[len(taken) // 2]
                file.write(json.dumps([name, len(taken), median * 1e6]) + "\n")


def finder() -> Any:
    """What changes the modules of a program whose calls are timed."""
    atexit.register(_write)
    return Finder({"tensorflow.python.pywrap_tfe": _patch_tfe}, lambda _: None)
