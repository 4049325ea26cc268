"""Shapes of the tensors that each run of a node worked on, from `__LOG_MEMORY__` lines.

The executor prints what each kernel put out (core/framework/log_memory.cc, RecordTensorOutput,
called by ExecutorState::ProcessOutputs at VLOG 2); what a node takes in is what the nodes before
it put out. Constants print nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.model.common.frames import (
    Integers,
    alike,
    among,
    first_with,
    last_before,
    row_with,
    rows,
)
from tflogscope.model.links.kernels import NO_TENSOR, OPERANDS, OUTPUT
from tflogscope.model.links.problems import BAGS, MATRIX, bag_of, product_of

_PRODUCTS = pl.Series([family.product for family in FAMILIES], dtype=pl.String)


class TensorOutputs(NamedTuple):
    """The `MemoryLogTensorOutput` records of a log, in its order.

    `at`: line numbers, `step`: step ids, `text`: indexes into `texts`, which holds the distinct
    pieces from `kernel_name:` to the end of the shape:
    `kernel_name: "mm/MatMul" index: 1 tensor { dtype: DT_FLOAT shape { dim { size: 22 } } `.
    """

    at: Integers
    step: Integers
    text: Integers
    texts: pl.Series

    def named(self, references: pl.Series) -> pl.DataFrame:
        """Texts of some tensors: text (index), reference (`node`, `node:1`), shape (`22x13`)."""
        text = pl.col("printed")
        node = text.str.extract(r'^kernel_name: "([^"]*)"', 1)
        index = text.str.extract(r'" index: (\d+) ', 1)
        reference = pl.when(index.is_null()).then(node).otherwise(node + ":" + index)
        # A dimension of size 0 is printed without its number.
        dims = text.str.extract_all(r"dim \{ (?:size: -?\d+)?")
        sizes = dims.list.eval(pl.element().str.extract(r"(-?\d+)", 1).fill_null("0"))
        shape = pl.when(~text.str.contains("unknown_rank")).then(sizes.list.join("x"))
        texts = pl.DataFrame({"printed": self.texts}).with_row_index("text")
        wanted = texts.filter(among(reference, references))
        return wanted.select("text", reference=reference, shape=shape)


class TensorShapes(NamedTuple):
    """What is known of the tensors of runs.

    `distinct` has the columns BAGS, src_count, wei_count, dst_count (elements) and MATRIX, null
    where that is not known; `row` says which row of it each run has, `output_at` at which line the
    run's output was printed (-1: not known).
    """

    distinct: pl.DataFrame
    row: Integers
    output_at: Integers


def node_shapes(
    candidates: pl.DataFrame, definitions: pl.DataFrame, outputs: TensorOutputs
) -> TensorShapes:
    """Return what is known of the tensors of each run, in the order of `candidates`.

    `candidates`: at, end_at (-1: not printed), step (id), definition (-1: eager), family.
    """
    at, end_at, definition, family = (
        candidates[name].to_numpy() for name in ("at", "end_at", "definition", "family")
    )
    numbers = OPERANDS[family]
    run, role = np.nonzero((numbers != NO_TENSOR) & (definition >= 0)[:, None])
    out = numbers[run, role] == OUTPUT
    reference, references = _references(definition[run], numbers[run, role], definitions)
    texts = outputs.named(references)
    name, its_name = alike(references.to_frame(), texts[["reference"]])
    place = first_with(texts["text"].to_numpy(), len(outputs.texts))[outputs.text]
    named = np.flatnonzero(place >= 0)
    # A number for each shape: the first text that says it.
    shape = row_with(texts[["shape"]], texts[["shape"]])[place[named]]
    printed = pl.DataFrame(
        {"at": outputs.at[named], "step": outputs.step[named], "name": its_name[place[named]]}
    )
    wanted = pl.DataFrame(
        {"at": at[run], "step": candidates["step"].to_numpy()[run], "name": name[reference]}
    )
    record = np.where(out, -1, _taken_in(wanted, printed, shape))
    record[out] = _put_out(rows(wanted, np.flatnonzero(out)), end_at[run[out]], printed)
    operands, output_at = np.full((len(at), len(BAGS)), -1), np.full(len(at), -1)
    operands[run, role] = np.append(shape, -1)[record]
    output_at[run[out]] = np.append(printed["at"].to_numpy(), -1)[record[out]]
    # Nodes run again and again with the same shapes.
    same = pl.DataFrame(np.column_stack([family, operands]), schema=["family", *BAGS])
    (number,) = alike(same)
    _, first, row = np.unique(number, return_index=True, return_inverse=True)
    shapes = {role: rows(texts["shape"], same[role][first]) for role in BAGS}
    return TensorShapes(_measures(same["family"][first], pl.DataFrame(shapes)), row, output_at)


def _references(
    definition: Integers, number: Integers, definitions: pl.DataFrame
) -> tuple[Integers, pl.Series]:
    """Which tensors (`node` or `node:1`) are operands, and which of them each one asked for is."""
    width = 1 + int(OPERANDS.max()) - OUTPUT
    codes, row = np.unique(definition * width + number - OUTPUT, return_inverse=True)
    input_ = pl.Series(codes % width + OUTPUT)
    nodes = rows(definitions[["node", "inputs"]], codes // width)
    inputs = pl.col("inputs").str.split(", ")
    reference = nodes.select(
        reference=pl.when(input_ == OUTPUT)
        .then("node")
        .otherwise(inputs.list.get(pl.lit(input_.clip(0)), null_on_oob=True))
    )
    return row, reference["reference"]


def _put_out(runs: pl.DataFrame, end_at: Integers, printed: pl.DataFrame) -> Integers:
    """The record that a run printed itself: the last of that node between its start and its end.

    A loop runs a node several times at once; each thread prints output and end one after the other.
    """
    ended = pl.DataFrame([pl.Series("at", end_at), *runs[["step", "name"]]])
    last = last_before(ended, printed)
    begun = np.append(printed["at"].to_numpy(), -1)[last] > runs["at"].to_numpy()
    return np.where(begun, last, -1)


def _taken_in(operands: pl.DataFrame, printed: pl.DataFrame, shape: Integers) -> Integers:
    """The first record of the node before, if it put out no other shape in that step."""
    key = ["step", "name"]
    first = row_with(printed[key], printed[key])
    changing = np.zeros(printed.height + 1, bool)
    changing[first[shape != shape[first]]] = True
    record = row_with(operands[key], printed[key])
    return np.where(changing[record], -1, record)


def _measures(families: pl.Series, shapes: pl.DataFrame) -> pl.DataFrame:
    """Bags, numbers of elements, and the sizes of the product of two matrices."""
    dims = [
        pl.col(role).str.extract_all(r"\d+").cast(pl.List(pl.Int64), strict=False) for role in BAGS
    ]
    lists = shapes.select(*dims, product=_PRODUCTS[families])
    count = {role: product_of(pl.col(role)) for role in BAGS}
    sizes = {"matrices": _matrices(count), "patches": _patches(count)}
    return lists.select(
        *[bag_of(pl.col(role)).alias(role) for role in BAGS],
        *[count[role].alias(f"{role}_count") for role in BAGS],
        *[
            pl.coalesce(
                pl.when(pl.col("product") == kind).then(size[name]) for kind, size in sizes.items()
            ).alias(name)
            for name in MATRIX
        ],
    )


def _matrices(count: dict[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Of a stack of matrices the last two dimensions are the matrix."""
    outer, columns = (pl.col("dst").list.get(place, null_on_oob=True) for place in (-2, -1))
    inner = [
        product_of(pl.col(side).list.tail(2)) // other
        for side, other in (("src", outer), ("wei", columns))
    ]
    return {
        "b": count["dst"] // (outer * columns),
        "m": outer,
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
