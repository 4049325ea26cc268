"""One run of a store as if its log was opened: its tables are read, not made; its summary, too."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import is_dataclass
from datetime import datetime
from functools import cached_property, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import polars as pl

from tflogscope.errors import InputError
from tflogscope.model.common.facts import Rewriters, Summary
from tflogscope.model.common.origin import Input
from tflogscope.model.run import Run
from tflogscope.sources import Source
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

    @cached_property
    def in_notebook(self) -> bool:
        """See `Run.in_notebook`."""
        return any(each.id == "python-dispatches" for each in self.summary.limits)

    @cached_property
    def is_server(self) -> bool:
        """See `Run.is_server`."""
        return any(each.id == "server" for each in self.summary.limits)

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


# ---- what `analyze` says of a run, as a table of the store ---------------------------------------
# A summary is nested named tuples. Each frame in it has a row of its own, and the JSON has the
# number of that row in its place; the types say what is where when it is read again.


def kept(run: Run) -> pl.DataFrame:
    """The summary of a run, and what `record` wrote above its log, as a table.

    json is in the first row, frame in each other one.
    """
    frames: list[bytes] = []
    text = json.dumps({"summary": _plain(run.summary, frames), "recorded_as": run.recorded_as})
    rows = {"json": [text, *[None] * len(frames)], "frame": [None, *frames]}
    return pl.DataFrame(rows, schema={"json": pl.String, "frame": pl.Binary})


def read_kept(table: pl.DataFrame) -> tuple[Summary, dict[str, Any] | None]:
    """What a table of `kept` holds.

    Raises ValueError, TypeError, LookupError or polars' errors if it is damaged, or of another
    version.
    """
    frames = [pl.read_ipc(io.BytesIO(frame)) for frame in table["frame"].drop_nulls()]
    found = json.loads(table["json"][0])
    hints = _fields(Summary).items()
    summary = Summary(
        **{
            name: partial(_typed, value, hint, frames)
            for (name, hint), value in zip(hints, found["summary"], strict=True)
        }
    )
    return summary, found["recorded_as"]


def _plain(value: Any, frames: list[bytes]) -> Any:
    if isinstance(value, pl.DataFrame):
        stream = io.BytesIO()
        value.write_ipc(stream, compression="zstd")
        frames.append(stream.getvalue())
        return len(frames) - 1
    if names := _fields(type(value)):
        return [_plain(getattr(value, name), frames) for name in names]
    if isinstance(value, dict):
        return {key: _plain(each, frames) for key, each in value.items()}
    return [_plain(each, frames) for each in value] if isinstance(value, list | tuple) else value


def _typed(value: Any, kind: Any, frames: list[pl.DataFrame]) -> Any:
    if kind is pl.DataFrame:
        return frames[value]
    if names := _fields(kind):
        hints = zip(value, names.values(), strict=True)
        return kind(*(_typed(each, hint, frames) for each, hint in hints))
    inner = [each for each in get_args(kind) if each is not NoneType]
    if value is None or not inner:
        return value
    if isinstance(value, dict):
        return {key: _typed(each, inner[-1], frames) for key, each in value.items()}
    if get_origin(kind) in (list, tuple):
        return get_origin(kind)(_typed(each, inner[0], frames) for each in value)
    return _typed(value, inner[0], frames)  # one that may be None


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a named tuple or a dataclass with their types; of any other type none."""
    is_record = hasattr(kind, "_fields") or is_dataclass(kind) or kind is Summary
    return get_type_hints(kind) if is_record else {}
