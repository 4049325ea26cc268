"""Changes over time: in words below the table of `tflogscope trend`, and drawn in a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.model.figures import duration
from tflogscope.views.document import Full, Paragraph, Picture, Section
from tflogscope.views.markup import Markup, element

Facts = dict[str, Any]
_WIDTH, _HEIGHT = 640, 60


def trend_section(
    series: Sequence[Facts], figures: Sequence[tuple[str, str]], title: str = "What changed"
) -> Section:
    """What changed, and since which run; on a page a chart of each figure, by key and title."""
    changes = [*map(Paragraph, said_changes(series))]
    return Section(title, [*changes, Full(lambda: charts(series, figures))], "trend")


def charts(series: Sequence[Facts], figures: Sequence[tuple[str, str]]) -> list[Picture]:
    """A chart of each figure that is not always the same, for each series."""
    drawn = [
        _chart(each, key, ": ".join(filter(None, (each["series"], title))))
        for each in series
        for key, title in figures
    ]
    return [Picture(chart) for chart in drawn if chart is not None]


def said_changes(series: Sequence[Facts]) -> list[str]:
    """A sentence for each change."""
    said = []
    for each in series:
        name = f"{each['series']}: " if each["series"] else ""
        for change in each["changes"]:
            sides = " → ".join(
                _value(change["figure"], change[side]) for side in ("before", "after")
            )
            ops = ", ".join(
                f"{op['op']} " + " → ".join(_op(change, op[side]) for side in ("before", "after"))
                for op in change["ops"]
            )
            when = f"{change['start']:%Y-%m-%d %H:%M}"
            said.append(
                f"{name}since {change['since']} ({when}): {change['title']} {sides}"
                + (f"; {ops}" if ops else "")
            )
    return said or ["Nothing that is larger than the spread of the runs."]


def _value(figure: str, value: float) -> str:
    if figure.endswith("_share"):
        return f"{value:.1%}"
    return duration(value) if figure.endswith("_us") else f"{value:,.3g}"


def _op(change: Facts, value: float) -> str:
    return f"{value:.0%}" if change["figure"] == "onednn_share" else f"{value:,.0f}"


def _chart(series: Facts, key: str, title: str) -> Markup | None:
    """The figure of each run, in the order of their start; a line where it changed.

    None if it is always the same.
    """
    values = [row[key] for row in series["runs"]]
    known = [value for value in values if value is not None]
    if len({*known}) < 2:
        return None
    top, step = max(known) or 1, _WIDTH / max(len(values) - 1, 1)
    points = " ".join(
        f"{place * step:.1f},{_HEIGHT - value / top * (_HEIGHT - 4) - 2:.1f}"
        for place, value in enumerate(values)
        if value is not None
    )
    least, most = _value(key, min(known)), _value(key, max(known))
    span = f"about {least}" if least == most else f"{least} to {most}"
    runs = [row["run"] for row in series["runs"]]
    since = [
        runs.index(each["since"]) * step for each in series["changes"] if each["figure"] == key
    ]
    lines = [
        element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=0, y2=_HEIGHT, stroke="#b3261e")
        for x in since
    ]
    return element(
        "figure",
        element("figcaption", f"{title}, {span}"),
        element(
            "svg",
            element("polyline", points=points, fill="none", stroke="currentColor"),
            *lines,
            width=_WIDTH,
            height=_HEIGHT,
            role="img",
            aria_label=f"{title}, {len(known)} runs",
        ),
    )
