"""What every trace format says of a slice: its name, its category, its arguments.

Slices are many and what they say in words is little: `texts` holds the distinct ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tflogscope.grammar.rewriters import BY_ID, ONEDNN, REWRITERS
from tflogscope.model.intervals import open_time, parts
from tflogscope.model.slices.preparations import MODE

if TYPE_CHECKING:
    from tflogscope.model.run import Run
    from tflogscope.model.slices.slices import Slices

OF_OPS = (
    "op",
    "kernel",
    "rewrite",
    "node",
    "function",
    "device",
    "status",
    "cause",
    "python",
    "source",
)
OF_PRIMITIVES = (
    "implementation",
    "prop_kind",
    "problem",
    "memory_descriptors",
    "attributes",
    "auxiliary",
    "link",
    "drawn",
)
TEXTS = (*OF_OPS, *OF_PRIMITIVES)
NUMBERS = ("line", "end_line", "op_line", "call", "step")
PART_ROWS = 20_000  # written at once: the memory that it takes is not to be seen
_SHARES = 1000  # values of the share of rewritten ops: more than a screen has pixels
_LIBRARY_IDS = {ONEDNN: "onednn"} | {each.name: each.id for each in REWRITERS}
_DRAWN = {True: "from its line: the log does not say when it ran", False: None}


@dataclass(frozen=True)
class TraceRows:
    """A run for a trace viewer.

    `slices` is the layout. `frame` has a row for each of its slices, in the same order: text (row
    of `texts`), the columns of NUMBERS, and duration_us, what a primitive's line says; null: none.
    `texts`: name, category, the columns of TEXTS, and stack (row of `stacks`); a null is not an
    argument.
    `stacks`: lists of frames of the program, the outermost first.
    `open_ops`, where it changes: ns, eager, graph, how many ops are open from then on.
    `rewritten_share`, for equal parts of the time: ns, percent, of the time of ops that part of
    those rewritten; 0 where none ran. `kernels`: whose they were rewritten to.
    """

    slices: Slices
    frame: pl.DataFrame
    texts: pl.DataFrame
    stacks: pl.Series
    open_ops: pl.DataFrame
    rewritten_share: pl.DataFrame
    kernels: str
    about: dict[str, str]


def trace_rows(run: Run, made_by: str, *, only_ran: bool = False) -> TraceRows:
    """Collect what a trace is made of.

    Args:
        run: the run.
        made_by: the program and its version.
        only_ran: leave out how functions were made ready, as sums of time need it.
    """
    slices = run.slices if only_ran else run.drawn
    primitives, primitive_texts = _primitives(slices.frame, run.linked_primitives)
    op_texts = _op_texts(slices.texts)
    facts = slices.frame.select("text", "line", "end_line", "call", "step")
    if primitives.height:
        facts = facts.with_row_index("slice").join(
            primitives, on="slice", how="left", maintain_order="left"
        )
        facts = facts.with_columns(
            text=pl.coalesce("text", pl.col("primitive_text") + op_texts.height),
            line=pl.coalesce("line", "primitive_line"),
        )
    else:
        facts = facts.with_columns(
            op_line=pl.lit(None, pl.UInt64), duration_us=pl.lit(None, pl.Float64)
        )
    is_op, is_graph, is_rewritten = _kinds(slices)
    return TraceRows(
        slices=slices,
        frame=facts.select("text", *NUMBERS, "duration_us"),
        texts=pl.concat([op_texts, primitive_texts], how="diagonal"),
        stacks=run.stacks["frames"].str.split(";").list.reverse(),
        open_ops=_open_ops(slices.frame, is_op, is_graph),
        rewritten_share=_rewritten_share(slices.frame, is_op, is_rewritten),
        kernels=" and ".join(run.rewriters.kernels),
        about=_about(run, slices, made_by),
    )


def _about(run: Run, slices: Slices, made_by: str) -> dict[str, str]:
    """What the trace is of, and what is not in it."""
    axis = {
        "time": "time",
        "lines": "the log has no times: a line counts as 1 µs",
        "durations": "the log has no times: primitives are drawn back to back",
    }
    about = {
        "made_by": made_by,
        "log": ", ".join(run.coverage["source"].to_list()),
        "axis": axis[slices.clock],
        "not_drawn": "branches that were not taken; memory (__LOG_MEMORY__)",
    }
    if slices.origin_us is not None:
        about["begins_at"] = str(np.datetime64(slices.origin_us, "us"))
    if slices.left_out:
        about["left_out"] = f"{slices.left_out} executions without a time"
    return about


# ---- arguments -----------------------------------------------------------------------------------


def _op_texts(texts: pl.DataFrame) -> pl.DataFrame:
    """Name, category and arguments of executions."""
    uid = pl.when(pl.col("function_uid").is_not_null()).then(pl.format("_{}", "function_uid"))
    several = texts["source"].n_unique() > 1
    is_rewritten, is_call = pl.col("rewrite") != "none", pl.col("kind") == "call"
    own = pl.when(pl.col("kind") != "op").then(pl.concat_str(pl.lit(","), "kind"))
    by_plugin = pl.col("rewrite").is_in(list(BY_ID))
    whose = pl.when(by_plugin).then("rewrite").otherwise(pl.lit("onednn"))
    onednn = pl.when(is_rewritten).then("," + whose)
    named = texts.with_columns(
        function=pl.when(pl.col("function").is_not_null()).then(
            pl.concat_str("function", uid, ignore_nulls=True)
        )
    )
    named_after = pl.coalesce("function", "op")
    prepared = pl.concat_str("kind", named_after, separator=": ", ignore_nulls=True)
    name = (
        pl.when(is_call)
        .then(named_after)
        .when(pl.col("mode") == MODE)
        .then(prepared)
        .otherwise("kernel")
    )
    return named.with_columns(
        name=pl.coalesce(name, pl.lit("(cut off)")),
        category=pl.concat_str("mode", own, onednn, ignore_nulls=True),
        kernel=pl.when(~is_call).then("kernel"),
        rewrite=pl.when(is_rewritten).then("rewrite"),
        source=pl.when(pl.lit(several)).then("source"),
    ).select("name", "category", *OF_OPS, "stack")


def _primitives(frame: pl.DataFrame, primitives: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Slices of primitives: slice, primitive_text and numbers; and their distinct texts."""
    mine = frame.select("primitive", "placed").with_row_index("slice").drop_nulls("primitive")
    table = primitives.select(pl.all().gather(mine["primitive"])).with_columns(
        name=pl.coalesce("primitive", pl.lit("(no name)")),
        category=pl.format("{},primitive", pl.col("library").replace(_LIBRARY_IDS)),
        drawn=mine["placed"].replace_strict(_DRAWN, return_dtype=pl.String),
    )
    number, texts = _distinct(table.select("name", "category", *OF_PRIMITIVES))
    facts = table.select(
        mine["slice"],
        number.alias("primitive_text"),
        primitive_line="line",
        op_line="timeline_line",
        duration_us="duration_us",
    )
    return facts, texts


