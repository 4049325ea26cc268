"""oneDNN verbose lines, as far as they are read yet: the version that the header names."""

from __future__ import annotations

import polars as pl

PRIMITIVES_SCHEMA: dict[str, pl.DataType] = {
    "source": pl.String(),
    "line": pl.UInt64(),
    "time": pl.Datetime("us"),
    "event": pl.String(),
    "engine": pl.String(),
    "primitive": pl.String(),
    "implementation": pl.String(),
    "prop_kind": pl.String(),
    "memory_descriptors": pl.String(),
    "attributes": pl.String(),
    "auxiliary": pl.String(),
    "problem": pl.String(),
    "duration_us": pl.Float64(),
    "onednn_version": pl.String(),
    "timeline_line": pl.UInt64(),
    "link": pl.String(),
}

# oneDNN src/common/verbose.cpp, print_header: the library's name has changed three times.
_VERSION = r"_verbose,(?:v\d+,)?info,(?:oneDNN|DNNL|Intel(?:\(R\))? MKL-DNN) v(\d+(?:\.\d+)*)"


def onednn_version(verbose: pl.DataFrame) -> str | None:
    """Return the version that the first header line of oneDNN names, None if there is none."""
    found = verbose["text"].str.extract(_VERSION, 1).drop_nulls()
    return found[0] if len(found) else None
