"""Whether a run keeps to a policy: `tflogscope check`, and what the pytest plugin reports."""

from __future__ import annotations
