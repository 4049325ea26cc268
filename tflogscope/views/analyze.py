"""The screen of `tflogscope analyze`, and the same facts as JSON."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tflogscope.model.figures import count_of, size_of
from tflogscope.model.names import CALLING_OPS, MERGED
from tflogscope.views.grid import Column, draw_grid
from tflogscope.views.onednn import render_onednn
from tflogscope.views.pieces import (
    EAGER,
    ERROR,
    GRAPH,
    MODES,
    NAME_WIDTH,
    REWRITTEN,
    heading,
    kind_rows,
    ops_without_line,
    percent,
    say,
    whose,
)
from tflogscope.views.table import duration
from tflogscope.views.text import print_paragraph, shorten, text

if TYPE_CHECKING:
    from tflogscope.model.facts import (
        Answer,
        Example,
        FindingRow,
        Function,
        KindRuns,
        Limit,
        ModeRuns,
        Op,
        Recorded,
        Summary,
    )
    from tflogscope.model.run import Run

SCHEMA_VERSION = 1
# A screen is to be taken in at a glance; `ops` and `export` have all.
_OPS_SHOWN = 5
_LINES_SHOWN = 5
_OPS_NAMED = 2  # of a line
_FUNCTIONS_SHOWN = 8
_NAME_KEEPS = 12  # cells, where there is not room for all columns
_FINDINGS_SHOWN = 3
_WIDE = 80  # cells: below, what ran is said in a word
_MARKS = ("- ", ""), ("! ", ERROR)  # of a finding: another one, an error
_NO_KERNELS = "none"
_EVIDENCE_SHOWN = 4  # of the first answer; of each other one the first


def summary_json(run: Run) -> dict[str, Any]:
    """Return everything the screen is made of, as values that JSON knows; durations in µs."""
    facts = asdict(run.summary)
    recorded = facts["recorded"]
    for edge in ("first", "last"):
        recorded[edge] = _time(recorded[edge], "microseconds")
    for op in facts["ops"]:
        for mode in ("eager", "graph"):
            op |= {f"{mode}_{name}": value for name, value in op.pop(mode).items()}
    return {"schema_version": SCHEMA_VERSION, **facts}


def render(run: Run, console: Console) -> None:
    """Print the screen. Nothing from the log reaches the console but as `rich.text.Text`."""
    facts = run.summary
    _recorded(facts.recorded, console)
    _modes(facts, console)
    _ops(facts.ops, whose(facts.rewriters), console)
    _lines(facts, console)
    _functions(facts.functions, whose(facts.rewriters), console)
    render_onednn(facts, console)
    several = len(facts.recorded.sources) > 1
    _findings(facts.findings, console, several=several)
    _answers(facts.answers, console, several=several)
    _limits(facts.limits, console)


# ---- what was recorded --------------------------------------------------------------------------


def _recorded(recorded: Recorded, console: Console) -> None:
    console.print(text("What was recorded", "bold"))
    sources = recorded.sources
    names = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    say("log", f"{size_of(recorded.bytes)}: {names}", console)
    say("format", " · ".join(_format(recorded)), console)
    if recorded.span_us is not None:
        span = f"{_time(recorded.first)} to {(_time(recorded.last) or '')[11:]}"
        say("time", f"{span} ({duration(recorded.span_us)})", console)
    kinds = {
        "recognised": recorded.recognised,
        "not used here": recorded.ignored,
        "unknown": recorded.unknown,
        "without a prefix": recorded.continuation,
        "blank": recorded.blank,
    }
    said = [f"{count:,} {words}" for words, count in kinds.items() if count]
    say("lines", f"{recorded.lines:,}: {', '.join(said)}", console)
    if recorded.torn:
        say("torn", _torn(recorded), console)


def _torn(recorded: Recorded) -> str:
    """What met in mid-line, what became of it, and how to record without it."""
    unread = recorded.onednn_unread_lines
    but = f", but for {count_of(unread, 'line')} of oneDNN that can't be read" if unread else ""
    if _all_behind_others(recorded):
        return (
            f"{count_of(recorded.torn, 'line')}: other text comes before TensorFlow's "
            "records, such as the times that CI and containers add; taken apart again"
            f"{but}. Record without it (tflogscope record)."
        )
    return (
        f"{count_of(recorded.torn, 'line')}: oneDNN's or the program's text (standard output) "
        f"ran into TensorFlow's (standard error); taken apart again{but}. Two files prevent it, "
        "but then nothing shows which op ran a primitive."
    )


def _all_behind_others(recorded: Recorded) -> bool:
    """Whether there are records of TensorFlow, and not one of them begins its line."""
    return recorded.tensorflow_dialect is None and recorded.vlog_level is not None


def _format(recorded: Recorded) -> list[str]:
    release = recorded.tensorflow_version
    tensorflow = f"TensorFlow {release}" if release else "TensorFlow"
    if _all_behind_others(recorded):
        said = [f"{tensorflow} behind other text · VLOG level {recorded.vlog_level}"]
    elif recorded.tensorflow_dialect is None:
        said = [f"no record of {tensorflow}"]
    else:
        level = recorded.vlog_level
        said = [
            f"{tensorflow}{' ·' if release else ''} {recorded.tensorflow_dialect}",
            "VLOG level not known" if level is None else f"VLOG level {level}",
        ]
    version, lines = recorded.onednn_version, recorded.onednn_verbose_lines
    if not lines:
        return [*said, "no line of oneDNN"]
    said.append(f"oneDNN {version}" if version else "oneDNN without a header")
    return [*said, count_of(lines, "verbose line")]


def _time(microseconds: int | None, precision: str = "milliseconds") -> str | None:
    if microseconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(microseconds / 1e6, UTC).replace(tzinfo=None)
    except (OverflowError, ValueError, OSError):
        return "a time out of range"
    return moment.isoformat(" ", precision)


# ---- eager and graph ----------------------------------------------------------------------------


def _modes(facts: Summary, console: Console) -> None:
    rows = []
    for mode, kind, label, counted, us in kind_rows(facts):
        time = "not recorded" if us is None else duration(us)
        share = _share(facts.mode(mode), counted) if kind == "op" else ""
        rows.append((mode, label, f"{counted.executions:,}", time, share))
        if counted.dead:
            rows.append((mode, "branches not taken", f"{counted.dead:,}", "", ""))
    if not rows:
        return
    heading("Eager and graph", console)
    cells = [list(column) for column in zip(*rows, strict=True)]
    if console.width < _WIDE:
        cells[1] = [re.split(",| of ", label)[0] for label in cells[1]]
    kernels = ["" if share == _NO_KERNELS else REWRITTEN for share in cells[4]]
    columns = [
        Column("mode", cells[0], style=[MODES[mode] for mode in cells[0]]),
        Column("what", cells[1], least=_NAME_KEEPS),
        Column("runs", cells[2], is_number=True),
        Column("total time", cells[3], is_number=True),
        Column(
            f"{whose(facts.rewriters)} kernels", cells[4], is_number=True, stays=True, style=kernels
        ),
    ]
    _draw(columns, console)
    nested = facts.nested
    if nested.ops:
        took = "" if nested.ops_us is None else f" ({duration(nested.ops_us)})"
        said = f"{count_of(nested.ops, 'eager op')}{took} ran in Python code inside calls"
        print_paragraph(f"{said}: that time is in the calls and their nodes, too.", console, "  ")


def _share(mode: ModeRuns, counted: KindRuns) -> str:
    rewritten, runs = mode.rewritten, counted.executions
    if not rewritten.executions:
        return _NO_KERNELS
    said = f"{rewritten.executions:,} ({percent(rewritten.executions, runs)}"
    if counted.total_us:
        said += f", {percent(rewritten.total_us, counted.total_us)} of time"
    return said + ")"


def _ops(ops: list[Op], kernels: str, console: Console) -> None:
    if not ops:
        return
    more = len(ops) - _OPS_SHOWN
    rest = f" ({_OPS_SHOWN} of {len(ops)}; all: tflogscope ops LOG)" if more > 0 else ""
    timed = any(op.eager.us or op.graph.us for op in ops)
    heading(f"Ops, by {'total time' if timed else 'runs'}{rest}", console)
    shown = ops[:_OPS_SHOWN]
    names = [shorten(_op_name(op.op), NAME_WIDTH) for op in shown]
    columns = [Column("op", names, least=_NAME_KEEPS)]
    for mode, ran in (
        ("eager", [op.eager for op in shown]),
        ("graph", [op.graph for op in shown]),
    ):
        runs = [_count(op.runs) for op in ran]
        times = [_duration(op.us) if op.runs else "" for op in ran]
        columns += [
            Column(mode, runs, is_number=True, style=MODES[mode]),
            Column("time", times, is_number=True, style=MODES[mode]),
        ]
    shares = [_kernels(op) for op in shown]
    share = Column(f"{kernels} kernels", shares, is_number=True, stays=True, style=REWRITTEN)
    _draw([*columns, share], console)
    waiting = [op.op for op in shown if op.op and re.match(CALLING_OPS, op.op)]
    if waiting:
        said = f"what they called and waited for is in the time of {', '.join(waiting)}"
        print_paragraph(said.replace("they", "it") if len(waiting) == 1 else said, console, "  ")


def _kernels(op: Op) -> str:
    """The share of an op's runs that were kernels of oneDNN, or of a plug-in."""
    rewritten = op.eager.rewritten + op.graph.rewritten
    return percent(rewritten, op.eager.runs + op.graph.runs) if rewritten else ""


