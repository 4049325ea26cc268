"""What a reader wants to know first: the verdict in one sentence, and some figures.

Both are made of the facts of `summary`, its findings and limits, and say no more than these do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.facts import Entry, Summary
from tflogscope.model.common.figures import (
    count_of,
    percent,
    ranked_by,
    share_after_start_up,
    span_of_run,
    spoken,
    whole_of,
)
from tflogscope.model.common.frames import looked_up
from tflogscope.model.common.names import MERGED, runs_for_data
from tflogscope.model.common.once import once
from tflogscope.model.common.origin import command_of
from tflogscope.model.common.sentences import rows
from tflogscope.model.ledger.phases import MAKING, PHASE_NAMES, WAITS, wait_of
from tflogscope.model.ledger.services import threads_of_service
from tflogscope.model.overview.computing import computing_nodes
from tflogscope.model.overview.onednn_headline import onednn_verdict
from tflogscope.model.overview.step_calls import later_steps

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables

Facts = Mapping[str, Any]
_NOT_KNOWN = "unknown"
_SEVERAL, _TOGETHER = "several-processes", "of several processes together"
_PHASES = 3  # of those in loops, named
_FUNCTION = ["function", "function_uid"]
_OWN = ("python", "eager")
_WAITED_FOR = threshold("verdict.least_making")
_PYTHON = threshold("verdict.least_python")
_WORTH = threshold("loop.worth")
_BESIDE = threshold("verdict.beside")
_WIDTH, _LINES = 100, 2  # columns and lines of a verdict


class Figure(NamedTuple):
    """A figure: what it is, its value in words, and what it is made of."""

    name: str
    value: str
    about: str


class Headline(NamedTuple):
    """What was recorded (`facts`: the program, releases, CPU), the verdict, and the figures."""

    facts: list[str]
    id: str
    verdict: str
    figures: list[Figure]


def read_headline(summary: Summary, run: Tables, recorded_as: Facts) -> Headline:
    """Make the headline of a run; `recorded_as` is what `tflogscope record` wrote above the log."""
    id_, verdict = read_verdict(summary, run)
    figures = [
        _duration(summary, run.time),
        _loops(run),
        *_step(run),
        _eligible(summary),
        _traces(summary, run.python_functions),
    ]
    if any(limit.id == _SEVERAL for limit in summary.limits):
        figures[1:] = (
            figure._replace(about=f"{figure.about}; {_TOGETHER}") for figure in figures[1:]
        )
    return Headline(_facts(summary, recorded_as), id_, verdict, figures)


def _facts(summary: Summary, recorded_as: Facts) -> list[str]:
    recorded, onednn = summary.recorded, summary.onednn
    first, *rest = command_of(recorded_as) or [""]  # without the folder of the interpreter
    program = " ".join([_file_name(first), *rest])
    isa = onednn.header.isa if onednn else None
    processor = recorded_as.get("processor")
    release, version = recorded.tensorflow_version, recorded.onednn_version
    name = f"TensorFlow {release}" if release else "TensorFlow (unknown release)"
    sources = recorded.sources
    log = _file_name(sources[0]) + (f" and {len(sources) - 1} more" if len(sources) > 1 else "")
    return [
        program or log,
        name if recorded.tensorflow_dialect or release else "no TensorFlow records",
        f"oneDNN {version}" if version else "no oneDNN header",
        next((cpu for cpu in (processor, isa) if isinstance(cpu, str) and cpu), "CPU unknown"),
    ]


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


# ---- the verdict ---------------------------------------------------------------------------------


def read_verdict(summary: Summary, run: Tables) -> tuple[str, str]:
    """Which verdict it is, and its sentence."""
    id_, facts = _verdict_facts(summary, run)
    return id_, rows("verdict")[id_].words(**facts)


def places_of(summary: Summary, run: Tables) -> dict[str, str]:
    """The lines of the program that the verdict names, `train.py:31`, by what they are."""
    facts = _verdict_facts(summary, run)[1]
    at, edit = facts.get("started") or facts.get("place"), facts.get("edit")
    places = {"edit": edit, "compute": at} if facts.get("busiest") else {"at": at, "edit": edit}
    return {name: place for name, place in places.items() if place}


def _verdict_facts(summary: Summary, run: Tables) -> tuple[str, dict[str, Any]]:
    """The id of the verdict, and the facts of its sentence."""
    columns = ["id", "severity", "time_us", "python", "advice"]
    findings = summary.findings[columns].hstack(run.avoidable).to_dicts()
    errors = [finding for finding in findings if finding["severity"] == "error"]
    warnings = [finding for finding in findings if finding["severity"] == "warning"]
    # What a busy machine may have made comes first where it would take more than the warnings.
    unsure = bool(summary.lead and summary.lead.get("unsure"))
    first = next(iter(errors or ([] if unsure else warnings)), None)
    notes = len(findings) - len(warnings)
    facts: dict[str, Any] = {"warnings": len(warnings), "notes": notes, "clean": not first}
    if first:
        lead, place = summary.lead or Entry(words="", message="", edit=None), first["python"]
        facts |= {"message": lead.message, "edit": lead.edit, "place": place}
        facts["lead"] = {"words": lead.words, "place": place, "inside": _inside(place, summary)}
        # What failed in a graph is what a program crashes of.
        same = sum(error["id"] == "failed-ops" for error in errors) * (first["id"] == "crashed")
        facts["more"] = len(errors or warnings) - 1 - same
    limits = {limit.id for limit in summary.limits}
    facts["release"] = summary.recorded.get("simulated")
    if facts["release"] or ("twice" in limits and not errors):
        return "simulated" if facts["release"] else "twice", facts
    if _SEVERAL in limits and not errors:
        started = run.stacks.filter(pl.col("frames").str.starts_with("<process>"))["python"]
        facts["started"] = next(iter(started), None)
        return _SEVERAL, facts
    if first and (errors or summary.eager.kinds or summary.graph.kinds):
        # The change that pays most is the first that the advice names.
        facts["change"] = _first_change(first["advice"])
        facts["saves"] = _saves(first, run)
        facts["bound"] = {"most": rows("finding")[first["id"]].at_most}
        if not errors:
            _shorten(facts)
        return "errors" if errors else "worth-a-look", facts
    if not summary.eager.kinds and not summary.graph.kinds:
        alone = onednn_verdict(summary)
        facts["aborts"] = summary.findings.filter(id="abort-info")["count"].sum()
        return ("onednn", facts | alone) if alone else ("nothing-ran", facts)
    eager = summary.eager.kinds.get("op")
    untimed = not summary.eager.has_durations and not summary.graph.has_durations
    if untimed or (eager and eager.total_us is None):
        return "no-times", facts | {"graph": not untimed}
    return "nothing-found", facts | _no_warning(summary, findings, run)


def _shorten(facts: dict[str, Any]) -> None:
    """Leave out what has no room in two lines, what says least first; findings have rows below."""
    for of, name in (("lead", "inside"), ("saves", "once"), ("saves", "rest")):
        if facts[of] and not _fits("worth-a-look", facts):
            facts[of][name] = None
    if not _fits("worth-a-look", facts):
        facts["more"] = 0


def _no_warning(summary: Summary, findings: list[dict[str, Any]], run: Tables) -> dict[str, Any]:
    """What a verdict says where nothing is sure to cost much time."""
    changes = {finding["id"]: _first_change(finding["advice"]) for finding in findings}
    facts: dict[str, Any] = {}
    if summary.lead and summary.lead.get("unsure"):
        facts = _suspected(summary.lead, findings, summary, run)
        tried = {**facts, "change": changes[summary.lead.id]}
        if _fits("nothing-found", tried):
            return tried
        tried["suspect"] = {**facts["suspect"], "inside": None}
        return tried if _fits("nothing-found", tried) else facts
    if summary.lead:
        facts |= {"setting": summary.lead.words, "change": changes.pop(summary.lead.id, None)}
        facts["edit"] = summary.lead.edit
        saved = _saves(_row_of(summary.lead, findings), run) or {}
        facts["saves"] = {**saved, "rest": None} if saved.get("share", 0.0) > _WORTH else None
        facts["bound"] = {"most": rows("finding")[summary.lead.id].at_most}
    exited = summary.findings.filter(id="exit-status")["text"]
    facts["exited"] = next(iter(exited), "").partition(". ")[0].removesuffix(".")
    # What can be saved says more than a note, or than what is busiest.
    saves = facts.get("saves")
    facts["off"] = changes.get("onednn-off") if not saves and _would_run_onednn(run) else None
    # Loops and one-time work are of other threads in a service.
    serves = bool(threads_of_service(summary.functions))
    most = {} if serves else _making(run)
    others, compute = most | _waiting(run), {} if saves else _compute(run)
    if "waited" in others and not facts.get("change"):
        facts["change"] = changes.get("input-bound")
    # Between requests the threads of a service wait, which is Python's time in the table.
    if not (others or serves or summary.lead) and (own := _in_python(run)):
        return {**facts, **own, "off": None}
    if compute and (others or summary.lead):  # a verdict has two lines
        compute = {**compute, "busiest": {**compute["busiest"], "others": True}}
    facts |= others | compute
    if compute and not _fits("nothing-found", {"notes": len(findings), **facts}):
        facts["busiest"] = {**compute["busiest"], "short": True}
    return facts


def _row_of(lead: Entry, findings: list[dict[str, Any]]) -> dict[str, Any]:
    return next(finding for finding in findings if finding["id"] == lead.id)


def _fits(id_: str, facts: dict[str, Any]) -> bool:
    """Whether a verdict has two lines at most."""
    return len(wrap(rows("verdict")[id_].words(**facts), _WIDTH)) <= _LINES


def _would_run_onednn(run: Tables) -> bool:
    """Whether much of what graphs compute would run on oneDNN if it were on."""
    nodes = computing_nodes(run)
    time = ranked_by(nodes)
    off = nodes.filter(reason="onednn-off")[time].sum()
    return float(off) >= _WORTH * float(nodes[time].sum())


def _suspected(
    lead: Entry, findings: list[dict[str, Any]], summary: Summary, run: Tables
) -> dict[str, Any]:
    """What a verdict says of a finding that a busy machine may have made."""
    row = _row_of(lead, findings)
    place = row["python"]
    suspect = {"words": lead.words, "place": place, "inside": _inside(place, summary)}
    saves = {**(_saves(row, run) or {}), "once": None}
    return {"suspect": suspect, "saves": saves, "place": place, "edit": lead.edit}


def _saves(finding: Mapping[str, Any], run: Tables) -> dict[str, Any] | None:
    """What a verdict says of the time that a finding has, and of what it is a part."""
    if (time := finding["time_us"]) is None:
        return None
    of = whole_of(time, finding["repeats_us"], run.repeated, span_of_run(run.time))
    if of is None:
        return {"time": time}
    facts = {"time": of.part, "span": of.us, "in_loops": of.in_loops, "share": of.part / of.us}
    once = time - of.part
    rest = None if of.in_loops else share_after_start_up(of.part, run.time)
    return {**facts, "rest": rest, "once": once if once > _WORTH * time else None}


@once
def _compute(run: Tables) -> dict[str, Any]:
    """What a verdict says of the op that computes most; empty where the log has no times of nodes.

    `place` is the line that more than half of its time is of, `where` the same or the function, and
    `mostly` that some of it is elsewhere. `us` is its graph time in the table of ops; null where
    that has runs which are not counted here (`computing_nodes`). `whole` is that of all ops.
    `base`: `data`, nodes of tf.data, or `waits`, those that wait, take more; neither is counted.
    """
    nodes = computing_nodes(run)
    time = ranked_by(nodes)
    op = pl.col("op").str.strip_prefix(MERGED)
    within = pl.when(pl.col("python").is_null()).then("function")
    grouped = nodes.group_by("python", op=op, function=within, maintain_order=True)
    by = grouped.agg(us=pl.col(time).sum()).with_columns(total_us=pl.col("us").sum().over("op"))
    whole = float(by["us"].sum())
    if not whole:
        return {}
    order = ["total_us", "op", "us"]
    first = by.sort(order, descending=True, maintain_order=True).row(0, named=True)
    total_us = first["total_us"]
    ran = run.ops.filter(op.eq(first["op"]), mode="graph", kind="op")
    us = total_us if spoken(total_us) == spoken(float(ran[time].sum())) else None
    where = {name: first[name] for name in ("python", "function") if first["us"] > total_us / 2}
    if any(where.values()):
        where["mostly"] = spoken(first["us"]) != spoken(total_us)
    of_data = run.functions.filter(runs_for_data())[_FUNCTION]
    data = run.nodes.join(of_data, on=_FUNCTION, how="semi", nulls_equal=True)
    waits = run.nodes.filter(wait_of(pl.col("op")).is_not_null())
    besides = {
        name: float(others[time].sum()) > total_us
        for name, others in {"data": data, "waits": waits}.items()
    }
    busiest = {
        "op": first["op"],
        "us": us,
        "share": total_us / whole,
        "whole": whole,
        "where": where if any(where.values()) else None,
        "base": besides,
        "except": besides,
    }
    return {"busiest": busiest, "place": where.get("python")}


def busiest_sentence(run: Tables, compute: float) -> str:
    """What a verdict says of the busiest op; empty where the log has no times of nodes.

    Where the phase of compute takes far more than ops do, it says what else is in it.
    """
    say, facts = rows("verdict")["nothing-found"].say, _compute(run)
    if not facts:
        return ""
    sentence = f"{say.first(say.phrases['busiest'], facts['busiest'])}."
    rest = compute - facts["busiest"]["whole"]
    if compute > _BESIDE * facts["busiest"]["whole"]:
        sentence = f"{sentence} {say.first(say.phrases['beside'], {'rest': rest})}"
    return sentence


def _making(run: Tables) -> dict[str, Any]:
    """What functions take before they run, once, if it is much, and more than what they take then.

    A function that is called a few times is in no loop.
    """
    phases = looked_up(run.time, run.repeated, "phase").fill_null(0)
    made = phases.filter(pl.col("phase").is_in(MAKING))
    at_first = float(made.select((pl.col("wall_us") - pl.col("repeats_us")).sum()).item())
    loops = float(phases["repeats_us"].sum())
    ran = float(phases.filter(phase="compute")["wall_us"].sum())
    if at_first <= max(loops, ran, _WAITED_FOR):
        return {}
    xla = made.filter(pl.col("wall_us") > 0, phase="xla").height
    making = {"time": at_first, "loops": loops or None, "phases": {"xla": xla}}
    phase, most = phases.select("phase", "repeats_us").row(phases["repeats_us"].arg_max() or 0)
    if most > loops / 2 and phase != "compute":
        making["mostly"] = {"share": most / loops, "phase": PHASE_NAMES[phase]}
    return {"making": making}


def _waiting(run: Tables) -> dict[str, Any]:
    """The wait for data or for other processes that most of the time in loops is."""
    repeated = dict(run.repeated.rows())
    loops = sum(repeated.values())
    for phase in WAITS:
        if repeated.get(phase, 0.0) > loops / 2:
            return {"waited": repeated[phase], "repeats": loops, "waits": PHASE_NAMES[phase]}
    return {}


def _in_python(run: Tables) -> dict[str, Any]:
    """Python and eager ops that take most of the time in loops; the line that most of it is at.

    A gap is of the line that asks for the op behind it.
    """
    loops = float(run.repeated["repeats_us"].sum())
    took = float(run.repeated.filter(pl.col("phase").is_in(_OWN))["repeats_us"].sum())
    if took <= max(loops / 2, _PYTHON):
        return {}
    line = pl.col("python").fill_null(strategy="backward")
    ledger = run.asking_ledger.filter(pl.col("thread") == pl.col("thread").first())
    ledger = ledger.with_columns(line).filter("repeats", pl.col("phase").is_in(_OWN))
    lines = ledger.group_by("python").agg(pl.col("work_us").sum()).drop_nulls()
    top = lines.filter(pl.col("work_us") > took / 2)["python"]
    own = {"time": took, "loops": loops, "share": took / loops, "place": next(iter(top), None)}
    return {"own": own, "place": own["place"]}


def _inside(place: str | None, summary: Summary) -> str | None:
    """The function that a line of the program is in."""
    inside = dict(summary.lines.select("python", "function").rows()).get(place)
    return None if (inside or "").startswith("<") else inside  # a module, a comprehension


def _first_change(advice: str) -> str:
    return advice.partition("; ")[0].partition(". ")[0].removesuffix(".")


# ---- figures -------------------------------------------------------------------------------------


def _duration(summary: Summary, time: pl.DataFrame) -> Figure:
    """The whole of the table `time`; most of it may be imports."""
    span = span_of_run(time) or summary.recorded.wall_us
    if span is None:
        return Figure("Duration", _NOT_KNOWN, "the log has no timestamps")
    before = float(time.filter(phase="start-up")["wall_us"].sum())
    about = f"{spoken(before)} of it before the first op ran" if before else ""
    return Figure("Duration", spoken(span), about or "from the first record to the last")


def _loops(run: Tables) -> Figure:
    """Repeated time, and which phases take most of it."""
    repeated = run.repeated.filter(pl.col("repeats_us") > 0)
    phases = repeated.sort("repeats_us", descending=True).rows()
    if not phases:
        timed = run.time["wall_us"].count()
        why = "nothing repeated" if timed else "the log has no timestamps"
        return Figure("Repeated time", "none" if timed else _NOT_KNOWN, why)
    most = ", ".join(f"{PHASE_NAMES[phase]} {spoken(us)}" for phase, us in phases[:_PHASES])
    return Figure("Repeated time", spoken(sum(us for _, us in phases)), most)


def _step(run: Tables) -> Iterator[Figure]:
    """The median of later steps, if there are any, and between which half of them are."""
    steps = later_steps({"": run})
    took = steps["us"]
    if not took.is_empty():
        low, median, high = (took.quantile(at, "linear") for at in (0.25, 0.5, 0.75))
        calls = f"{count_of(took.len(), 'later call')} of {steps['function'][0]}"
        about = f"median of {calls}, interquartile range {spoken(low)} to {spoken(high)}"
        yield Figure("Step", spoken(median), about)


def _eligible(summary: Summary) -> Figure:
    """Of the runs of nodes for which a kernel exists, those on it."""
    name = f"Runs on {' and '.join(summary.rewriters.kernels) or 'oneDNN'} kernels"
    xla = "; XLA-compiled code not counted" if any(x.id == "xla" for x in summary.limits) else ""
    runs, ran = summary.eligible.runs, summary.eligible.on_kernels
    if not runs:
        return Figure(name, "none", f"no eligible node ran{xla}")
    off = "; oneDNN is off" if "onednn-off" in summary.findings["id"] else ""
    about = f"{ran:,} of {count_of(runs, 'run')} of eligible nodes{off}{xla}"
    return Figure(name, percent(ran, runs), about)


def _traces(summary: Summary, same: pl.DataFrame) -> Figure:
    # Two functions may have one name: Keras 3 calls its steps of training and of evaluation alike.
    keys = same.select("function", "function_uid", "python_function").rows()
    of = {(name, uid): number for name, uid, number in keys}
    functions = summary.functions.filter(
        (pl.col("flavour") == "inference") & (pl.col("calls") > 0) & pl.col("made_by").is_null()
    )
    called = [of.get(key) for key in functions.select("function", "function_uid").rows()]
    traces = Counter(called)
    again = sum(count > 1 for count in traces.values())
    if not traces:
        return Figure("Traces", "none", "the log shows no call of a graph function")
    about = f"of {count_of(len(traces), 'called function')}"
    if again:
        about += f"; {again:,} retraced"
    return Figure("Traces", f"{sum(traces.values()):,}", about)
