"""Where the wall time went, as one bar: the phases of the table `time`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tflogscope.model.figures import duration, percent
from tflogscope.views.markup import Markup, element

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_WIDTH, _HEIGHT = 1000, 20
_LEAST = 0.005  # of the run, for a phase to be named


def time_bar(run: Run) -> Markup | None:
    """The bar, and the names of what is in it; None where the log has no times."""
    known = run.time.drop_nulls("wall_us").filter(run.time["wall_us"].drop_nulls() > 0)
    whole = float(known["wall_us"].sum())
    if not whole:
        return None
    left, parts, names = 0.0, list[Markup](), list[Markup]()
    for phase, took in known.select("phase", "wall_us").rows():
        said = f"{phase} {duration(took)}, {percent(took, whole)}"
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
    title = f"Wall time: {duration(whole)}"
    return element(
        "figure", element("figcaption", title), svg, element("ul", *names), id="time-bar"
    )
