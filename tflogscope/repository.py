"""Where a repository begins."""

from __future__ import annotations

import os
from pathlib import Path


def repository(folder: Path) -> Path | None:
    """The root of the repository that a folder is in; None: it is in none."""
    # Path.exists raises where a folder may not be searched.
    return next((path for path in (folder, *folder.parents) if os.path.exists(path / ".git")), None)  # noqa: PTH110
