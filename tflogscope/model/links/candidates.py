"""Which executions were open when a oneDNN line was printed, of those that can run primitives.

The thread that runs a kernel prints the kernel's primitives before it prints the kernel's end, so
a line lies between the two records of its execution (unless standard output was buffered, see
`late`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES, Events
from tflogscope.events.scan import SourceSpan
from tflogscope.model.common.frames import (
    Booleans,
    Integers,
    alike,
    filled,
    first_after,
    holds,
    only,
    ranges,
    row_with,
    rows,
    where,
)
from tflogscope.model.common.names import CALLING_OPS, IDLE_OPS, PYTHON_OPS
from tflogscope.model.common.once import once
from tflogscope.model.common.thresholds import LINES_WITHOUT_END, MOST_PAIRS
from tflogscope.model.executions.dispatches import Dispatches
from tflogscope.model.executions.executions import Executions
from tflogscope.model.links.kernels import (
    ACCELERATED,
    ANY,
    COMPILED,
    COMPILED_ATTRIBUTE,
    families_of,
)

FOREVER = np.iinfo(np.int64).max


def read_candidates(executions: Executions) -> pl.DataFrame:
    """Executions whose kernel can run primitives, one row each, in the order of their starts.

    Columns without nulls: row (of `Executions.frame`), execution (the same; of compiled code that
    of the call), at, end_at (-1: not printed), until (the last line that can be theirs, FOREVER:
    nothing bounds it), thread, step (id), step_row, definition, call (-1: none), family, node
    (equal for runs of one node of one function, or of one eager op); also time and duration_us.
    """
    frame, steps = executions.frame, executions.steps
    family = families(executions)
    row = where((frame["status"] != "dead") & pl.Series(family >= 0))
    names = ("at", "end_at", "thread", "step_row", "definition", "call", "signature")
    columns = {name: filled(rows(frame[name], row)) for name in names}
    columns |= {"row": row, "family": family[row]}
    step_row = columns["step_row"]
    columns["step"] = np.append(steps["step"].to_numpy(), -1)[step_row]
    (function,) = alike(steps[["name"]])
    columns["function"] = np.append(function, -1)[step_row]
    (columns["node"],) = alike(
        pl.DataFrame({n: columns[n] for n in ("definition", "function", "signature")})
    )
    columns["execution"] = _rows_of_calls(executions, columns)
    columns["until"] = _until(columns, executions)
    return pl.DataFrame(columns).hstack(rows(frame[["time", "duration_us"]], row))


@once
def families(executions: Executions) -> Integers:
    """The family of each row of `Executions.frame`, -1: its kernel runs no primitives."""
    frame, signatures = executions.frame, executions.signatures
    others = where(signatures["kind"] != "call")  # a program may have any number of functions
    of_kernels = np.full(signatures.height, -1)
    of_kernels[others] = families_of(rows(signatures, others))
    family = of_kernels[frame["signature"].to_numpy()].astype(np.int16)
    _add_accelerated(executions, family)
    attributes = executions.runs.definitions["attributes"]
    jit = where(attributes.str.contains(COMPILED_ATTRIBUTE, literal=True))
    calls = where(pl.Series(compiled_calls(executions)))
    for column, compiled in (("definition", jit), ("dispatch", calls)):
        if len(compiled):
            family[np.isin(frame[column].to_numpy(), compiled)] = COMPILED
    return np.asarray(family)


def _add_accelerated(executions: Executions, family: Integers) -> None:
    """Put the family that may run anything for ops on a device whose kernels are oneDNN's."""
    frame = executions.frame
    of = (executions.runs.definitions, "definition"), (executions.dispatches.eager, "dispatch")
    for table, column in of:
        there = where(table["device"].str.contains(ACCELERATED).fill_null(value=False))
        if len(there):
            family[np.isin(filled(frame[column]), there)] = ANY


