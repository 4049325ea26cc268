"""`tflogscope export`: any table, to a file or a pipe."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

from tflogscope.cli.inputs import named_inputs, opened_store, table_of
from tflogscope.cli.options import Force, FormatName, Logs, Output, OwnGrammar, Where, option
from tflogscope.cli.output import destination
from tflogscope.errors import UsageError
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
            f"Which table: {', '.join(TABLES)}; of a store runs, too.",
            autocompletion=_complete_table,
        ),
    ],
    where: Where = None,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write one of the tables, to a file or a pipe.

    CSV is made to be opened in a spreadsheet: text that it would run as a formula gets a leading
    quote. JSON, JSON Lines, Parquet and Arrow hold the exact text.

    \b
    Examples:
      tflogscope export run.log --table timeline -o timeline.parquet
      tflogscope export run.log --table nodes -o - --format jsonl --where 'op == MatMul'
    """
    inputs = named_inputs(logs)
    store = opened_store(inputs)
    known = TABLES if store is None else store.tables
    if table not in known:
        near = get_close_matches(table, known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
        raise UsageError(f"there is no table {table!r}", "--table", hint)
    place = destination(output, format_name, force=force, inputs=inputs)
    place.send(table_of(inputs, store, table, where, grammar), table)