def _distinct(table: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """Per row the number of its values among the distinct ones, and these."""
    texts = table.unique(maintain_order=True).with_row_index("text")
    numbers = table.join(
        texts, on=table.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return numbers["text"].cast(pl.Int64), texts.drop("text")


# ---- counters ------------------------------------------------------------------------------------


def _kinds(slices: Slices) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Which slices are ops with an end, which of them run in graphs, which are rewritten."""
    kinds = slices.texts.select(
        op=pl.col("kind") == "op", graph=pl.col("mode") == "graph", made=pl.col("rewrite") != "none"
    )
    facts = kinds.select(pl.all().gather(slices.frame["text"]).fill_null(value=False))
    return facts["op"] & slices.frame["has_end"], facts["graph"], facts["made"]


def _open_ops(frame: pl.DataFrame, is_op: pl.Series, is_graph: pl.Series) -> pl.DataFrame:
    counted = []
    ops = frame.select("begin_ns", "end_ns").filter(is_op)
    of_graphs = is_graph.filter(is_op).to_numpy()
    begin, end = ops["begin_ns"].to_numpy(), ops["end_ns"].to_numpy()
    ns = np.unique(np.concatenate([begin, end]))
    for here in (~of_graphs, of_graphs):
        begun = np.searchsorted(np.sort(begin[here]), ns, side="right")
        counted.append(begun - np.searchsorted(np.sort(end[here]), ns, side="right"))
    return pl.DataFrame({"ns": ns, "eager": counted[0], "graph": counted[1]})


def _rewritten_share(
    frame: pl.DataFrame, is_op: pl.Series, is_rewritten: pl.Series
) -> pl.DataFrame:
    if not is_rewritten.any():
        return pl.DataFrame(schema={"ns": pl.Int64, "percent": pl.Float64})
    edges = parts(0, int(frame["end_ns"].to_numpy().max()), _SHARES)
    times = []
    for wanted in (is_op & is_rewritten, is_op):
        ops = frame.filter(wanted)
        times.append(open_time(ops["begin_ns"].to_numpy(), ops["end_ns"].to_numpy(), edges))
    percent = 100 * times[0] / np.maximum(times[1], 1)
    return pl.DataFrame({"ns": edges[:-1], "percent": np.round(percent, 1)})
