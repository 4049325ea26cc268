"""Which executions were open when a oneDNN line was printed, of those that can run primitives.

The thread that runs a kernel prints the kernel's primitives before it prints the kernel's end, so
a line lies between the two records of its execution (unless standard output was buffered, see
`late`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES, Events
from tflogscope.events.scan import SourceSpan
from tflogscope.model.dispatches import Dispatches
from tflogscope.model.executions import Executions
from tflogscope.model.links.kernels import COMPILED, COMPILED_ATTRIBUTE, families_of
from tflogscope.model.once import once
from tflogscope.model.thresholds import LINES_WITHOUT_END, MOST_PAIRS

Integers = NDArray[np.int64]
_FOREVER = np.iinfo(np.int64).max


def read_candidates(executions: Executions) -> pl.DataFrame:
    """Executions whose kernel can run primitives, one row each, in the order of their starts.

    Columns: execution (row of `Executions.frame`; of compiled code that of the call), at, end_at
    (null: not printed), until (the last line that can be theirs, null: nothing bounds it), time,
    end_time, thread, step (id), step_row, definition, call, family, where (equal for runs of one
    node of one function, or of one eager op).
    """
    frame = executions.frame
    family = families(executions)
    alive = (frame["status"] != "dead").to_numpy()
    rows = np.flatnonzero(alive & (family >= 0))
    steps = executions.steps
    names = steps["name"].rank("dense").fill_null(0)
    found = frame.select(pl.all().gather(rows)).select(
        "at",
        "end_at",
        "time",
        "end_time",
        "thread",
        "step_row",
        "definition",
        "call",
        "signature",
        execution=_rows_of_calls(executions, rows, family[rows]),
        family=pl.Series(family[rows]),
        step=pl.lit(steps["step"]).gather(pl.col("step_row")),
        function=pl.lit(names).gather(pl.col("step_row")),
    )
    found = found.with_columns(
        where=pl.struct("definition", "function", "signature").rank("dense").cast(pl.Int64) - 1
    )
    return found.with_columns(until=_until(found, executions)).drop("function", "signature")


@once
def families(executions: Executions) -> Integers:
    """The family of each row of `Executions.frame`, -1: its kernel runs no primitives."""
    frame, definitions = executions.frame, executions.runs.definitions
    eager = executions.dispatches.eager
    jit = definitions["attributes"].str.contains(COMPILED_ATTRIBUTE, literal=True)
    is_jit = jit.fill_null(value=False).to_numpy()
    of_nodes = np.where(is_jit, COMPILED, families_of(definitions["kernel"]))
    is_call = eager["is_call"].to_numpy()
    of_calls = np.where(compiled_calls(executions), COMPILED, -1)
    of_eager = np.where(is_call, of_calls, families_of(eager["kernel"]))
    table = np.concatenate([of_nodes, of_eager, [-1]])
    kind = pl.coalesce("definition", pl.col("dispatch") + definitions.height)
    row = frame.select(kind.fill_null(len(table) - 1)).to_series().to_numpy()
    return np.asarray(table.astype(np.int16)[row], np.int16)


@once
def compiled_calls(executions: Executions) -> NDArray[np.bool_]:
    """Which dispatches are calls compiled as a whole: no component of them ran, and no node."""
    eager, runs = executions.dispatches.eager, executions.dispatches.runs
    nodes = executions.frame.lazy().filter(pl.col("definition").is_not_null())
    inside = (
        nodes.select(pl.col("call").drop_nulls().unique())
        .collect(engine="in-memory")["call"]
        .implode()
    )
    ran = pl.int_range(eager.height, eager=True).is_in(runs["dispatch"].unique().implode())
    # Where the log has no lines of components, a node of unknown call may be the call's own.
    unknown = (
        nodes.filter(pl.col("call").is_null())
        .select("at")
        .collect(engine="in-memory")["at"]
        .to_numpy()
    )
    end = eager["end_at"].fill_null(_FOREVER).to_numpy()
    count = np.searchsorted(unknown, end) - np.searchsorted(unknown, eager["at"].to_numpy())
    silent = ~ran.to_numpy() if runs.height else count == 0
    whole = eager["is_call"] & ~eager["call"].is_in(inside).fill_null(value=False)
    return np.asarray(whole.to_numpy() & silent, bool)


@once
def compiled_runs(executions: Executions) -> pl.DataFrame:
    """Rows of `Executions.frame` that ran code of XLA's: calls, nodes that call, clusters.

    A call is known by what did not run in it, so nothing can be said where no node has a record.
    """
    frame = executions.frame
    if not frame["definition"].count():
        return frame.clear()
    alive = frame["status"].is_in(["done", "unknown"])
    return frame.filter(alive & pl.Series(families(executions) == COMPILED))


def _rows_of_calls(executions: Executions, rows: Integers, family: Integers) -> pl.Series:
    """`rows`, but the row of the call around it for a node that runs compiled code."""
    frame = executions.frame
    is_call = executions.dispatches.eager["is_call"]
    calls = frame.with_row_index("call_row").select("call_row", "call", "dispatch").drop_nulls()
    calls = calls.filter(pl.lit(is_call).gather(pl.col("dispatch")))
    found = frame.select(pl.col("call").gather(rows)).join(
        calls.unique("call", keep="first"), on="call", how="left", maintain_order="left"
    )
    call_row = found["call_row"].cast(pl.Int64).fill_null(-1).to_numpy()
    return pl.Series(np.where((family == COMPILED) & (call_row >= 0), call_row, rows))


def sources_apart(executions: Executions, primitives: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The sources of oneDNN's lines and those of executions, if none has both; else nothing.

    Then the order of the lines says nothing: which file comes first is the user's choice.
    """
    onednn = _sources_of(executions.spans, primitives["at"])
    tensorflow = _sources_of(executions.spans, executions.frame["at"])
    if not onednn or not tensorflow or set(onednn) & set(tensorflow):
        return [], []
    return onednn, tensorflow