def _lines(facts: Summary, console: Console) -> None:
    """The lines of the program that asked for the most eager ops."""
    eager = [line for line in facts.lines if line.eager_runs]
    if not eager:
        return
    more = len(eager) - _LINES_SHOWN
    rest = f" ({_LINES_SHOWN} of {len(eager)}; all: --json)" if more > 0 else ""
    timed = any(line.eager_us for line in eager)
    heading(f"Lines of the program, by eager {'time' if timed else 'ops'}{rest}", console)
    shown = eager[:_LINES_SHOWN]
    mostly = [", ".join(map(_op_name, (line.ops or [])[:_OPS_NAMED])) for line in shown]
    columns = [
        Column("line", [shorten(line.python, NAME_WIDTH) for line in shown], least=_NAME_KEEPS),
        Column("ops", [_count(line.eager_runs) for line in shown], is_number=True, style=EAGER),
        Column("time", [_duration(line.eager_us) for line in shown], is_number=True, style=EAGER),
        Column("mostly", [shorten(each, NAME_WIDTH) for each in mostly], least=_NAME_KEEPS),
        Column("in", [shorten(line.function, NAME_WIDTH) for line in shown], least=_NAME_KEEPS),
    ]
    _draw(columns, console)
    if left := ops_without_line(facts):
        print_paragraph(f"{left} in no line of the program", console, "  ")


