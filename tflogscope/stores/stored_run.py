"""One run of a store as if its log was opened: its tables are read, not made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.errors import InputError
from tflogscope.model.facts import Rewriters, Summary
from tflogscope.model.origin import Input
from tflogscope.model.run import Run
from tflogscope.sources import Source
from tflogscope.stores.kept import read_kept
from tflogscope.stores.layout import KEPT, Row, again

if TYPE_CHECKING:
    from tflogscope.stores.store import Store


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
        hint = again(self._store.name, self.row)
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

    @property
    def recorded_as(self) -> dict[str, Any] | None:
        """See `Run.recorded_as`."""
        return self._kept[1]

    @property
    def start(self) -> datetime | None:
        """See `Run.start`."""
        found: datetime | None = self.row["start"]
        return found

    @cached_property
    def rewriters(self) -> Rewriters:
        """See `Run.rewriters`."""
        return Rewriters(**json.loads(self.row["rewriters"]))

    @cached_property
    def inputs(self) -> list[Input]:
        """See `Run.inputs`."""
        name = self.coverage["source"][0]
        return [Input(name, self.row["bytes"], self.row["checksum"])]
