"""Primitives beside the executions they belong to: the columns that the other tables show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.onednn_header import header_facts
from tflogscope.grammar.rewriters import ONEDNN, REWRITERS
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.figures import rounded, summed
from tflogscope.model.common.frames import alike, first_with, only, rows, where
from tflogscope.model.common.verbose import verbose_facts
from tflogscope.model.executions.executions import Executions, spelled
from tflogscope.model.links.candidates import families
from tflogscope.model.links.kernels import REORDERING

_LINKS = {"at": pl.Int64, "execution": pl.Int64, "link": pl.String}


@dataclass(eq=False, repr=False)
class Linked:
    """Which execution each line belongs to, and how sure that is.

    `links`: at, execution (row of `Executions.frame`, null: none), link and library (whose it is:
    oneDNN, or that of a plug-in), a row per row of `Events.primitives`. `lines`: the same of `exec`
    lines, with duration_us, implementation and primitive.
    """

    links: pl.DataFrame
    lines: pl.DataFrame
    height: int
    """Of `Executions.frame`."""

    def of(self, library: str) -> Linked:
        """The lines of one library only."""
        return replace(self, lines=only(self.lines, self.lines["library"] == library))

    @cached_property
    def executions(self) -> pl.DataFrame:
        """Executions that ran lines: execution (ascending), primitives, primitive_us."""
        grouped = only(self.lines, self.lines["execution"] >= 0).group_by("execution")
        time = summed("duration_us")
        ran = grouped.agg(primitives=pl.len().cast(pl.UInt32), primitive_us=time)
        return rows(ran, np.argsort(ran["execution"].to_numpy()))

    @cached_property
    def by_execution(self) -> pl.DataFrame:
        """Return per row of `Executions.frame` primitives, how many it ran, and primitive_us."""
        ran = self.executions
        row = ran["execution"].to_numpy()
        count = np.zeros(self.height, np.uint32)
        count[row] = ran["primitives"].to_numpy()
        time = rows(ran["primitive_us"], first_with(row, self.height))
        return pl.DataFrame([pl.Series("primitives", count), time])


def read_links(events: Events, executions: Executions) -> Linked:
    """Link all primitives of a log."""
    primitives = events.primitives
    if primitives.is_empty():
        links = pl.DataFrame(schema=_LINKS)
    else:  # most logs have no line of oneDNN
        from tflogscope.model.links.linker import link_primitives

        links = link_primitives(events, executions)
    names = {rewriter.id: rewriter.name for rewriter in REWRITERS}
    marker = primitives["marker"]
    library = marker.replace_strict(names, default=ONEDNN, return_dtype=pl.String)
    links = links.hstack([library.alias("library")])
    columns = primitives[["duration_us", "implementation", "primitive", "problem"]]
    lines = only(links.hstack(columns), primitives["event"] == "exec")
    return Linked(links, lines, executions.frame.height)


def onednn_facts(
    events: Events, executions: Executions, linked: Linked, work: pl.Series
) -> Entry | None:
    """What oneDNN ran: by primitive and implementation, reorders, first use, links.

    The frames have count and us (µs), the most time first; `reorders` are by the node and kernel
    that caused them. `links` counts the lines by how certain their op is. `first_use` has
    first and later runs of each problem that ran again: its shape, types, layouts and way. `ops`
    are executions that ran primitives. `work`: what each execution took, see `Costs.known`. None
    if the log has no verbose line of oneDNN.
    """
    primitives = only(events.primitives, linked.links["library"] == ONEDNN)
    if primitives.is_empty():
        return None
    linked = linked.of(ONEDNN)
    lines, ran = linked.lines, linked.executions
    signature, took = (rows(of, ran["execution"]) for of in (executions.signature, work))
    # A call that ran primitives itself was compiled by XLA, which is in its duration, too.
    is_call = (executions.signatures["kind"] == "call")[signature]
    timed = where(~is_call & (took >= 0))
    first, later = _first_and_later(primitives)
    times = (
        lines["duration_us"],
        rows(took, timed),
        rows(ran["primitive_us"], timed),
        first,
        later,
    )
    sums = pl.select(rounded(pl.lit(time).sum()).alias(str(n)) for n, time in enumerate(times))
    total_us, time_us, primitive_us, first_us, later_us = sums.row(0)
    implementations = _by(lines, "primitive", "implementation")
    event = primitives["event"]
    return Entry(
        header=Entry(header_facts(primitives)._asdict()),
        exec_lines=lines.height,
        total_us=total_us,
        links=_counts(lines["link"]),
        primitives=_by(lines, "primitive"),
        implementations=implementations,
        reference_implementations=_by(lines.filter(IS_REFERENCE), "primitive", "implementation"),
        reorders=_reorders(executions, lines),
        first_use=Entry(
            problems=len(first), first_us=first_us, later_runs=len(later), later_us=later_us
        ),
        created=_by(only(primitives, event.str.starts_with("create:")), "event"),
        ops=Entry(executions=len(timed), time_us=time_us, primitive_us=primitive_us),
        unparsed=int((event == "unparsed").sum()),
        verbose=verbose_facts(events),
    )


def library_facts(linked: Linked) -> list[Entry]:
    """What the libraries of plug-ins ran. A time is None where no line has one."""
    libraries = []
    time = summed("duration_us")
    for name in sorted({*linked.lines["library"].unique()} - {ONEDNN}):
        lines = linked.of(name).lines
        libraries.append(
            Entry(
                library=name,
                exec_lines=lines.height,
                total_us=lines.select(time).item(),
                links=_counts(lines["link"]),
                implementations=_by(lines, "primitive", "implementation", time=time),
            )
        )
    return libraries


# Implementations that oneDNN has for completeness, not for speed: src/cpu/ref_*. Of those called
# simple only reorders' are tried last (src/cpu/reorder); those of concat and sum come first.
# A tensor with a size of 0 has nothing to work on: oneDNN takes `ref` for it, whatever the kernel.
_NAMED = pl.col("implementation").str
_IS_EMPTY = pl.col("problem").str.contains(r"(?:^|[x:])0(?:[x:]|$)|mb0(?:\D|$)")
IS_REFERENCE = ~_IS_EMPTY.fill_null(value=False) & (
    _NAMED.contains(r"(?:^|[:_])ref(?:[:_]|$)")
    | (_NAMED.contains(r"(?:^|[:_])simple(?:[:_]|$)") & (pl.col("primitive") == "reorder"))
)


_TIME = rounded(pl.col("duration_us").sum())


def _counts(links: pl.Series) -> dict[str, int]:
    return dict(sorted(links.value_counts().rows()))


def _by(lines: pl.DataFrame, *keys: str, time: pl.Expr = _TIME) -> pl.DataFrame:
    grouped = lines.group_by(*keys).agg(count=pl.len(), us=time)
    descending = [True, *[False] * len(keys)]
    return grouped.sort("us", *keys, descending=descending, nulls_last=True)


def _reorders(executions: Executions, lines: pl.DataFrame) -> pl.DataFrame:
    """Reorders by the node that caused them, the costliest first.

    What transposes and quantizes for the program is left out: no layout is changed there.
    """
    reorders = only(lines, (lines["primitive"] == "reorder") & (lines["execution"] >= 0))
    deliberate = np.isin(families(executions)[reorders["execution"].to_numpy()], REORDERING)
    reorders = rows(reorders, np.flatnonzero(~deliberate))
    names = executions.columns("node", "kernel", rows=reorders["execution"])
    return _by(reorders.hstack(spelled(names)), "node", "kernel")


# What oneDNN makes another primitive for (src/common/primitive_hashing.hpp, key_t).
_PROBLEM = [
    *("primitive", "implementation", "prop_kind", "memory_descriptors"),
    *("attributes", "auxiliary", "problem"),
]


def _first_and_later(primitives: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Times in µs of problems that were run more than once: of the first runs, of the others."""
    timed = where((primitives["event"] == "exec") & (primitives["duration_us"] >= 0))
    runs = rows(primitives[["duration_us", *_PROBLEM]], timed)
    runs = only(runs, runs[_PROBLEM].is_duplicated())
    (problem,) = alike(runs[_PROBLEM])
    is_first = np.zeros(len(problem), bool)
    is_first[np.unique(problem, return_index=True)[1]] = True
    time = runs["duration_us"]
    return rows(time, np.flatnonzero(is_first)), rows(time, np.flatnonzero(~is_first))
