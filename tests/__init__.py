"""The tests; run them with `pytest -n 2`."""

from __future__ import annotations
