"""For eyes: what the terminal and the report show."""

from __future__ import annotations
