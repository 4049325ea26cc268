"""Reading the small files that a check goes by: they may be anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tflogscope.errors import InputError, UsageError
from tflogscope.model.common.figures import size_of


def is_file(path: Path) -> bool:
    """Whether there is a file of this name. Raises InputError where that can't be known."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        hint = "Pass a policy with --policy."
        raise InputError(error.strerror or str(error), str(path), hint) from error


def read_whole(path: Path, hint: str, most: int) -> bytes:
    """What a file holds, or a pipe of the shell's (`<(command)`), which has no name in a folder.

    Raises:
        InputError: it can't be read; `hint` says what to do.
        UsageError: it has more than `most` bytes.
    """
    try:
        # A pipe in a folder would be waited for.
        if os.path.exists(os.path.realpath(path)) and not is_file(path):  # noqa: PTH110
            raise InputError("not a file", str(path), hint)
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path), hint) from error
    if len(data) > most:
        raise UsageError("the file is too large", str(path), f"The limit is {size_of(most)}.")
    return data
