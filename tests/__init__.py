"""The tests; run them with `pytest -n 2`."""

from __future__ import annotations

import os

# As the command has it. Tests run beside each other, and more threads of polars wait busily.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("POLARS_ENGINE_AFFINITY", "in-memory")
