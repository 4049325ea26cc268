"""`tf.compat`."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api import compat_v1 as v1
from tflogscope.runtime.api.missing import missing


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes. Raises TypeError for other things."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text. Raises TypeError for other things."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text

__all__ = ["v1"]
__getattr__ = missing("tf.compat")
