"""`tflogscope export`: any table, to a file or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from tflogscope.cli.inputs import named_inputs, opened_store, table_of
from tflogscope.cli.options import (
    Force,
    FormatName,
    Logs,
    Output,
    OwnGrammar,
    Sort,
    Top,
    Where,
    option,
)
from tflogscope.cli.output import destination
from tflogscope.errors import UsageError, did_you_mean
from tflogscope.exports.schema import TABLES


def _complete_table(typed: str) -> list[str]:
    return [name for name in TABLES if name.startswith(typed)]


def export(
    logs: Logs = None,
    *,
    table: Annotated[
        str,
        option(
            "--table NAME",
            f"The table: {', '.join(TABLES)}; in a store also runs.",
            autocompletion=_complete_table,
        ),
    ],
    where: Where = None,
    sort: Sort = None,
    top: Top = None,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write one of the tables to a file or a pipe.

    CSV is safe for spreadsheets: text that would run as a formula gets a leading quote. JSON, JSON
    Lines, Parquet and Arrow keep the exact text.

    \b
    Examples:
      tflogscope export run.log --table timeline -o timeline.parquet
      tflogscope export run.log --table nodes -o - --format jsonl --where "op = 'MatMul'"
    """
    inputs = named_inputs(logs)
    store = opened_store(inputs)
    _require(table, TABLES if store is None else store.tables, "table", "--table")
    place = destination(output, format_name, force=force, inputs=inputs)
    frame = table_of(inputs, store, table, where, grammar)
    if sort is not None:
        from tflogscope.views.table import sorted_by

        _require(sort, frame.columns, "column", "--sort")
        frame = sorted_by(frame, sort)
    place.send(frame, table, top)


def _require(name: str, names: Sequence[str], what: str, option_name: str) -> None:
    if name not in names:
        raise UsageError(f"no {what} {name!r}", option_name, did_you_mean(name, names))
