"""What a trace says of a slice: its name, its category, its arguments.

Slices are many and what they say in words is little: the distinct texts are a frame of their own.
"""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.rewriters import BY_ID, ONEDNN, REWRITERS
from tflogscope.model.run import Run
from tflogscope.model.slices.preparations import MODE
from tflogscope.model.slices.slices import Slices

_OF_EXECUTIONS = (
    *("op", "kernel", "rewrite", "node", "function", "device", "status", "cause", "python"),
    "source",
)
_OF_PRIMITIVES = (
    *("implementation", "prop_kind", "problem", "memory_descriptors", "attributes", "auxiliary"),
    *("link", "drawn"),
)
TEXTS = (*_OF_EXECUTIONS, *_OF_PRIMITIVES)
_DRAWN = {True: "from its line: the log does not say when it ran", False: None}
_LIBRARY_IDS = {ONEDNN: "onednn"} | {rewriter.name: rewriter.id for rewriter in REWRITERS}


def arguments(run: Run, slices: Slices) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What is said of each slice.

    Returns:
        A row for each of `slices.frame`, in the same order: text (row of the texts), line,
        end_line, op_line, call, step, work_us, and duration_us, what a primitive's line says; null:
        none.
        And the texts: name, category, and the columns of TEXTS; a null is not an argument.
    """
    primitives, primitive_texts = _primitives(slices.frame, run.linked_primitives)
    texts = execution_texts(slices.texts)
    names = ("text", "line", "end_line", "call", "step", "work_us")
    frame = slices.frame.select(names).with_row_index("slice")
    frame = frame.join(primitives, on="slice", how="left", maintain_order="left")
    frame = frame.select(
        pl.coalesce("text", pl.col("primitive_text") + texts.height),
        pl.coalesce("line", "primitive_line"),
        "end_line",
        "op_line",
        "call",
        "step",
        pl.col("work_us").round(1),
        "duration_us",
    )
    return frame, pl.concat([texts, primitive_texts], how="diagonal")


def execution_texts(texts: pl.DataFrame) -> pl.DataFrame:
    """Of `Slices.texts` name, category and arguments."""
    uid = pl.when(pl.col("function_uid").is_not_null()).then(pl.format("_{}", "function_uid"))
    several = texts["source"].n_unique() > 1
    is_rewritten, is_call = pl.col("rewrite") != "none", pl.col("kind") == "call"
    kind = pl.when(pl.col("kind") != "op").then(pl.concat_str(pl.lit(","), "kind"))
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
        category=pl.concat_str("mode", kind, onednn, ignore_nulls=True),
        kernel=pl.when(~is_call).then("kernel"),
        rewrite=pl.when(is_rewritten).then("rewrite"),
        source=pl.when(pl.lit(several)).then("source"),
    ).select("name", "category", *_OF_EXECUTIONS)


def _primitives(frame: pl.DataFrame, primitives: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Slices of primitives: slice, primitive_text and numbers; and their distinct texts."""
    mine = frame.select("primitive", "placed").with_row_index("slice").drop_nulls("primitive")
    table = primitives.select(pl.all().gather(mine["primitive"])).with_columns(
        name=pl.coalesce("primitive", pl.lit("(no name)")),
        category=pl.format("{},primitive", pl.col("library").replace(_LIBRARY_IDS)),
        drawn=mine["placed"].replace_strict(_DRAWN, return_dtype=pl.String),
    )
    number, texts = _distinct(table.select("name", "category", *_OF_PRIMITIVES))
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
