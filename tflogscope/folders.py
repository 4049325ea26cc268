"""What is in a folder, however deep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any


def files_below(
    directory: str | os.PathLike[str], key: Callable[[str], Any], *, hidden: bool
) -> Iterator[os.DirEntry[str] | str]:
    """All but folders, by name in each; links to folders are not followed, but are given.

    A folder that can't be read is given by its path.

    Args:
        directory: where.
        key: of a name, to sort by.
        hidden: whether to give what begins with a dot, and what is in it.
    """
    waiting: list[os.DirEntry[str] | str] = [os.fspath(directory)]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, str) and not here.is_dir(follow_symlinks=False):
            yield here
            continue
        path = here if isinstance(here, str) else here.path
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: key(entry.name), reverse=True)
        except OSError:
            yield path
            continue
        waiting += [entry for entry in entries if hidden or not entry.name.startswith(".")]
