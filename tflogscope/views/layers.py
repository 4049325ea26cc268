"""Time by layer, and how long each step took."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tflogscope.model.common.figures import count_of, duration
from tflogscope.model.overview.layers import layer_times
from tflogscope.model.overview.step_calls import later_steps
from tflogscope.model.run import Run
from tflogscope.views import document as doc
from tflogscope.views.markup import Markup, element, stretched_svg

_SHOWN = 8
_COLUMNS = doc.columns("layers")


def layers_section(run: Run, room: doc.Room) -> Iterator[doc.Node]:
    """Layers, the most time first; nothing where nodes have no scopes or no times."""
    table = layer_times(run)
    if table.is_empty():
        return
    rest = f" ({_SHOWN} of {table.height})" if table.height > _SHOWN else ""

    def full() -> Iterator[doc.Node]:
        layers = room.rows(table, "layers")
        yield doc.Table(_COLUMNS, layers, "Time by layer", "layers-table", tools=True)

    both = doc.Brief([doc.Table(_COLUMNS, table.head(_SHOWN).to_dicts())]), doc.Full(full)
    yield doc.Section("Layers", both, "layers", brief=f", by time{rest}")


# ---- how long each step took ---------------------------------------------------------------------

_WIDTH, _HEIGHT = 1000, 60
_MOST = 500  # bars; of more steps each is the longest of several
_FEWEST = 3
_CUT = 5  # medians: a longer step has a bar of this height, in another colour


def step_strip(run: Run) -> Markup | None:
    """A bar for each later step, in order; None if there are few, or no times."""
    steps = later_steps({"": run})
    took = steps["us"].to_numpy()
    if len(took) < _FEWEST or not took.max() > 0:
        return None
    size = -(-len(took) // _MOST)
    edges = np.arange(0, len(took), size)
    longest, median = np.maximum.reduceat(took, edges), float(np.median(took))
    top = min(float(longest.max()), _CUT * median) or float(longest.max())
    width = _WIDTH / len(longest)
    bars = [
        element(
            "rect",
            element("title", f"{_named(int(first), size, len(took))}: {duration(us)}"),
            class_=f"phase {'first-runs' if us > top else 'compute'}",
            x=round(number * width, 2),
            y=round(_HEIGHT * (1 - min(us / top, 1)), 2),
            width=round(width * 0.9, 2),
            height=round(_HEIGHT * min(us / top, 1), 2),
        )
        for number, (first, us) in enumerate(zip(edges.tolist(), longest.tolist(), strict=True))
    ]
    svg = stretched_svg(bars, _WIDTH, _HEIGHT)
    name = steps["function"][0]
    caption = f"{count_of(len(took), 'later call')} of {name} in order: median {duration(median)}"
    over = int((took > top).sum())
    caption += f"; {count_of(over, 'bar')} cut at {_CUT}× the median" if over else ""
    return element("figure", element("figcaption", caption), svg, id="step-strip")


def _named(first: int, size: int, count: int) -> str:
    last = min(first + size, count)
    if last == first + 1:
        return f"later call {last:,}"
    return f"the longest of later calls {first + 1:,} to {last:,}"
