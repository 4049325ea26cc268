"""`tflogscope trend`: figures of runs over time."""

from __future__ import annotations

from typing import Annotated

from tflogscope.cli.options import Force, FormatName, Output, argument
from tflogscope.cli.output import destination, print_text


def trend(
    store: Annotated[str, argument("STORE", "A store made by collect.")],
    *,
    output: Output = None,
    format_name: FormatName = None,
    force: Force = False,
) -> None:
    """Show how a program's runs changed, and since which run.

    Lists step time, the shares of eager ops and oneDNN kernels, eager ops per step, traces and
    findings of each run, in order of start. Reports changes beyond run-to-run noise.

    \b
    Examples:
      tflogscope trend STORE
      tflogscope trend STORE -o trend.csv
    """
    from tflogscope.stores.trend import trend_facts, trend_frame
    from tflogscope.views.terminal import drawn
    from tflogscope.views.trend import trend_section

    place = destination(output, format_name, force=force, inputs=[])
    from tflogscope.stores.store import open_store

    series = trend_facts(open_store(store))
    place.send(trend_frame(series), "trend")
    if place.is_shown:
        print_text("\n" + drawn([trend_section(series, ())]))
