"""Tasks that end their process, in a module that imports little: each new process imports it."""

from __future__ import annotations

import os
from pathlib import Path


def die_once(marker: str, value: int) -> int:
    """End this process without a word, the first time."""
    if value == 2 and not Path(marker).exists():
        Path(marker).touch()
        os._exit(1)
    return value


def die(value: int) -> int:
    if value == 2:
        os._exit(1)
    return value
