"""Primitives beside the executions they belong to: the columns that the other tables show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.onednn_header import header_facts
from tflogscope.grammar.rewriters import ONEDNN, REWRITERS
from tflogscope.model.executions import Executions
from tflogscope.model.facts import FirstUse, Library, OneDNN, PrimitiveOps
from tflogscope.model.figures import rounded, summed
from tflogscope.model.links.kernels import REORDERING, families_of
from tflogscope.model.links.linker import link_primitives
from tflogscope.model.links.tensors import TensorOutputs


@dataclass(frozen=True)
class Linked:
    """Which execution each line belongs to, and how sure that is.

    `links`: at, execution (row of `Executions.frame`, null: none) and link, a row per row of
    `Events.primitives`. `lines`: the same of `exec` lines, with duration_us, implementation,
    primitive and library (whose it is: oneDNN, or that of a plug-in).
    """

    links: pl.DataFrame
    lines: pl.DataFrame

    def of(self, library: str) -> Linked:
        """The lines of one library only."""
        return replace(self, lines=self.lines.filter(library=library))

    @cached_property
    def executions(self) -> pl.DataFrame:
        """Executions that ran lines: execution (ascending), primitives, primitive_us."""
        found = self.lines.drop_nulls("execution").group_by("execution")
        return found.agg(
            primitives=pl.len().cast(pl.UInt32), primitive_us=summed("duration_us")
        ).sort("execution")

    def by_execution(self, executions: int) -> pl.DataFrame:
        """Return per row of `Executions.frame` how many lines it ran, and their time in µs."""
        rows = pl.DataFrame({"execution": pl.int_range(executions, dtype=pl.Int64, eager=True)})
        found = rows.join(self.executions, on="execution", how="left", maintain_order="left")
        return found.with_columns(pl.col("primitives").fill_null(0))


def read_links(events: Events, executions: Executions) -> Linked:
    """Link all primitives of a log."""
    rows = events.primitives
    tensors = events.tensors
    outputs = TensorOutputs(
        at=tensors["at"].to_numpy(),
        step=tensors["step"].to_numpy(),
        text=tensors["text"].to_numpy(),
        texts=events.tensor_texts,
    )
    links = link_primitives(events, executions, outputs)
    columns = rows.select(
        "event", "duration_us", "implementation", "primitive", library=library(rows)
    )
    lines = links.hstack(columns).filter(pl.col("event") == "exec").drop("event")
    return Linked(links, lines)


def library(primitives: pl.DataFrame) -> pl.Series:
    """Whose each line is: oneDNN's, or that of a plug-in's library."""
    names = {each.id: each.name for each in REWRITERS}
    return primitives["marker"].replace_strict(names, default=ONEDNN, return_dtype=pl.String)


def onednn_facts(events: Events, executions: Executions, linked: Linked) -> OneDNN | None:
    """What oneDNN ran: by primitive and implementation, reorders, first use, links.

    None if the log has no verbose line of oneDNN.
    """
    rows = events.primitives.filter(~_OF_PLUGINS)
    if rows.is_empty():
        return None
    linked = linked.of(ONEDNN)
    lines = linked.lines
    ran = linked.executions
    frame = executions.frame.select("duration_us", "signature")
    ran = ran.hstack(frame.select(pl.all().gather(ran["execution"].cast(pl.UInt32))))
    # A call that ran primitives itself was compiled by XLA, which is in its duration, too.
    is_call = pl.lit(executions.signatures["kind"] == "call").gather(pl.col("signature"))
    ran = ran.filter(~is_call)
    timed = ran.drop_nulls("duration_us")
    created = rows.filter(pl.col("event").str.starts_with("create:"))
    reference = lines.filter(pl.col("implementation").str.contains(REFERENCE))
    return OneDNN(
        header=header_facts(rows),
        exec_lines=lines.height,
        exec_us=_sum(lines["duration_us"]),
        links=dict(lines["link"].value_counts().sort("link").rows()),
        linked_us=_sum(lines.drop_nulls("execution")["duration_us"]),
        primitives=_by(lines, "primitive"),
        implementations=_by(lines, "primitive", "implementation"),
        reference_implementations=_by(reference, "primitive", "implementation"),
        reorders=_reorders(executions, lines),
        first_use=_first_use(rows),
        created=_by(created, "event"),
        ops=PrimitiveOps(
            executions=timed.height,
            total_us=int(timed["duration_us"].sum()),
            primitive_us=_sum(timed["primitive_us"]),
        ),
        unparsed=rows.filter(pl.col("event") == "unparsed").height,
    )


def library_facts(linked: Linked) -> list[Library]:
    """What the libraries of plug-ins ran. A time is None where no line has one."""
    found = []
    for name in linked.lines["library"].unique().sort():
        lines = linked.of(name).lines
        if name != ONEDNN:
            found.append(
                Library(
                    library=name,
                    exec_lines=lines.height,
                    exec_us=lines.select(summed("duration_us")).item(),
                    links=dict(lines["link"].value_counts().sort("link").rows()),
                    implementations=_by(
                        lines, "primitive", "implementation", time=summed("duration_us")
                    ),
                )
            )
    return found


_OF_PLUGINS = pl.col("marker").is_in([each.id for each in REWRITERS]).fill_null(value=False)

# Implementations that oneDNN has for completeness, not for speed (src/cpu/ref_*, simple_*).
REFERENCE = r"(?:^|[:_])(?:ref|simple)(?:[:_]|$)"


_TIME = rounded(pl.col("duration_us").sum())


def _sum(microseconds: pl.Series) -> float:
    return float(pl.select(rounded(pl.lit(microseconds).sum())).item())


def _by(lines: pl.DataFrame, *keys: str, time: pl.Expr = _TIME) -> pl.DataFrame:
    grouped = lines.group_by(*keys).agg(count=pl.len(), us=time)
    descending = [True, *[False] * len(keys)]
    return grouped.sort("us", *keys, descending=descending, nulls_last=True)


def _reorders(executions: Executions, lines: pl.DataFrame) -> pl.DataFrame:
    """Reorders by the node that caused them, the costliest first.

    What transposes and quantizes for the program is left out: no layout is changed there.
    """
    reorders = lines.filter((pl.col("primitive") == "reorder") & pl.col("execution").is_not_null())
    if reorders.is_empty():
        return pl.DataFrame(schema=("node", "kernel", "count", "us"))
    frame = executions.frame.select("definition", "signature")
    place = frame.select(pl.all().gather(reorders["execution"].cast(pl.UInt32)))
    nodes = executions.runs.definitions["node"].gather(place["definition"].cast(pl.UInt32))
    kernels = executions.signatures["kernel"].gather(place["signature"].cast(pl.UInt32))
    named = reorders.with_columns(node=nodes, kernel=kernels)
    named = named.filter(~pl.Series(families_of(kernels)).is_in(REORDERING))
    return _by(named, "node", "kernel")


def _first_use(rows: pl.DataFrame) -> FirstUse:
    """What the first run of each (primitive, problem) cost, and the later ones on average."""
    runs = rows.filter(pl.col("event") == "exec").drop_nulls("duration_us")
    # Most problems of a log may run once; and polars' windows are slow with keys that are strings.
    runs = runs.filter(pl.col("problem").is_duplicated())
    key = pl.struct("primitive", "implementation", "problem")
    ranked = runs.select(
        "duration_us", first=key.is_first_distinct(), again=key.is_duplicated()
    ).filter("again")
    first, later = ranked.filter("first"), ranked.filter(~pl.col("first"))
    return FirstUse(
        problems=first.height,
        first_us=_sum(first["duration_us"]),
        later_runs=later.height,
        later_us=_sum(later["duration_us"]),
    )
