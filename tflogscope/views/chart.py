"""The run over time as a picture (SVG) that needs no script: for notebooks, print and the page."""

from __future__ import annotations

from tflogscope.model.common.figures import count_of, duration, percent
from tflogscope.model.pictures.activity import Activity, Lane, read_activity
from tflogscope.model.run import Run
from tflogscope.views.markup import Markup, element, joined
from tflogscope.views.text import shorten
from tflogscope.views.timeline import round_step, tick_name

# In the unit of the picture, which is a pixel at its own size.
_WIDTH, _LABELS, _FIGURES, _ROW, _AXIS, _BAR = 1000, 190, 180, 22, 26, 16
_NAME = 28  # cells
_PARTS = 240
_TICKS = 5

# As in assets/report.css: colour-blind people can distinguish them, on light and dark.
COLOURS = {
    ("", "tracing"): "#9c6f59",
    ("", "graph optimization"): "#c08a6c",
    ("", "XLA"): "#9c6f59",
    ("eager", "ops"): "#d97f00",
    ("eager", "oneDNN kernels"): "#a3a300",
    ("calls", ""): "#7a8699",
    ("graph", "oneDNN kernels"): "#23974d",
    ("graph", "other kernels"): "#3f7fd6",
    ("graph", "tf.data"): "#8a63d2",
    ("graph", "constant folding"): "#8f8f8f",
    ("oneDNN", ""): "#c93c8c",
}


class Chart:
    """A picture that a notebook shows; `svg` is its text."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_html_(self) -> str:
        """SVG inside HTML keeps the notebook's text colour, an image of its own would not."""
        return self.svg

    def __repr__(self) -> str:
        return f"<tflogscope chart, {len(self.svg):,} characters of SVG>"


def timeline_chart(run: Run) -> Chart:
    """Draw how busy the run was over time: eager ops, calls, nodes of graphs, oneDNN."""
    return Chart(timeline_svg(run, whole_activity(run)))


def whole_activity(run: Run) -> Activity:
    """What the picture shows of a run."""
    return read_activity(run, None, lambda _: _PARTS)


def timeline_svg(run: Run, activity: Activity, last_ns: int | None = None) -> Markup:
    """The picture as an SVG element; of a run in which nothing ran a sentence.

    `last_ns`: where its axis ends, if later than the run; so two runs have one scale.
    """
    if run.slices.frame.is_empty():
        return element("p", "The log shows no execution.")
    lanes, first = [*activity.lanes], activity.first_ns
    last = max(activity.last_ns, last_ns or 0)
    share = (activity.last_ns - first) / (last - first)
    height = _AXIS + _ROW * len(lanes) + 4
    text = "; ".join(f"{_name(lane)}: {_figures(lane, activity)}" for lane in lanes)
    return element(
        "svg",
        element("title", "Eager and graph execution over time"),
        element("desc", text),
        _axis(first, last, run.slices.clock, height),
        *(_lane(lane, row, activity, share) for row, lane in enumerate(lanes)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width="100%",
        role="img",
        aria_label=f"Eager and graph execution over time. {text}",
        font_family="system-ui, sans-serif",
        font_size=12,
        fill="currentColor",
        class_="tflogscope-chart tex2jax_ignore mathjax_ignore",
    )


def _name(lane: Lane) -> str:
    return f"{lane.group} {lane.name.strip()}".strip()


def _colour(lane: Lane) -> str:
    return COLOURS.get(lane.kind) or COLOURS.get((lane.kind[0], ""), "#8f8f8f")


def _figures(lane: Lane, activity: Activity) -> str:
    runs = f"{lane.runs:,}×"
    if lane.total_us is None:
        return runs
    span = (activity.last_ns - activity.first_ns) / 1000
    return f"{runs} · {duration(lane.total_us)} · {percent(lane.busy_time, span)}"


def _axis(first: int, last: int, clock: str, height: int) -> Markup:
    """Times since the begin, and a thin line down from each."""
    marks = []
    step = round_step((last - first) / _TICKS)
    for at in range(-(-first // step) * step, last + 1, step):
        x = _LABELS + (_WIDTH - _LABELS - _FIGURES) * (at - first) // (last - first)
        text = count_of(at // 1000, "line") if clock == "lines" else tick_name(at)
        marks.append(
            joined(
                element(
                    "line", x1=x, x2=x, y1=_AXIS - 6, y2=height, stroke="currentColor", opacity=0.2
                ),
                element("text", text, x=x, y=14, text_anchor="middle", opacity=0.75),
            )
        )
    figures = element("text", "runs · time · busy", x=_WIDTH, y=14, text_anchor="end", opacity=0.75)
    return joined(*marks, figures)


def _lane(lane: Lane, row: int, activity: Activity, share: float) -> Markup:
    top = _AXIS + row * _ROW
    baseline = top + _BAR - 3
    title = element("title", f"{_name(lane)}: {_figures(lane, activity)}")
    return element(
        "g",
        title,
        element("text", shorten(_name(lane), _NAME), x=_LABELS - 10, y=baseline, text_anchor="end"),
        element("path", d=_bars(lane, top, share), fill=_colour(lane)),
        element(
            "text", _figures(lane, activity), x=_WIDTH, y=baseline, text_anchor="end", opacity=0.75
        ),
    )


def _bars(lane: Lane, top: int, share: float) -> str:
    """A bar per part of the time, as high as it was busy; where no end is known, a mark."""
    width = (_WIDTH - _LABELS - _FIGURES) * share / len(lane.busy)
    bars = []
    for part, (busy, begun) in enumerate(zip(lane.busy, lane.begun, strict=True)):
        if busy <= 0 and not begun:
            continue
        size = max(busy * _BAR, 1.5) if busy > 0 else _BAR / 3
        x = _LABELS + part * width
        bars.append(
            f"M{x:.1f} {top + _BAR:g}h{max(width, 1):.1f}v{-size:.1f}h{-max(width, 1):.1f}z"
        )
    return "".join(bars)