def _sources_of(spans: Sequence[SourceSpan], at: pl.Series) -> list[str]:
    """The sources that hold these lines."""
    return [
        span.name
        for span in spans
        if at.is_between(span.first * PLACES, (span.first + span.lines) * PLACES, "left").any()
    ]


def _until(found: pl.DataFrame, executions: Executions) -> pl.Series:
    """The line of the end; where none is printed, one at which the kernel must have been done."""
    printed = found["end_at"]
    if not printed.null_count():
        return printed
    eager = executions.dispatches.eager.select("at", "thread", is_eager=pl.lit(value=True))
    behind = found.select(pl.col("at") + 1, "thread", is_eager=pl.col("definition").is_null())
    after = _first_from(behind, eager, by=["thread", "is_eager"])
    consumer = _first_consumer(found, executions)
    calls = executions.dispatches.calls.select("call", call_end="end_at")
    call_end = found.join(calls, on="call", how="left", maintain_order="left")["call_end"]
    return pl.select(pl.coalesce(printed, after, consumer, call_end)).to_series()


def _first_consumer(found: pl.DataFrame, executions: Executions) -> pl.Series:
    """The line at which a node began, in the same step, that takes what the run put out."""
    definitions = executions.runs.definitions
    nodes = definitions.select("node").with_row_index("produced")
    mine = found["definition"].drop_nulls().unique()
    nodes = nodes.filter(pl.col("produced").is_in(mine.implode()))
    edges = (
        definitions.select(pl.col("inputs").str.split(", "))
        .with_row_index("definition")
        .explode("inputs", empty_as_null=False)
        .select("definition", node=pl.col("inputs").str.replace(r":\d+$", "").str.strip_prefix("^"))
        .join(nodes, on="node")
        .unique()
    )
    begun = executions.frame.select("at", "definition", "step_row").drop_nulls()
    asked = found.select("at", "step_row", produced="definition")
    return _first_from(asked, begun.join(edges, on="definition"), by=["step_row", "produced"])


def _first_from(asked: pl.DataFrame, lines: pl.DataFrame, by: list[str]) -> pl.Series:
    """For each row of `asked` the first `at` of `lines` that is not before it and equal in `by`."""
    later = lines.select(*by, found="at").sort("found")
    joined = (
        asked.with_row_index("row")
        .sort("at")
        .join_asof(
            later,
            left_on="at",
            right_on="found",
            by=by,
            strategy="forward",
            check_sortedness=False,
        )
    )
    return joined.sort("row")["found"]


def eager_ends_are_doubtful(events: Events, dispatches: Dispatches) -> bool:
    """Whether several Python threads ran eager ops and the log does not say which ran what.

    The line that ends an eager op names nobody, so it may be another thread's.
    """
    if events.has_threads:
        return False
    eager = dispatches.eager.filter(~pl.col("is_call"))
    ended = eager.sort("at").select(before=pl.col("end_at").cum_max().shift(1), at="at")
    return bool((ended["before"] > ended["at"]).any())


def open_pairs(lines: Integers, start: Integers, until: pl.Series) -> tuple[Integers, Integers]:
    """Return (line, interval) for each line that lies in an interval, as row numbers.

    `lines` is sorted. Lines at the very ends count: two records glued together have one number.
    """
    last = until.fill_null(_FOREVER).to_numpy()
    first_line = np.searchsorted(lines, start)
    count = np.searchsorted(lines, last, side="right") - first_line
    unbounded = until.is_null().to_numpy()
    count = np.clip(count, 0, np.where(unbounded, LINES_WITHOUT_END, len(lines)))
    while count.sum() > MOST_PAIRS:  # a log made to be slow
        count = np.minimum(count, max(1, int(count.max()) // 2))
    interval = np.repeat(np.arange(len(start)), count)
    before = np.repeat(np.cumsum(count) - count, count)
    line = np.arange(len(interval)) - before + np.repeat(first_line, count)
    return line, interval
