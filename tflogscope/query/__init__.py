"""Questions of the user's own: a filter of one line, and SQL."""

from __future__ import annotations
