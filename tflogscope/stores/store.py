"""Reading a store: the tables of all runs as lazy frames with a column `run`."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Sequence

import polars as pl

from tflogscope.errors import InputError, UsageError
from tflogscope.exports.schema import TABLES
from tflogscope.grammar.tables import schema
from tflogscope.model.common.figures import count_of
from tflogscope.sources.readers import unreadable
from tflogscope.stores.folder import RUNS, Folder, ends_with, folder_of, is_store, is_url
from tflogscope.stores.layout import PARQUET, Row, read_rows, recollect_hint, table_file
from tflogscope.stores.older import MISSING, in_todays_columns

# URLs that polars reads by itself, the parts that it needs; all others go through fsspec whole.
_READ_BY_POLARS = ("s3://", "gs://", "az://", "abfs://", "abfss://")


def open_store(path: str | os.PathLike[str], *, of_one_run: bool = False) -> Store:
    """Open what `tflogscope collect` wrote. Raises as `store_folder` does, and `read_rows`."""
    return Store(store_folder(path), of_one_run=of_one_run)


def store_folder(path: str | os.PathLike[str]) -> Folder:
    """The directory or the URL of a store.

    Raises:
        InputError: it is not a store.
        UsageError: it is a URL, and fsspec is not installed.
    """
    name = os.fspath(path)
    if not is_store(name):
        raise InputError("not a store of runs", name, "Create one with tflogscope collect.")
    return folder_of(name)


class Store:
    """The runs of a store. Its tables are lazy frames: those of `Run`, with `run` before them."""

    tables = (*TABLES, RUNS)

    def __init__(self, folder: Folder, *, of_one_run: bool = False) -> None:
        """`of_one_run`: its runs are ranks of one run, whatever else they say."""
        self._folder, self.of_one_run = folder, of_one_run
        self.rows = read_rows(folder)

    def __repr__(self) -> str:
        return f"<tflogscope.Store of {self.rows.height:,} runs in {self._folder.name}>"

    @property
    def name(self) -> str:
        """As named by the user."""
        return self._folder.name

    @property
    def runs(self) -> pl.LazyFrame:
        """One row per run."""
        return self.rows.lazy()

    @property
    def done(self) -> pl.DataFrame:
        """The rows of the runs that could be analyzed, in the order of their start."""
        return self.rows.filter(pl.col("state") == "done").sort("start", "run", nulls_last=True)

    def __getattr__(self, table: str) -> pl.LazyFrame:
        """A table of all runs.

        Raises:
            AttributeError: there is no such table.
        """
        if table not in TABLES:
            message = f"stores have no table {table!r}"
            raise AttributeError(message)
        return self.table(table, self.done.to_dicts())

    def table(self, table: str, runs: Sequence[Row]) -> pl.LazyFrame:
        """A table of some of the runs, with a first column `run`."""
        if not runs:
            return pl.LazyFrame(schema={"run": pl.String, **schema(table)})
        frames = []
        for version in dict.fromkeys(row["schema_version"] for row in runs):
            same = [row for row in runs if row["schema_version"] == version]
            frame = self._read(MISSING.get(version, {}).get(table, table), same)
            frames.append(in_todays_columns(table, frame, version))
        return pl.concat(frames)

    def _read(self, table: str, of_runs: Sequence[Row]) -> pl.LazyFrame:
        """The files of a table, with a first column `run`."""
        files = [table_file(row, table) for row in of_runs]
        if is_url(self.name):
            return pl.concat(
                self._scan(file).select(pl.lit(row["run"]).alias("run"), pl.all())
                for file, row in zip(files, of_runs, strict=True)
            )
        self._require(files, of_runs)
        # Not by `run=ID` of the paths: other folders above the store may be called KEY=VALUE, too.
        paths = [f"{self.name}/{file}" for file in files]
        runs = pl.LazyFrame({"_file": paths, "run": [row["run"] for row in of_runs]})
        scanned = pl.scan_parquet(
            paths, hive_partitioning=False, glob=False, include_file_paths="_file"
        )
        scanned = scanned.join(runs, on="_file", how="left", maintain_order="left")
        return scanned.select("run", pl.exclude("run", "_file"))

    def _scan(self, file: str) -> pl.LazyFrame:
        """A file at a URL."""
        if self.name.startswith(_READ_BY_POLARS):
            return pl.scan_parquet(f"{self.name}/{file}", hive_partitioning=False, glob=False)
        return pl.scan_parquet(io.BytesIO(self._folder.read(file)))

    def _require(self, files: list[str], runs: Sequence[Row]) -> None:
        """Say which file is missing or cut off: polars doesn't name it."""
        for file, row in zip(files, runs, strict=True):
            path, what = f"{self.name}/{file}", "this file of the store is missing"
            try:
                if stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
                    what = "this file of the store is damaged"
                    if ends_with(path, PARQUET):
                        continue
            except PermissionError as error:
                raise unreadable(path, error) from error
            except FileNotFoundError:
                pass
            except OSError as error:
                what = error.strerror or str(error)
            raise InputError(what, path, recollect_hint(self.name, row))

    def row(self, id_: str) -> Row:
        """The row of a run.

        Raises:
            UsageError: there is no such run, or it failed.
        """
        matches = self.rows.filter(pl.col("run") == id_).to_dicts()
        if not matches:
            some = ", ".join([*self.rows["run"].head(3), *["…"] * (self.rows.height > 3)])
            hint = f"It has {count_of(self.rows.height, 'run')}: {some}"
            raise UsageError(f"no run {id_!r}", self.name, hint)
        if matches[0]["state"] != "done":
            raise UsageError(f"the run {id_!r} failed: {matches[0]['error']}", self.name)
        return matches[0]
