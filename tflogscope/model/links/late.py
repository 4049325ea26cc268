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

from tflogscope.model.common.frames import (
    Booleans,
    Integers,
    alike,
    begins,
    filled,
    row_with,
    running,
)
from tflogscope.model.common.thresholds import AFTER, LOST
from tflogscope.model.links.kernels import NUMBERS

SIZES = ("m", "k", "n")
_MATMUL, _EIGEN_MATMUL = NUMBERS["matmul"], NUMBERS["eigen_matmul"]


def may_be_late(version: str | None) -> bool:
    """Whether a release of oneDNN holds `gemm_api` lines back (None: unknown, so it may)."""
    if version is None:
        return True
    numbers = tuple(int(part) for part in version.split(".")[:2])
    return (2, 7) <= numbers < (3, 2)


def are_late(placed: Booleans, candidate: Integers, after: Booleans) -> bool:
    """Whether `gemm_api` lines came late.

    `placed`: lines that have a place in an execution that was open; `candidate`: what each has by
    its order, -1: nothing; `after`: of lines that have one, those that came after its end. A line
    without either says nothing: grappler runs kernels for constants without a record.
    """
    explained = ~placed & (candidate >= 0)
    return bool(explained.mean() > LOST and len(after) and after.mean() > AFTER)


def link_late(
    lines: pl.DataFrame, candidates: pl.DataFrame, sizes: pl.DataFrame
) -> tuple[Integers, Booleans]:
    """Return for each line the candidate it belongs to (-1: not known), and if by its size.

    `lines`: at, m, k, n (null: the line was cut), in the order of the log; `sizes`: m, k, n of each
    candidate (null: not known). The first line of a size belongs to the first run of that size
    that was done, the second to the second. What is left goes by order alone, to runs of unknown
    size (those of eager ops).
    """
    at, end_at, family = (candidates[name].to_numpy() for name in ("at", "end_at", "family"))
    # Eigen's kernels may split their work, so they come second.
    order = np.lexsort((np.where(end_at < 0, at, end_at), family != _MATMUL))
    runs = order[np.isin(family[order], (_MATMUL, _EIGEN_MATMUL))]
    matmuls = runs[family[runs] == _MATMUL]
    mine, its = (np.column_stack([filled(frame[n]) for n in SIZES]) for frame in (lines, sizes))
    # A line that was cut has the size of the run at its place.
    cut = np.flatnonzero((mine < 0).all(axis=1))
    cut = cut[cut < len(matmuls)]
    mine[cut] = its[matmuls[cut]]
    line_size, run_size = alike(pl.DataFrame(mine), pl.DataFrame(its))
    sized = np.flatnonzero((mine >= 0).all(axis=1))
    left = runs[(its[runs] >= 0).all(axis=1)]
    enough = np.bincount(run_size[left], minlength=line_size.max() + 1)
    sized = sized[
        (enough >= np.bincount(line_size[sized], minlength=len(enough)))[line_size[sized]]
    ]
    place = row_with(_in_turn(line_size[sized]), _in_turn(run_size[left]))
    candidate = np.full(len(mine), -1)
    candidate[sized] = np.append(left, -1)[place]
    begun = lines["at"].to_numpy()
    candidate[begun <= np.append(at, 0)[candidate]] = -1
    by_size = candidate >= 0
    rest = np.flatnonzero(~by_size)
    unsized = (its[matmuls] < 0).any(axis=1) | np.isin(run_size[matmuls], line_size[rest])
    left = matmuls[unsized & ~np.isin(matmuls, candidate)][: len(rest)]
    rest = rest[: len(left)]
    fits = (mine[rest] < 0) | (its[left] < 0) | (mine[rest] == its[left])
    fits = fits.all(axis=1) & (at[left] < begun[rest])
    candidate[rest[fits]] = left[fits]
    return candidate, by_size


def _in_turn(sizes: Integers) -> pl.DataFrame:
    """Sizes, and which of those that are equal each is: the first, the second."""
    order = np.argsort(sizes, kind="stable")
    turn = np.empty_like(sizes)
    turn[order] = running(np.ones_like(sizes), begins(sizes[order]))
    return pl.DataFrame({"size": sizes, "turn": turn})
