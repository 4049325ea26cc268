"""`tflogscope ops`: the per-op table."""

from __future__ import annotations

from tflogscope.cli.inputs import named_inputs, opened_store, table_of
from tflogscope.cli.options import Force, FormatName, Logs, Output, OwnGrammar, Where
from tflogscope.cli.output import destination


def ops(
    logs: Logs = None,
    *,
    where: Where = None,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Count and time each op, eager and in graphs apart.

    One row per mode, op, kernel and way of rewriting: how often it ran, for how long, in which
    functions, and which oneDNN implementations it used. Times are in µs.

    \b
    Examples:
      tflogscope ops run.log
      tflogscope ops run.log -o ops.csv
      tflogscope ops run.log --where 'mode == eager and total_us > 1ms'
      tflogscope ops run.log --format jsonl | head
    """
    inputs = named_inputs(logs)
    place = destination(output, format_name, force=force, inputs=inputs)
    place.send(table_of(inputs, opened_store(inputs), "ops", where, grammar), "ops")
