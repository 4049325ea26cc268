"""What is where in a store, and the table `runs`.

`STORE/TABLE/run=ID/NAME.parquet` for each table; `STORE/runs/ID.parquet` is the run's row. The row
is written last, and its checksum says which files are the run's: what has no row, or another name,
is not in the store. So a run is there whole or not at all, and two collectors can't mix.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import polars as pl

from tflogscope.errors import InputError, TflogscopeWarning
from tflogscope.exports.columnar import write_parquet
from tflogscope.exports.schema import TABLES
from tflogscope.grammar.tables import schema
from tflogscope.model.common.tables import BESIDE
from tflogscope.stores.folder import RUNS, Folder
from tflogscope.stores.older import READ

Row = dict[str, Any]
PARQUET = b"PAR1"  # the end of each of its files

KEPT = "summary"
"""What `analyze` says of the run, see `kept`."""
STORED = (*TABLES, *BESIDE, KEPT)
RUN_COLUMNS = {name: kind for name, kind in schema(RUNS).items() if name != "run"}
"""The columns of `runs` after `run` and the fields of the template."""
_SCHEMA = {"run": pl.String(), **RUN_COLUMNS}


def row_file(run: str) -> str:
    """The file of a run's row."""
    return f"{RUNS}/{quote(run, safe='')}.parquet"


def recollect_hint(store: str, row: Row) -> str:
    """What to do where a file of a run is missing or damaged."""
    return f"Remove {store}/{row_file(row['run'])}, and collect the run again."


def table_file(row: Row, table: str) -> str:
    """The file of a table of a run; each state of the log, tool and schema has its own."""
    made_of = f"{row['checksum']} {row['tool_version']} {row['schema_version']}"
    name = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    return f"{table}/run={quote(row['run'], safe='')}/{name}.parquet"


def parquet(frame: pl.DataFrame, table: str) -> bytes:
    """A table as the bytes of a Parquet file."""
    stream = io.BytesIO()
    write_parquet(frame, stream, table)
    return stream.getvalue()


def row_frame(row: Row) -> pl.DataFrame:
    """The table `runs` for one run."""
    fields = {name: pl.String() for name in row if name != "run" and name not in RUN_COLUMNS}
    return pl.DataFrame([row], schema={"run": pl.String(), **fields, **RUN_COLUMNS})


def read_row(folder: Folder, run: str) -> Row | None:
    """The row of a run; None if there is none that this tflogscope can read."""
    try:
        return _row(folder, PurePosixPath(row_file(run)).name).row(0, named=True)
    except (pl.exceptions.PolarsError, InputError):
        return None


def read_rows(folder: Folder, *, quiet: bool = False) -> pl.DataFrame:
    """The table `runs`, in the order of their ids; empty if nothing was collected.

    What is not the row of a run is left out, with a warning unless `quiet`.

    Raises:
        InputError: no file in it is the row of a run, or one is of another schema.
    """
    names = [name for name in folder.files(RUNS) if name.endswith(".parquet")]
    none = pl.DataFrame(schema=_SCHEMA)
    if not names:
        return none
    try:
        paths = [f"{folder.name}/{RUNS}/{name}" for name in names]
        table = pl.read_parquet(paths, glob=False, hive_partitioning=False)
        table = _required(_as_row(table, names), f"{folder.name}/{RUNS}")
    except (pl.exceptions.PolarsError, OSError):  # rows of several templates, URLs, damage
        frames = []
        for name in names:
            where = f"{folder.name}/{RUNS}/{name}"
            try:
                frames.append(_required(_row(folder, name), where))
            except pl.exceptions.PolarsError as error:
                what, hint = "not the row of a run", "Remove it, and collect again."
                if quiet or len(names) > 1:
                    damaged = f"{where}: {what}; skipped. {hint}"
                    _ = quiet or warnings.warn(damaged, TflogscopeWarning, stacklevel=2)
                    continue
                raise InputError(what, where, hint) from error
        table = pl.concat(frames or [none], how="diagonal")
    fields = [column for column in table.columns if column not in _SCHEMA]
    return table.select("run", *fields, *RUN_COLUMNS)


def _row(folder: Folder, name: str) -> pl.DataFrame:
    """The row of a run in a file of this name. Raises InputError, or one of polars'."""
    data = io.BytesIO(folder.read(f"{RUNS}/{name}"))
    return _as_row(pl.read_parquet(data, hive_partitioning=False), [name])


def _as_row(table: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Rows with the types of the table; one of polars' errors if they can't be those of files."""
    kinds = {name: _SCHEMA.get(name, pl.String()) for name in [*table.columns, *_SCHEMA]}
    typed = table.select(pl.col(name).cast(kind) for name, kind in kinds.items())
    runs = typed["run"].to_list()
    if None in runs or [row_file(run) for run in runs] != [f"{RUNS}/{name}" for name in names]:
        raise pl.exceptions.ShapeError("a row names another run, or none")
    return typed


def _required(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The rows, if they are of a schema that can be read."""
    others = table.filter(~pl.col("schema_version").is_in(READ))
    if others.height:
        run, version = others.select("run", "schema_version").row(0)
        read = " and ".join(map(str, READ))
        what = f"the run {run!r} has schema {version}, this tflogscope reads {read}"
        raise InputError(what, where, "Collect the logs again, into a new store.")
    return table.select("run", *RUN_COLUMNS, pl.exclude("run", *RUN_COLUMNS))
