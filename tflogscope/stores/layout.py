"""What is where in a store, and the table `runs`.

`STORE/TABLE/run=ID/NAME.parquet` for each table; `STORE/runs/ID.parquet` is the run's row. The row
is written last, and its checksum says which files are the run's: what has no row, or another name,
is not in the store. So a run is there whole or not at all, and two collectors can't mix.
"""

from __future__ import annotations

import hashlib
import io
from typing import Any
from urllib.parse import quote

import polars as pl

from tflogscope.errors import InputError
from tflogscope.exports.columnar import write_parquet
from tflogscope.exports.schema import SCHEMA_VERSION, TABLES
from tflogscope.grammar.tables import schema
from tflogscope.model.tables import BESIDE
from tflogscope.stores.folder import RUNS, Folder

Row = dict[str, Any]
PARQUET = b"PAR1"  # the end of each of its files

KEPT = "summary"
"""What `analyze` says of the run, see `kept`."""
STORED = (*TABLES, *BESIDE, KEPT)
RUN_COLUMNS = {name: kind for name, kind in schema(RUNS).items() if name != "run"}
"""The columns of `runs` after `run` and the fields of the template."""


def row_file(run: str) -> str:
    """The file of a run's row."""
    return f"{RUNS}/{quote(run, safe='')}.parquet"


def again(store: str, row: Row) -> str:
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
        row: Row = pl.read_parquet(io.BytesIO(folder.read(row_file(run)))).row(0, named=True)
    except (pl.exceptions.PolarsError, InputError):
        return None
    return row if row.keys() >= RUN_COLUMNS.keys() else None


def read_rows(folder: Folder, *, damaged: bool = False) -> pl.DataFrame:
    """The table `runs`, in the order of their ids; empty if nothing was collected.

    `damaged`: leave files out that are not a row of `runs`.

    Raises:
        InputError: a file in it is not a row of `runs`, or one of another schema.
    """
    names = [name for name in folder.files(RUNS) if name.endswith(".parquet")]
    none = pl.DataFrame(schema={"run": pl.String(), **RUN_COLUMNS})
    if not names:
        return none
    try:
        found = pl.read_parquet([f"{folder.name}/{RUNS}/{name}" for name in names], glob=False)
        found = _required(found, f"{folder.name}/{RUNS}")
    except (pl.exceptions.PolarsError, OSError):  # rows of several templates, URLs, damage
        frames = []
        for name in names:
            where = f"{folder.name}/{RUNS}/{name}"
            try:
                frame = pl.read_parquet(io.BytesIO(folder.read(f"{RUNS}/{name}")))
                frames.append(_required(frame, where))
            except pl.exceptions.PolarsError as error:
                if damaged:
                    continue
                hint = "Remove it, and collect again."
                raise InputError("this is not the row of a run", where, hint) from error
        found = pl.concat(frames or [none], how="diagonal")
    fields = [each for each in found.columns if each != "run" and each not in RUN_COLUMNS]
    return found.select("run", *fields, *RUN_COLUMNS)


def _required(rows: pl.DataFrame, where: str) -> pl.DataFrame:
    """The rows, if they are of this schema."""
    others = rows.filter(pl.col("schema_version") != SCHEMA_VERSION)
    if others.height:
        run, version = others.select("run", "schema_version").row(0)
        what = f"the run {run!r} has schema {version}, and this tflogscope reads {SCHEMA_VERSION}"
        raise InputError(what, where, "Collect the logs again, into a new store.")
    return rows.select("run", *RUN_COLUMNS, pl.exclude("run", *RUN_COLUMNS))
