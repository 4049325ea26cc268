"""The screen of `tflogscope watch`: lines of text, as many and as wide as the terminal has."""

from __future__ import annotations

import io
import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tflogscope.grammar.rewriters import ONEDNN
from tflogscope.live.figures import Figures
from tflogscope.model.figures import count_of, duration, percent, size_of
from tflogscope.views.explain import explain_document
from tflogscope.views.grid import GridColumn, grid_rows
from tflogscope.views.terminal import NAME_WIDTH, STYLES, draw
from tflogscope.views.text import make_console, safe, shorten, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tflogscope.live.figures import Row
    from tflogscope.live.hints import Hints

SORTS = {"time": ("us", "runs"), "runs": ("runs", "us"), "eager": ("eager", "us")}
"""The columns of ops that they can be sorted by."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_SETTLED = 0.5  # seconds without a line until all lines have been read
_LONG_US = 1000  # by the log's clock: then an op runs on
_QUIET = 2.0  # seconds without a line until that is said
_LABEL = 8
_FUNCTIONS, _FINDINGS, _LEAST_OPS = 4, 3, 3
_LOW = 24  # lines of a terminal that has room for one finding
_INDENT = 11  # of a finding's second line
_NAME_KEEPS = 10  # cells


@dataclass
class Watched:
    """What is watched."""

    name: str
    hints: Hints
    figures: Figures = field(default_factory=Figures)
    findings: Sequence[Row] = ()
    bytes: int = 0
    lines: int = 0
    rate: float = 0.0
    """Bytes of text each second, of the last seconds."""
    quiet: float = 0.0
    """Seconds since the last new line."""
    undated: float = 0.0
    """Seconds since the last line with a later time."""
    times: int = 1
    """How often the log began."""
    ended: bool = False
    process: str = ""
    """Which of the log's processes it is: `rank 0`."""


@dataclass
class Shown:
    """What of it is shown, and how."""

    sort: str = "time"
    filter: str = ""
    typing: bool = False
    paused: bool = False
    chosen: str | None = None
    """The op that keys have chosen; None: the first one."""
    explained: list[Text] | None = None
    """An answer in the place of the figures."""
    first: int = 0
    """Its first line that is shown."""
    said: str = ""
    """What came of the last key."""
    ops: list[str] = field(default_factory=list)
    """Names of the ops, in their order."""

    @property
    def place(self) -> int:
        """Which of the ops is chosen."""
        return self.ops.index(self.chosen) if self.chosen in self.ops else 0


def watch_lines(watched: Watched, shown: Shown, width: int, height: int) -> list[Text]:
    """The lines of the screen; nothing of the log in them has an effect."""
    keys = _keys(shown)
    if shown.explained is not None:
        shown.first = max(0, min(shown.first, len(shown.explained) - height + 1))
        lines = shown.explained[shown.first : shown.first + height - 1]
    else:
        head = [_title(watched), _now(watched), _lines(watched), *_strips(watched, width)]
        head += _onednn(watched.figures)
        functions = _functions(watched.figures, width)
        findings = _findings(watched, width, _FINDINGS if height > _LOW else 1)
        room = height - 1 - len(head) - len(functions) - len(findings)
        ops = _ops(watched.figures, shown, width, max(room, _LEAST_OPS + 2))
        lines = [*head, *functions, *ops, *findings][: height - 1]
    lines = [*lines, *[Text()] * (height - 1 - len(lines)), keys]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
        line.truncate(width, overflow="ellipsis")
    return lines


def explanation(facts: dict[str, Any], width: int, *, colour: bool) -> list[Text]:
    """The lines of `tflogscope explain`."""
    console = make_console(io.StringIO(), colour=colour)
    console.width = width
    with console.capture() as screen:
        draw(explain_document(facts), console)
    return [Text.from_ansi(line) for line in screen.get().split("\n")]


# ---- the log ------------------------------------------------------------------------------------


def _title(watched: Watched) -> Text:
    rate = f" · {size_of(int(watched.rate))} a second" if watched.rate else ""
    again = f" · began {watched.times} times" if watched.times > 1 else ""
    name = "standard input" if watched.name == "-" else watched.name
    line = text(shorten(safe(name), NAME_WIDTH), "bold")
    process = f" · {shorten(safe(watched.process), NAME_WIDTH)}" if watched.process else ""
    said = f"{process} · {size_of(watched.bytes)}, {count_of(watched.lines, 'line')}{rate}{again}"
    return line.append_text(text(said))


