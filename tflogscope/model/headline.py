"""What a reader wants to know first: the verdict in one sentence, and four figures.

Both are made of the facts of `summary`, its findings and limits, and say no more than these do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tflogscope.grammar.onednn_ops import EAGER_OPS
from tflogscope.model.facts import Summary
from tflogscope.model.figures import count_of, spoken
from tflogscope.model.findings.kinds import KINDS
from tflogscope.model.intervals import covered
from tflogscope.model.slices.slices import Slices

if TYPE_CHECKING:
    from tflogscope.model.tables import Tables

Facts = Mapping[str, Any]
VERDICTS = ("errors", "worth-a-look", "nothing-found", "no-times", "nothing-ran")
"""Ids of verdicts."""

_TITLES = {kind.id: kind.title for kind in KINDS}
_NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Figure:
    """A figure: what it is, its value in words, and what it is made of."""

    name: str
    value: str
    about: str


@dataclass(frozen=True)
class Headline:
    """What was recorded (`facts`: the program, releases, CPU), the verdict, and the figures."""

    facts: list[str]
    id: str
    verdict: str
    figures: list[Figure]


def read_headline(said: Summary, run: Tables, slices: Slices, recorded_as: Facts) -> Headline:
    """Make the headline of a run; `recorded_as` is what `tflogscope record` wrote above the log."""
    id_, verdict = _verdict(said)
    figures = [
        _duration(said, slices),
        _eager(slices),
        _eligible(said, run.ops, run.nodes),
        _traces(said, run.python_functions),
    ]
    return Headline(_facts(said, recorded_as), id_, verdict, figures)


def _facts(said: Summary, recorded_as: Facts) -> list[str]:
    recorded, onednn = said.recorded, said.onednn
    command = recorded_as.get("command")
    program = " ".join(map(str, command)) if isinstance(command, list) else ""
    first, *rest = program.split(" ", 1)  # without the folder of the interpreter
    program = " ".join([_file_name(first), *rest])
    isa = onednn.header.isa if onednn else None
    processor = recorded_as.get("processor")
    release, version = recorded.tensorflow_version, recorded.onednn_version
    name = f"TensorFlow {release}" if release else "TensorFlow (the log names no release)"
    sources = recorded.sources
    log = _file_name(sources[0]) + (f" and {len(sources) - 1} more" if len(sources) > 1 else "")
    return [
        program or log,
        name if recorded.tensorflow_dialect or release else "no record of TensorFlow",
        f"oneDNN {version}" if version else "no header of oneDNN",
        next(
            (each for each in (processor, isa) if isinstance(each, str) and each), "CPU not known"
        ),
    ]


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


# ---- the verdict ---------------------------------------------------------------------------------


def _verdict(said: Summary) -> tuple[str, str]:
    findings, span = said.findings, said.recorded.span_us
    errors = [each for each in findings if each.severity == "error"]
    warnings = [each for each in findings if each.severity == "warning"]
    if errors:
        others = f", and {count_of(len(warnings), 'warning')}" if warnings else ""
        more = _more(len(errors) - 1, "error") or others
        first = errors[0]
        about = f": {first.subject}" if first.subject else ""
        return "errors", f"{_TITLES[first.id]}{about}{more}."
    if not said.eager.kinds and not said.graph.kinds:
        return "nothing-ran", "The log shows no execution of an op of TensorFlow."
    if warnings:
        first, time = warnings[0], warnings[0].time_us
        stake = "" if time is None else f": {spoken(time)}{_of(time, span)} is at stake"
        return (
            "worth-a-look",
            f"{_TITLES[first.id]}{stake}{_more(len(warnings) - 1, 'warning')}.",
        )
    if not said.eager.has_durations and not said.graph.has_durations:
        unknown = "No finding is an error; what ops cost can't be said: the log has no durations."
        return "no-times", unknown
    notes = count_of(len(findings), "note") if findings else "no note"
    eager = said.eager.kinds.get("op")
    if eager and eager.total_us is None:
        unknown = "what eager ops cost can't be said: the log has no ends for them"
        return "no-times", f"No finding is an error; {unknown} ({notes})."
    return "nothing-found", f"No finding is an error or has much time at stake ({notes})."


def _of(part: float, whole: float | None) -> str:
    """` of 3.71 s`; nothing where that is not known, or not a whole that has the part in it."""
    return f" of {spoken(whole)}" if whole and part <= whole else ""


def _more(count: int, noun: str) -> str:
    return f", and {count_of(count, f'more {noun}')}" if count else ""


# ---- figures -------------------------------------------------------------------------------------


def _duration(said: Summary, slices: Slices) -> Figure:
    """From the first record to the last op's end; most of it may be imports."""
    first, span = said.recorded.first, said.recorded.span_us
    if span is None or first is None:
        return Figure("Duration", _NOT_KNOWN, "the log has no times")
    before = 0 if slices.clock != "time" or slices.origin_us is None else slices.origin_us - first
    about = f"{spoken(before)} of it before the first op ran" if 0 < before <= span else ""
    return Figure("Duration", spoken(span), about or "from the first record to the last")


