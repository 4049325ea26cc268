"""Changes over time: in words below the table of `tflogscope trend`, and drawn in a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.model.common.figures import duration
from tflogscope.views.document import Full, Paragraph, Picture, Section
from tflogscope.views.markup import Markup, element

Facts = dict[str, Any]
# Of a chart, in pixels of its own size.
_WIDTH, _HEIGHT, _LEFT, _RIGHT = 640, 110, 70, 250
_NAMED = 7  # series
COLOURS = ("#3f7fd6", "#d97f00", "#23974d", "#c93c8c", "#8a63d2", "#8f8f8f")


def trend_section(
    series: Sequence[Facts], figures: Sequence[tuple[str, str]], title: str = "What changed"
) -> Section:
    """What changed, and since which run; on a page a chart of each figure, by key and title."""
    changes = [*map(Paragraph, describe_changes(series))]
    return Section(title, [*changes, Full(lambda: charts(series, figures))], "trend")


def charts(series: Sequence[Facts], figures: Sequence[tuple[str, str]]) -> list[Picture]:
    """A chart of each figure that is not always the same, with the series that have it."""
    drawn = [_chart(series, key, title) for key, title in figures]
    return [Picture(chart) for chart in drawn if chart is not None]


def describe_changes(series: Sequence[Facts]) -> list[str]:
    """A sentence for each change."""
    sentences = []
    for entry in series:
        name = f"{entry['series']}: " if entry["series"] else ""
        for change in entry["changes"]:
            sides = " → ".join(
                value_text(change["figure"], change[side]) for side in ("before", "after")
            )
            ops = ", ".join(
                f"{op['op']} " + " → ".join(_op(change, op[side]) for side in ("before", "after"))
                for op in change["ops"]
            )
            sentences.append(
                f"{name}{_since(change)}: {change['title']} {sides}" + (f"; {ops}" if ops else "")
            )
    return sentences or ["No change beyond run-to-run noise."]


def _since(change: Facts) -> str:
    commit = f", commit {change['commit']}" if change["commit"] else ""
    return f"since {change['since']} ({change['start']:%Y-%m-%d %H:%M}{commit})"


def value_text(figure: str, value: float) -> str:
    """A figure for people."""
    if figure.endswith("_share"):
        return f"{value:.1%}"
    return duration(value) if figure.endswith("_us") else f"{value:,.3g}"


def _op(change: Facts, value: float) -> str:
    return f"{value:.0%}" if change["figure"] == "onednn_share" else f"{value:,.0f}"


def _chart(series: Sequence[Facts], key: str, title: str) -> Markup | None:
    """The figure of each run, in the order of their start; a line where it changed.

    None if it is the same in all runs.
    """
    runs = [row for entry in series for row in entry["runs"]]
    values = [row[key] for row in runs if row[key] is not None]
    if len({*values}) < 2:
        return None
    top, step = max(values) or 1, _WIDTH / max(len(runs) - 1, 1)
    order = sorted(runs, key=lambda row: row["start"])
    x = {row["run"]: _LEFT + place * step for place, row in enumerate(order)}
    shown = [entry for entry in series if any(row[key] is not None for row in entry["runs"])]
    marks = [
        mark
        for number, entry in enumerate(shown)
        for mark in _series(entry, key, x, top, COLOURS[number % len(COLOURS)])
    ]
    names = [
        element("text", entry["series"] or "all runs", x=_LEFT + _WIDTH + 14, y=14 + 16 * number,
                fill=COLOURS[number % len(COLOURS)])
        for number, entry in enumerate(shown[:_NAMED])
    ]  # fmt: skip
    axis = [
        element("text", value_text(key, value), x=_LEFT - 8, y=y, text_anchor="end", opacity=0.75)
        for value, y in ((top, 12), (0, _HEIGHT))
    ]
    least, most = (value_text(key, value) for value in (min(values), max(values)))
    label = f"{title}: {len(values)} runs, {least} to {most}"
    drawn = element(
        "svg",
        *axis,
        *marks,
        *names,
        viewBox=f"0 0 {_LEFT + _WIDTH + _RIGHT} {_HEIGHT + 6}",
        width="100%",
        role="img",
        aria_label=label,
        font_family="system-ui, sans-serif",
        font_size=12,
        fill="currentColor",
    )
    return element("figure", element("figcaption", title), drawn, class_="chart", tabindex=0)


def _series(series: Facts, key: str, x: dict[str, float], top: float, colour: str) -> list[Markup]:
    """A line through the runs, a dot for each, and an upright line where the figure changed."""

    def y(value: float) -> str:
        return f"{_HEIGHT - value / top * (_HEIGHT - 10):.1f}"

    runs = [row for row in series["runs"] if row[key] is not None]
    points = " ".join(f"{x[row['run']]:.1f},{y(row[key])}" for row in runs)
    dots = [
        element("circle", element("title", f"{row['run']}: {value_text(key, row[key])}"),
                cx=f"{x[row['run']]:.1f}", cy=y(row[key]), r=3, fill=colour)
        for row in runs
    ]  # fmt: skip
    since = [
        element("line", element("title", _since(change)), x1=f"{x[change['since']]:.1f}",
                x2=f"{x[change['since']]:.1f}", y1=0, y2=_HEIGHT, stroke=colour,
                stroke_dasharray="4 3")
        for change in series["changes"]
        if change["figure"] == key
    ]  # fmt: skip
    return [*since, element("polyline", points=points, fill="none", stroke=colour), *dots]
