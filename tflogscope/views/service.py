"""Latency and throughput of functions that several threads call."""

from __future__ import annotations

from collections.abc import Iterator

from tflogscope.model.common.facts import Summary
from tflogscope.model.ledger.services import threads_of_service
from tflogscope.views import document as doc

_SHOWN = 5
_WHOLE = 10  # calls a second, from which on they have no digits after the point
_COLUMNS = doc.columns("service")


def service_section(facts: Summary) -> Iterator[doc.Node]:
    """A row for each function, what is called most first."""
    if not threads_of_service(facts.functions):
        return
    functions = facts.functions.drop_nulls("service").to_dicts()
    latencies = [{"function": row["function"] or "?", **row["service"]} for row in functions]
    latencies = [
        {**row, "threads": len(row["threads"]), "calls_per_s": _rate(row["calls_per_s"])}
        for row in latencies
    ]
    latencies.sort(key=lambda row: -row["calls"])
    more = f" ({_SHOWN} of {len(latencies)}; all: tflogscope analyze --json LOG)"
    rest = more if len(latencies) > _SHOWN else ""
    table = doc.Table(_COLUMNS, latencies, "Latency by function", "service-table", tools=True)
    both = doc.Brief([doc.Table(_COLUMNS, latencies[:_SHOWN])]), doc.Full(lambda: [table])
    yield doc.Section(
        "Latency", both, "service", brief=f", without logging overhead (calls/s: as logged){rest}"
    )


def _rate(per_second: float | None) -> str | None:
    return None if per_second is None else f"{per_second:,.{0 if per_second >= _WHOLE else 2}f}"
