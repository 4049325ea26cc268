"""One run of a store as if its log was opened: its tables are read, not made."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.errors import InputError, UsageError
from tflogscope.events.events import Events
from tflogscope.model.facts import Rewriters
from tflogscope.model.run import Run
from tflogscope.model.unexpected import eager_executions
from tflogscope.model.worker import here
from tflogscope.stores.layout import Row, again
from tflogscope.views.markup import element

if TYPE_CHECKING:
    from tflogscope.stores.store import Store


def _stored(table: str) -> Any:
    return cached_property(lambda run: run.read(table))


class StoredRun(Run):
    """A run of a store: its tables are read, not made. What needs the log itself says so."""

    def __init__(self, store: Store, row: Row) -> None:
        self._store, self.row = store, row
        self.make = here
        self.sources = ()
        self.recorded_as = None

    @property
    def events(self) -> Events:  # type: ignore[override]
        """What only the log has. Raises UsageError."""
        hint = "ops, query, export, check, diff, report, ranks and trend take a store."
        raise UsageError("a store has the tables of a run, not its log", repr(self), hint)

    def _repr_html_(self) -> str:
        """A notebook shows its name: the picture needs the log."""
        return element("code", repr(self))

    def __repr__(self) -> str:
        return f"{self._store.name}#{self.row['run']}"

    timeline = _stored("timeline")
    ops = _stored("ops")
    functions = _stored("functions")
    nodes = _stored("nodes")
    rewrites = _stored("rewrites")
    primitives = _stored("primitives")
    coverage = _stored("coverage")
    findings = _stored("findings")
    stacks = _stored("stacks")
    python_functions = _stored("python_functions")

    def read(self, table: str) -> pl.DataFrame:
        """A table as it was stored. Raises InputError if its file is missing or damaged."""
        try:
            return self._store.table(table, [self.row]).drop("run").collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            hint = again(self._store.name, self.row)
            raise InputError(f"its table {table} can't be read", repr(self), hint) from error

    @cached_property
    def rewriters(self) -> Rewriters:
        """See `Run.rewriters`."""
        return Rewriters(**json.loads(self.row["rewriters"]))

    @cached_property
    def eager_executions(self) -> pl.DataFrame:
        """See `Run.eager_executions`."""
        row = pl.int_range(self.timeline.height, eager=True)
        return eager_executions(self.timeline, row.is_in(self.read("own")["row"].implode()))
