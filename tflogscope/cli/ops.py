"""`tflogscope ops`: the per-op table, which `export --table ops` writes too."""

from __future__ import annotations

from tflogscope.cli.export import export
from tflogscope.cli.options import Force, FormatName, Logs, Output, OwnGrammar, Sort, Top, Where


def ops(
    logs: Logs = None,
    *,
    where: Where = None,
    sort: Sort = None,
    top: Top = None,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Count and time each op by mode, most time first.

    Prints one row per mode, op, kernel and rewrite. steady_us excludes warm-up and logging,
    work_us excludes logging; total_us and mean_us to max_us are durations as the log prints them.

    \b
    Examples:
      tflogscope ops run.log --top 20
      tflogscope ops run.log -o ops.csv
      tflogscope ops run.log --where "mode = 'eager' AND total_us > 1000" --sort executions
      tflogscope ops run.log --format jsonl | head
    """
    export(
        logs,
        table="ops",
        where=where,
        sort=sort,
        top=top,
        output=output,
        format_name=format_name,
        force=force,
        grammar=grammar,
    )
