"""What all formats share: names and version of the tables, how values are written as text."""

from __future__ import annotations

SCHEMA_VERSION = 5  # changing a column's meaning raises it

TABLES: tuple[str, ...] = (
    "timeline",
    "ops",
    "functions",
    "nodes",
    "rewrites",
    "primitives",
    "coverage",
    "findings",
    "time",
    "ledger",
    "stacks",
)

DATETIME_FORMAT = "%Y-%m-%dT%H:%M:%S%.6f"  # ISO 8601, as the log prints it: without a zone
SLICE_ROWS = 100_000  # as many as are turned into text at once
