"""Shapes of the tensors that each run of a node worked on, from `__LOG_MEMORY__` lines.

The executor prints what each kernel put out (core/framework/log_memory.cc, RecordTensorOutput,
called by ExecutorState::ProcessOutputs at VLOG 2); what a node takes in is what the nodes before
it put out. Constants print nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.model.links.kernels import OUTPUT
from tflogscope.model.links.problems import BAGS, MATRIX, bag_of

OPERANDS = BAGS  # src, wei and dst of a primitive


@dataclass(frozen=True)
class TensorOutputs:
    """The `MemoryLogTensorOutput` records of a log, in its order.

    `at`: line numbers, `step`: step ids, `text`: indexes into `texts`, which holds the distinct
    pieces from `kernel_name:` to the end of the shape:
    `kernel_name: "mm/MatMul" index: 1 tensor { dtype: DT_FLOAT shape { dim { size: 22 } } `.
    """

    at: NDArray[np.int64]
    step: NDArray[np.int64]
    text: NDArray[np.int64]
    texts: pl.Series

    def named(self, references: pl.Series) -> pl.DataFrame:
        """Records of some tensors: at, step, reference (`node` or `node:1`), shape (`22x13`)."""
        texts = self.texts.rename("text").to_frame().with_row_index("code")
        node = pl.col("text").str.extract(r'^kernel_name: "([^"]*)"', 1)
        index = pl.col("text").str.extract(r'" index: (\d+) ', 1)
        wanted = texts.with_columns(
            reference=pl.when(index.is_null()).then(node).otherwise(node + ":" + index)
        ).filter(pl.col("reference").is_in(references.implode()))
        # A dimension of size 0 is printed without its number.
        dims = pl.col("text").str.extract_all(r"dim \{ (?:size: -?\d+)?")
        sizes = dims.list.eval(pl.element().str.extract(r"(-?\d+)", 1).fill_null("0"))
        wanted = wanted.select(
            "code",
            "reference",
            shape=pl.when(~pl.col("text").str.contains("unknown_rank")).then(sizes.list.join("x")),
        )
        kept = np.zeros(len(self.texts), bool)
        kept[wanted["code"].to_numpy()] = True
        rows = np.flatnonzero(kept[self.text]) if len(self.text) else np.zeros(0, np.int64)
        found = pl.DataFrame(
            {
                "at": self.at[rows],
                "step": self.step[rows],
                "code": self.text[rows].astype(np.uint32),
            }
        )
        return found.join(wanted, on="code", how="left", maintain_order="left").drop("code")


def node_shapes(
    candidates: pl.DataFrame, definitions: pl.DataFrame, outputs: TensorOutputs | None
) -> pl.DataFrame:
    """Return what is known of the tensors of each run, in the order of `candidates`.

    `candidates`: at, end_at, step (id, null: eager), definition (null: eager), family.
    Columns: src, wei, dst (bags), src_count, wei_count, dst_count (elements), b, m, k, n (of a
    matrix product), output_at (line at which the run's output was printed). Null: not known.
    """
    if outputs is None:
        nothing = np.zeros(0, np.int64)
        outputs = TensorOutputs(nothing, nothing, nothing, pl.Series([], dtype=pl.String))
    used = _references(candidates, definitions)
    runs = candidates.select("at", "end_at", "step", "definition", "family").with_columns(
        row=pl.int_range(pl.len())
    )
    wanted = runs.join(used, on=["definition", "family"]).sort("at", maintain_order=True)
    printed = outputs.named(used["reference"].unique()).sort("at", maintain_order=True)
    shapes = pl.concat([_put_out(wanted, printed), _taken_in(wanted, printed)])
    for role in OPERANDS:
        one = shapes.filter(pl.col("role") == role).select("row", pl.col("shape").alias(role))
        runs = runs.join(one, on="row", how="left", maintain_order="left")
    output = shapes.select("row", "output_at").drop_nulls()
    runs = runs.join(output, on="row", how="left", maintain_order="left")
    # Nodes run again and again with the same shapes.
    key = ["family", *OPERANDS]
    measures = _measures(runs.select(key).unique())
    joined = runs.join(measures, on=key, how="left", maintain_order="left", nulls_equal=True)
    return joined.select(
        *[pl.col(f"{role}_bag").alias(role) for role in OPERANDS],
        *[f"{role}_count" for role in OPERANDS],
        *MATRIX,
        "output_at",
    )


def _references(candidates: pl.DataFrame, definitions: pl.DataFrame) -> pl.DataFrame:
    """Which tensor is which operand: definition, family, role, reference, own (the output).

    A row for each operand that the family names; a reference is `node` or `node:1`.
    """
    pairs = candidates.select("definition", "family").unique().drop_nulls()
    nodes = definitions.select("node", pl.col("inputs").str.split(", "))
    pairs = pairs.hstack(nodes.select(pl.all().gather(pairs["definition"])))
    parts = []
    for role in OPERANDS:
        numbers = [getattr(family, role) for family in FAMILIES]
        number = pl.Series([numbers[family] for family in pairs["family"]], dtype=pl.Int64)
        input_ = pl.col("inputs").list.get(pl.lit(number.clip(0)), null_on_oob=True)
        own = number == OUTPUT
        parts.append(
            pairs.select(
                "definition",
                "family",
                role=pl.lit(role),
                reference=pl.when(own).then("node").when(number.is_not_null()).then(input_),
                own=own,
            )
        )
    return pl.concat(parts).filter(
        pl.col("reference").is_not_null() & ~pl.col("reference").str.starts_with("^")
    )


def _put_out(wanted: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """The shape that a run printed itself: the last of that node before its end.

    A loop runs a node several times at once; each thread prints output and end one after the
    other. Where no end is printed it is the first after the start.
    """
    printed = printed.with_columns(output_at="at")
    by = ["step", "reference"]
    mine = wanted.filter("own").with_columns(begun="at")
    ended = mine.filter(pl.col("end_at").is_not_null()).with_columns(at="end_at").sort("at")
    found = ended.join_asof(printed, on="at", by=by, strategy="backward", check_sortedness=False)
    found = found.with_columns(
        pl.when(pl.col("output_at") > pl.col("begun")).then(pl.col("shape", "output_at"))
    )
    other = mine.filter(pl.col("end_at").is_null())
    other = other.join_asof(printed, on="at", by=by, strategy="forward", check_sortedness=False)
    return pl.concat([found, other]).select("row", "role", "reference", "shape", "output_at")


def _taken_in(wanted: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """The shape that the node before it put out, if it put out no other one in that step."""
    steady = printed.filter(pl.col("shape").n_unique().over("step", "reference") == 1)
    steady = steady.unique(["step", "reference"], keep="first").drop("at")
    found = wanted.filter(~pl.col("own")).join(steady, on=["step", "reference"], how="left")
    return found.select("row", "role", "reference", "shape", output_at=pl.lit(None, pl.Int64))


def _measures(distinct: pl.DataFrame) -> pl.DataFrame:
    """Add bags, numbers of elements, and the sizes of the product of two matrices."""
    dims = [
        pl.col(role).str.extract_all(r"\d+").cast(pl.List(pl.Int64), strict=False)
        for role in OPERANDS
    ]
    product = pl.Series([family.product for family in FAMILIES]).gather(distinct["family"])
    lists = distinct.select("family", *dims, product=product)
    count = {role: pl.col(role).list.eval(pl.element().product()).list.first() for role in OPERANDS}
    sizes = {"matrices": _matrices(count), "patches": _patches(count)}
    found = lists.select(
        *[bag_of(pl.col(role)).alias(f"{role}_bag") for role in OPERANDS],
        *[count[role].alias(f"{role}_count") for role in OPERANDS],
        *[
            pl.coalesce(
                pl.when(pl.col("product") == kind).then(size[name]) for kind, size in sizes.items()
            ).alias(name)
            for name in MATRIX
        ],
    )
    return distinct.hstack(found)


def _matrices(count: dict[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Of a stack of matrices the last two dimensions are the matrix."""
    rows, columns = (pl.col("dst").list.get(place, null_on_oob=True) for place in (-2, -1))
    inner = [
        pl.col(side).list.tail(2).list.eval(pl.element().product()).list.first() // outer
        for side, outer in (("src", rows), ("wei", columns))
    ]
    return {
        "b": count["dst"] // (rows * columns),
        "m": rows,
        "k": pl.coalesce(inner),
        "n": columns,
    }


def _patches(count: dict[str, pl.Expr]) -> dict[str, pl.Expr]:
    """A convolution as a product: pixels by patch, patch by output channels (filters are HWIO)."""
    channels = pl.col("wei").list.last()
    return {
        "b": pl.lit(1, pl.Int64),
        "m": count["dst"] // channels,
        "k": count["wei"] // channels,
        "n": channels,
    }
