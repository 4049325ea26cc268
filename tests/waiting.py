"""Waits for what another process does, however busy the machine is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 300.0  # more than any test needs: a test that waits so long fails


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once it holds; AssertionError when the patience is at its end."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.01)


def has_ended(process: int) -> bool:
    """Whether there is no such process, or only what is left of it for its parent to see."""
    status = Path(f"/proc/{process}/stat")
    try:
        os.kill(process, 0)
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
