"""The sections of the page that are made of facts: what was recorded, findings, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tflogscope.model.figures import count_of
from tflogscope.views.markup import Markup, element, joined
from tflogscope.views.pieces import kind_rows, ops_without_line, percent, whose
from tflogscope.views.report.tables import Column, facts, table
from tflogscope.views.table import duration

if TYPE_CHECKING:
    from tflogscope.model.facts import Recorded, Summary
    from tflogscope.model.run import Run

Facts = dict[str, Any]
ROWS = 1000  # of a table, unless all are asked for


def section(id_: str, title: str, *children: Markup | str | None) -> Markup:
    """A part of the page with a heading, a landmark for screen readers."""
    heading = element("h2", title, id=f"{id_}-title")
    return element("section", heading, *children, id=id_, aria_labelledby=f"{id_}-title")


def paragraph(*children: str | Markup | None, class_: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *children, class_=class_)


# ---- what was recorded ---------------------------------------------------------------------------


def recorded(run: Run, said: Recorded, made_by: str) -> Markup:
    """Where the page comes from: the program, its inputs, and what was recorded how."""
    inputs = [
        joined(
            element("code", each.name),
            "" if each.size is None else f", {each.size:,} bytes",
            element("br"),
            "SHA-256 ",
            element("code", each.sha256, class_="sum"),
        )
        for each in run.inputs
    ]
    pairs: list[tuple[str, str | Markup | None]] = [("Log", each) for each in inputs]
    pairs += list(_how(run.recorded_as or {}))
    pairs += [
        ("Time", _span(said)),
        ("Format", said.tensorflow_dialect or "no record of TensorFlow"),
        ("VLOG level", "not known" if said.vlog_level is None else str(said.vlog_level)),
        ("oneDNN", said.onednn_version or "no header of oneDNN"),
        ("Lines", _lines(said)),
        ("Page made by", made_by),
    ]
    return section("recorded", "What was recorded", facts(pairs))


def _how(header: Mapping[str, Any]) -> Iterator[tuple[str, str | Markup | None]]:
    """What `tflogscope record` wrote above the log. A log may hold anything there."""
    command = header.get("command")
    if isinstance(command, list):
        yield "Command", element("code", " ".join(map(str, command)))
    for name, title in (("versions", "Releases"), ("environment", "Settings")):
        values = header.get(name)
        if isinstance(values, dict) and values:
            shown = (f"{key}={value}" for key, value in values.items())
            separator = element("br")
            items: list[Markup] = []
            for each in shown:
                items += [separator] if items else []
                items.append(element("code", each))
            yield title, joined(*items)
    for name, title in (("started", "Started"), ("system", "System"), ("processor", "Processor")):
        value = header.get(name)
        if isinstance(value, str) and value:
            yield title, value
    if not header:
        yield "Command", "not known: the log has no header line of tflogscope record"


def _span(said: Recorded) -> str:
    import numpy as np

    if said.span_us is None:
        return "the log has no times"
    first, last = (
        str(np.datetime64(time, "us")).replace("T", " ") for time in (said.first, said.last)
    )
    return f"{first} to {last} ({duration(said.span_us)})"


def _lines(said: Recorded) -> str:
    parts = [
        f"{said.lines:,} lines, {said.bytes:,} bytes",
        f"{said.recognised:,} records recognised",
        f"{said.ignored:,} of files that are not used here",
        f"{said.unknown:,} unknown",
        f"{said.continuation:,} lines that go on with a record, or are the program's own",
        f"{said.blank:,} blank",
    ]
    if said.torn:
        parts.append(f"{count_of(said.torn, 'record')} torn by another writer")
    if said.bad_bytes:
        parts.append(f"{said.bad_bytes:,} bytes that are not text")
    return "; ".join(parts)


# ---- ops and functions ---------------------------------------------------------------------------

_OPS = (
    Column("mode", "Mode"),
    Column("kind", "Kind"),
    Column("op", "Op", "name"),
    Column("kernel", "Kernel", "name"),
    Column("rewrite", "Rewrite"),
    Column("executions", "Runs", "count"),
    Column("dead", "Dead", "count", "on a branch that was not taken: nothing ran", on_paper=False),
    Column("total_us", "Total", "us"),
    Column("mean_us", "Mean", "us"),
    Column("min_us", "Min", "us", on_paper=False),
    Column("p50_us", "Median", "us", on_paper=False),
    Column("p95_us", "95 %", "us", "95 of 100 took this long or less", on_paper=False),
    Column("max_us", "Max", "us"),
    Column("primitives", "Primitives", "count"),
    Column("primitive_us", "Time in primitives", "us"),
    Column("implementations", "Implementations", "list"),
    Column("functions", "Functions", "list", on_paper=False),
    Column("causes", "Causes", "list"),
    Column("python", "Mostly asked for by", "name", "a line of the program"),
    Column("first_line", "First line", "line"),
)


def ops(run: Run, notes: list[str], answers: Markup | None, *, full: bool) -> Markup:
    """The ops table, the most time first, and what people ask about ops."""
    if run.ops.is_empty():
        return section("ops", "Ops", paragraph("No execution of an op is in the log."))
    frame = run.ops.sort("total_us", "first_line", descending=[True, False], nulls_last=True)
    frame = cut(frame, "ops", notes, full=full)
    modes = _modes(run.summary)
    return section(
        "ops",
        "Ops",
        modes,
        answers,
        paragraph(
            "Times are sums: what ran at the same time on several threads adds up. Below, calls "
            "count from Executing op on, without what made them ready. A click on a heading sorts.",
            class_="hint",
        ),
        table("ops-table", "Ops by mode, kernel and rewrite", _OPS, frame.to_dicts(), tools=True),
    )


def cut(frame: Any, name: str, notes: list[str], *, full: bool) -> Any:
    """The first rows of a table, with a note on what is left out."""
    if full or frame.height <= ROWS:
        return frame
    notes.append(f"The table of {name} shows {ROWS:,} of {frame.height:,} rows.")
    return frame.head(ROWS)


def _modes(said: Summary) -> Markup:
    rows = []
    for mode, kind, what, counted, us in kind_rows(said):
        runs = counted.executions
        on = said.mode(mode).rewritten.executions if kind == "op" else None
        rows.append(
            {
                "mode": mode,
                "what": what,
                "runs": runs,
                "total_us": us,
                "rewritten": on,
                "share": None if on is None else percent(on, runs),
            }
        )
    columns = (
        Column("mode", "Mode"),
        Column("what", "What"),
        Column("runs", "Runs", "count"),
        Column("total_us", "Total", "us"),
        Column("rewritten", f"As {whose(said.rewriters)} kernels", "count"),
        Column("share", "Share of runs"),
    )
    return table("modes-table", "Eager and graph", columns, rows)


_FUNCTIONS = (
    Column("function", "Function", "name"),
    Column("function_uid", "Number", "label"),
    Column("flavour", "Flavour"),
    Column("traces", "Trace", "count", "of one Python function; from 2 on a retrace"),
    Column("instantiation_us", "Made ready in", "us"),
    Column("calls", "Calls", "count"),
    Column("xla_calls", "Of them XLA's", "count", "calls that ran code that XLA compiled"),
    Column("first_us", "First call", "us", "with what made the function ready"),
    Column("later_us", "Later calls, mean", "us"),
    Column("took_us", "All calls", "us"),
    Column("nodes", "Nodes", "count"),
    Column("eligible_nodes", "Eligible nodes", "count", "that whoever rewrites nodes knows"),
    Column("rewritten_nodes", "Rewritten", "count"),
    Column("python", "Traced for", "name", "the line of the program that ran when it was traced"),
    Column("first_line", "First line", "line"),
)


def functions(said: Summary, notes: list[str], *, full: bool) -> Markup:
    """Functions with their traces; those traced again are named."""
    rows = said.functions
    again = {}
    for row in rows:
        known = row.function and row.calls and not row.made_by
        if known and row.traces > 1 and row.flavour == "inference":
            again[row.function] = row.traces
    said_again = [f"{name} {count_of(count, 'trace')}" for name, count in again.items()]
    text = (
        f"Traced again: {', '.join(said_again[:20])}." if said_again else "None was traced again."
    )
    if not full and len(rows) > ROWS:
        notes.append(f"The table of functions shows {ROWS:,} of {len(rows):,} rows.")
        rows = rows[:ROWS]
    more = f" And {len(said_again) - 20} more." if len(said_again) > 20 else ""
    if not rows:
        return section("functions", "Functions", paragraph("No graph function is in the log."))
    return section(
        "functions",
        "Functions",
        paragraph(text, more),
        table(
            "functions-table",
            "Graph functions and their traces",
            _FUNCTIONS,
            [{**vars(row), "xla_calls": row.xla_calls or None} for row in rows],
            tools=True,
        ),
    )


_LINES = (
    Column("python", "Line", "name"),
    Column("function", "Function", "name", "of Python"),
    Column("eager_runs", "Eager ops", "count"),
    Column("eager_us", "Eager time", "us"),
    Column("ops", "Such as", "list"),
    Column("calls", "Calls", "count", "of graph functions"),
    Column("graph_runs", "Runs of nodes", "count", "of nodes that the line made"),
    Column("graph_us", "Time of nodes", "us"),
    Column("first_line", "First line", "line", "of the log"),
)


def lines(said: Summary, notes: list[str], *, full: bool) -> Markup:
    """What each line of the program asked for, the most eager time first."""
    rows = [{**vars(row), "ops": ";".join(filter(None, row.ops or ()))} for row in said.lines]
    if not rows:
        text = "The log has none. tflogscope record writes them down."
        return section("lines", "Lines of the program", paragraph(text))
    if not full and len(rows) > ROWS:
        notes.append(f"The table of lines shows {ROWS:,} of {len(rows):,} rows.")
        rows = rows[:ROWS]
    caption = "What each line of the program asked for"
    left = ops_without_line(said)
    return section(
        "lines",
        "Lines of the program",
        table("lines-table", caption, _LINES, rows, tools=True),
        paragraph(f"{left} in no line of the program.", class_="hint") if left else None,
    )


# ---- what is not in the log ----------------------------------------------------------------------


def limits(run: Run, said: Summary, notes: list[str], clock: str, left_out: int) -> Markup:
    """What is not in the log; what the page leaves out; each source's account of lines."""
    items = [element("li", limit.text) for limit in said.limits]
    if clock == "lines":
        items.append(
            element("li", "When anything ran: the log has no times. A line counts as 1 µs.")
        )
    if clock == "durations":
        items.append(element("li", "When primitives ran: they are drawn one after the other."))
    if left_out:
        text = f"{count_of(left_out, 'execution')}: their records have no time."
        items.append(element("li", f"The timeline leaves out {text}"))
    links = said.onednn.links if said.onednn else {}
    for link, text in (
        ("none", "{count} of no known op"),
        ("ambiguous", "{count} whose op is the best of several that fit"),
    ):
        if links.get(link):
            items.append(
                element("li", "oneDNN ran " + text.format(count=count_of(links[link], "primitive")))
            )
    shown = element("ul", *items) if items else paragraph("Nothing that this page asks.")
    small = None
    if notes:
        said_notes = (element("li", note) for note in notes)
        small = joined(
            element("h3", "Left out to keep this page small"),
            paragraph("tflogscope report --full keeps it."),
            element("ul", *said_notes),
        )
    coverage = run.coverage.to_dicts()
    columns = tuple(
        Column(name, name.replace("_", " "), "text" if isinstance(value, str) else "count")
        for name, value in (coverage[0] if coverage else {}).items()
    )
    return section(
        "limits",
        "What the log could not tell",
        shown,
        small,
        table("coverage-table", "What each line of the log is", columns, coverage),
    )
