"""What `tflogscope diff` says: what changed from one run to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tflogscope.model.common.figures import count_of, duration
from tflogscope.model.overview.difference import RATIO, RATIO_ALONE, TIMES
from tflogscope.views import document as doc
from tflogscope.views.recorded import log_format

Facts = dict[str, Any]
_ROWS_SHOWN = 10
_SAME = 1.02  # times of oneDNN that differ by less are the same
_LONG = 25  # characters of a change, from which on it says the new value alone
_WHAT = (
    ("functions", "functions", ("function",)),
    ("ops", "ops", ("op",)),
    ("nodes", "nodes (of functions in both runs)", ("function", "node")),
    ("primitives", "{} primitives (first runs included)", ("primitive", "implementation")),
)
# What a change is from and to, by its name.
_VALUES = {
    "mode": "modes",
    "kernel": "kernels",
    "reason": "reasons",
    "traces": "traces",
    "rewritten": "rewritten nodes",
}


def difference_document(facts: Facts) -> doc.Document:
    """What changed."""
    return [doc.Brief([doc.Paragraph(verdict(facts))]), *_document(facts)]


def verdict(facts: Facts) -> str:
    """The change in one sentence: times of what comes again and of a step, traces, findings."""
    parts, step = [], facts["step"]
    changes = [row for key, *_ in _WHAT for row in facts[key]]
    changed = any({*row["changes"]} - TIMES for row in changes)
    loops = [facts["loops"][side] for side in ("before", "after")]
    if all(loops):
        ratio = RATIO if changed else RATIO_ALONE
        parts.append(f"repeated time {_times(*loops, certain=max(loops) > ratio * min(loops))}")
    if step:
        parts.append(f"{step['function']}: {_of_step(step)}")
    if not step and not all(loops):
        parts += _counts_that_differ(facts)
    of_program = [row for row in facts["functions"] if row["flavour"] == "inference"]
    traces = sum(_more(row, "traces") for row in of_program)
    if traces:
        number = f"{abs(traces):,} {'more' if traces > 0 else 'fewer'}"
        parts.append(f"{number} {'trace' if abs(traces) == 1 else 'traces'}")
    for change in ("new", "gone"):
        count = sum(finding["change"] == change for finding in facts["findings"])
        if count:
            gone = f"{count_of(count, 'finding')} gone"
            parts.append(count_of(count, "new finding") if change == "new" else gone)
    if facts["problems"] and _is_timed(facts):
        parts.insert(0, _time_sentence(facts["problems"]))
    nothing = "nothing else changed" if facts["busy"] or facts["simulated"] else "nothing changed"
    parts = parts or ["ops, kernels or times changed" if changes else nothing]
    text = "; ".join(parts)
    # A function's name stays as it is.
    text = f"{text if step and not all(loops) else text[:1].upper() + text[1:]}."
    if facts["busy"]:
        runs = _which(facts["busy"])
        text = f"Times not compared: the machine was busy during {runs}. {text}"
    if facts["simulated"]:
        verb = "are" if len(facts["simulated"]) > 1 else "is"
        text = f"Times not compared: {_which(facts['simulated'])} {verb} simulated. {text}"
    return text


def _counts_that_differ(facts: Facts) -> list[str]:
    """What the verdict says where no times are compared: runs of ops, and rewritten nodes."""
    parts = []
    for mode, name in (("eager", "eager op"), ("graph", "graph node run")):
        for row in facts["modes"]:
            was, now = (row[f"executions_{side}"] or 0 for side in ("before", "after"))
            if (row["mode"], row["kind"]) == (mode, "op") and max(was, now) > RATIO * min(was, now):
                parts.append(f"{count_of(now, name)} (was {was:,})")
    # More traces have more of them.
    rows = [row for row in facts["functions"] if "rewritten" in row["changes"]]
    rewritten = sum(_more(row, "rewritten") for row in rows if "traces" not in row["changes"])
    if rewritten:
        less = "more" if rewritten > 0 else "fewer"
        parts.append(f"{count_of(abs(rewritten), f'{less} node')} with a rewritten kernel")
    return parts


def _which(sides: list[str]) -> str:
    """Which of the two runs they are."""
    first = "the first run" if sides[0] == "before" else "the second run"
    return "both runs" if len(sides) > 1 else first


def _of_step(step: Facts) -> str:
    """A call's time on both sides, and those of the middle half of the calls.

    As before where these overlap, and where one run on each side can't say that it is another.
    """
    us = [step[f"us_{side}"] for side in ("before", "after")]
    sides = (("before", "after"), ("after", "before"))
    apart = any(
        step[f"third_quartile_{one}"] < step[f"first_quartile_{other}"] for one, other in sides
    )
    far = max(us) > (RATIO_ALONE if step["alone"] else RATIO) * min(us)
    low, high = (duration(step[f"{name}_quartile_after"]) for name in ("first", "third"))
    spread = f", interquartile range now {low} to {high}" if us[0] != us[1] else ""
    return f"{_times(*us, certain=apart and far, of=' per call')}{spread}"


def _times(before: float, after: float, *, certain: bool, of: str = "") -> str:
    """Two times, and whether they differ by more than noise."""
    was, now = duration(before), f"{duration(after)}{of}"
    if certain:
        return f"{now} (was {was})"
    if max(before, after) > RATIO * min(before, after):
        return f"{now} (was {was}, possibly run-to-run noise)"
    return f"{now} (unchanged)" if now == f"{was}{of}" else f"{now} (was {was}, no clear change)"


def _more(row: Facts, column: str) -> int:
    return (row[f"{column}_after"] or 0) - (row[f"{column}_before"] or 0)


def _document(facts: Facts) -> Iterator[doc.Node]:
    yield from (_side(side, facts["runs"][side]) for side in ("before", "after"))
    if facts["findings"]:
        items = [
            doc.Item(f"{finding['change']}: {finding['text']}") for finding in facts["findings"]
        ]
        yield doc.Section("Findings in only one of the runs", items)
    yield from _problems(facts["problems"])
    if facts["modes"]:
        yield _counts("Executions", facts, "modes", _mode_and_kind)
    if facts["causes"]:
        yield _counts("Eager ops by cause", facts, "causes", lambda row: str(row["cause"]))
    ran = [name for side in ("before", "after") for name in facts["runs"][side]["libraries"]]
    libraries = " and ".join(dict.fromkeys(ran)) or "oneDNN"
    changed = [
        _changes(key, f"Changed {what.format(libraries)}", facts, names)
        for key, what, names in _WHAT
        if facts[key]
    ]
    yield from changed
    if not changed and not facts["findings"]:
        yield doc.Section("Nothing changed: the same ops, kernels, functions and primitives.", ())


def _side(side: str, run: Facts) -> doc.Fact:
    onednn = f", oneDNN {run['onednn_version']}" if run["onednn_version"] else ""
    wall = f", {duration(run['wall_us'])} wall time" if run["wall_us"] else ""
    cpu = f", {duration(1e6 * run['program_cpu_s'])} CPU time" if run["program_cpu_s"] else ""
    dialect = run["tensorflow_dialect"]
    form = log_format(dialect) if dialect else "no TensorFlow records"
    if run["tensorflow_version"]:
        form = f"TensorFlow {run['tensorflow_version']}"
    lines = count_of(run["lines"], "line")
    return doc.Fact(side, f"{run['source']} ({lines}{wall}{cpu}, {form}{onednn})")


def _mode_and_kind(row: Facts) -> str:
    return f"{row['mode']} {doc.KINDS.get((row['mode'], row['kind']), row['kind'])}"


def _is_timed(facts: Facts) -> bool:
    """Whether the times of both runs say something of the program."""
    return not facts["busy"] and not facts["simulated"]


def _compared(columns: tuple[doc.Column, ...], facts: Facts) -> tuple[doc.Column, ...]:
    """Columns without times that are not compared."""
    if _is_timed(facts):
        return columns
    return tuple(each for each in columns if each.kind != "us" and each.key != "time")


def _counts(title: str, facts: Facts, key: str, name: Callable[[Facts], str]) -> doc.Section:
    named = [{**row, "name": name(row)} for row in facts[key]]
    return doc.Section(title, [doc.Table(_compared(doc.columns("diff-counts"), facts), named)])


def _changes(key: str, title: str, facts: Facts, names: tuple[str, ...]) -> doc.Section:
    changes = [
        {
            **row,
            "name": " ".join(str(row[name]) for name in names if row[name]) or "?",
            "change": _change(row),
            "runs": _pair(row, "executions", "{:,}".format),
            "time": _pair(row, "time_us", duration),
        }
        for row in facts[key]
    ]
    count = len(changes)
    more = f" ({_ROWS_SHOWN} of {count}; --json has all)" if count > _ROWS_SHOWN else ""

    def full() -> Iterable[doc.Node]:
        kept = doc.Room().rows(changes, title)
        columns = _compared(doc.columns("diff-all-changes"), facts)
        yield doc.Table(columns, kept, title, f"{key}-table", tools=True)

    by_time = ", by time" * _is_timed(facts)
    shown = doc.Table(_compared(doc.columns("diff-changes"), facts), changes[:_ROWS_SHOWN])
    children = (doc.Brief([shown]), doc.Full(full))
    return doc.Section(f"{title}{by_time}", children, brief=more)


def _pair(row: Facts, column: str, form: Callable[[Any], str]) -> str:
    sides = [row[f"{column}_{side}"] for side in ("before", "after")]
    if not any(sides):  # of functions of tf.data no call is logged
        return ""
    before, after = ("" if value is None else form(value) for value in sides)
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _change(row: Facts) -> str:
    """What changed, with values: `kernel: MatMul → _MklMatMul`."""
    parts, changes = [], [*row["changes"]]
    if {"kernel", "reason"} <= {*changes}:  # a rewritten node has no reason, another no such kernel
        changes.remove("kernel" if row.get("reasons_after") else "reason")
    for change in changes:
        column = _VALUES.get(change)
        if column is None or f"{column}_before" not in row:
            runs = "more runs" if _more(row, "executions") > 0 else "fewer runs"
            parts.append({"runs": runs, "rewritten": "rewrites differ"}.get(change, change))
        else:
            sides = [_value(row[f"{column}_{side}"]) for side in ("before", "after")]
            values = " → ".join(sides)
            parts.append(f"{change}: {values if len(values) < _LONG else f'now {sides[1]}'}")
    return ", ".join(parts)


def _value(value: object) -> str:
    return str(value).replace(";", " and ") if value not in (None, "") else "none"


# ---- oneDNN's time: a sentence, and the problems that both ran ----------------------------------


def _time_sentence(facts: Facts) -> str:
    """`12 primitives in 1.93 ms (was 5.73 ms, 3.0 times as fast)`, on equal problems."""
    was, now = facts["us_before"], facts["us_after"]
    count = count_of(facts["runs_after"], "primitive")
    if not was or not now:
        return f"{count} in {duration(now)}"
    ratio = was / now
    how = "as fast" if ratio > 1 else "as long"
    times = f"{max(ratio, 1 / ratio):.1f} times {how}"
    same = max(ratio, 1 / ratio) < _SAME
    change = "(unchanged)" if same else f"(was {duration(was)}, {times})"
    both = facts["both"]
    equal = f"{len(both)} of {max(facts['before'], facts['after'])} problems in common"
    changed = {_implementations(row) for row in both if row["implementations_before"]} - {""}
    kinds = f"; {', '.join(sorted(changed)[:3])}" if changed else ""
    return f"{count} in {duration(now)} {change}; {equal}{kinds}"


def _implementations(row: Facts) -> str:
    was, now = row["implementations_before"], row["implementations_after"]
    return "" if was == now else f"{row['primitive']} {was} → {now}"


def _problems(facts: Facts | None) -> Iterator[doc.Node]:
    """The problems that both runs have."""
    if not facts or not facts["both"]:
        return
    problems = [
        {**row, "name": f"{row['primitive']} {row['problem']}", "changed": _implementations(row)}
        for row in facts["both"]
    ]
    shown = [
        doc.Table(doc.columns("diff-problems"), problems[:_ROWS_SHOWN]),
        *doc.left_out(len(problems), _ROWS_SHOWN),
    ]
    yield doc.Section("oneDNN problems in both runs", shown)
