"""Memory of tensors over time, from the `__LOG_MEMORY__` records.

TensorFlow prints a record when a tensor gets its buffer and one when the buffer is given back
(core/framework/log_memory.cc, RecordTensorAllocation, RecordTensorOutput,
RecordTensorDeallocation). They meet by allocator and allocation id. The scan of a log keeps of
these records only shapes, so they are scanned once more, when a picture asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES, Events
from tflogscope.events.scan import Scan
from tflogscope.events.store import Store, texts_of
from tflogscope.grammar.model import Grammar
from tflogscope.model.executions import with_places
from tflogscope.sources import Source

# What the scan keeps of a record (`buffer` in grammars/tensorflow/log_memory.toml).
_TAKEN = r'^allocator_name: "([^"]*)" allocation_id: (\d{1,15})$'
_GIVEN_BACK = r' allocation_id: (\d{1,15}) allocator_name: "([^"]*)"'
_SCHEMA = {"at": pl.Int64, "bytes": pl.Int64, "allocator": pl.String, "id": pl.Int64}


class Memory(NamedTuple):
    """What the buffers of tensors took.

    `frame`, one row per record that changed it: source, line, time (µs since the epoch as the log
    prints it: that of the last record before it; null: none), live_bytes (after it).
    `without_id`: records that can't be matched, for their allocator counts none.
    """

    frame: pl.DataFrame
    without_id: int


def scan_buffers(sources: Sequence[Source], grammar: Grammar) -> list[Store]:
    """Scan a log for the buffers of tensors, source by source.

    Raises InputError if a source can't be read any more.
    """
    stores = []
    for source in sources:
        with Scan([source], grammar.of_buffers()) as scan:
            stores.append(scan.wait().store)
    return stores


def read_memory(buffers: Sequence[Store], events: Events) -> Memory:
    """What buffers took, from what `scan_buffers` gave."""
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for store, span in zip(buffers, events.spans, strict=True):
        # What was appended meanwhile is left out.
        found = _records(store).filter(pl.col("at") < span.lines * PLACES)
        parts.append(found.with_columns(at=pl.col("at") + span.first * PLACES))
    records = pl.concat(parts)
    known = records.drop_nulls("id")
    return Memory(_live(known, events), records.height - known.height)


def _records(store: Store) -> pl.DataFrame:
    """Records of tensors' buffers: `_SCHEMA`.

    `bytes` is 0 where a buffer is given back; `id` is null where the record has none.
    """
    texts = texts_of(store, "tensors")
    taken = texts.str.extract_groups(_TAKEN).struct
    given_back = texts.str.extract_groups(_GIVEN_BACK).struct
    buffers = pl.select(
        allocator=pl.coalesce(taken["1"], given_back["2"]),
        id=pl.coalesce(taken["2"], given_back["1"]).cast(pl.Int64),
    )
    return pl.DataFrame(
        {
            "at": store.column("tensors", "at"),
            "bytes": store.column("tensors", "number"),
            **buffers.select(pl.all().gather(store.column("tensors", "text"))).to_dict(),
        }
    )


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
    timed = changes.join_asof(events.record_times, on="at").select("at", "time", "live_bytes")
    return with_places(events.spans, timed)