def _now(watched: Watched) -> Text:
    """What goes on: what is instantiated, traced or run, or that nothing comes."""
    hints, last = watched.hints, watched.hints.last
    since = [
        (f"{_name(name)} is being instantiated", at) for name, at in hints.begun("instantiation")
    ]
    said = []
    if hints.node is not None:
        said.append(f"Python adds nodes to a graph, the last one {_name(hints.node)}")
    elif hints.tracing is not None:
        since.append(("Python seems to trace a function", hints.tracing))
    # The end of an op may be in the last lines, which are read when nothing comes for a while.
    quiet = watched.quiet if watched.quiet >= _SETTLED else 0.0
    eager = watched.figures.running if watched.figures.lines == watched.lines else ()
    long = [(name, at) for name, at in eager if quiet or (at and last and last - at >= _LONG_US)]
    since += [(f"{_name(name)} runs", at) for name, at in [*hints.begun("call"), *long]]
    for what, at in since:
        if at is None or last is None:
            said.append(what)
        else:
            took = duration(max(last - at, 0) + round(quiet * 1e6))
            said.append(f"{what}, since {_clock(at)} ({took})")
    if watched.ended:
        said.append("the log has ended")
    elif watched.quiet >= _QUIET:
        said.append(f"no new line for {f'{int(quiet)} s' if quiet < 60 else duration(quiet * 1e6)}")
    elif not watched.lines:
        said.append("no line yet")
    return _labelled("now", " · ".join(said) or "nothing that the log shows", "bold")


def _clock(microseconds: int) -> str:
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%H:%M:%S}"


def _name(name: str) -> str:
    return shorten(name, NAME_WIDTH)


def _labelled(label: str, said: str, style: str = "") -> Text:
    return text(f"{label.ljust(_LABEL - 1)} ").append_text(text(said, style))


# ---- figures ------------------------------------------------------------------------------------


def _lines(watched: Watched) -> Text:
    """Of how much of the log the rest of the screen is."""
    if not watched.figures.lines:
        return text("no figures yet", "bold")
    return text(f"of the first {count_of(watched.figures.lines, 'line')}:", "bold")


def _strips(watched: Watched, width: int) -> list[Text]:
    """Ops that began in each of the last seconds; the number is of the last whole one."""
    lines = []
    count = max(10, width - _LABEL - 16)
    stopped = watched.ended or watched.undated >= _QUIET
    for mode, style in (("eager", STYLES["eager"]), ("graph", STYLES["graph"])):
        line = text(mode.ljust(_LABEL))
        if watched.hints.last is None:
            line.append("no record with a date yet")
        else:
            began = watched.figures.per_second[mode][-count:]
            rate = 0 if stopped else began[-2]
            line.append(_bars(began), style).append(f" {rate:,}/s")
        lines.append(line)
    return lines


def _bars(values: Sequence[float]) -> str:
    most = max(values, default=0)
    return "".join(
        _BLOCKS[max(math.ceil(value * len(_BLOCKS) / most) - 1, 0)] if value else " "
        for value in values
    )


def _onednn(figures: Figures) -> list[Text]:
    """The share of kernels, and primitives with their time."""
    ops, primitives = figures.ops, figures.primitives
    said = []
    for mode, what in (("graph", "nodes in graphs"), ("eager", "eager ops")):
        runs, us, rewritten, rewritten_us = (
            sum(op[mode + column] for op in ops)
            for column in ("", "_us", "_rewritten", "_rewritten_us")
        )
        if rewritten:
            time_ = f" ({percent(rewritten_us, us)} of time)" if rewritten_us else ""
            said.append(f"{percent(rewritten, runs)} of {what}{time_}")
    if primitives:
        took = duration(sum(each["us"] for each in primitives))
        some = ", ".join(f"{each['primitive']} {duration(each['us'])}" for each in primitives[:3])
        count = sum(each["runs"] for each in primitives)
        of_onednn = "" if figures.whose == ONEDNN else f" of {ONEDNN}"
        said.append(f"{count_of(count, 'primitive')}{of_onednn} in {took}: {some}")
    return [
        _labelled(
            figures.whose, " · ".join(said) or "nothing yet", STYLES["rewritten"] if said else ""
        )
    ]


def _functions(figures: Figures, width: int) -> list[Text]:
    """The functions that were called last, in the order of their first calls."""
    called = figures.functions
    if not called:
        return []
    since = sorted(each["last_call"] for each in called)[-_FUNCTIONS:][0]
    latest = [each for each in called if each["last_call"] >= since]
    more = f" ({len(latest)} of {len(called)})" if len(called) > len(latest) else ""
    columns = [
        GridColumn(f"calls of{more}", [_name(each["name"]) for each in latest], least=_NAME_KEEPS),
        GridColumn("calls", [f"{each['calls']:,}" for each in latest], is_number=True),
        GridColumn("last", [_time(*each["last_us"][-1:]) for each in latest], is_number=True),
        GridColumn("mean", [_time(each["mean_us"]) for each in latest], is_number=True),
        GridColumn("the last ones", [_bars(each["last_us"]) for each in latest]),
    ]
    return [Text(), *_grid(columns, width)]


