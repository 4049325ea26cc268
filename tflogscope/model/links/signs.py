"""What speaks for and against a line belonging to an execution: shapes, times, marks, habit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from tflogscope.events.events import PLACES, Events
from tflogscope.model.common.frames import Booleans, Integers, alike, filled, rows
from tflogscope.model.common.thresholds import CLOCK_SLACK, DURATION_FACTOR, DURATION_SLACK, HABITS
from tflogscope.model.links.kernels import BLOCKS, MULTIPLIES, NO_TENSOR, OPERANDS
from tflogscope.model.links.problems import BAGS, MATRIX

NO, UNKNOWN, YES = range(3)


def shape_fit(
    problems: pl.DataFrame, problem: Integers, shapes: pl.DataFrame, run: Integers, family: Integers
) -> Integers:
    """Say for each pair (a row of `problems`, a row of `shapes`) whether sizes agree.

    YES: they do, as far as known; UNKNOWN: nothing to compare; NO: they contradict each other.
    """
    is_reorder = (problems["primitive"] == "reorder").to_numpy()[problem]
    src, wei, dst, *of_runs = alike(*(side[[role]] for side in (problems, shapes) for role in BAGS))
    bags = [(mine[problem], its[run]) for mine, its in zip((src, wei, dst), of_runs, strict=True)]
    sizes = [(filled(problems[n])[problem] + 1, filled(shapes[n])[run] + 1) for n in MATRIX]
    blocks = BLOCKS[family]
    fit = np.full(len(problem), UNKNOWN)
    by_bag, by_size = ~is_reorder & (sizes[1][0] == 0), MULTIPLIES[family] & (sizes[1][0] > 0)
    fit[by_bag] = _compared(bags, np.zeros_like(blocks))[by_bag]
    # A kernel that works in blocks multiplies smaller matrices. That there is one batch, or that
    # one size is the same, says little.
    batch, *matrix = sizes
    disagrees = _compared([batch], blocks) == NO
    fit[by_size] = np.where(disagrees, NO, _compared(matrix, blocks, 2))[by_size]
    # A reorder works on any of the operands, as it is or flattened.
    count = filled(problems["count"])[problem]
    counts = [filled(shapes[f"{role}_count"], -2)[run] for role in BAGS]
    fits = np.any(
        [its == src[problem] for _, its in bags] + [its == count for its in counts], axis=0
    )
    given = np.sum([its > 0 for _, its in bags], axis=0)
    operands = (OPERANDS[family] != NO_TENSOR).sum(axis=1)
    fit[is_reorder & ~fits & (operands >= 2) & (given == operands) & ~blocks] = NO
    return fit


def _compared(sizes: list[tuple[Integers, Integers]], blocks: Booleans, least: int = 1) -> Integers:
    """Compare what is known on both sides (0: not known); in blocks, the first may be smaller.

    They agree where at least so many are equal.
    """
    against, equal = np.zeros(len(blocks), bool), np.zeros(len(blocks), np.int64)
    for mine, its in sizes:
        both = (mine > 0) & (its > 0)
        against |= both & np.where(blocks, mine > its, mine != its)
        equal += both & (mine == its)
    return np.where(against, NO, np.where(equal >= least, YES, UNKNOWN))


def oddities(
    events: Events,
    lines: pl.DataFrame,
    line: Integers,
    candidates: pl.DataFrame,
    candidate: Integers,
) -> Integers:
    """Count for each pair what is odd about it: a primitive longer than its execution, and so on.

    Times are those that other records print, so none of this is proof.
    """
    duration = lines["duration_us"].to_numpy()[line]
    start, whole = (
        candidates[name].cast(pl.Float64).to_numpy()[candidate] for name in ("time", "duration_us")
    )
    # A record that is glued to the line had its time before it was written, and waited for it.
    later = (lines["at"].to_numpy() // PLACES + 1) * PLACES
    after = events.executor_time_from(later)[line]
    # No time is NaN, and nothing is odd about it.
    odd = (duration > whole * DURATION_FACTOR + DURATION_SLACK).astype(np.int64)
    odd += start + duration > after + CLOCK_SLACK
    return odd


def habits(node: Integers, runs: Integers, problem: Integers, candidate: Integers) -> Integers:
    """Grade pairs by how often that problem was seen while that node ran: 0 seldom, 3 each time.

    A node runs the same problems in each step, so its own are there each time; others only by
    chance. `node` is the node of each candidate, `runs` how often each node ran.
    """
    (key,) = alike(pl.DataFrame({"node": node[candidate], "problem": problem}))
    many = int(candidate.max(initial=0)) + 1
    seen = np.bincount(np.unique(key * many + candidate) // many)
    return np.searchsorted(HABITS, seen[key] / runs[node[candidate]], side="right")


# ---- pairs of a line and an execution, and how good each is --------------------------------------

BESIDE, MAIN = 1, 2


@dataclass(eq=False, repr=False)
class Pairs:
    """Columns over pairs: numbers of `line` and `candidate`, and what the two are to each other.

    `role`: BESIDE or MAIN; `fit`: of the shapes, UNKNOWN or YES; `problem`: a number for what the
    line says it ran.
    """

    line: Integers
    candidate: Integers
    role: Integers
    fit: Integers
    problem: Integers

    def __len__(self) -> int:
        return len(self.line)

    def where(self, keep: Booleans) -> Self:
        """Those pairs only."""
        return replace(self, **{name: column[keep] for name, column in vars(self).items()})


@dataclass(eq=False, repr=False)
class Graded(Pairs):
    """Pairs, how many things are odd about each, and how good each is: 0 is best.

    Pairs of one line and one grade are equally likely.
    """

    odd: Integers
    grade: Integers

    def preferring(self, good: Booleans) -> Graded:
        """Put pairs that are not `good` behind others that are equal else."""
        return replace(self, grade=grades(self.grade, ~good))


def grades(*parts: Integers | Booleans) -> Integers:
    """Numbers in the order of keys that are compared part by part, each from 0 up."""
    key = [part.astype(np.int64) for part in parts]
    return np.ravel_multi_index(key, [int(part.max(initial=0)) + 1 for part in key])


# ---- reorders ------------------------------------------------------------------------------------
# A kernel of oneDNN reorders what it takes in to the layout that its main primitive wants, runs
# that, and reorders what came out to TensorFlow's layout: memory descriptors say which it serves.

# Verbose lines name a gradient after its tensor: `src` is what backward_data computes.
_OUTPUTS = {"backward_weights": "wei", "backward_data": "src", "backward": "src"}


def serves(
    pairs: Pairs, got: Integers, descriptors: pl.Series, problems: pl.DataFrame, problem: Integers
) -> Booleans:
    """Say of each pair whether its reorder goes with the main primitive of its execution.

    `got` is the pair of each line that has its place already, `descriptors` are the lines' memory
    descriptors, `problem` are their rows in `problems` (`read_problems`). Before the primitive the
    reorder makes the layout that one of its inputs has in it, after it the reorder starts from the
    layout of its output.
    """
    held = got[got >= 0]
    held = held[pairs.role[held] == MAIN]
    mains = np.full(int(pairs.candidate.max(initial=-1)) + 1, -1)
    mains[pairs.candidate[held]] = pairs.line[held]
    main = mains[pairs.candidate]
    (number,) = alike(descriptors.to_frame())
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    tags = [tag[which] for tag in alike(*_tags(rows(descriptors, first)))]
    sizes = [size[problem] for size in alike(*(problems[[role]] for role in BAGS))]
    (src, _, dst), size = tags, sizes[0][pairs.line]
    before = pairs.line < main
    layout = np.where(before, dst[pairs.line], src[pairs.line])
    kinds = problems["prop_kind"]
    output = np.array([BAGS.index(_OUTPUTS.get(kind, "dst")) for kind in kinds])[problem]
    serving = np.zeros(len(pairs), bool)
    for role in range(len(BAGS)):
        same = (tags[role][main] == layout) & (sizes[role][main] == size)
        serving |= same & (before == (output[main] != role))
    return serving & (layout > 0) & (main >= 0)


def _tags(descriptors: pl.Series) -> list[pl.DataFrame]:
    """Layout tags of src, wei and dst: `Acdb16a` of `wei_f32:p:blocked:Acdb16a:f0`.

    Reorders call their operands src and dst, too.
    """
    tag = r"(?:^| )(?:diff_)?{}[:_][^ ]*?:blocked:(\w+)"
    text = pl.lit(descriptors)
    tags = pl.select(text.str.extract(tag.format(role), 1).alias(role) for role in BAGS)
    return [tags[[role]] for role in BAGS]
