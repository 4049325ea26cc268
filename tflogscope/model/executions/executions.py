"""Executions: eager dispatches and graph node runs as one sequence, in the order of the log.

`Executions.frame` has the numbers of each; `Executions.columns` gives what else is known of them.
Texts are categories: a node runs thousands of times, and its name is kept once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES
from tflogscope.events.scan import SourceSpan
from tflogscope.model.common.frames import looked_up, only
from tflogscope.model.common.names import PYTHON_OP, PYTHON_OPS, function_columns
from tflogscope.model.executions.dispatches import Dispatches
from tflogscope.model.executions.node_runs import FOLDING_STEP, NodeRuns

STATUS = pl.Enum(["done", "dead", "failed", "unfinished", "unknown"])
_DONE, _DEAD, _FAILED, _UNFINISHED, _UNKNOWN = range(len(STATUS.categories))

Coded = tuple[pl.Series | None, pl.Series]
"""Values, and for each row which of them it has; None: the n-th row has the n-th value."""


@dataclass(eq=False, repr=False)
class Executions:
    """All executions of a run. `steps` has one row per step, see `steps.read_steps`.

    `spans` are the lines of each source, `failed_nodes` a frame of `read_failed_nodes`.
    """

    spans: Sequence[SourceSpan]
    dispatches: Dispatches
    runs: NodeRuns
    steps: pl.DataFrame
    failed_nodes: pl.DataFrame

    @cached_property
    def signatures(self) -> pl.DataFrame:
        """Distinct (mode, kind, op, kernel, rewrite) by their number."""
        return self._numbered[0]

    @cached_property
    def _numbered(self) -> tuple[pl.DataFrame, pl.Series, pl.Series]:
        """The signatures, and their numbers for each definition (twice: folding) and dispatch."""
        names = ("kind", "op", "kernel", "rewrite")
        plain = self.runs.definitions.select(*names)
        folding = plain.with_columns(kind=pl.lit("folding"))
        called = pl.when("is_call")
        eager = self.dispatches.eager.select(
            kind=called.then(pl.lit("call")).otherwise(pl.lit("op")),
            op=called.then("name").otherwise("op"),
            kernel=called.then("name").otherwise("kernel"),
            rewrite="rewrite",
        )
        in_graph = pl.int_range(pl.len()) < 2 * plain.height
        mode = pl.when(in_graph).then(pl.lit("graph")).otherwise(pl.lit("eager"))
        table = pl.concat([plain, folding, eager]).select(mode.alias("mode"), *names)
        table = table.with_columns(signature=pl.struct(pl.all()).rank("dense").cast(pl.Int32) - 1)
        number = table["signature"]
        distinct = table.unique("signature").sort("signature")
        return distinct, number.head(2 * plain.height), number.slice(2 * plain.height)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per execution, sorted by `at`.

        at, end_at (line numbers over all sources), time, end_time, duration_us, thread, signature,
        status, step_row, call, dispatch, definition.
        """
        eager = self._eager()
        order = _merged(self.runs.at, eager["at"].to_numpy())
        # Column by column: in a large log all together take as much memory as the rest.
        columns = {name: pl.concat([column, eager[name]])[order] for name, column in self._graph()}
        return pl.DataFrame(columns).with_columns(duration_us=_DURATION)

    @cached_property
    def eager(self) -> pl.DataFrame:
        """The rows of `frame` that are dispatches, with their number in it (`row`)."""
        return self.frame.with_row_index("row").filter(pl.col("dispatch").is_not_null())

    @cached_property
    def calls(self) -> pl.DataFrame:
        """The rows of `eager` that call functions, with the function's full name."""
        eager = self.eager.hstack(self.columns("kind", "name", rows=self.eager["row"]))
        return spelled(eager.filter(pl.col("kind") == "call"))

    @cached_property
    def python_code(self) -> pl.DataFrame:
        """The rows of `frame` that run Python code."""
        is_python = self.signatures["op"].str.contains(PYTHON_OPS)
        return only(self.frame, is_python[self.signature])

    def _graph(self) -> Iterator[tuple[str, pl.Series]]:
        """The columns of the rows of graph nodes, each made when it is asked for."""
        runs = self.runs
        yield "at", pl.Series(runs.at)
        yield "end_at", runs.end_at
        yield "time", runs.time
        yield "end_time", runs.end_time
        yield "thread", pl.Series(runs.thread())
        folding = (runs.steps == FOLDING_STEP)[runs.step]
        number = self._numbered[1]
        yield "signature", number[runs.definition + folding * runs.definitions.height]
        yield "status", pl.Series(self._graph_statuses()).cat.to(STATUS)
        yield "step_row", pl.Series(runs.step)
        yield "call", self.steps["call"][runs.step]
        yield "dispatch", pl.repeat(None, len(runs), dtype=pl.UInt32, eager=True)
        yield "definition", pl.Series(runs.definition)

    def _graph_statuses(self) -> np.ndarray:
        runs = self.runs
        ended = runs.end_at.is_not_null().to_numpy()
        status = np.where(ended, _DONE, _UNFINISHED if runs.prints_ends else _UNKNOWN)
        status = status.astype(np.uint8)
        failed = self.failed_nodes["start_at"].drop_nulls().to_numpy()
        status[np.searchsorted(runs.at, failed)] = _FAILED
        status[runs.definitions["dead"].to_numpy()[runs.definition]] = _DEAD
        return status

    def _eager(self) -> pl.DataFrame:
        return self.dispatches.eager.select(
            "at",
            "end_at",
            "time",
            "end_time",
            "thread",
            signature=self._numbered[2],
            status=pl.col("status").cast(STATUS),
            step_row=pl.lit(None, pl.UInt32),
            call=pl.coalesce("call", self.calls_around),
            dispatch=pl.col("dispatch").cast(pl.UInt32),
            definition=pl.lit(None, pl.UInt32),
        )

    @cached_property
    def calls_around(self) -> pl.Series:
        """The call in which Python code ran each dispatch (`py_function`), null for the others."""
        eager = self.dispatches.eager
        python = (self.runs.definitions["kernel"] == PYTHON_OP).fill_null(False).to_numpy()
        row = np.flatnonzero(python[self.runs.definition])
        if not len(row):
            return pl.repeat(None, eager.height, dtype=pl.UInt32, eager=True)
        spans = pl.DataFrame(
            {
                "begin": self.runs.at[row],
                "until": self.runs.end_at[row],
                "on": self.runs.thread(row),
                "around": self.steps["call"][self.runs.step[row]],
            }
        ).drop_nulls("around")
        ends = self.dispatches.calls.select(around="call", call_end="end_at")
        spans = spans.join(ends, on="around", how="left").with_columns(
            until=pl.coalesce("until", "call_end").fill_null(np.iinfo(np.int64).max)
        )
        inside = eager.select("dispatch", "at", "thread").join_where(
            spans,
            pl.col("at") > pl.col("begin"),
            pl.col("at") < pl.col("until"),
            pl.col("thread") == pl.col("on"),
        )
        inside = inside.sort("begin").unique("dispatch", keep="last", maintain_order=True)
        placed = looked_up(eager[["dispatch"]], inside[["dispatch", "around"]], "dispatch")
        return placed["around"].cast(pl.UInt32)

    # ---- what is known of each -----------------------------------------------------------------

    def columns(self, *names: str, rows: pl.Series | None = None) -> pl.DataFrame:
        """Columns of executions, by their rows in `frame`; of all of them if none are given.

        Besides those of `frame`: mode, kind, op, kernel, rewrite; name (of the function, in full),
        function, function_uid, flavour, step; node, device, attributes.
        """
        return taken(self.column, names, rows)

    def column(self, name: str) -> Coded:
        """A column as the values that it has, and which of them each execution has."""
        if name not in self._texts:
            return None, self.frame[name]
        key, values = self._texts[name]
        return getattr(self, key), values

    @cached_property
    def _texts(self) -> dict[str, tuple[str, pl.Series]]:
        """The values of columns that many executions share, by the code that points to them."""
        eager = self.dispatches.eager
        called = eager.select(name=pl.when("is_call").then("name"))
        called = called.with_columns(**function_columns(pl.col("name")))
        steps = self.steps.select(*called.columns, "step")
        nodes = self.runs.definitions.select("node", "device", "attributes")
        tables = {
            "signature": self.signatures.drop("signature"),
            "asked": pl.concat([steps, called], how="diagonal"),
            "ran": pl.concat([nodes, eager.select("device")], how="diagonal"),
        }
        return {
            name: (key, column.cast(pl.Categorical) if column.dtype == pl.String else column)
            for key, table in tables.items()
            for name, column in table.to_dict().items()
        }

    @property
    def signature(self) -> pl.Series:
        """The row of `signatures` of each execution."""
        return self.frame["signature"]

    @cached_property
    def asked(self) -> pl.Series:
        """What asked for each execution: a row of `steps`, or after them one of dispatches."""
        return self._either("step_row", self.steps.height)

    @cached_property
    def ran(self) -> pl.Series:
        """What each execution ran: a row of definitions, or after them one of dispatches."""
        return self._either("definition", self.runs.definitions.height)

    def _either(self, column: str, height: int) -> pl.Series:
        row = pl.coalesce(column, pl.col("dispatch") + height)
        return self.frame.select(row.cast(pl.UInt32)).to_series()


