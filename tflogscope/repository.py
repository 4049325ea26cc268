"""Where a repository begins."""

from __future__ import annotations

from pathlib import Path


def repository(folder: Path) -> Path | None:
    """The root of the repository that a folder is in; None: it is in none."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
