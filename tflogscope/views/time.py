"""Where the wall time of a run went: the table `time`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from tflogscope.model.common.figures import duration, percent
from tflogscope.model.common.frames import looked_up
from tflogscope.model.ledger.phases import PHASE_NAMES
from tflogscope.model.ledger.services import threads_of_service, time_of_service
from tflogscope.model.overview.headline import busiest_sentence, read_verdict
from tflogscope.model.run import Run
from tflogscope.views import document as doc
from tflogscope.views.markup import Markup, element, stretched_svg

_LEAST = 0.005  # of the run, for a phase to have a row of its own
_REPEATS = 0.05  # of what repeats
_COLUMNS = doc.columns("time")


def time_section(run: Run, *, least: float = _LEAST) -> Iterator[doc.Section]:
    """The phases, what of each is one-time and what repeats, and their sum.

    Phases with less than the share `least` of the run, and little of what repeats, are one row,
    which says how many they are; but for logging: it is neither one-time nor repeated.
    """
    phases = _parts(run)
    if not phases.filter(pl.col("id") != "start-up")["us"].sum():  # only what precedes the first op
        return
    repeats = pl.col("repeats_us").fill_null(0)
    small = (pl.col("share") < least) & (repeats <= _REPEATS * repeats.sum())
    small &= (pl.col("id") != "logging") | (pl.col("us") == 0)
    few = phases.filter(small, pl.col("us") > 0)
    shown = phases.filter(~small if few.height > 1 else ~small | (pl.col("us") > 0)).to_dicts()
    if few.height > 1:
        largest = few.sort("us", descending=True)["phase"][0]
        shown.append({"phase": f"other phases ({largest}, …)", **_sum(few)})
    shown.append({"phase": "total", **_sum(phases)})
    if not phases["repeats_us"].sum():  # then the one-time time is all there is
        shown = [{**row, "once": None, "repeats_us": None} for row in shown]
    nodes: list[doc.Node] = [
        doc.Table(_COLUMNS, shown, "Wall time of the recorded run", "time-table"),
    ]
    if tail := _after_ops(phases, run):
        nodes.append(doc.Paragraph(f"{tail}."))
    nodes += _busiest(shown, run)
    where = " in the recorded run"
    if threads := threads_of_service(run.summary.functions):
        where = f" in the {len(threads)} threads that call functions, summed"
        if any(row["phase"] == PHASE_NAMES["python"] for row in shown):
            text = "Python: time between calls, including waits for requests."
            nodes.append(doc.Paragraph(text))
    unknown = run.time.filter(pl.col("wall_us").is_null())["phase"].to_list()
    if unknown:
        named = ", ".join(PHASE_NAMES[phase] for phase in unknown)
        nodes.append(doc.Paragraph(f"Not measurable from this log: {named}."))
    yield doc.Section("Where the time went", nodes, "time", brief=where)


def _sum(phases: pl.DataFrame) -> dict[str, float]:
    names = ("us", "once", "repeats_us", "share")
    return {name: round(float(phases[name].sum()), 9) for name in names}  # shares add up to 1.0


def _after_ops(phases: pl.DataFrame, run: Run) -> str:
    """How much of Python's one-time share is behind the last op of all threads, if it is much."""
    of_python = pl.col("id") == "python"
    last = pl.concat([phases.filter(~of_python)["end"], run.ends]).max()
    if last is None:  # nothing else took time
        return ""
    behind = (pl.col("end") - last).dt.total_microseconds()
    tail = phases.filter(of_python).select(pl.min_horizontal(behind, "once")).fill_null(0)
    us = sum(tail.to_series())
    if not us or us < _LEAST * float(phases["us"].sum()):
        return ""
    once = "one-time " * bool(phases["repeats_us"].sum())  # else no column says so
    return f"{duration(us)} of the {once}Python time is after the last op, where nothing is logged"


def _busiest(shown: Sequence[doc.Row], run: Run) -> Iterator[doc.Node]:
    """The busiest op, where compute has a row, and the verdict does not name the op."""
    for compute in (row["us"] for row in shown if row["phase"] == "compute"):
        sentence = busiest_sentence(run, compute)
        if sentence and sentence.partition(":")[0] not in read_verdict(run.summary, run)[1]:
            yield doc.Paragraph(sentence)


def _parts(run: Run) -> pl.DataFrame:
    """Phases that are known: id, phase (its name), us, once and repeats_us (null: log), share."""
    threads = threads_of_service(run.summary.functions)
    time = time_of_service(run, threads) if threads else run.time
    phases = looked_up(time.drop_nulls("wall_us"), run.repeated, "phase")
    return phases.with_columns(
        pl.col("phase").replace(PHASE_NAMES),
        id="phase",
        us="wall_us",
        once=(pl.col("wall_us") - pl.col("repeats_us")).round().clip(0),  # logs have whole µs
        share=pl.col("wall_us") / pl.col("wall_us").sum(),
    )


def _sums(phases: pl.DataFrame) -> str:
    """The sums of `_parts` in words."""
    whole, once, repeats = (float(phases[name].sum()) for name in ("us", "once", "repeats_us"))
    sums = {"one-time": once, "repeated": repeats, "logging overhead": whole - once - repeats}
    parts = [f"{duration(took)} {name}" for name, took in sums.items() if took >= 1]
    return f"{duration(whole)} ({', '.join(parts)})"


# ---- the same as one bar, on a page --------------------------------------------------------------

_WIDTH, _HEIGHT = 1000, 20


def time_bar(run: Run) -> Markup | None:
    """The bar, and the names of what is in it; None where the log has no times."""
    phases = _parts(run).filter(pl.col("us") > 0)
    whole = float(phases["us"].sum())
    if not whole:
        return None
    left, parts, names = 0.0, list[Markup](), list[Markup]()
    for phase, name, took in phases.select("id", "phase", "us").rows():
        label = f"{name} {duration(took)}, {percent(took, whole)}"
        tail = _after_ops(phases, run) if phase == "python" else ""
        label += f" ({tail})" * bool(tail)
        size = took / whole * _WIDTH
        place = {"x": round(left, 2), "y": 0, "width": round(size, 2), "height": _HEIGHT}
        parts.append(element("rect", element("title", label), class_=f"phase {phase}", **place))
        left += size
        if took >= _LEAST * whole:
            swatch = element("span", class_=f"swatch phase {phase}", aria_hidden="true")
            names.append(element("li", swatch, label))
    svg = stretched_svg(parts, _WIDTH, _HEIGHT)
    title = f"Wall time of the recorded run: {_sums(phases)}"
    return element(
        "figure", element("figcaption", title), svg, element("ul", *names), id="time-bar"
    )