def taken(
    column: Callable[[str], Coded], names: Iterable[str], numbers: pl.Series | None = None
) -> pl.DataFrame:
    """A frame of columns, by their rows; of all rows if none are given. It runs no plan."""
    table = {}
    for name in names:
        code, values = column(name)
        if numbers is not None:
            code = numbers if code is None else code[numbers]
        table[name] = values if code is None else values[code]
    return pl.DataFrame(table)


# A clock that steps back gives no duration.
_DURATION = pl.when(pl.col("end_time") >= pl.col("time")).then(pl.col("end_time") - pl.col("time"))


def _merged(graph: np.ndarray, eager: np.ndarray) -> pl.Series:
    """The order of the rows of graph nodes and, after them, of eager ops by their places.

    Both are in order themselves.
    """
    order = np.zeros(len(graph) + len(eager), np.uint32)
    at = np.searchsorted(graph, eager, side="right") + np.arange(len(eager))
    is_graph = np.ones(len(order), bool)
    is_graph[at] = False
    order[at] = np.arange(len(graph), len(order))
    order[is_graph] = np.arange(len(graph))
    return pl.Series(order)


def spelled(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with texts in place of categories."""
    return frame.cast({pl.Categorical: pl.String, pl.Enum: pl.String})


def with_places(spans: Sequence[SourceSpan], table: pl.DataFrame) -> pl.DataFrame:
    """Replace `at` by source and line (from 1), and `end_at`, where there is one, by end_line."""
    names = pl.Series([span.name for span in spans], dtype=pl.String)
    first = np.array([span.first for span in spans] or [0])
    at = table["at"].to_numpy() // PLACES
    source = np.maximum(np.searchsorted(first, at, side="right") - 1, 0)
    places = [
        pl.Series("source", names[source]),
        pl.Series("line", _in_sources(spans, source, at - first[source]) + 1).cast(pl.UInt64),
    ]
    rest = [table[name] for name in table.columns if name not in ("at", "end_at")]
    if "end_at" in table.columns:
        # An end in another source (a log in several files) has a line number there.
        ended = table.select("end_at", end=pl.col("end_at").fill_null(0) // PLACES)
        end = ended["end"].to_numpy()
        end_source = np.maximum(np.searchsorted(first, end, side="right") - 1, 0)
        end_line = _in_sources(spans, end_source, end - first[end_source]) + 1
        line = pl.lit(pl.Series(end_line)).cast(pl.UInt64)
        end_lines = pl.when(pl.col("end_at").is_not_null()).then(line)
        places.append(ended.select(end_line=end_lines)["end_line"])
    return pl.DataFrame(places).hstack(rest)


def _in_sources(
    spans: Sequence[SourceSpan], source: NDArray[np.integer], line: NDArray[np.integer]
) -> NDArray[np.integer]:
    """The lines of the inputs as they are, which may have had others, or less, around these."""
    for number, span in enumerate(spans):
        numbers = span.account.numbers()
        if numbers is not None:
            here = source == number
            line[here] = numbers[line[here]]
    return line