def _grid(columns: list[GridColumn], width: int) -> list[Text]:
    (title, _rule, *rows), _ = grid_rows(columns, width)
    return [title, *rows]


def _ops(figures: Figures, shown: Shown, width: int, room: int) -> list[Text]:
    """The ops that the filter lets through, in the order that was chosen."""
    ops, whose = figures.ops, figures.whose
    asked = shown.filter.casefold()
    kept = [op for op in ops if asked in op["op"].casefold()]
    kept.sort(key=itemgetter("op"))
    kept.sort(key=itemgetter(*SORTS[shown.sort]), reverse=True)
    shown.ops = [op["op"] for op in kept]
    if not kept:
        said = f"no op has {shown.filter!r} in its name" if ops else "no op has run yet"
        return [Text(), text(said)]
    rows = max(room - 2, 1)
    place = shown.place
    first = max(0, min(place - rows // 2, len(kept) - rows))
    part = kept[first : first + rows]
    more = f" ({len(part)} of {len(kept)})" if len(kept) > len(part) else ""
    marks = [("› " if op is kept[place] else "  ") for op in part]
    names = [mark + _name(op["op"]) for mark, op in zip(marks, part, strict=True)]
    eager, graph, rewritten = (STYLES[tone] for tone in ("eager", "graph", "rewritten"))
    columns = [
        GridColumn(f"  op{more}", names, least=_NAME_KEEPS),
        GridColumn("eager", [_count(op["eager"]) for op in part], is_number=True, style=eager),
        GridColumn("time", [_time(op["eager_us"]) for op in part], is_number=True, style=eager),
        GridColumn("graph", [_count(op["graph"]) for op in part], is_number=True, style=graph),
        GridColumn("time", [_time(op["graph_us"]) for op in part], is_number=True, style=graph),
        GridColumn(whose, [_share(op) for op in part], is_number=True, stays=True, style=rewritten),
    ]
    lines = _grid(columns, width)
    lines[1 + place - first].stylize("bold")
    return [Text(), *lines]


def _count(count: int) -> str:
    return f"{count:,}" if count else ""


def _time(us: float | None = None) -> str:
    return duration(us) if us else ""


def _share(op: Row) -> str:
    rewritten = op["eager_rewritten"] + op["graph_rewritten"]
    return percent(rewritten, op["runs"]) if rewritten else ""


def _findings(watched: Watched, width: int, most: int) -> list[Text]:
    """What was found and since when, errors and warnings first."""
    if not watched.figures.lines:
        return []
    # Of course what runs right now has not ended.
    ended = watched.ended
    known = [each for each in watched.findings if ended or each["id"] != "unfinished"]
    serious = [each for each in known if each["severity"] != "note"]
    if not known:
        return [Text(), text("no finding")]
    lines = [Text(), text("findings", "bold")]
    for each in serious[:most]:
        is_error = each["severity"] == "error"
        since = time.strftime("%H:%M:%S", time.localtime(each["since"]))
        said = f"{since} {'!' if is_error else '-'} {each['text']}"
        first, *more = wrap(safe(said), max(width - _INDENT, _INDENT), max_lines=2, placeholder="…")
        style = STYLES["error"] if is_error else ""
        lines += [text(first, style), *(text(" " * _INDENT + line, style) for line in more)]
    rest = serious[most:] + [e for e in known if e["severity"] == "note"]
    if rest:
        are_notes = len(rest) == len(known) - len(serious)
        said = count_of(len(rest), "note") if are_notes else f"{len(rest)} more"
        lines.append(text(f"{said}: {', '.join(dict.fromkeys(e['id'] for e in rest))}"))
    return lines


def _keys(shown: Shown) -> Text:
    """The last line: what keys do."""
    if shown.typing:
        return text(f"only ops with: {shown.filter}▏ (enter: done, esc: all ops)", "bold")
    if shown.explained is not None:
        return text("q quit · esc back · ↑↓ more", "bold")
    said = [
        shown.said,
        "q quit",
        "p go on (paused)" if shown.paused else "p pause",
        f"s sort: {shown.sort}",
        f"/ filter: {shown.filter} (esc: all)" if shown.filter else "/ filter",
        "↑↓ enter explain",
    ]
    return text(" · ".join(filter(None, said)), "bold")
