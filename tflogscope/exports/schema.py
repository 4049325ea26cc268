"""What all formats share: names and version of the tables, how values are written as text."""

from __future__ import annotations

from tflogscope.grammar.load import packaged_toml

SCHEMA_VERSION = 5  # changing a column's meaning raises it

TABLES = tuple(name for name in packaged_toml("tables.toml") if name != "runs")  # that of a store

DATETIME_FORMAT = "%Y-%m-%dT%H:%M:%S%.6f"  # ISO 8601, as the log prints it: without a zone
SLICE_ROWS = 100_000  # as many as are turned into text at once
