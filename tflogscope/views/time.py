"""Where the wall time of a run went: the table `time`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from tflogscope.model.figures import duration, percent
from tflogscope.model.frames import looked_up
from tflogscope.model.headline import busiest_of
from tflogscope.views import document as doc
from tflogscope.views.document import Column
from tflogscope.views.markup import Markup, element

if TYPE_CHECKING:
    from tflogscope.model.run import Run


_LEAST = 0.005  # of the run, for a phase to be shown


def time_section(run: Run) -> Iterator[doc.Section]:
    """The phases that took time, with what a program pays once apart from what each step costs."""
    known = run.time.drop_nulls("wall_us")
    if not known["wall_us"].sum():  # no phase is known, or all is in one µs
        return
    known = _paid(known, run)
    whole = float(known["us"].sum())
    shown = known.filter(pl.col("share") >= _LEAST).with_columns(
        pl.when(pl.col(name) >= _LEAST * whole).then(name) for name in ("once", "again")
    )
    columns = (
        Column("phase", "phase", least=12),
        Column("us", "time", "us"),
        Column("once", "paid once", "us", "however long the program runs"),
        Column("again", "in loops", "us", "the more, the longer the program runs"),
        Column("share", "of the run", "bar", stays=True),
    )
    said = f"{_sums(known)}."
    nodes: list[doc.Node] = [
        doc.Table(columns, shown.to_dicts(), "Wall time of the recorded run", "time-table"),
        doc.Paragraph(said),
    ]
    if tail := _after_ops(known):
        nodes.append(doc.Paragraph(f"python: {tail}."))
    nodes += _busiest(shown, run)
    unknown = run.time.filter(pl.col("wall_us").is_null())["phase"].to_list()
    if unknown:
        nodes.append(doc.Paragraph(f"Not shown by this log: {', '.join(unknown)}."))
    yield doc.Section("Where the time went", nodes, "time", brief=" in the recorded run")


def _after_ops(paid: pl.DataFrame) -> str:
    """How much of Python's time in `_paid` is behind the last op, if it is much."""
    last = paid.filter(pl.col("phase") != "python")["end"].max()
    behind = (pl.col("end") - last).dt.total_microseconds()
    # What loops take of it is estimated, and it is before that.
    tail = paid.filter(phase="python").select(pl.min_horizontal(behind, "once")).fill_null(0)
    us = sum(tail.to_series())
    much = us > 0 and us >= _LEAST * float(paid["us"].sum())
    return f"{duration(us)} of it is after the last op, and not in the log" if much else ""


def _busiest(shown: pl.DataFrame, run: Run) -> Iterator[doc.Node]:
    """What most of compute is, where compute is a phase that counts."""
    of = busiest_of(run) if "compute" in shown["phase"] else None
    if of:
        place = (" at ", doc.Code(of.python)) if of.python else ""
        yield doc.Paragraph((f"compute: {percent(of.share, 1)} of it is {of.op}", place, "."))


def _paid(known: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Phases with us, and what of it is paid once and again (null of the log), and its share."""
    known = looked_up(known, run.summary.paid_again, "phase").with_columns(us="wall_us")
    return known.with_columns(
        again="again_us",
        once=pl.col("us") - pl.col("again_us"),
        share=pl.col("us") / pl.col("us").sum(),
    )


def _sums(paid: pl.DataFrame) -> str:
    """The sums of `_paid` in words."""
    whole, once, again = (float(paid[name].sum()) for name in ("us", "once", "again"))
    sums = {"paid once": once, "in loops": again, "for the log": whole - once - again}
    parts = [f"{duration(took)} {said}" for said, took in sums.items() if took >= 1]
    return f"{duration(whole)} in all: {', '.join(parts)}"


# ---- the same as one bar, on a page --------------------------------------------------------------

_WIDTH, _HEIGHT = 1000, 20


def time_bar(run: Run) -> Markup | None:
    """The bar, and the names of what is in it; None where the log has no times."""
    known = _paid(run.time.drop_nulls("wall_us").filter(pl.col("wall_us") > 0), run)
    whole = float(known["us"].sum())
    if not whole:
        return None
    left, parts, names = 0.0, list[Markup](), list[Markup]()
    for phase, took in known.select("phase", "us").rows():
        said = f"{phase} {duration(took)}, {percent(took, whole)}"
        tail = _after_ops(known) if phase == "python" else ""
        said += f" ({tail})" * bool(tail)
        size = took / whole * _WIDTH
        place = {"x": round(left, 2), "y": 0, "width": round(size, 2), "height": _HEIGHT}
        parts.append(element("rect", element("title", said), class_=f"phase {phase}", **place))
        left += size
        if took >= _LEAST * whole:
            swatch = element("span", class_=f"swatch phase {phase}", aria_hidden="true")
            names.append(element("li", swatch, said))
    svg = element(
        "svg",
        *parts,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        width="100%",
        height=_HEIGHT,
        aria_hidden="true",
    )
    title = f"Wall time of the recorded run: {_sums(known)}"
    return element(
        "figure", element("figcaption", title), svg, element("ul", *names), id="time-bar"
    )
