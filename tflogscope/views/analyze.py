"""What `tflogscope analyze` says, which the report has in full; and the same facts as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from tflogscope.model.calls.parts import Part
from tflogscope.model.common import sentences
from tflogscope.model.common.facts import Entry, Mode, Summary
from tflogscope.model.common.figures import count_of, duration, percent, ranked_by
from tflogscope.model.common.names import CALLING_OPS, MERGED, NEXT, RUNNING_OPS
from tflogscope.model.overview.headline import read_verdict
from tflogscope.model.run import Run
from tflogscope.views import document as doc
from tflogscope.views.document import KINDS, Column, first
from tflogscope.views.findings import answers_section, findings_section, snippet
from tflogscope.views.layers import layers_section
from tflogscope.views.onednn import onednn_section, onednn_state, whose
from tflogscope.views.recorded import busy_note, limits_section, moment, recorded_section
from tflogscope.views.service import service_section
from tflogscope.views.time import time_section

SCHEMA_VERSION = 1
# A screen is to be taken in at a glance; `ops` and `export` have all.
FIRST_SCREEN = 40
_LEAST_PHASE = 0.02  # of the run, for a phase to have a row on the first screen
_FIRST_OPS = 3
_OPS_SHOWN = 5
_LINES_SHOWN = 5
_OPS_NAMED = 2  # of a line
_OPS_WIDTH = 28  # cells: a column cuts names in the middle
_FUNCTIONS_SHOWN = 8
_TRACED_SHOWN = 20
_NO_KERNELS = "none"


def summary_json(run: Run) -> dict[str, Any]:
    """Return everything the screen is made of, as values that JSON knows; durations in µs."""
    facts: dict[str, Any] = _plain(run.summary.facts())
    recorded = facts["recorded"]
    for edge in ("first", "last"):
        recorded[edge] = moment(recorded[edge], "us")
    edges = pl.col("start", "end").dt.to_string("%Y-%m-%d %H:%M:%S%.6f")
    facts["time"] = run.time.with_columns(edges).to_dicts()
    del facts["lead"]  # the verdict has its words
    verdict = read_verdict(run.summary, run)[1]
    return {"schema_version": SCHEMA_VERSION, "verdict": verdict, **facts}


def _plain(facts: Any) -> Any:
    """Frames as rows."""
    if isinstance(facts, pl.DataFrame):
        return facts.to_dicts()
    if isinstance(facts, dict):
        return {name: _plain(value) for name, value in facts.items()}
    return [*map(_plain, facts)] if isinstance(facts, list) else facts


def parts_json(part: Part, runs: int) -> dict[str, Any]:
    """Which files are taken as one run, and why; empty for one log."""
    if runs == 1 and len(part.sources) < 2:
        return {}
    taken_as = "parts of one run" if runs == 1 else f"one of {runs} runs"
    return {"taken_as": taken_as, "why": part.why}


def part_heading(part: Part, number: int, runs: int) -> Iterator[doc.Node]:
    """Which of several runs it is, or which parts of one; nothing for one log."""
    if runs > 1:
        yield doc.Paragraph(f"Run {number + 1} of {runs} ({part.why}): {part.name}")
    elif len(part.sources) > 1:
        yield doc.Paragraph(f"{len(part.sources)} parts of one run ({part.why}): {part.name}")


def _head(run: Run) -> Iterator[doc.Node]:
    """The verdict, and the lines it names."""
    yield from busy_note(run.summary)
    yield doc.Paragraph(read_verdict(run.summary, run)[1])
    yield from snippet(run)


def first_screen(run: Run) -> doc.Document:
    """What matters most, the most important first, for a screen of `FIRST_SCREEN` lines."""
    facts, room = run.summary, doc.Room()
    if not facts.eager.kinds and not facts.graph.kinds:  # of oneDNN alone, or nothing ran
        return analyze_document(run)
    limits = sentences.rows("limit")
    return [
        *_head(run),
        *(doc.Paragraph(limit.text) for limit in facts.limits if limits[limit.id].miscounts),
        *time_section(run, least=_LEAST_PHASE),
        *service_section(facts),
        findings_section(run, most=1),
        ops_section(run, room, _FIRST_OPS),
        lines_section(facts, room, _FIRST_OPS),
        *onednn_state(facts),
    ]


def analyze_document(run: Run) -> doc.Document:
    """The whole answer: the verdict first, how it was recorded last."""
    facts, room = run.summary, doc.Room()
    return [
        *_head(run),
        *time_section(run),
        *service_section(facts),
        findings_section(run),
        *modes_section(facts),
        ops_section(run, room),
        functions_section(facts, room),
        lines_section(facts, room),
        *layers_section(run, room),
        *onednn_section(run, room),
        *answers_section(facts),
        *limits_section(run, room),
        recorded_section(run),
    ]


# ---- eager and graph -----------------------------------------------------------------------------


def modes_section(facts: Summary) -> Sequence[doc.Node]:
    """What ran in each mode, and how much of it as rewritten kernels."""
    ran = []
    any_ = any(facts.mode(mode).rewritten.executions for mode, _ in KINDS)
    for mode, kind, what, counted, us in kind_rows(facts):
        share = _share(facts.mode(mode), counted) if kind == "op" and any_ else None
        time = "not recorded" if us is None else us
        runs = counted.executions
        ran.append({"mode": mode, "what": what, "runs": runs, "us": time, "share": share})
        if counted.dead:
            ran.append({"mode": mode, "what": "dead (branch not taken)", "runs": counted.dead})
    if not ran:
        return ()
    columns = (
        Column("mode", "mode", tone=doc.mode_tone),
        Column("what", "what", least=12),
        Column("runs", "runs", "count"),
        Column("us", "op time", "us"),
        Column(
            "share",
            f"runs on {whose(facts)}",
            "share",
            tone=lambda row: "" if row.get("share") == _NO_KERNELS else "rewritten",
            stays=True,
        ),
    )
    children: list[doc.Node] = [doc.Table(columns, ran, "Eager and graph", "modes-table")]
    if any(entry[3].steady_us is not None for entry in kind_rows(facts)):
        children.append(doc.Paragraph(_MODES, "hint"))
    inside = facts.nested.ops
    if inside.executions:
        took = "" if inside.steady_us is None else f" ({duration(inside.steady_us)})"
        ops = f"{count_of(inside.executions, 'eager op')}{took} ran in Python code"
        children.append(doc.Paragraph(f"{ops} inside function calls, whose time includes them."))
    return (doc.Section("Eager and graph", children, "modes"),)


def kind_rows(facts: Summary) -> list[tuple[Mode, str, str, Entry, float | None]]:
    """What ran: mode, kind, the kind in words, counts, and time (of calls the outermost)."""
    kinds = []
    for (mode, kind), words in KINDS.items():
        if counted := facts.mode(mode).kinds.get(kind):
            us = facts.nested.steady_us if kind == "call" else _time_of(counted)
            kinds.append((mode, kind, words, counted, us))
    return kinds


def _share(mode: Entry, counted: Entry) -> str:
    """How many runs were rewritten, and their share of runs and time."""
    rewritten, runs = mode.rewritten, counted.executions
    if not rewritten.executions:
        return _NO_KERNELS
    text = f"{rewritten.executions:,} ({percent(rewritten.executions, runs)}"
    if time := _time_of(counted):
        text += f", {percent(_time_of(rewritten) or 0, time)} of time"
    return text + ")"


def _time_of(counted: Entry) -> float | None:
    """What shares go by: the time without the log, or as printed if that is not known."""
    us: float | None = counted.total_us if counted.steady_us is None else counted.steady_us
    return us


# ---- ops -----------------------------------------------------------------------------------------

_MODES = (
    "Calls: wall time; others: summed over threads. Excludes extra time in first runs and outliers."
)
_SUMS = (
    "Times are sums over all threads. Calls exclude the instantiation of their function. "
    "Click a heading to sort."
)


def ops_section(run: Run, room: doc.Room, most: int = _OPS_SHOWN) -> doc.Node:
    """Ops, the most time first: op types eager against graph; on a page, the table `ops`."""
    facts = run.summary
    if facts.ops.is_empty():
        return doc.Full(lambda: [_empty("ops", "Ops", "The log shows no op execution.")])
    ops = facts.ops.head(most).to_dicts()
    more = facts.ops.height > most
    timed = any(op["eager_us"] or op["graph_us"] for op in ops)
    rest = f" ({most} of {facts.ops.height}; all: tflogscope ops LOG)" * more
    by_type = [*map(_op_type, ops)]
    columns = (
        Column("name", "op", "name"),
        Column("eager_runs", "eager runs", "count", tone="eager"),
        Column("eager_time", "time", "us", tone="eager"),
        Column("graph_runs", "graph runs", "count", tone="graph"),
        Column("graph_time", "time", "us", tone="graph"),
        Column("share", f"runs on {whose(facts)}", "share", tone="rewritten", stays=True),
    )
    brief: list[doc.Node] = [doc.Table(columns, by_type)]
    if timed:
        brief.append(doc.Paragraph(" ".join(_bases(run, by_type))))

    def full() -> Sequence[doc.Node]:
        # Not of calls: their nodes have rows of their own.
        time = pl.when(pl.col("kind") != "call").then(ranked_by(run.ops))
        share = pl.when(time > 0).then(time / time.sum())
        every = room.rows(run.ops.with_columns(share=share), "ops")
        caption = "Ops by mode, kernel and rewrite"
        table = doc.Table(doc.columns("ops"), every, caption, "ops-table", tools=True)
        return doc.Paragraph(_SUMS, "hint"), table

    title = f", by {'time' if timed else 'runs'}{rest}"
    return doc.Section("Ops", (doc.Brief(brief), doc.Full(full)), "ops", brief=title)


def _bases(run: Run, by_type: list[doc.Row]) -> Iterator[str]:
    """What times of op types add up, leave out, and include."""
    if ranked_by(run.ops).startswith("steady"):
        ops = run.ops.filter(kind="op")
        us = float((ops["work_us"] - ops["steady_us"]).sum())
        out = f" and exclude {duration(us)} of extra time in first runs and outliers"
        yield f"Times are summed over threads{out * (us >= 1)}."
    else:
        yield "Times are summed over threads, with logging overhead."
    names = [op["op"] for op in by_type if op["op"] and re.match(CALLING_OPS, op["op"])]
    running = [name for name in names if re.match(RUNNING_OPS, name)]
    waiting = [name for name in names if re.match(NEXT, name)]
    others = {*names} - {*running, *waiting}  # such as MakeIterator, for functions of tf.data
    optimizing = run.asking_ledger.filter(
        pl.col("op").is_in(others), phase="graph-passes", mode="eager"
    )
    making = optimizing["op"].cast(pl.String).unique(maintain_order=True).to_list()
    includes = (running, "what runs inside"), (waiting, "wait time"), (making, "graph optimization")
    for ops_, what in includes:
        if ops_:
            yield f"{', '.join(ops_)} {'includes' if len(ops_) == 1 else 'include'} {what}."


def _op_type(op: doc.Row) -> doc.Row:
    """An op type: runs and times of both modes, and the share of rewritten kernels."""
    row = {**op, "name": op_name(op["op"]), "share": None}
    for mode in ("eager", "graph"):
        runs, us = op[f"{mode}_runs"], op[f"{mode}_us"]
        row[f"{mode}_runs"] = runs or None
        row[f"{mode}_time"] = _known(us) if runs else None
    rewritten = op["eager_rewritten"] + op["graph_rewritten"]
    if rewritten:
        row["share"] = percent(rewritten, op["eager_runs"] + op["graph_runs"])
    return row


def op_name(op: str | None) -> str:
    """An op as people know it."""
    return (op or "(truncated)").removeprefix(MERGED)


# ---- lines of the program ------------------------------------------------------------------------

_LINES = doc.columns("lines")


def lines_section(facts: Summary, room: doc.Room, most: int = _LINES_SHOWN) -> doc.Node:
    """What each line of the program asked for, eager and in graphs, the most time first."""
    title = "Lines of the program"
    if facts.lines.is_empty():
        text = "The log has none; tflogscope record logs them."
        return doc.Full(lambda: [_empty("lines", title, text)])
    every = [*map(_line, facts.lines.to_dicts())]
    every = _shared(every, [row["us"] for row in every])
    timed = any(row["us"] for row in every)
    by_time = sorted(every, key=lambda row: (-row["us"], -row["eager_runs"]))
    ran = [row for row in by_time if row["us" if timed else "eager_runs"]]
    more = len(ran) - most
    rest = f" ({most} of {len(ran)}; all: tflogscope analyze --json LOG)" if more > 0 else ""
    time = (Column("us", "time", "us"),) * timed
    node_runs = Column("graph_runs", "graph op runs", "count", tone="graph")
    columns = (_LINES[0], *time, _LINES[1], node_runs, *_LINES[3:5])
    brief = [{**row, "graph_runs": row["graph_runs"] or None} for row in ran[:most]]

    def full() -> Sequence[doc.Node]:
        table, caption = room.rows(every, "lines"), "Ops by line of the program"
        return (doc.Table(_LINES, table, caption, "lines-table", tools=True),)

    children: list[doc.Node] = [doc.Brief([doc.Table(columns, brief)]), doc.Full(full)]
    if left := ops_without_line(facts):
        children.append(doc.Paragraph(f"Not attributed to a line: {left}.", "hint"))
    order = f", by {'time of their ops' if timed else 'runs'}{rest}"
    section = doc.Section(title, children, "lines", brief=order)
    return section if ran else doc.Full(lambda: [section])


def _line(row: doc.Row) -> dict[str, Any]:
    named = [op_name(op) for op in row["ops"] or ()]
    mostly = ", ".join(named[:_OPS_NAMED])
    if len(mostly) > _OPS_WIDTH:
        mostly = f"{named[0]}, …"
    us = (row["eager_us"] or 0) + (row["graph_us"] or 0)
    return {**row, "ops": None, "mostly": mostly or None, "us": us}


def ops_without_line(facts: Summary) -> str:
    """How many eager ops no line of the program asked for, as far as the log says: `3 eager ops`.

    Such are the gradients of a py_function's own ops: no frame of the program is on the stack.
    """
    ran = facts.eager.kinds["op"].executions if "op" in facts.eager.kinds else 0
    left = ran - int(facts.lines["eager_runs"].sum() or 0)
    return count_of(left, "eager op") if facts.lines.height and left > 0 else ""


# ---- functions -----------------------------------------------------------------------------------


def functions_section(facts: Summary, room: doc.Room) -> doc.Node:
    """Functions, the most time first where there is no room for all; which were traced again."""
    times = facts.functions[ranked_by(facts.functions)]
    every = _shared([*map(_function, facts.functions.with_columns(us=times).to_dicts())], times)
    if not every:
        nothing = "The log has no graph functions."
        return doc.Full(lambda: [_empty("functions", "Functions", nothing)])
    of_data = [row for row in every if row["flavour"] == "dataset"]
    others = [row for row in every if row["flavour"] != "dataset"]
    more = len(others) - _FUNCTIONS_SHOWN
    most = f" (the {_FUNCTIONS_SHOWN} of {len(others)} with most time, in log order)"
    rest = most if more > 0 else ""
    by_time = sorted(others, key=lambda row: -(row["us"] or 0))[:_FUNCTIONS_SHOWN]
    brief = [_brief(row) for row in sorted(by_time, key=lambda row: row["first_line"])]
    rewritten = Column(
        "rewritten_nodes", f"on {whose(facts)}", "count", tone="rewritten", stays=True
    )
    columns = (*doc.columns("functions"), rewritten)

    def full() -> Sequence[doc.Node]:
        caption, kept = "Graph functions and their traces", room.rows(every, "functions")
        return (doc.Table(columns, kept, caption, "functions-table", tools=True),)

    children: list[doc.Node] = [
        doc.Brief([doc.Table(columns, brief)] if brief else ()),
        doc.Full(full),
    ]
    if of_data:
        took = duration(sum(row["instantiation_us"] or 0 for row in of_data))
        them = "it" if len(of_data) == 1 else "them"
        text = f"{count_of(len(of_data), 'tf.data function')} took {took} to instantiate"
        children.append(doc.Paragraph(f"{text} (included in the ops that triggered {them})"))
    users = [row for row in others if row["flavour"] == "inference" and not row["made_by"]]
    traces = {row["function"]: row["traces"] for row in users if row["traces"] > 1 and row["calls"]}
    if traces:
        named = [f"{name or '?'} {count_of(count, 'trace')}" for name, count in traces.items()]
        children.append(doc.Paragraph(f"retraced: {first(named, _TRACED_SHOWN)}"))
    internal = {row["function"]: row["made_by"] for row in others if row["made_by"]}
    for name, made_by in internal.items():
        children.append(doc.Paragraph(f"{name} is internal to TensorFlow ({made_by})"))
    return doc.Section("Functions", children, "functions", brief=rest)


def _function(row: doc.Row) -> dict[str, Any]:
    """`train_function_809`, and what it is for where it is not simply called: `loss_7, forward`."""
    uid = "" if row["function_uid"] is None else f"_{row['function_uid']}"
    flavour = "" if row["flavour"] == "inference" else f", {row['flavour']}"
    name = f"{row['function'] or '?'}{uid}{flavour}"
    return {**row, "name": name, "xla_calls": row["xla_calls"] or None}


def _brief(row: doc.Row) -> doc.Row:
    calls = row["calls"] or 0
    return {
        **row,
        "calls": calls or None,
        "first_us": _known(row["first_us"]) if calls else None,
        "later_us": _known(row["later_us"]) if calls > 1 else None,
        "instantiation_us": _known(row["instantiation_us"]),
        "nodes": row["nodes"] or None,
        "rewritten_nodes": row["rewritten_nodes"] or None,
    }


def _shared(table: Sequence[doc.Row], times: Iterable[float | None]) -> list[dict[str, Any]]:
    """Rows with `share`, that of the time of all of them; none where there is no time."""
    whole = sum(time or 0 for time in times)
    return [
        {**row, "share": time / whole if time else None}
        for row, time in zip(table, times, strict=True)
    ]


def _known(us: float | None) -> float | str:
    return "?" if us is None else us


def _empty(id_: str, title: str, text: str) -> doc.Section:
    """A section of a page that has nothing to show."""
    return doc.Section(title, (doc.Paragraph(text),), id_)
