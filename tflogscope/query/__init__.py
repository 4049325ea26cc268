"""Questions of the user's own, in SQL."""

from __future__ import annotations
