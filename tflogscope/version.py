"""The version, and how files that tflogscope writes name it."""

from __future__ import annotations

__version__ = "0.3.0"
MADE_BY = f"tflogscope {__version__}"
