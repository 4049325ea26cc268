"""The screen of `tflogscope analyze`, and the same facts as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tflogscope.views.table import duration
from tflogscope.views.text import shorten, text

if TYPE_CHECKING:
    from tflogscope.model.run import Run

Facts = dict[str, Any]
SCHEMA_VERSION = 1
_OPS_SHOWN = 18
_FUNCTIONS_SHOWN = 12
_NAME_WIDTH = 34
_FACT_INDENT = 10


def summary_json(run: Run) -> Facts:
    """Return everything the screen is made of, as values that JSON knows; durations in µs."""
    facts = dict(run.summary)
    recorded = dict(facts["recorded"])
    for edge in ("first", "last"):
        recorded[edge] = _time(recorded[edge], "microseconds")
    return {"schema_version": SCHEMA_VERSION, **facts, "recorded": recorded}


def render(run: Run, console: Console) -> None:
    """Print the screen. Nothing from the log reaches the console but as `rich.text.Text`."""
    facts = run.summary
    _recorded(facts["recorded"], console)
    _modes(facts, console)
    _ops(facts["ops"], console)
    _functions(facts["functions"], console)
    _rewrites(facts, console)
    _onednn(facts["onednn"], console)
    _answers(facts["answers"], console)
    _limits(facts["limits"], console)


# ---- what was recorded --------------------------------------------------------------------------


def _recorded(recorded: Facts, console: Console) -> None:
    _heading("What was recorded", console)
    sources = recorded["sources"]
    names = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    _fact("log", f"{names}: {_size(recorded['bytes'])}, {recorded['lines']:,} lines", console)
    level = recorded["vlog_level"]
    said = [
        f"TensorFlow {recorded['tensorflow_dialect'] or 'records: none'}",
        "VLOG level not known" if level is None else f"VLOG level {level}",
        f"oneDNN {recorded['onednn_version']}"
        if recorded["onednn_version"]
        else "no oneDNN header",
        f"{recorded['onednn_verbose_lines']:,} verbose lines",
    ]
    _fact("format", " · ".join(said), console)
    if recorded["first"] is not None:
        span = f"{_time(recorded['first'])} to {_time(recorded['last'], 'milliseconds')[11:]}"
        _fact("time", f"{span} ({duration(recorded['span_us'])})", console)
    records = (
        f"{recorded['recognised']:,} recognised · {recorded['ignored']:,} of no use here · "
        f"{recorded['unknown']:,} unknown · {recorded['continuation']:,} continuation lines · "
        f"{recorded['blank']:,} blank · {recorded['torn']:,} torn"
    )
    _fact("lines", records, console)


def _time(microseconds: int | None, precision: str = "milliseconds") -> str:
    if microseconds is None:
        return ""
    try:
        moment = datetime.fromtimestamp(microseconds / 1e6, UTC).replace(tzinfo=None)
    except (OverflowError, ValueError, OSError):
        return "a time out of range"
    return moment.isoformat(" ", precision)


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


# ---- eager and graph ----------------------------------------------------------------------------


def _modes(facts: Facts, console: Console) -> None:
    _heading("Eager and graph", console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("mode", "what", "executions", "summed time", "of them oneDNN kernels"):
        table.add_column(title, justify="left" if title in ("mode", "what") else "right")
    labels = {
        ("eager", "op"): "ops dispatched one by one",
        ("eager", "call"): "calls of graph functions",
        ("graph", "op"): "nodes of graph functions",
        ("graph", "plumbing"): "arguments, results, transfers",
        ("graph", "folding"): "constants folded ahead of a run",
    }
    for (mode, kind), label in labels.items():
        counted = facts[mode]["kinds"].get(kind)
        if counted is None:
            continue
        time = duration(counted["total_us"]) if facts[mode]["has_durations"] else "not recorded"
        share = _share(facts[mode], counted) if kind == "op" else ""
        dead = f" (and {counted['dead']:,} on untaken branches)" if counted["dead"] else ""
        table.add_row(mode, label + dead, f"{counted['executions']:,}", time, share)
    console.print(table)


def _share(mode: Facts, counted: Facts) -> str:
    rewritten = mode["rewritten"]
    if not counted["executions"]:
        return ""
    runs = f"{rewritten['executions']:,} ({rewritten['executions'] / counted['executions']:.0%}"
    if mode["has_durations"] and counted["total_us"]:
        return f"{runs}; {rewritten['total_us'] / counted['total_us']:.0%} of time)"
    return runs + ")"


def _ops(ops: list[Facts], console: Console) -> None:
    if not ops:
        return
    _heading("Ops, by time", console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("op")
    for title in ("eager", "time", "lines", "graph", "time", "first line", "oneDNN"):
        table.add_column(title, justify="right")
    for op in ops[:_OPS_SHOWN]:
        rewritten, runs = (
            op["eager_rewritten"] + op["graph_rewritten"],
            op["eager_runs"] + op["graph_runs"],
        )
        table.add_row(
            text(shorten(op["op"] or "(cut off)", _NAME_WIDTH)),
            _count(op["eager_runs"]),
            _duration(op["eager_us"]) if op["eager_runs"] else "",
            _lines(op["eager_first_line"], op["eager_last_line"]),
            _count(op["graph_runs"]),
            _duration(op["graph_us"]) if op["graph_runs"] else "",
            _count(op["graph_first_line"]),
            f"{rewritten / runs:.0%}" if rewritten else "",
        )
    console.print(table)
    if len(ops) > _OPS_SHOWN:
        console.print(Text(f"  and {len(ops) - _OPS_SHOWN} more op types: tflogscope ops LOG"))
        console.print()


def _functions(functions: list[Facts], console: Console) -> None:
    if not functions:
        return
    _heading("Functions", console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("function")
    table.add_column("kind")
    for title in ("trace", "calls", "first call", "later, mean", "made in", "nodes", "oneDNN"):
        table.add_column(title, justify="right")
    shown = sorted(functions, key=lambda entry: -(entry["total_us"] or 0))[:_FUNCTIONS_SHOWN]
    for entry in sorted(shown, key=lambda entry: entry["first_line"]):
        uid = entry["function_uid"]
        name = shorten(entry["function"], _NAME_WIDTH)
        table.add_row(
            text(name if uid is None else f"{name} {uid}"),
            text(entry["flavour"]),
            f"{entry['traces']}",
            _count(entry["calls"]),
            _duration(entry["first_us"]) if entry["calls"] else "",
            _duration(entry["later_us"]) if (entry["calls"] or 0) > 1 else "",
            _duration(entry["instantiation_us"]),
            _count(entry["nodes"]),
            _count(entry["rewritten_nodes"]),
        )
    console.print(table)
    notes = []
    if len(functions) > _FUNCTIONS_SHOWN:
        notes.append(f"{len(functions) - _FUNCTIONS_SHOWN} more functions")
    retraced = {
        (entry["function"], entry["flavour"]): entry["traces"]
        for entry in functions
        if entry["traces"] > 1 and entry["flavour"] == "inference" and entry["calls"]
    }
    for (name, _), traces in retraced.items():
        notes.append(f"{shorten(name, _NAME_WIDTH)} was traced {traces} times")
    for note in notes:
        console.print(text(f"  {note}"))
    if notes:
        console.print()


def _rewrites(facts: Facts, console: Console) -> None:
    rewrites = facts["rewrites"]
    _heading("oneDNN kernels", console)
    if not rewrites:
        console.print(Text("  No op was rewritten to a oneDNN kernel."))
        console.print()
        return
    labels = {
        "layout": "in graph functions (layout pass)",
        "remapper": "in graph functions (grappler's remapper)",
        "eager": "eager dispatches (eager rewrite registry)",
        "wrapped": "eager ops, inside the function that wraps one op",
    }
    for by, label in labels.items():
        here = [row for row in rewrites if row["by"] == by]
        if not here:
            continue
        kernels = ", ".join(f"{row['to_op']} {row['count']:,}" for row in here[:6])
        more = f" and {len(here) - 6} more" if len(here) > 6 else ""
        _fact(f"{sum(row['count'] for row in here):,}", f"{label}: {kernels}{more}", console)
    phantoms = sum(row["never_ran"] for row in rewrites)
    if phantoms:
        _fact(f"{phantoms:,}", "of these never ran: their function was made and not used", console)
    console.print()


# ---- oneDNN -------------------------------------------------------------------------------------


def _onednn(facts: Facts | None, console: Console) -> None:
    if facts is None:
        return
    _heading("oneDNN primitives", console)
    header = facts["header"]
    said = [
        f"oneDNN {header['version']}" if header["version"] else "no header",
        header["isa"],
        f"{header['cpu_runtime']} runtime" if header["cpu_runtime"] else None,
        f"{header['threads']} threads" if header["threads"] else None,
    ]
    _fact("build", " · ".join(part for part in said if part), console)
    if not facts["exec_lines"]:
        console.print(Text("  No primitive ran, or none was printed."))
        console.print()
        return
    linked = ", ".join(f"{count:,} {link}" for link, count in facts["links"].items())
    _fact("runs", f"{facts['exec_lines']:,} in {duration(facts['exec_us'])}; {linked}", console)
    _fact("time", _shares(facts["primitives"], facts["exec_us"], "primitive"), console)
    _fact("by", _shares(facts["implementations"], facts["exec_us"], "implementation"), console)
    ops = facts["ops"]
    if ops["total_us"]:
        share = f"{ops['primitive_us'] / ops['total_us']:.0%} of {duration(ops['total_us'])}"
        _fact("in ops", f"{share} that the ops took which ran them", console)
    reference = facts["reference_implementations"]
    if reference:
        total = sum(entry["us"] for entry in reference)
        names = ", ".join(f"{row['implementation']} {row['count']:,}" for row in reference[:4])
        _fact("ref", f"reference implementations: {names}; {duration(total)}", console)
    reorders = facts["reorders"]
    if reorders:
        worst = ", ".join(
            f"{shorten(row['node'] or row['kernel'] or '?', _NAME_WIDTH)} {duration(row['us'])}"
            for row in reorders[:3]
        )
        total = sum(entry["us"] for entry in reorders)
        _fact("reorder", f"{duration(total)}, most for {worst}", console)
    first = facts["first_use"]
    if first["later_runs"]:
        mean = duration(first["later_us"] / first["later_runs"])
        once = duration(first["first_us"] / first["problems"])
        _fact("first", f"first run of a problem {once} on average, later ones {mean}", console)
    if facts["created"]:
        created = ", ".join(
            f"{entry['event'].removeprefix('create:')} {entry['count']:,} "
            f"({duration(entry['us'] or 0)})"
            for entry in facts["created"]
        )
        _fact("created", created, console)
    if facts["unparsed"]:
        _fact("unread", f"{facts['unparsed']:,} verbose lines fit nothing and are kept", console)
    console.print()


def _shares(entries: list[Facts], total: float, name: str) -> str:
    shown = ", ".join(
        f"{entry[name] or 'unnamed'} {duration(entry['us'])} "
        f"({entry['us'] / total if total else 0:.0%})"
        for entry in entries[:5]
    )
    return shown + (f" and {len(entries) - 5} more" if len(entries) > 5 else "")


# ---- answers and limits -------------------------------------------------------------------------


def _answers(answers: list[Facts], console: Console) -> None:
    if not answers:
        return
    _heading("What it means", console)
    for answer in answers:
        console.print(text(answer["text"]))
        for evidence in answer["evidence"]:
            parts = []
            if evidence["eager_lines"]:
                parts.append(f"eager on lines {_lines(*evidence['eager_lines'])}")
            if evidence["graph_line"]:
                parts.append(f"in a graph from line {evidence['graph_line']:,} on")
            console.print(text(f"  {evidence['op']}: {', '.join(parts)}"))
        console.print()


def _limits(limits: list[Facts], console: Console) -> None:
    if not limits:
        return
    _heading("What this log can't tell", console)
    for limit in limits:
        console.print(text(f"- {limit['text']}"))
    console.print()


# ---- pieces -------------------------------------------------------------------------------------


def _heading(title: str, console: Console) -> None:
    console.print(Text(title, style="bold"))


def _fact(name: str, value: str, console: Console) -> None:
    lines = text(value).wrap(console, console.width - _FACT_INDENT)
    label = text(f"  {name}".ljust(_FACT_INDENT))
    for line in lines:
        line.rstrip()
        console.print(label + line, soft_wrap=True)
        label = Text(" " * _FACT_INDENT)


def _count(value: int | None) -> str:
    return f"{value:,}" if value else ""


def _duration(value: float | None) -> str:
    return "?" if value is None else duration(value)


def _lines(first: int | None, last: int | None) -> str:
    if not first:
        return ""
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"