@once
def compiled_calls(executions: Executions) -> Booleans:
    """Which dispatches are calls compiled as a whole: no component of them ran, and no node."""
    eager, components = executions.dispatches.eager, executions.dispatches.runs
    is_call = (eager["is_call"] & ~eager["remote"]).to_numpy()  # another log has what ran there
    if components.height:
        ran = components["dispatch"].to_numpy()
        return np.asarray(is_call & ~np.isin(np.arange(eager.height), ran))
    # Where the log has no lines of components, a node of unknown call may be the call's own.
    calls = filled(executions.steps["call"])
    whole = is_call & ~np.isin(filled(eager["call"], -2), calls)
    unknown = executions.runs.at[calls[executions.runs.step] < 0]
    end = np.searchsorted(unknown, filled(eager["end_at"], FOREVER))
    return np.asarray(whole & (end == np.searchsorted(unknown, eager["at"].to_numpy())))


@once
def compiled_runs(executions: Executions) -> pl.DataFrame:
    """Rows of `Executions.frame` that ran code of XLA's: calls, nodes that call, clusters.

    A call is known by what did not run in it, so nothing can be said where neither a node nor a
    component of a function has a record.
    """
    frame = executions.frame
    if not len(executions.runs) and executions.dispatches.runs.is_empty():
        return frame.clear()
    alive = frame["status"] == "done"
    if len(executions.runs):
        alive |= frame["status"] == "unknown"
    return only(frame, alive & pl.Series(families(executions) == COMPILED))


def _rows_of_calls(executions: Executions, columns: dict[str, Integers]) -> Integers:
    """The row of each candidate, but of the call around it for a node that runs compiled code."""
    calls, row = executions.calls, pl.Series(columns["row"])
    compiled = pl.Series(np.where(columns["family"] == COMPILED, columns["call"], -1)).alias("call")
    around = rows(calls["row"], row_with(compiled.to_frame(), calls[["call"]]))
    return filled(pl.select(pl.coalesce(around.cast(pl.Int64), row)).to_series())


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


def _until(columns: dict[str, Integers], executions: Executions) -> Integers:
    """The line of the end; where none is printed, one at which the kernel must have been done."""
    until = columns["end_at"].copy()
    endless = np.flatnonzero(until < 0)
    if not len(endless):
        return until
    names = ("at", "thread", "step_row", "definition", "call")
    open_runs = pl.DataFrame({name: columns[name][endless] for name in names})
    eager, calls = executions.dispatches.eager, executions.dispatches.calls
    # The thread that ran an eager op dispatches the next one.
    after = first_after(open_runs[["at", "thread"]], eager[["at", "thread"]])
    after[open_runs["definition"].to_numpy() >= 0] = -1
    call = row_with(open_runs[["call"]], calls[["call"]])
    ends = (
        np.append(eager["at"].to_numpy(), -1)[after],
        _first_consumer(open_runs, executions),
        np.append(filled(calls["end_at"]), -1)[call],
    )
    until[endless] = FOREVER
    for end in reversed(ends):
        printed = end >= 0
        until[endless[printed]] = end[printed]
    return until


def _first_consumer(open_runs: pl.DataFrame, executions: Executions) -> Integers:
    """The line at which a node of the same step began that takes what the run put out."""
    runs = executions.runs
    number = np.unique(open_runs["definition"].to_numpy())
    produced = rows(runs.definitions["node"], number[number >= 0])
    makers = pl.DataFrame({"node": produced, "produced": number[number >= 0]})
    taken = pl.col("inputs").str.split(", ")
    node = pl.col("node").str.replace(r":\d+$", "").str.strip_prefix("^")
    edges = (
        runs.definitions.select(definition=pl.int_range(pl.len()), node=taken)
        .explode("node", empty_as_null=False)
        .with_columns(node)
        .join(makers, on="node")
        .unique(["definition", "produced"])
    )
    began = pl.DataFrame({"at": runs.at, "step_row": runs.step, "definition": runs.definition})
    began = began.cast(pl.Int64).join(edges, on="definition")
    key = ["at", "step_row", "produced"]
    consumer = first_after(open_runs.rename({"definition": "produced"})[key], began[key])
    return np.append(began["at"].to_numpy(), -1)[consumer]