# ---- functions ----------------------------------------------------------------------------------


def _functions(functions: list[Function], kernels: str, console: Console) -> None:
    if not functions:
        return
    of_data = [entry for entry in functions if entry.flavour == "dataset"]
    others = [entry for entry in functions if entry.flavour != "dataset"]
    more = len(others) - _FUNCTIONS_SHOWN
    rest = f", by time ({_FUNCTIONS_SHOWN} of {len(others)})" if more > 0 else ""
    heading(f"Functions{rest}", console)
    by_time = sorted(others, key=lambda entry: -(entry.total_us or 0))[:_FUNCTIONS_SHOWN]
    shown = sorted(by_time, key=lambda entry: entry.first_line)
    numbers = {
        "calls": [_count(entry.calls) for entry in shown],
        "first call": [_duration(entry.first_us) if entry.calls else "" for entry in shown],
        "later, mean": [
            _duration(entry.later_us) if (entry.calls or 0) > 1 else "" for entry in shown
        ],
        "made in": [_duration(entry.instantiation_us) for entry in shown],
        "nodes": [_count(entry.nodes) for entry in shown],
        kernels: [_count(entry.rewritten_nodes) for entry in shown],
    }
    columns = [Column("function", [_name(entry) for entry in shown], least=_NAME_KEEPS)]
    columns += [
        Column(title, cells, is_number=True, stays=own, style=REWRITTEN if own else "")
        for title, cells in numbers.items()
        for own in [title == kernels]
    ]
    if shown:
        _draw(columns, console)
    if of_data:
        made = sum(entry.instantiation_us or 0 for entry in of_data)
        said = f"{count_of(len(of_data), 'function')} of tf.data, made in {duration(made)}"
        print_paragraph(f"{said}: in the time of the ops that asked for them", console, "  ")
    traces = {
        entry.function: entry.traces
        for entry in others
        if entry.traces > 1 and entry.flavour == "inference" and entry.calls and not entry.made_by
    }
    for name, count in traces.items():
        said = f"{shorten(name or '?', NAME_WIDTH)} was traced {count_of(count, 'time')}"
        print_paragraph(said, console, "  ")
    own = {entry.function: entry.made_by for entry in others if entry.made_by}
    for name, made_by in own.items():
        print_paragraph(f"{name} is TensorFlow's own ({made_by})", console, "  ")


