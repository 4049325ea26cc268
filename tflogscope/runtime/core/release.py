"""Which release of TensorFlow the runtime is like, where releases differ."""

from __future__ import annotations

BASE = "2.13"
_followed = [(2, 13)]


def follow(release: str) -> None:
    """From now on be like that release, `2.20`."""
    major, minor = release.split(".")[:2]
    _followed[0] = (int(major), int(minor))


def since(major: int, minor: int) -> bool:
    """Is it that release, or a later one?"""
    return _followed[0] >= (major, minor)