def eager_ends_are_doubtful(events: Events, dispatches: Dispatches) -> bool:
    """Whether several Python threads ran eager ops and the log does not say which ran what.

    The line that ends an eager op names nobody, so it may be another thread's.
    """
    if events.has_threads:
        return False
    ops = where(~dispatches.eager["is_call"])
    at, end_at = (filled(dispatches.eager[name])[ops] for name in ("at", "end_at"))
    order = np.argsort(at, kind="stable")
    return bool((np.maximum.accumulate(end_at[order])[:-1] > at[order][1:]).any())


def open_pairs(lines: Integers, start: Integers, until: Integers) -> tuple[Integers, Integers]:
    """Return (line, interval) for each line that lies in an interval, as row numbers.

    `lines` is sorted. Lines at the very ends count: two records glued together have one number.
    """
    first_line = np.searchsorted(lines, start)
    count = np.searchsorted(lines, until, side="right") - first_line
    count = np.clip(count, 0, np.where(until == FOREVER, LINES_WITHOUT_END, len(lines)))
    while count.sum() > MOST_PAIRS:  # a log made to be slow
        count = np.minimum(count, max(1, int(count.max()) // 2))
    interval, line = ranges(first_line, count)
    return line, interval


# ---- lines that leave no choice ------------------------------------------------------------------
# Whatever a table says of its kernel, the one execution that is open around a line ran it, unless
# that can't compute, or code of XLA's ran at the same time.


def sole_executions(executions: Executions, at: Integers) -> Integers:
    """Return for each line the row of the only execution open around it, -1: none, or several.

    `at` is in order. Calls, and ops that run a function or Python code, are open around what they
    run, and do not count, nor do ops that compute nothing. A compiled call runs primitives itself:
    of a line in one nothing is said, nor where the log prints no ends.
    """
    frame, signatures = executions.frame, executions.signatures
    sole = np.full(len(at), -1, np.int64)
    runs_no_primitive = pl.col("op").str.contains(f"{CALLING_OPS}|{PYTHON_OPS}|{IDLE_OPS}")
    runs = signatures.select(pl.col("kind").is_in(["op", "folding"]) & ~holds(runs_no_primitive))
    is_compiled = families(executions) == COMPILED
    works = runs.to_series().to_numpy()[frame["signature"].to_numpy()] | is_compiled
    status = frame["status"]
    if (status == "unknown").any():
        return sole
    begin = np.searchsorted(at, frame["at"].to_numpy()).astype(np.uint32)
    # Most executions have no line of oneDNN's in them: the next one comes after their end.
    has_line = np.append(at, FOREVER)[begin] <= filled(frame["end_at"])
    row = np.flatnonzero(has_line & works & ((status == "done") | (status == "failed")).to_numpy())
    begin = begin[row]
    until = np.searchsorted(at, filled(frame["end_at"][row]), side="right")

    def open_at_each_line(values: Integers) -> Integers:
        """The sum of the values of the executions that are open at each line."""
        size = len(at) + 1
        change = np.bincount(begin, values, size) - np.bincount(until, values, size)
        return np.cumsum(change)[:-1].astype(np.int64)

    # Where one is open, the sum of the rows of those that are is that one.
    alone = open_at_each_line(np.ones_like(row)) == 1
    sole[alone] = open_at_each_line(row)[alone]
    sole[np.append(is_compiled, False)[sole]] = -1
    endless = frame["at"].to_numpy()[works & (status == "unfinished").to_numpy()]
    if len(endless):
        sole[at >= endless.min()] = -1
    return sole
