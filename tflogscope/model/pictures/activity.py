"""How busy a run was over time: lanes of shares per part of the time, and gaps in which nothing
ran.

What the terminal's timeline draws; all times are ns from the begin of the picture's slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tflogscope.model.common.frames import Integers, first_of_each
from tflogscope.model.common.intervals import covered, gaps, open_time, parts
from tflogscope.model.slices.preparations import SHORT_KINDS

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_FUNCTIONS = 8  # lanes of calls; the others share one
_KERNELS = 6  # lanes of single kernels on either side, where a part of the run is looked at
_GAPS = 5
_REWRITTEN = "oneDNN kernels"  # and those of plug-ins, whose names take its place
_OTHERS = "other kernels"  # shown as those that are not of these
_TICK = 1000  # ns: the log's clock does not tick more often
_LEAST_GAP = 0.01  # of the time shown


@dataclass(frozen=True)
class Lane:
    """One line of the picture.

    `busy`: of each part of the time the share in which it was open, 0 to 1. `begun`: how many
    began in it whose end is not known. `traced`: parts in which a function's first call began,
    which it was traced and instantiated for. `total_us`: summed; None: no duration is known.
    `kind`: group and name as they are in a log without plug-ins, which its colour goes by.
    """

    kind: tuple[str, str]
    group: str
    name: str
    runs: int
    total_us: float | None
    busy_time: float
    busy: list[float]
    begun: list[int]
    traced: list[int]


@dataclass(frozen=True)
class Gap:
    """A time in which nothing ran, and what stands before and after it in the log (None: nothing).

    `tracing`: for how many µs Python was tracing a function, as far as the log shows. `ready`:
    functions that TensorFlow instantiated in it, with the time that took in µs.
    """

    begin_ns: int
    duration_us: float
    after: tuple[int, str] | None
    before: tuple[int, str] | None
    tracing: float
    ready: list[tuple[str, int | None]]


@dataclass(frozen=True)
class Activity:
    """The whole picture, from `first_ns` to `last_ns`; `edges_ns` are those of its parts.

    `whole`: all that ran then is in it, not only what was asked for.
    """

    first_ns: int
    last_ns: int
    edges_ns: list[int]
    lanes: list[Lane]
    all: Lane
    gaps: list[Gap]
    whole: bool


def read_activity(
    run: Run,
    numbers: pl.Series | None,
    columns: Callable[[list[str]], int],
    *,
    first: int | None = None,
    last: int | None = None,
) -> Activity:
    """Work out the picture.

    Args:
        run: the run.
        numbers: those of the rows of its timeline to show; None: all, and primitives whose op is
            not known.
        columns: given the names of the lanes, into how many parts to cut the time; there are fewer
            if it has fewer µs.
        first: where to begin, in ns of `run.slices`; None: with the first row.
        last: where to end; None: with the last row.
    """
    slices = run.slices
    frame, whole = slices.frame, numbers is None
    if numbers is not None:
        frame = frame.filter(pl.col("row").is_in(numbers.implode()))
    if first is None:
        first = int(frame["begin_ns"].to_numpy().min()) if frame.height else 0
    if last is None:
        last = int(frame["end_ns"].to_numpy().max()) if frame.height else 0
    last = max(last, first + 1)
    shown = frame.filter((pl.col("begin_ns") <= last) & (pl.col("end_ns") >= first))
    is_primitive = shown["primitive"].is_not_null()
    inner, shown = shown.filter(is_primitive), shown.filter(~is_primitive)
    named = list(_parts(shown, slices.texts, one_by_one=not whole))
    kernels = f"{' and '.join(run.rewriters.kernels)} kernels"
    others = f"non-{kernels}" if len(run.rewriters.kernels) == 1 else _OTHERS
    shown_as = {_REWRITTEN: kernels, _OTHERS: others}
    names = [shown_as.get(name, name) for _, name, _ in named]
    prepared = [kind for kind in SHORT_KINDS if whole and _prepared(run, kind).height]
    shown_names = [*(SHORT_KINDS[kind] for kind in prepared), *names]
    edges = parts(first, last, columns(shown_names), _TICK)
    traced = _traced(run)
    # What came before functions ran has no rows, so no gap ends at it.
    before = [("", SHORT_KINDS[kind], _prepared(run, kind)) for kind in prepared]
    lanes = [
        replace(_lane(group, name, part, edges, traced), name=shown_name)
        for (group, name, part), shown_name in zip([*before, *named], shown_names, strict=True)
    ]
    # A function that another one calls is traced within it.
    of_tracing = ("", SHORT_KINDS["tracing"])
    lanes = [
        replace(lane, total_us=lane.busy_time) if lane.kind == of_tracing else lane
        for lane in lanes
    ]
    if inner.height:
        lanes.append(_primitives(run, inner, edges))
    all_ = pl.concat([shown.select(_TIMES), inner.select(_TIMES)])
    return Activity(
        first_ns=first,
        last_ns=last,
        edges_ns=edges.tolist(),
        lanes=lanes,
        all=_lane("all", "any op or call", all_, edges, traced),
        gaps=_gaps(run, shown, all_, first, last),
        whole=whole,
    )


_TIMES = ("row", "begin_ns", "end_ns", "has_end")
_Part = tuple[str, str, pl.DataFrame]


def _parts(shown: pl.DataFrame, texts: pl.DataFrame, *, one_by_one: bool) -> Iterator[_Part]:
    """The lanes that are not empty: group, name, slices."""
    rewritten = pl.col("rewrite") != "none"
    eager = (pl.col("mode") == "eager") & (pl.col("kind") == "op")
    cause = pl.col("cause").fill_null("")
    of_data = (pl.col("mode") == "graph") & (cause == "dataset-function")
    folding = (pl.col("mode") == "graph") & (cause == "constant-folding")
    inside = (pl.col("mode") == "graph") & ~of_data & ~folding

    def of(fits: pl.Expr) -> pl.DataFrame:
        return shown.filter(texts.select(fits).to_series().gather(shown["text"]))

    named = [
        ("eager", "ops", of(eager & ~rewritten)),
        ("eager", _REWRITTEN, of(eager & rewritten)),
    ]
    calls = of(pl.col("kind") == "call")
    named += [("calls", name, part) for name, part in _by_function(calls, texts)]
    for name, fits in (
        (_REWRITTEN, inside & rewritten),
        (_OTHERS, inside & ~rewritten),
    ):
        named.append(("graph", name, of(fits)))
        if one_by_one:
            ops = of(fits & (pl.col("kind") == "op"))
            named += [("", f" {kernel}", part) for kernel, part in _by_kernel(ops, texts)]
    named += [("graph", "tf.data", of(of_data)), ("graph", "constant folding", of(folding))]
    yield from (part for part in named if part[2].height)


def _by_function(calls: pl.DataFrame, texts: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Calls by function, all traces of one name together, in the order of their first calls."""
    flavour = pl.when(pl.col("flavour").is_in(["forward", "backward"])).then("flavour")
    function = pl.coalesce("function", "op", pl.lit("?"))
    name = texts.select(name=pl.concat_str(function, flavour, separator=", ", ignore_nulls=True))
    named = calls.with_columns(name["name"].gather(calls["text"]))
    most = _most(named)
    count = _FUNCTIONS if len(most) <= _FUNCTIONS else _FUNCTIONS - 1
    kept, rest = most.head(count), most.slice(count)
    groups = named.filter(pl.col("name").is_in(kept.implode())).group_by(
        "name", maintain_order=True
    )
    lanes = [(str(one), part) for (one,), part in groups]
    if len(rest):
        others = named.filter(pl.col("name").is_in(rest.implode()))
        lanes.append((f"{len(rest)} other functions", others))
    return lanes


