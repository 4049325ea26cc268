"""Which release of TensorFlow is followed where releases make other ops for the same program.

The runtime is TensorFlow 2.13; what later releases changed asks here, one rule at a time.
"""

from __future__ import annotations

__all__ = ["BASE", "follow", "since"]

BASE = "2.13"
"""The release that is followed if nothing else is said."""
_followed = [tuple(map(int, BASE.split(".")))]


def follow(release: str) -> None:
    """From now on follow this release: `2.20`, or `2.20.0`. Raises ValueError for what is none."""
    _followed[0] = tuple(int(part) for part in release.split(".")[:2])


def since(*series: int) -> bool:
    """Is the release that is followed at least this one?"""
    return _followed[0] >= series