def _name(entry: Function) -> str:
    """`train_function 809`, and what it is for where it is not simply called: `loss 7, forward`."""
    name = shorten(entry.function or "?", NAME_WIDTH)
    uid = "" if entry.function_uid is None else f" {entry.function_uid}"
    return f"{name}{uid}" + ("" if entry.flavour == "inference" else f", {entry.flavour}")


# ---- findings -----------------------------------------------------------------------------------


def _findings(findings: list[FindingRow], console: Console, *, several: bool) -> None:
    """The gravest in words, other errors and warnings in a line each, notes by their names.

    `several`: sources, so they are named.
    """
    if not findings:
        return
    heading("Findings (in full: tflogscope explain LOG)", console)
    serious = [each for each in findings if each.severity != "note"]
    for each in serious[:_FINDINGS_SHOWN]:
        place = f" of {each.source}" if several else ""
        python = "" if each.python is None else f", {each.python} in the program"
        line = "" if each.line is None else f" See line {each.line:,}{place}{python}."
        print_paragraph(f"{each.text}{line}", console, *_MARKS[each.severity == "error"])
    for each in serious[_FINDINGS_SHOWN:]:
        print_paragraph(_in_brief(each), console, *_MARKS[each.severity == "error"])
    notes = [each.id for each in findings if each.severity == "note"]
    if notes:
        said = f"{count_of(len(notes), 'note')}: {', '.join(dict.fromkeys(notes))}"
        print_paragraph(said, console, "- ")


def _in_brief(finding: FindingRow) -> str:
    """What a finding is, what it is about, and the time at stake, as far as it is known."""
    subject = f", {shorten(finding.subject, NAME_WIDTH)}" if finding.subject else ""
    time = "" if finding.time_us is None else f", {duration(finding.time_us)} at stake"
    line = "" if finding.line is None else f", line {finding.line:,}"
    return f"{finding.id}{subject}{time}{line}"


# ---- answers and limits -------------------------------------------------------------------------


def _answers(answers: list[Answer], console: Console, *, several: bool) -> None:
    """The first answer with a table of its evidence, the others with one line of it."""
    if not answers:
        return
    heading("What it means", console)
    first, *others = answers
    print_paragraph(first.text, console, "- ")
    _evidence(first.evidence[:_EVIDENCE_SHOWN], console, several=several)
    for answer in others:
        shown = answer.evidence[0]
        line = shown.eager_lines[0] if shown.eager_lines else shown.graph_line
        place = f" of {shown.source}" if several else ""
        print_paragraph(f"{answer.text} See line {line:,}{place}.", console, "- ")


def _evidence(shown: list[Example], console: Console, *, several: bool) -> None:
    columns = [
        Column(
            "op", [shorten(each.op or "(cut off)", NAME_WIDTH) for each in shown], least=_NAME_KEEPS
        ),
        Column("eager", [_eager_lines(each.eager_lines) for each in shown], style=EAGER),
        Column("graph", [_graph_line(each.graph_line) for each in shown], style=GRAPH),
        Column("source", [each.source if several else "" for each in shown]),
    ]
    draw_grid([each for each in columns if any(each.cells)], console, indent=4, titles=False)


def _eager_lines(lines: tuple[int, int] | None) -> str:
    if not lines:
        return ""
    first, last = lines
    return f"eager on line {first:,}" if first == last else f"eager on lines {first:,}–{last:,}"


def _graph_line(line: int | None) -> str:
    return f"in a graph from line {line:,} on" if line else ""


def _limits(limits: list[Limit], console: Console) -> None:
    if not limits:
        return
    heading("What this log can't tell", console)
    for limit in limits:
        print_paragraph(limit.text, console, "- ")


def _op_name(op: str | None) -> str:
    return (op or "(cut off)").removeprefix(MERGED)


# ---- pieces -------------------------------------------------------------------------------------


def _draw(columns: list[Column], console: Console) -> None:
    left_out = draw_grid(columns, console, indent=2)
    if left_out:
        print_paragraph(f"no room for: {', '.join(left_out)}", console, "  ")


def _count(value: int | None) -> str:
    return f"{value:,}" if value else ""


def _duration(value: float | None) -> str:
    return "?" if value is None else duration(value)
