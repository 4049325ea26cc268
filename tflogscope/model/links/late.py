"""Lines that oneDNN printed long before they surfaced.

oneDNN 2.7 to 3.1 prints `gemm_api` lines through `std::cout` and does not flush it
(src/common/gemm.cpp). When standard output is a file or a pipe they stay in stdio's block of 4096
bytes until the block is full, another primitive's line flushes it, or the program ends. Then what
is open says nothing, but the lines keep the order in which the primitives were done, and each
`_MklMatMul` has one of them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.model.links.kernels import NUMBERS
from tflogscope.model.thresholds import AFTER, LOST

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_SIZES = ("m", "k", "n")
_MATMUL, _EIGEN_MATMUL = NUMBERS["matmul"], NUMBERS["eigen_matmul"]


def may_be_late(version: str | None) -> bool:
    """Whether a release of oneDNN holds `gemm_api` lines back (None: unknown, so it may)."""
    if version is None:
        return True
    numbers = tuple(int(part) for part in version.split(".")[:2])
    return (2, 7) <= numbers < (3, 2)


def late_by_marks(marks: pl.DataFrame, gemm_at: Integers, candidates: pl.DataFrame) -> bool | None:
    """Whether `gemm_api` lines came late, by what `_MklMatMul` says; None: it says nothing.

    `marks`: at, thread of `MKL DNN SGEMM called` (kernels/mkl/mkl_matmul_op.cc), which comes just
    before the call, so that a line is to follow before the kernel's end.
    """
    runs = candidates.filter(pl.col("family") == _MATMUL).select("at", "end_at", "thread")
    runs = runs.drop_nulls("end_at").with_columns(pl.col("thread").fill_null(-1)).sort("at")
    marked = marks.sort("at").join_asof(runs, on="at", by="thread", check_sortedness=False)
    marked = marked.filter(pl.col("at") <= pl.col("end_at"))
    if marked.is_empty():
        return None
    before = np.searchsorted(gemm_at, marked["at"].to_numpy())
    count = np.searchsorted(gemm_at, marked["end_at"].to_numpy(), side="right") - before
    return bool((count == 0).mean() > LOST)


def are_late(placed: Booleans, candidate: Integers, after: Booleans) -> bool:
    """Whether `gemm_api` lines came late.

    `placed`: lines that have a place in an execution that was open; `candidate`: what each has by
    its order, -1: nothing; `after`: of lines that have one, those that came after its end. A line
    without either says nothing: grappler runs kernels for constants without a record.
    """
    explained = ~placed & (candidate >= 0)
    return bool(explained.mean() > LOST and len(after) and after.mean() > AFTER)


def link_late(
    lines: pl.DataFrame, candidates: pl.DataFrame, shapes: pl.DataFrame
) -> tuple[Integers, Booleans]:
    """Return for each line the candidate it belongs to (-1: not known), and if by its size.

    `lines`: at, m, k, n (null: the line was cut), in the order of the log. The first line of a
    size belongs to the first run of that size that was done, the second to the second. What is
    left goes by order alone, to runs of unknown size (those of eager ops).
    """
    runs = candidates.select(
        "at",
        # Eigen's kernels may split their work, so they come second.
        second=pl.col("family") != _MATMUL,
        able=pl.col("family").is_in([_MATMUL, _EIGEN_MATMUL]),
        candidate=pl.int_range(pl.len(), dtype=pl.Int64),
        done=pl.coalesce("end_at", "at"),
    ).hstack(shapes.select(_SIZES))
    runs = runs.filter("able").sort("second", "done")
    lines = _with_cut_sizes(lines, runs).with_row_index("line")
    known = lines.drop_nulls(_SIZES)
    enough = _count(known, runs.drop_nulls(_SIZES)) >= _count(known, known)
    ranked = known.with_columns(rank=_rank(known)).filter(enough)
    sized = runs.drop_nulls(_SIZES).with_columns(rank=_rank(runs.drop_nulls(_SIZES)))
    found = ranked.join(
        sized.select("rank", "candidate", *_SIZES, begun="at"), on=["rank", *_SIZES]
    ).filter(pl.col("begun") < pl.col("at"))
    result = np.full(lines.height, -1, np.int64)
    result[found["line"].to_numpy()] = found["candidate"].to_numpy()
    by_size = result >= 0
    taken = found["candidate"].implode()
    _by_order(result, lines, runs.filter(~pl.col("candidate").is_in(taken) & ~pl.col("second")))
    return result, by_size


def _with_cut_sizes(lines: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Give lines that were cut the size of the run that is in their place in the order."""
    own = runs.filter(~pl.col("second")).select(_SIZES).head(lines.height)
    place = own.select(pl.all().name.suffix("_place")).with_row_index("row")
    joined = lines.with_row_index("row").join(place, on="row", how="left", maintain_order="left")
    cut = pl.all_horizontal(pl.col(_SIZES).is_null())
    return joined.select(
        "at", *[pl.when(cut).then(f"{name}_place").otherwise(name).alias(name) for name in _SIZES]
    )


def _rank(frame: pl.DataFrame) -> pl.Series:
    return frame.select(pl.int_range(pl.len()).over(_SIZES)).to_series()


def _count(frame: pl.DataFrame, of: pl.DataFrame) -> pl.Series:
    """For each row of `frame` the number of rows of `of` that have its size."""
    counts = of.group_by(_SIZES).agg(count=pl.len())
    joined = frame.join(counts, on=_SIZES, how="left", maintain_order="left")
    return joined["count"].fill_null(0)


def _by_order(result: Integers, lines: pl.DataFrame, runs: pl.DataFrame) -> None:
    """Place the rest where its number fits: the first of them to the first run that is left."""
    rest = np.flatnonzero(result < 0)
    runs = runs.filter(
        pl.any_horizontal(pl.col(_SIZES).is_null())
        | (_count(runs, lines.filter(pl.Series(result < 0))) > 0)
    )
    count = min(len(rest), runs.height)
    if not count:
        return
    rest, runs = rest[:count], runs.sort("done").head(count)
    fits = runs["at"].to_numpy() < lines["at"].to_numpy()[rest]
    for name in _SIZES:
        mine = lines[name].fill_null(-1).to_numpy()[rest]
        its = runs[name].fill_null(-1).to_numpy()
        fits &= (mine < 0) | (its < 0) | (mine == its)
    result[rest[fits]] = runs["candidate"].to_numpy()[fits]
