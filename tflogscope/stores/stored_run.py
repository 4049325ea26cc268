"""One run of a store as if its log was opened: its tables are read, not made; its summary, too."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import polars as pl

from tflogscope.errors import InputError
from tflogscope.model.common.facts import Entry, Summary
from tflogscope.model.common.origin import Input
from tflogscope.model.run import Run
from tflogscope.sources.source import Source
from tflogscope.stores.layout import KEPT, Row, recollect_hint
from tflogscope.stores.store import Store

_FRAME = "frame"


class StoredRun(Run):
    """A run of a store."""

    sources: Sequence[Source] = ()

    def __init__(self, store: Store, row: Row) -> None:
        self._store, self.row = store, row

    def __repr__(self) -> str:
        return f"{self._store.name}#{self.row['run']}"

    def table(self, name: str) -> pl.DataFrame:
        """Read a table.

        Raises:
            InputError: its file is missing or damaged.
        """
        try:
            return self._store.table(name, [self.row]).drop("run").collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise self._unreadable(name) from error

    def _unreadable(self, table: str) -> InputError:
        hint = recollect_hint(self._store.name, self.row)
        return InputError(f"its table {table} can't be read", repr(self), hint)

    @cached_property
    def _kept(self) -> tuple[Summary, dict[str, Any] | None]:
        try:
            return read_kept(self.table(KEPT))
        except (ValueError, TypeError, LookupError, pl.exceptions.PolarsError) as error:
            raise self._unreadable(KEPT) from error

    @cached_property
    def summary(self) -> Summary:
        """See `Run.summary`."""
        return self._kept[0]

    @cached_property
    def in_notebook(self) -> bool:
        """See `Run.in_notebook`."""
        return any(limit.id == "python-dispatches" for limit in self.summary.limits)

    @cached_property
    def is_server(self) -> bool:
        """See `Run.is_server`."""
        return any(limit.id == "server" for limit in self.summary.limits)

    @property
    def recorded_as(self) -> dict[str, Any] | None:
        """See `Run.recorded_as`."""
        return self._kept[1]

    @property
    def start(self) -> datetime | None:
        """See `Run.start`."""
        start: datetime | None = self.row["start"]
        return start

    @cached_property
    def inputs(self) -> list[Input]:
        """See `Run.inputs`."""
        name = self.coverage["source"][0]
        return [Input(name, self.row["bytes"], self.row["checksum"])]


# ---- what `analyze` says of a run, as a table of the store ---------------------------------------
# It is one JSON document. Each frame in it has a row of its own, and `{"frame": 3}` in its place.


def kept(run: Run) -> pl.DataFrame:
    """The summary of a run, and what `record` wrote above its log, as a table.

    json is in the first row, frame in each other one.
    """
    frames: list[bytes] = []

    def put_frame(frame: pl.DataFrame) -> dict[str, int]:
        stream = io.BytesIO()
        frame.write_ipc(stream, compression="zstd")
        frames.append(stream.getvalue())
        return {_FRAME: len(frames) - 1}

    facts = {"summary": run.summary.facts(), "recorded_as": run.recorded_as}
    content = {"json": [json.dumps(facts, default=put_frame)], "frame": [None]}
    table = pl.DataFrame(content, schema={"json": pl.String, "frame": pl.Binary})
    return pl.concat([table, pl.DataFrame({"frame": frames})], how="diagonal")


def read_kept(table: pl.DataFrame) -> tuple[Summary, dict[str, Any] | None]:
    """What a table of `kept` holds.

    Raises ValueError, TypeError, LookupError or polars' errors if it is damaged, or of another
    version.
    """
    frames = table["frame"].drop_nulls()

    def entry(values: dict[str, Any]) -> Entry | pl.DataFrame:
        is_frame = values.keys() == {_FRAME}
        return pl.read_ipc(io.BytesIO(frames[values[_FRAME]])) if is_frame else Entry(values)

    content = json.loads(table["json"][0], object_hook=entry)
    facts = {name: content["summary"][name] for name in Summary.__annotations__}
    summary = Summary(**{name: partial(facts.get, name) for name in facts})
    return summary, content["recorded_as"]
