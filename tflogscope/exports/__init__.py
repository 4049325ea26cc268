"""For programs: the tables as files."""

from __future__ import annotations