def _by_kernel(ops: pl.DataFrame, texts: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The kernels that took most time (where none is known, that ran most), each apart."""
    kernel = texts["kernel"].fill_null("(cut off)").gather(ops["text"])
    named = ops.with_columns(name=kernel)
    most = _most(named)
    if len(most) < 2:
        return []
    return [(name, named.filter(pl.col("name") == name)) for name in most.head(_KERNELS)]


def _most(named: pl.DataFrame) -> pl.Series:
    """The names by the time they took, the most first; then by how often they ran."""
    time = (pl.col("end_ns") - pl.col("begin_ns")).sum()
    summed = named.group_by("name").agg(time=time, runs=pl.len())
    return summed.sort("time", "runs", "name", descending=[True, True, False])["name"]


def _traced(run: Run) -> Integers:
    """When the first call of each function began that the log shows being instantiated."""
    slices = run.slices
    names = ["function", "function_uid", "flavour"]
    made = run.functions.drop_nulls("instantiated_line").select(names).unique()
    is_call = slices.texts.select(pl.col("kind") == "call").to_series()
    calls = slices.frame.filter(is_call.gather(slices.frame["text"])).sort("row")
    names_of = slices.texts.select("op", *names).select(pl.all().gather(calls["text"]))
    first = first_of_each(calls[["begin_ns"]].hstack(names_of), "op")
    return first.join(made, on=names, how="semi", nulls_equal=True)["begin_ns"].to_numpy()


def _lane(group: str, name: str, part: pl.DataFrame, edges: Integers, traced: Integers) -> Lane:
    begin, end = part["begin_ns"].to_numpy(), part["end_ns"].to_numpy()
    timed = part["has_end"].to_numpy()
    time = covered(begin[timed], end[timed], edges)
    ended = timed.any()
    marked = np.intersect1d(begin, traced) if group == "calls" else begin[:0]
    return Lane(
        kind=(group, name),
        group=group,
        name=name,
        runs=part.height,
        total_us=float(open_time(begin[timed], end[timed], edges).sum() / 1000) if ended else None,
        busy_time=float(time.sum() / 1000),
        busy=(time / np.diff(edges)).tolist(),
        begun=np.bincount(_places(begin[~timed], edges), minlength=len(edges) - 1).tolist(),
        traced=np.unique(_places(marked, edges)).tolist(),
    )


def _places(times: Integers, edges: Integers) -> Integers:
    """The part of the time that each moment is in; moments outside are dropped."""
    inside = times[(times >= edges[0]) & (times <= edges[-1])]
    place = np.searchsorted(edges, inside, side="right") - 1
    places: Integers = np.minimum(place, len(edges) - 2)
    return places


def _prepared(run: Run, kind: str) -> pl.DataFrame:
    """When that was done before functions ran: begin_ns, end_ns, has_end; empty without times."""
    origin = run.slices.origin
    prepared = run.preparations.filter(kind=kind) if run.slices.clock == "time" else pl.DataFrame()
    if origin is None or prepared.is_empty():
        return pl.DataFrame(schema={"begin_ns": pl.Int64, "end_ns": pl.Int64})
    times = (pl.col("begin", "end") - origin) * 1000
    return prepared.select(times.name.suffix("_ns"), has_end=pl.lit(value=True))


def _primitives(run: Run, inner: pl.DataFrame, edges: Integers) -> Lane:
    """The lane of primitives: their own durations, not those drawn; named after their library."""
    libraries = run.rewriters.primitives
    lane = _lane("oneDNN", "primitives", inner, edges, np.zeros(0, np.int64))
    us = run.primitives["duration_us"].gather(inner["primitive"]).sum()
    group = libraries[0] if len(libraries) == 1 else ""
    return replace(lane, group=group, total_us=float(us))


def _gaps(run: Run, shown: pl.DataFrame, all_: pl.DataFrame, first: int, last: int) -> list[Gap]:
    begin, end = gaps(all_["begin_ns"].to_numpy(), all_["end_ns"].to_numpy(), first, last)
    order = np.argsort(begin - end, kind="stable")[:_GAPS]
    order = np.sort(order[(end - begin)[order] > _LEAST_GAP * (last - first)])
    traced = _prepared(run, "tracing")
    return [_gap(run, shown, traced, int(begin[one]), int(end[one])) for one in order]


def _gap(run: Run, shown: pl.DataFrame, traced: pl.DataFrame, begin: int, end: int) -> Gap:
    earlier = shown.filter(pl.col("end_ns") <= begin).top_k(1, by="end_ns")
    later = shown.filter(pl.col("begin_ns") >= end).head(1)
    texts = run.slices.texts
    after = _place(earlier, pl.coalesce("end_line", "line"), texts)
    before = _place(later, pl.col("line"), texts)
    between = (after[0], before[0]) if after and before else (0, 0)
    inside = run.functions.filter(pl.col("instantiated_line").is_between(*between))
    uid = pl.when(pl.col("function_uid").is_not_null()).then(pl.format("_{}", "function_uid"))
    ready = inside.select(
        pl.concat_str(pl.col("function").fill_null("?"), uid, ignore_nulls=True),
        "instantiation_us",
    )
    since, until = (traced[edge].to_numpy() for edge in ("begin_ns", "end_ns"))
    tracing_ns = covered(since, until, np.array([begin, end])).sum()
    return Gap(begin, (end - begin) / 1000, after, before, float(tracing_ns) / 1000, ready.rows())


def _place(slice_: pl.DataFrame, line: pl.Expr, texts: pl.DataFrame) -> tuple[int, str] | None:
    if slice_.is_empty():
        return None
    text = texts.row(int(slice_["text"][0]), named=True)
    op = "(cut off)" if text["op"] is None else str(text["op"])
    name = op if text["python"] is None else f"{op}, {text['python']}"
    return int(slice_.select(line).item()), name
