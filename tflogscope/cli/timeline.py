"""`tflogscope timeline`: eager against graph over time, drawn in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from tflogscope.cli.inputs import chosen, named_inputs, opened
from tflogscope.cli.options import AsJson, Logs, OwnGrammar, Where, option
from tflogscope.cli.output import print_text
from tflogscope.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from tflogscope.model.pictures.activity import Activity
    from tflogscope.model.run import Run

SCHEMA_VERSION = 1
_JSON_COLUMNS = 100


def timeline(
    logs: Logs = None,
    *,
    begin: Annotated[
        str | None,
        option(
            "--from WHEN",
            "Start at a line (30882), a time (03:56:54.2, or with the date), or an offset from "
            "the start (+1.5s, +200ms, +2min).",
        ),
    ] = None,
    end: Annotated[str | None, option("--to WHEN", "End at a line, time or offset.")] = None,
    function: Annotated[
        str | None,
        option(
            "--function NAME",
            "Show only calls of this function and what they run: train_function, or one trace "
            "of it, train_function_809.",
        ),
    ] = None,
    call: Annotated[int | None, option("--call N", "Show only this call.")] = None,
    where: Where = None,
    as_json: AsJson = False,
    grammar: OwnGrammar = None,
) -> None:
    """Draw eager and graph execution over time.

    Shows how busy each lane was: eager ops, the calls of each function, oneDNN and other kernels in
    graphs, and oneDNN primitives. Lists the longest idle times.

    \b
    Examples:
      tflogscope timeline run.log
      tflogscope timeline run.log --from +1s --to +1.2s
      tflogscope timeline run.log --function train_function
      tflogscope timeline run.log --where "op = 'MatMul'"
    """
    with opened(named_inputs(logs), grammar) as run:
        # Not before: polars is imported while the log is scanned.
        from tflogscope.exports.json_text import json_object
        from tflogscope.model.pictures.activity import read_activity
        from tflogscope.model.pictures.moments import moment_ns
        from tflogscope.views.text import make_console
        from tflogscope.views.timeline import Layout, render_timeline

        console = make_console()
        numbers = _rows(run, function, call, where)
        first = None if begin is None else moment_ns(run, begin, last=False)
        last = None if end is None else moment_ns(run, end, last=True)
        if first is not None and last is not None and last <= first:
            raise UsageError("--to is not after --from", end)

        def columns(names: list[str]) -> int:
            return _JSON_COLUMNS if as_json else Layout(console.width, names).picture

        activity = read_activity(run, numbers, columns, first=first, last=last)
        if not activity.all.runs:
            options = (begin, end, function, call, where)
            hint = None if options == (None,) * 5 else "Run timeline without options to see all."
            raise UsageError("nothing ran there" if hint else "nothing ran in this log", hint=hint)
        if as_json:
            text = json_object(_facts(run, activity))
        else:
            text = render_timeline(activity, run.slices, console)
    print_text(text)


def _rows(run: Run, function: str | None, call: int | None, where: str | None) -> pl.Series | None:
    """The numbers of the rows of the timeline that are asked for; None: all.

    Raises:
        UsageError: there is no such function, or no such call.
        QueryError: the condition is wrong.
    """
    if function is None and call is None and where is None:
        return None
    import polars as pl

    from tflogscope.model.pictures.moments import of_function

    frame = run.slices.frame.filter(pl.col("primitive").is_null())
    if function is not None:
        fits = run.slices.texts.select(of_function(function).fill_null(value=False)).to_series()
        frame = frame.filter(fits.gather(frame["text"]))
        if frame.is_empty():
            names = run.slices.texts["function"].drop_nulls().unique().sort().to_list()
            hint = did_you_mean(function, names, "analyze lists the functions.", most=2)
            raise UsageError(f"no function {function!r}", "--function", hint)
    if call is not None:
        last = run.slices.frame["call"].max()
        frame = frame.filter(pl.col("call") == call)
        if frame.is_empty():
            hint = "The log has no calls." if last is None else f"Calls are numbered 0 to {last!r}."
            raise UsageError(f"no call {call}", "--call", hint)
    numbers = frame["row"]
    if where is not None:
        kept = chosen(run.timeline.with_row_index("row"), where)["row"].cast(pl.Int64)
        numbers = numbers.filter(numbers.is_in(kept.implode()))
    return numbers


def _facts(run: Run, activity: Activity) -> dict[str, object]:
    """The picture as values that JSON knows; the axis begins at `begins_at`, in ns."""
    import numpy as np

    slices = run.slices
    origin = slices.origin
    return {
        "schema_version": SCHEMA_VERSION,
        "axis": slices.clock,
        "begins_at": None if origin is None else str(np.datetime64(origin, "us")),
        **asdict(activity),
    }
