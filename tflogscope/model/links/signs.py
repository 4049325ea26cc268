"""What speaks for and against a line belonging to an execution: shapes, times, marks, habit."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES, Events
from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.model.links.kernels import BLOCKS, NUMBERS
from tflogscope.model.links.problems import BAGS, MATRIX
from tflogscope.model.thresholds import (
    CLOCK_SLACK,
    DURATION_FACTOR,
    DURATION_SLACK,
    HABITS,
)

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
NO, UNKNOWN, YES = range(3)


def shape_fit(
    problems: pl.DataFrame, problem: Integers, shapes: pl.DataFrame, run: Integers, family: Integers
) -> NDArray[np.int8]:
    """Say for each pair (a row of `problems`, a row of `shapes`) whether sizes agree.

    YES: they do, as far as known; UNKNOWN: nothing to compare; NO: they contradict each other.
    """
    primitive = problems["primitive"]
    is_reorder = (primitive == "reorder").to_numpy()[problem]
    product = np.array([entry.product is not None for entry in FAMILIES])[family]
    multiplies = problems["m"].is_not_null().to_numpy()[problem]
    blocks = BLOCKS[family]
    size_fit = _sizes(problems, problem, shapes, run, blocks)
    bag_fit, any_equal = _bags(problems, problem, shapes, run)
    fit = np.full(len(problem), UNKNOWN, np.int8)
    by_bag = ~is_reorder & ~multiplies
    fit[by_bag] = bag_fit[by_bag]
    by_size = product & multiplies
    fit[by_size] = size_fit[by_size]
    # A reorder works on any of the operands, as it is or flattened.
    counts = problems["count"].fill_null(-1).to_numpy()[problem]
    for role in BAGS:
        any_equal |= counts == shapes[f"{role}_count"].fill_null(-2).to_numpy()[run]
    fit[is_reorder & any_equal] = YES
    flat = ~problems["src"].str.contains("x").fill_null(False).to_numpy()[problem]
    named = pl.Series([[getattr(entry, role) for role in BAGS] for entry in FAMILIES])
    operands = named.list.eval(pl.element().is_not_null()).list.sum().to_numpy()[family]
    known = sum(shapes[role].is_not_null().to_numpy()[run].astype(int) for role in BAGS)
    whole = (operands >= 2) & (known == operands)
    fit[is_reorder & ~any_equal & whole & ~flat & ~blocks] = NO
    return fit


def _sizes(
    problems: pl.DataFrame,
    problem: Integers,
    shapes: pl.DataFrame,
    run: Integers,
    blocks: Booleans,
) -> NDArray[np.int8]:
    """Compare products of matrices; a kernel that works in blocks has smaller ones."""
    against = np.zeros(len(problem), bool)
    equal = np.zeros(len(problem), np.int8)
    for name in MATRIX:
        mine = problems[name].fill_null(-1).to_numpy()[problem]
        its = shapes[name].fill_null(-1).to_numpy()[run]
        known = (mine >= 0) & (its >= 0)
        against |= known & np.where(blocks, mine > its, mine != its)
        if name != "b":
            equal += known & (mine == its)
    return np.where(against, NO, np.where(equal >= 2, YES, UNKNOWN)).astype(np.int8)


def _bags(
    problems: pl.DataFrame, problem: Integers, shapes: pl.DataFrame, run: Integers
) -> tuple[NDArray[np.int8], Booleans]:
    """Compare operand by operand; also say whether any operand of the run is the problem's src."""
    texts = pl.concat([frame[role] for frame in (problems, shapes) for role in BAGS])
    codes = texts.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
    of_problem = np.split(codes[: 3 * problems.height], 3)
    of_run = np.split(codes[3 * problems.height :], 3)
    against = np.zeros(len(problem), bool)
    equal = np.zeros(len(problem), bool)
    any_equal = np.zeros(len(problem), bool)
    for number in range(len(BAGS)):
        mine, its = of_problem[number][problem], of_run[number][run]
        known = (mine >= 0) & (its >= 0)
        against |= known & (mine != its)
        equal |= known & (mine == its)
        any_equal |= (its >= 0) & (its == of_problem[0][problem])
    return np.where(against, NO, np.where(equal, YES, UNKNOWN)).astype(np.int8), any_equal


def oddities(
    events: Events,
    primitives: pl.DataFrame,
    line: Integers,
    candidates: pl.DataFrame,
    candidate: Integers,
) -> Integers:
    """Count for each pair what is odd about it: a primitive longer than its execution, and so on.

    Times are those that other records print, so none of this is proof.
    """
    duration = primitives["duration_us"].fill_null(0.0).to_numpy()[line]
    start = candidates["time"].cast(pl.Float64).to_numpy()[candidate]
    end = candidates["end_time"].cast(pl.Float64).to_numpy()[candidate]
    after = _time_after(events, primitives["at"].to_numpy())[line]
    odd = np.zeros(len(line), np.int64)
    with np.errstate(invalid="ignore"):  # no time is NaN, and nothing is odd about it
        odd += duration > (end - start) * DURATION_FACTOR + DURATION_SLACK
        odd += start + duration > after + CLOCK_SLACK
    matmul = (candidates["family"] == NUMBERS["matmul"]).to_numpy()[candidate]
    matmul &= (primitives["primitive"] == "gemm_api").to_numpy()[line]
    at = primitives["at"].gather(line[matmul])
    runs = candidates.select("at", "thread")[candidate[matmul]]
    odd[matmul] += _without_mark(events, at, runs)
    return odd


def _time_after(events: Events, at: Integers) -> NDArray[np.float64]:
    """The time of the first record of the executor after each line; NaN: none.

    One that is glued to the line had its time before it was written, and waited for the line.
    """
    return events.executor_time_from((at // PLACES + 1) * PLACES)


def _without_mark(events: Events, at: pl.Series, runs: pl.DataFrame) -> Booleans:
    """Which runs of `_MklMatMul` have not printed `MKL DNN SGEMM called` before the line `at`.

    The kernel's own thread prints it (kernels/mkl/mkl_matmul_op.cc), just before it calls.
    """
    marks = events.messages("mkl_sgemm").select("at", "thread").sort("at")
    if marks.is_empty() or at.is_empty():
        return np.zeros(len(at), bool)
    asked = pl.DataFrame({"at": at, "thread": runs["thread"].fill_null(-1)})
    asked = asked.with_row_index("row").sort("at")
    last = asked.join_asof(
        marks.rename({"at": "mark"}),
        left_on="at",
        right_on="mark",
        by="thread",
        check_sortedness=False,
    )
    mark = last.sort("row")["mark"].fill_null(-1).to_numpy()
    return np.asarray(mark <= runs["at"].to_numpy(), bool)


def habits(where: Integers, runs: Integers, problem: Integers, candidate: Integers) -> Integers:
    """Grade pairs by how often that problem was seen while that node ran: 0 seldom, 3 each time.

    A node runs the same problems in each step, so its own are there each time; others only by
    chance. `where` is the node of each candidate, `runs` how often each node ran.
    """
    width = int(problem.max()) + 1 if len(problem) else 1
    key = where[candidate] * width + problem
    many = int(candidate.max()) + 1 if len(candidate) else 1
    distinct, count = np.unique(np.unique(key * many + candidate) // many, return_counts=True)
    share = count[np.searchsorted(distinct, key)] / runs[where[candidate]]
    return np.searchsorted(HABITS, share, side="right").astype(np.int64)
