"""The version, and how files that tflogscope writes name it."""

from __future__ import annotations

__version__ = "0.2.0"
MADE_BY = f"tflogscope {__version__}"