def _eager(slices: Slices) -> Figure:
    """Of the time in which anything ran, the share in which an eager op was open."""
    name = "Eager share of time"
    is_eager = slices.texts.select((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
    of_eager = is_eager.to_series().gather(slices.frame["text"]).fill_null(value=False)
    ended = slices.frame["has_end"]
    frame, eager = slices.frame.filter(ended), slices.frame.filter(of_eager & ended)
    lost = int((of_eager & ~ended).sum())
    if slices.texts.is_empty():
        return Figure(name, "none", "no execution of an op is in the log")
    if slices.clock != "time" or frame.is_empty() or (lost and eager.is_empty()):
        return Figure(name, _NOT_KNOWN, "the log does not say when these ops ended")
    any_, part = _union(frame), _union(eager)
    if not any_:
        return Figure(name, _NOT_KNOWN, "no execution took a measurable time")
    about = f"an eager op was open in {spoken(part)} of the {spoken(any_)} in which anything ran"
    left = f"; {count_of(lost, 'op')} without an end left out" if lost else ""
    return Figure(name, _percent(part, any_), about + left)


def _union(frame: pl.DataFrame) -> float:
    """The time in µs in which any of these was open."""
    if frame.is_empty():
        return 0.0
    begin, end = frame["begin_ns"].to_numpy(), frame["end_ns"].to_numpy()
    return float(covered(begin, end, np.array([begin.min(), end.max() + 1])).sum() / 1000)


def _eligible(said: Summary, ops: pl.DataFrame, nodes: pl.DataFrame) -> Figure:
    """Of the time of ops that could be rewritten, in graphs and eagerly, that of the rewritten."""
    name = f"Eligible work on {' and '.join(said.rewriters.kernels) or 'oneDNN'}"
    rewritten = pl.col("rewrite") != "none"
    graph = nodes.filter(pl.col("eligible") & (pl.col("executions") > 0))
    eager = ops.filter(
        pl.col("mode") == "eager",
        pl.col("kind") == "op",
        pl.col("op").is_in(list(EAGER_OPS)) | rewritten,
    )
    columns = ("executions", "total_us", "rewrite")
    work = pl.concat([graph.select(columns), eager.select(columns)], how="vertical_relaxed")
    xla = "; what XLA compiled isn't counted" if any(x.id == "xla" for x in said.limits) else ""
    if work.is_empty():
        return Figure(name, "none", f"no op that could be rewritten ran{xla}")
    runs, done = int(work["executions"].sum()), work.filter(rewritten)
    ran = f"{int(done['executions'].sum()):,} of {count_of(runs, 'run')}{xla}"
    time = float(work["total_us"].sum() or 0)
    if work["total_us"].null_count() or not time:
        return Figure(name, _percent(float(done["executions"].sum()), runs), f"{ran}")
    took = float(done["total_us"].sum() or 0)
    return Figure(name, _percent(took, time), f"{spoken(took)} of {spoken(time)}; {ran}")


def _traces(said: Summary, same: pl.DataFrame) -> Figure:
    # Two functions may have one name: Keras 3 calls its steps of training and of evaluation alike.
    keys = same.select("function", "function_uid", "python_function").rows()
    of = {(name, uid): number for name, uid, number in keys}
    called = [
        of.get((each.function, each.function_uid))
        for each in said.functions
        if each.flavour == "inference" and each.calls and not each.made_by
    ]
    traces = Counter(called)
    again = sum(count > 1 for count in traces.values())
    if not traces:
        return Figure("Traces", "none", "no call of a graph function is in the log")
    were = "was" if len(traces) == 1 else "were"
    about = f"of {count_of(len(traces), 'function')} that {were} called"
    if again:
        about += f"; {again:,} traced more than once"
    return Figure("Traces", f"{sum(traces.values()):,}", about)


def _percent(part: float, whole: float) -> str:
    share = part / whole
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"
