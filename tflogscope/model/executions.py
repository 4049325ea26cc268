"""Executions: eager dispatches and graph node runs as one sequence, in the order of the log.

`executions` is the compact form, numbers only; `timeline` is the table of the contract made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES
from tflogscope.events.scan import SourceSpan
from tflogscope.grammar.tables import as_table
from tflogscope.model.dispatches import Dispatches
from tflogscope.model.names import function_columns
from tflogscope.model.node_runs import FOLDING_STEP, NodeRuns

STATUSES = ("done", "dead", "failed", "unfinished", "unknown")
_DONE, _DEAD, _FAILED, _UNFINISHED, _UNKNOWN = range(len(STATUSES))
# Kernels that run Python code, which may run eager ops (python/lib/core/py_func.cc).
_PYTHON_KERNELS = ("EagerPyFunc",)


@dataclass(frozen=True)
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
        plain = self.runs.definitions.select("kind", "op", "kernel", "rewrite")
        folding = plain.with_columns(kind=pl.lit("folding"))
        calls = self.dispatches.eager.select("op", "kernel", "rewrite", "is_call", "name").select(
            kind=pl.when("is_call").then(pl.lit("call")).otherwise(pl.lit("op")),
            op=pl.when("is_call").then("name").otherwise("op"),
            kernel=pl.when("is_call").then("name").otherwise("kernel"),
            rewrite="rewrite",
        )
        rows = pl.concat(
            [
                pl.concat([plain, folding]).select(pl.lit("graph").alias("mode"), pl.all()),
                calls.select(pl.lit("eager").alias("mode"), pl.all()),
            ]
        )
        number = rows.select(pl.struct(pl.all()).rank("dense").cast(pl.Int32) - 1).to_series()
        distinct = rows.with_columns(signature=number).unique("signature").sort("signature")
        return distinct, number.head(2 * plain.height), number.slice(2 * plain.height)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per execution, sorted by `at`.

        at, end_at (line numbers over all sources), time, end_time, duration_us, thread, signature,
        status (index of STATUSES), step_row, call, dispatch, definition.
        """
        eager = self._eager()
        order = _merged(self.runs.at, eager["at"].to_numpy())
        # Column by column: in a large log all together take as much memory as the rest.
        columns = {
            name: pl.concat([column, eager[name]]).gather(order) for name, column in self._graph()
        }
        return pl.DataFrame(columns).with_columns(duration_us=_DURATION)

    @cached_property
    def eager(self) -> pl.DataFrame:
        """The rows of `frame` that are dispatches, with their number in it (`row`)."""
        return self.frame.with_row_index("row").filter(pl.col("dispatch").is_not_null())

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
        yield "signature", number.gather(runs.definition + folding * runs.definitions.height)
        yield "status", pl.Series(self._graph_statuses())
        yield "step_row", pl.Series(runs.step)
        yield "call", self.steps["call"].gather(runs.step)
        yield "dispatch", pl.repeat(None, len(runs), dtype=pl.UInt32, eager=True)
        yield "definition", pl.Series(runs.definition)

    def _graph_statuses(self) -> np.ndarray:
        runs = self.runs
        ended = runs.end_at.is_not_null().to_numpy()
        status = np.where(ended, _DONE, _UNFINISHED if runs.prints_ends else _UNKNOWN)
        status = status.astype(np.int8)
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
            status=pl.col("status").replace_strict(
                list(STATUSES), range(len(STATUSES)), return_dtype=pl.Int8
            ),
            step_row=pl.lit(None, pl.UInt32),
            call=pl.coalesce("call", self.calls_around),
            dispatch=pl.col("dispatch").cast(pl.UInt32),
            definition=pl.lit(None, pl.UInt32),
        )

    @cached_property
    def calls_around(self) -> pl.Series:
        """The call in which Python code ran each dispatch (`py_function`), null for the others."""
        eager = self.dispatches.eager
        python = self.runs.definitions["kernel"].is_in(_PYTHON_KERNELS).fill_null(False).to_numpy()
        rows = np.flatnonzero(python[self.runs.definition])
        spans = pl.DataFrame(
            {
                "begin": self.runs.at[rows],
                "until": self.runs.end_at.gather(rows),
                "on": self.runs.thread(rows),
                "around": self.steps["call"].gather(self.runs.step[rows]),
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
        found = eager.select("dispatch").join(
            inside.select("dispatch", "around"), on="dispatch", how="left", maintain_order="left"
        )
        return found["around"].cast(pl.UInt32)

    def functions(self, rows: pl.Series | None = None) -> pl.DataFrame:
        """The function of executions, by their rows in `frame`, of all of them if none are given.

        Columns: name (full), function, function_uid, flavour.
        """
        steps = self.steps.select("name", "function", "function_uid", "flavour")
        both = pl.concat([steps, self._called])
        frame = self.frame.select("step_row", "dispatch")
        frame = frame if rows is None else frame.select(pl.all().gather(rows))
        row = frame.select(pl.coalesce("step_row", pl.col("dispatch") + steps.height))
        return both.select(pl.all().gather(row.to_series()))

    @cached_property
    def _called(self) -> pl.DataFrame:
        """The function that each dispatch calls."""
        names = self.dispatches.eager.select(name=pl.when("is_call").then("name"))
        return names.with_columns(**function_columns(pl.col("name")))

    # ---- the table -----------------------------------------------------------------------------

    def timeline(self, linked: pl.DataFrame, causes: pl.Series, python: pl.Series) -> pl.DataFrame:
        """The `timeline` table of the contract.

        `linked` has the columns `primitives` and `primitive_us`, one row per row of `frame`;
        `causes` and `python` one value for each.
        """
        frame = self.frame
        definitions = self.runs.definitions
        statuses = pl.Series(STATUSES, dtype=pl.String)
        steps = self.steps
        signature = self.signatures.select("mode", "kind", "op", "kernel", "rewrite")
        device = pl.concat([definitions["device"], self.dispatches.eager["device"]])
        device_row = pl.coalesce("definition", pl.col("dispatch") + definitions.height)
        table = pl.concat(
            [
                frame.select(
                    "at",
                    "end_at",
                    start=pl.col("time").cast(pl.Datetime("us")),
                    end=pl.col("end_time").cast(pl.Datetime("us")),
                    duration_us="duration_us",
                    thread=pl.when(pl.col("thread") >= 0).then("thread").cast(pl.UInt64),
                ),
                signature.select(pl.all().gather(frame["signature"])),
                frame.select(node=pl.lit(definitions["node"]).gather(pl.col("definition"))),
                self.functions().select("function", "function_uid", "flavour"),
                frame.select(
                    pl.col("call").cast(pl.UInt32),
                    step=pl.lit(steps["step"]).gather(pl.col("step_row")),
                    device=pl.lit(device).gather(device_row),
                    status=pl.lit(statuses).gather(pl.col("status")),
                    primitives=linked["primitives"],
                    primitive_us=linked["primitive_us"],
                    cause=causes,
                    python=python,
                ),
            ],
            how="horizontal",
        )
        return as_table("timeline", with_places(self.spans, table))


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


def with_places(spans: Sequence[SourceSpan], table: pl.DataFrame) -> pl.DataFrame:
    """Replace `at` by source and line (from 1), and `end_at`, where there is one, by end_line."""
    names = pl.Series([span.name for span in spans], dtype=pl.String)
    first = np.array([span.first for span in spans] or [0])
    at = table["at"].to_numpy() // PLACES
    source = np.maximum(np.searchsorted(first, at, side="right") - 1, 0)
    places = [
        pl.Series("source", names.gather(source)),
        pl.Series("line", at - first[source] + 1).cast(pl.UInt64),
    ]
    rest = table.drop("at")
    if "end_at" in table.columns:
        # An end in another source (a log in several files) has a line number there.
        end = table["end_at"].fill_null(0).to_numpy() // PLACES
        end_source = np.maximum(np.searchsorted(first, end, side="right") - 1, 0)
        end_line = pl.Series("end_line", end - first[end_source] + 1).cast(pl.UInt64)
        places.append(end_line.set(table["end_at"].is_null(), None))
        rest = rest.drop("end_at")
    return pl.DataFrame(places).hstack(rest)
