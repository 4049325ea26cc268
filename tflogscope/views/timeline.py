"""The run over time, drawn in the terminal: a line per lane, a column per part of the time."""

from __future__ import annotations

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tflogscope.escapes import safe
from tflogscope.model.common.figures import count_of, duration, percent
from tflogscope.model.pictures.activity import Activity, Gap, Lane
from tflogscope.model.slices.slices import Slices
from tflogscope.views.recorded import moment
from tflogscope.views.terminal import STYLES
from tflogscope.views.text import print_paragraph, shorten, text

_NAME = 24  # cells of a lane's name at most
_LEAST_NAME = 10
_GROUP = 7  # cells
_FIGURES = (28, 22, 9)  # cells: runs, time and share; runs and time; runs
_LEAST_PICTURE = 40  # columns, before figures are left out
_TITLES = f"{'runs':>9}{'logged time':>13}{'busy':>6}"
_TICK_CELLS = 12  # between two numbers on the axis
_BLOCKS = "▁▂▃▄▅▆▇█"
_STYLES = {
    ("eager", "ops"): STYLES["eager"],
    ("eager", "oneDNN kernels"): STYLES["rewritten"],
    ("calls", ""): f"bold {STYLES['graph']}",
    ("graph", "oneDNN kernels"): STYLES["rewritten"],
    ("graph", ""): STYLES["graph"],
    ("oneDNN", ""): f"bold {STYLES['rewritten']}",
}
_SECOND = 1_000_000_000  # ns
_STEPS = (1, 2, 5)
_MINUTE_STEPS = (60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # s


class Layout:
    """How many cells of a line are for what: group, name, picture, figures."""

    def __init__(self, width: int, names: list[str]) -> None:
        """`width` is the terminal's, `names` are the lanes'."""
        wanted = max([cell_len(safe(name)) for name in names], default=0)
        self.name = min(max(wanted, _LEAST_NAME), _NAME, max(width // 4, _LEAST_NAME))
        self.before = _GROUP + self.name + 2
        room = width - self.before
        self.figures = next((figure for figure in _FIGURES if room - figure >= _LEAST_PICTURE), 0)
        self.picture = max(room - self.figures, 1)


def render_timeline(activity: Activity, slices: Slices, console: Console) -> str:
    """The picture. Its columns must be as many as `Layout` says."""
    with console.capture() as screen:
        _draw(activity, slices, console)
    return screen.get()


def _draw(activity: Activity, slices: Slices, console: Console) -> None:
    layout = Layout(console.width, [lane.name for lane in activity.lanes])
    print_paragraph(_title(activity, slices), console)
    console.print()
    _row("", "", _axis(activity, slices), _TITLES[: layout.figures], console, layout)
    last_group = ""
    for lane in [*activity.lanes, activity.all]:
        group = "" if lane.group == last_group else lane.group
        last_group = lane.group or last_group
        figures = _figures(lane, activity, slices)[: layout.figures]
        _row(group, lane.name, Text(_cells(lane), style=_style(lane)), figures, console, layout)
    if activity.gaps:
        _row("", "gaps", Text(_gap_marks(activity)), "", console, layout)
    _legend(activity, slices, console)
    _gaps(activity, slices, console)


def _row(  # noqa: PLR0917 - the parts of a line from left to right
    group: str, name: str, picture: Text, figures: str, console: Console, layout: Layout
) -> None:
    short = shorten(safe(name), layout.name)
    line = text(f"{group:<{_GROUP}}{short}{' ' * (layout.name - cell_len(short))}  ")
    line.append_text(picture)
    line.append(" " * (layout.before + layout.picture - cell_len(line.plain)))
    line.append(figures)
    line.rstrip()
    console.print(line, soft_wrap=True)


# ---- the axis ------------------------------------------------------------------------------------


def _title(activity: Activity, slices: Slices) -> str:
    columns = len(activity.edges_ns) - 1
    span = activity.last_ns - activity.first_ns
    if slices.clock == "lines":
        first = int(slices.frame["line"][0]) + activity.first_ns // 1000
        return (
            "The log has no timestamps; drawn in line order, "
            f"{first:,} to {first + span // 1000:,}. "
            f"Each column is {count_of(max(round(span / 1000 / columns), 1), 'line')}."
        )
    column = f"Each column is {duration(span / 1000 / columns)}."
    if slices.origin is None:
        return f"oneDNN's lines have no timestamps; primitives are drawn back to back. {column}"
    edges = activity.first_ns, activity.last_ns
    begin, end = (moment(slices.origin + ns // 1000) or "" for ns in edges)
    end = end[11:] if end[:10] == begin[:10] else end
    return f"{begin} to {end} ({duration(span / 1000)}, logging included). {column}"


def _axis(activity: Activity, slices: Slices) -> Text:
    """Numbers above the columns: time since the picture's begin of the run, or lines."""
    columns = len(activity.edges_ns) - 1
    first, last = activity.first_ns, activity.last_ns
    step = round_step((last - first) * _TICK_CELLS / columns)
    cells = [" "] * columns
    for tick in range(-(-first // step) * step, last, step):
        place = (tick - first) * columns // (last - first)
        label = _tick(tick, slices)
        if place + cell_len(label) + 1 <= columns:
            cells[place : place + cell_len(label) + 1] = f"│{label}"
    return Text("".join(cells))


def round_step(least: float) -> int:
    """The least round number of ns that is not less than this."""
    if least > 30 * _SECOND:
        longer = (step * _SECOND for step in _MINUTE_STEPS)
        size_ = next((minutes for minutes in longer if minutes >= least), 0)
        return size_ or -(-int(least) // (86400 * _SECOND)) * 86400 * _SECOND
    size = 1000
    while True:
        for step in _STEPS:
            if step * size >= least:
                return step * size
        size *= 10


def _tick(ns: int, slices: Slices) -> str:
    if slices.clock == "lines":
        return f"{int(slices.frame['line'][0]) + ns // 1000:,}"
    return tick_name(ns)


def tick_name(ns: int) -> str:
    """A round time as people write it: `0`, `20 ms`, `1.5 s`, `2:30 min`."""
    for unit, size, below in (("µs", 1e3, 1e6), ("ms", 1e6, 1e9), ("s", 1e9, 60e9)):
        if abs(ns) < below:
            return f"{ns / size:g} {unit}" if ns else "0"
    seconds = ns // _SECOND
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02} min"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02} h"


# ---- lanes ---------------------------------------------------------------------------------------


def _cells(lane: Lane) -> str:
    busy = np.array(lane.busy)
    level = np.minimum((busy * len(_BLOCKS)).astype(int), len(_BLOCKS) - 1)
    signs = np.array(list(_BLOCKS))[level]
    signs[busy == 0] = " "
    begun = (np.array(lane.begun) > 0) & (busy == 0)
    signs[begun] = "│"
    signs[lane.traced] = "T"
    return "".join(signs)


def _style(lane: Lane) -> str:
    return _STYLES.get(lane.kind, _STYLES.get((lane.kind[0], ""), ""))


def _figures(lane: Lane, activity: Activity, slices: Slices) -> str:
    runs, time, share = f"{lane.runs:,}", "", ""
    if lane.total_us is not None:
        time = "" if slices.clock == "lines" else duration(lane.total_us)
        share = percent(lane.busy_time * 1000, activity.last_ns - activity.first_ns)
    if lane is activity.all:  # calls, their ops, and their primitives can't be added up
        runs = time = ""
    return f"{runs:>9}{time:>13}{share:>6}"


# ---- gaps ----------------------------------------------------------------------------------------


def _gap_marks(activity: Activity) -> str:
    """The number of each gap at its place."""
    columns = len(activity.edges_ns) - 1
    span = activity.last_ns - activity.first_ns
    cells = [" "] * columns
    for number, gap in enumerate(activity.gaps, 1):
        begin = (gap.begin_ns - activity.first_ns) * columns // span
        end = (gap.begin_ns + round(gap.duration_us * 1000) - activity.first_ns) * columns // span
        for place in range(begin + 1, end):
            cells[place] = "─"
        place = max(min((begin + end) // 2, columns - 2), 0)
        place += cells[place - 1].isdigit()  # else two numbers read as one
        cells[min(place, columns - 1)] = str(number)
    return "".join(cells)


def _gaps(activity: Activity, slices: Slices, console: Console) -> None:
    if not activity.gaps:
        return
    console.print()
    what = "without ops" if activity.whole else "in this selection"
    console.print(text(f"Longest gaps {what}, in time order", "bold"), soft_wrap=True)
    for number, gap in enumerate(activity.gaps, 1):
        print_paragraph(gap_text(gap, slices.clock), console, f"  {number}: ")


def gap_text(gap: Gap, clock: str) -> str:
    """How long nothing ran, after and before what; what was traced and instantiated meanwhile."""
    size = (
        count_of(round(gap.duration_us), "line") if clock == "lines" else duration(gap.duration_us)
    )
    after = f", after log line {gap.after[0]:,} ({gap.after[1]})" if gap.after else ""
    before = f", before log line {gap.before[0]:,} ({gap.before[1]})" if gap.before else ""
    traced = f"{duration(gap.tracing)} of tracing" if gap.tracing else ""
    meanwhile = " and ".join(filter(None, (traced, _instantiated(gap.ready))))
    return f"{size}{after}{before}{', including ' if meanwhile else ''}{meanwhile}"


def _instantiated(functions: list[tuple[str, int | None]]) -> str:
    """What TensorFlow instantiated in a gap."""
    if not functions:
        return ""
    times = [us for _, us in functions if us is not None]
    took = f" ({duration(sum(times))})" if times else ""
    who = functions[0][0] if len(functions) == 1 else count_of(len(functions), "function")
    return f"the instantiation of {who}{took}"


def _legend(activity: Activity, slices: Slices, console: Console) -> None:
    console.print()
    what = "lines" if slices.clock == "lines" else "time"
    parts = [
        f"{_BLOCKS} fraction of the column's {what} during which anything in the row was running"
    ]
    if any(lane.traced for lane in activity.lanes):
        parts.append("T first call after tracing")
    if any(sum(lane.begun) for lane in activity.lanes):
        parts.append("│ started; no end in the log")
    if any(lane.total_us is not None for lane in activity.lanes):
        parts.append("busy: that fraction of the whole run; logged time: sum of durations")
    print_paragraph(" · ".join(parts), console)
