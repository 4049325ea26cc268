"""Memory of tensors over time, from the `__LOG_MEMORY__` records.

TensorFlow prints a record when a tensor gets its buffer and one when the buffer is given back
(core/framework/log_memory.cc, RecordTensorAllocation, RecordTensorOutput,
RecordTensorDeallocation). They meet by allocator and allocation id. The scan of a log keeps of
these records only shapes, so they are read in a pass of their own, when a picture asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES, Events
from tflogscope.sources import Source, read_ahead

_MARK = "__LOG_MEMORY__ MemoryLogTensor"
# An allocation or an output ends with the first three, a deallocation is the last two.
_FIELDS = (
    r'(?: allocated_bytes: (\d{1,15}) allocator_name: "([^"]*)" allocation_id: (\d{1,15}) '
    r'|Deallocation \{.* allocation_id: (\d{1,15}) allocator_name: "([^"]*)")'
)
_SCHEMA = {"at": pl.Int64, "bytes": pl.Int64, "allocator": pl.String, "id": pl.Int64}


@dataclass(frozen=True)
class Memory:
    """What the buffers of tensors took.

    `frame`, one row per record that changed it: at (the key of its record), time (µs since
    the epoch as the log prints it: that of the last record before it; null: none), live_bytes
    (after it). `without_id`: records that can't be matched, for their allocator counts none.
    """

    frame: pl.DataFrame
    without_id: int


def read_memory(sources: Sequence[Source], events: Events) -> Memory:
    """Read all records of allocations of a log.

    Raises InputError if a source can't be read any more.
    """
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for source, span in zip(sources, events.spans, strict=True):
        first, after = span.first, span.first + span.lines
        for block in read_ahead(source.blocks()):
            lines = pl.Series(block.text.decode().split("\n")[:-1])
            parts.append(_records(lines, first).filter(pl.col("at") < after * PLACES))
            first += len(lines)
    records = pl.concat(parts)
    known = records.drop_nulls("id")
    return Memory(_live(known, events), records.height - known.height)


def _records(lines: pl.Series, first: int) -> pl.DataFrame:
    """Records of tensors' buffers in lines, the first of which has the number `first`.

    `bytes` is 0 where a buffer is given back; `id` is null where the record has none.
    """
    found = lines.str.contains(_MARK, literal=True).arg_true()
    texts = lines.gather(found)
    fields = texts.str.extract_groups(_FIELDS).struct.unnest()
    records = fields.select(
        at=(pl.lit(found).cast(pl.Int64) + first) * PLACES,
        bytes=pl.col("1").cast(pl.Int64).fill_null(0),
        allocator=pl.coalesce("2", "5"),
        id=pl.coalesce("3", "4").cast(pl.Int64),
    )
    # An output whose tensor needs no buffer of an allocator says nothing here.
    missing = records["id"].is_null()
    of_buffers = texts.filter(missing).str.contains(r"Deallocation \{| allocated_bytes: ")
    unread = records.filter(missing).filter(of_buffers)
    return pl.concat([records.filter(~missing), unread])


def _live(records: pl.DataFrame, events: Events) -> pl.DataFrame:
    """How much is held after each record that changes it."""
    allocator = records["allocator"].cast(pl.Categorical).to_physical().cast(pl.Int64).to_numpy()
    size = records["bytes"].to_numpy()
    order = np.lexsort((records["id"].to_numpy(), allocator))  # stable: of one buffer, by line
    key = np.stack([allocator[order], records["id"].to_numpy()[order]])
    same = np.append(False, (key[:, 1:] == key[:, :-1]).all(0))[: len(order)]
    here = size[order]
    before = np.where(same, np.roll(here, 1), 0)
    # An output names a buffer again that its allocation has named. A buffer that was taken before
    # the log began and is given back changes nothing.
    change = np.zeros(len(size), np.int64)
    change[order] = np.where(here == 0, -before, np.where(before == 0, here, 0))
    changed = np.flatnonzero(change)
    changes = pl.DataFrame(
        {"at": records["at"].to_numpy()[changed], "live_bytes": np.cumsum(change[changed])}
    )
    return changes.join_asof(events.record_times, on="at").select("at", "time", "live_bytes")
