"""Which execution each oneDNN line belongs to: an assignment over the whole log.

See docs/linking.md for how it goes about it, with an example.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import Events
from tflogscope.model.common.frames import (
    Booleans,
    Integers,
    alike,
    first_after,
    first_with,
    holds,
    ranks,
    rows,
    where,
)
from tflogscope.model.common.thresholds import HABITS, LOST
from tflogscope.model.executions.executions import Executions
from tflogscope.model.links.assignment import NO_SLOT, assign, exchangeable
from tflogscope.model.links.candidates import (
    FOREVER,
    eager_ends_are_doubtful,
    open_pairs,
    read_candidates,
    sole_executions,
    sources_apart,
)
from tflogscope.model.links.kernels import ONCE, roles
from tflogscope.model.links.late import SIZES, are_late, link_late, may_be_late
from tflogscope.model.links.problems import KEY, read_problems
from tflogscope.model.links.signs import (
    BESIDE,
    MAIN,
    NO,
    UNKNOWN,
    Graded,
    Pairs,
    grades,
    habits,
    oddities,
    serves,
    shape_fit,
)
from tflogscope.model.links.tensors import TensorOutputs, TensorShapes, node_shapes

LINKS = pl.Series(["certain", "inferred", "ambiguous", "none"])
CERTAIN, INFERRED, AMBIGUOUS, NONE = range(len(LINKS))
CUT = ""  # what a line says it ran, if it was cut before that


def link_primitives(events: Events, executions: Executions) -> pl.DataFrame:
    """Link all lines of oneDNN: at, execution (row of `Executions.frame` or null), link.

    One row per row of `events.primitives`. A line of a creation has the link of the run that
    follows it.
    """
    primitives, tensors = events.primitives, events.tensors
    at, step, text = (tensors[name].to_numpy() for name in ("at", "step", "text"))
    outputs = TensorOutputs(at, step, text, events.tensor_texts)
    execution, link = (np.full(primitives.height, value) for value in (-1, NONE))
    placed = _placed(events)
    # A log of oneDNN alone, or a file of its own for it.
    alone = executions.frame.is_empty() or sources_apart(executions, primitives)[0]
    if len(placed) and not alone:
        primitive = pl.col("primitive_kind").fill_null(CUT)
        lines = rows(primitives, placed).with_columns(primitive=primitive)
        execution[placed], link[placed] = _Linker(events, executions, lines, outputs).solve()
        _link_creations(primitives, executions, execution, link)
    linked = pl.Series("execution", execution).set(pl.Series(execution < 0), None)
    return pl.DataFrame([primitives["at"], linked, LINKS[link].alias("link")])


def _placed(events: Events) -> Integers:
    """Lines of runs that are where they were written, in the order of the log."""
    primitives = events.primitives
    placed = primitives["event"] == "exec"
    if events.late_plugins:
        placed &= ~holds(primitives["marker"].is_in(events.late_plugins))
    row = where(placed)
    return row[np.argsort(primitives["at"].to_numpy()[row], kind="stable")]


def _link_creations(
    primitives: pl.DataFrame, executions: Executions, execution: Integers, link: Integers
) -> None:
    """Give a line of a primitive's creation the execution that then runs it, if it was open."""
    made = where(primitives["event"].str.starts_with("create"))
    runs = where((primitives["event"] == "exec") & pl.Series(execution >= 0))
    keys = primitives[["at", *KEY]]
    after = first_after(rows(keys, made), rows(keys, runs))
    made, run = made[after >= 0], runs[after[after >= 0]]
    begun = executions.frame["at"].to_numpy()[execution[run]] <= primitives["at"].to_numpy()[made]
    execution[made[begun]], link[made[begun]] = execution[run[begun]], link[run[begun]]


@dataclass(eq=False, repr=False)
class _Linker:
    """Solves one log. `lines` are its `exec` lines, in order; candidates are numbered, too."""

    events: Events
    executions: Executions
    lines: pl.DataFrame
    outputs: TensorOutputs

    # ---- what is given, and made only where some line needs it ----------------------------------

    @cached_property
    def at(self) -> Integers:
        return self.lines["at"].to_numpy()

    @cached_property
    def candidates(self) -> pl.DataFrame:
        return read_candidates(self.executions)

    def column(self, name: str) -> Integers:
        """A column of the candidates."""
        return self.candidates[name].to_numpy()

    @cached_property
    def _numbered(self) -> tuple[pl.DataFrame, Integers]:
        (number,) = alike(self.lines[KEY])
        _, first, problem = np.unique(number, return_index=True, return_inverse=True)
        return read_problems(rows(self.lines[KEY], first)), problem

    @property
    def problems(self) -> pl.DataFrame:
        """What the distinct problems of the lines say."""
        return self._numbered[0]

    @property
    def problem(self) -> Integers:
        """The row in `problems` of each line."""
        return self._numbered[1]

    @cached_property
    def roles(self) -> NDArray[np.int8]:
        """What each family's kernels do with each problem, see `kernels.roles`."""
        kinds = self.problems[["primitive", "prop_kind"]].rows()
        return roles([(primitive, prop_kind or "") for primitive, prop_kind in kinds])

    def _is(self, primitive: str) -> Booleans:
        return (self.lines["primitive"] == primitive).to_numpy()

    @cached_property
    def until(self) -> Integers:
        """The last line that can belong to each candidate; its output is printed after that."""
        return self.column("until").copy()

    def _shapes(self, candidates: Integers) -> TensorShapes:
        if "_all_shapes" in vars(self):
            distinct, row, output_at = self._all_shapes
            return TensorShapes(distinct, row[candidates], output_at[candidates])
        runs = rows(self.candidates, candidates)
        shapes = node_shapes(runs, self.executions.runs.definitions, self.outputs)
        printed = shapes.output_at >= 0
        with_output, output_at = candidates[printed], shapes.output_at[printed]
        self.until[with_output] = np.minimum(self.until[with_output], output_at)
        return shapes

    @cached_property
    def _all_shapes(self) -> TensorShapes:
        """Those of all candidates, where late lines have to be compared with each."""
        return self._shapes(np.arange(self.candidates.height))

    # ---- the whole -----------------------------------------------------------------------------

    def solve(self) -> tuple[Integers, Integers]:
        """Return for each line the row of its execution (-1: none) and its link's number."""
        execution = sole_executions(self.executions, self.at)
        link = np.full(len(execution), CERTAIN)
        late, candidate, late_link = self._late_lines(execution)
        execution[late] = -1
        rest = np.flatnonzero((execution < 0) & ~late)
        if len(rest):
            linked, link[rest] = self._link_open(rest, execution)
            execution[rest] = np.append(self.column("execution"), -1)[linked]
        if late.any():
            execution[late] = np.append(self.column("execution"), -1)[candidate]
            link[late] = late_link
        if eager_ends_are_doubtful(self.events, self.executions.dispatches):
            dispatched = self.executions.frame["dispatch"].is_not_null().to_numpy()
            link[(link == CERTAIN) & np.append(dispatched, False)[execution]] = INFERRED
        return execution, link

    def _pairs(self, lines: Integers) -> Pairs:
        """Pairs of these lines (numbered from 0) and executions that can have run them.

        Those are open at the line, run its primitive, and their shapes don't contradict it.
        """
        at, family = self.at[lines], self.column("family")
        line, candidate = open_pairs(at, self.column("at"), self.until)
        problem = self.problem[lines][line]
        role = self.roles[family[candidate], problem].astype(np.int64)
        pairs = Pairs(line, candidate, role, role, problem).where(role > 0)
        used, place = np.unique(pairs.candidate, return_inverse=True)
        shapes = self._shapes(used)
        of_pairs = family[pairs.candidate]
        row = shapes.row[place]
        fit = shape_fit(self.problems, pairs.problem, shapes.distinct, row, of_pairs)
        before_output = at[pairs.line] <= self.until[pairs.candidate]
        pairs = replace(pairs, fit=fit).where(before_output & (fit > NO))
        # What a kernel runs rarely is no rival to a kernel that runs it always.
        has_main = np.zeros(len(lines), bool)
        has_main[pairs.line[pairs.role == MAIN]] = True
        rare = (pairs.role == BESIDE) & has_main[pairs.line]
        return pairs.where(~rare | self._is("reorder")[lines][pairs.line])

    # ---- lines that several executions, or none, are open around -------------------------------

    def _link_open(self, rest: Integers, sole: Integers) -> tuple[Integers, Integers]:
        """Return for each of these lines its candidate (-1: none) and its link's number.

        `sole` has the execution of each line that is settled, else -1.
        """
        lines, family = rows(self.lines, rest), self.column("family")
        settled = np.flatnonzero(sole >= 0)
        ran = first_with(self.column("row"), self.executions.frame.height)[sole[settled]]
        settled, ran = settled[ran >= 0], ran[ran >= 0]
        problem = self.problem[settled]
        pairs = self._graded(self._pairs(rest), lines, ran, problem)
        # A kernel that runs its main primitive once has none left for another line.
        full = ran[ONCE[family[ran]] & (self.roles[family[ran], problem] == MAIN)]
        lost = (pairs.role == MAIN) & np.isin(pairs.candidate, full)
        rivals = np.isin(np.arange(len(rest)), pairs.line[lost])
        pairs, slot, got = self._place(pairs.where(~lost), lines, self.problem[rest])
        candidate, link = _classify(pairs, slot, got)
        link[(link == CERTAIN) & rivals] = INFERRED
        if self._kept_back(rest[candidate < 0]):
            link[candidate >= 0] = AMBIGUOUS
        return candidate, link

    def _kept_back(self, lines: Integers) -> bool:
        """Whether all lines are behind all starts, and these, without a place, are of some of them.

        Then standard output came as a whole, and the order says nothing.
        """
        starts, able = self.column("at"), self.roles[self.column("family")] == MAIN
        behind = len(starts) > 1 and self.at.min() > starts.max()
        return bool(behind and able.any(axis=0)[self.problem[lines]].any())

    def _graded(
        self, pairs: Pairs, lines: pl.DataFrame, ran: Integers, problem: Integers
    ) -> Graded:
        """Pairs with how good they are. Candidates that `ran` problems for sure are habits, too."""
        node = self.column("node")
        problems, candidates = (
            np.concatenate(arrays) for arrays in ((pairs.problem, problem), (pairs.candidate, ran))
        )
        habit = habits(node, np.bincount(node), problems, candidates)[: len(pairs)]
        odd = oddities(self.events, lines, pairs.line, self.candidates, pairs.candidate)
        grade = grades(pairs.fit == UNKNOWN, odd, len(HABITS) - habit)
        return Graded(**vars(pairs), odd=odd, grade=grade)

    def _place(
        self, pairs: Graded, lines: pl.DataFrame, problem: Integers
    ) -> tuple[Graded, Integers, Integers]:
        """Return the pairs with all that is known of them, their slots, and what each line got."""
        slot = self._slots(pairs)
        got = np.full(lines.height, -1)
        is_reorder = (lines["primitive"] == "reorder").to_numpy()[pairs.line]
        self._assign(pairs, slot, np.flatnonzero(~is_reorder), got)
        if is_reorder.any():
            # A reorder goes by the main primitive of its kernel, so those come first.
            serving = serves(pairs, got, lines["memory_descriptors"], self.problems, problem)
            pairs = pairs.preferring(serving | ~is_reorder)
            self._assign(pairs, slot, np.flatnonzero(is_reorder), got)
        return pairs, slot, got

    def _slots(self, pairs: Pairs) -> Integers:
        """The place of each pair that only one line can have: an execution's main primitive."""
        once = ONCE[self.column("family")[pairs.candidate]] & (pairs.role == MAIN)
        return np.where(once, pairs.candidate, NO_SLOT)

    def _assign(self, pairs: Graded, slot: Integers, chosen: Integers, got: Integers) -> None:
        """Place the lines of some pairs; equally good ones by who ends first."""
        line, candidate, grade = pairs.line[chosen], pairs.candidate[chosen], pairs.grade[chosen]
        likes, merit = ranks(self.until[candidate], grade), ranks(line, grade)
        pair = assign(line, slot[chosen], likes=likes, merit=merit)
        lines = np.flatnonzero(pair >= 0)
        got[lines] = chosen[pair[lines]]

    # ---- lines that a buffer kept back ---------------------------------------------------------

    def _late_lines(self, sole: Integers) -> tuple[Booleans, Integers, Integers]:
        """Say which lines came late (all of `gemm_api`, or none), their candidates and links."""
        gemm, nothing = self._is("gemm_api"), np.zeros(0, np.int64)
        in_time = np.zeros(len(gemm), bool), nothing, nothing
        # oneDNN says which component a line is of since 3.3; the header may be missing.
        flushed = self.lines["component"].count() or not may_be_late(self.events.onednn_version)
        # Lines that a buffer kept back surface together, in one execution or in none.
        alone = len(np.unique(sole[gemm & (sole >= 0)]))
        if flushed or alone >= (1 - LOST) * gemm.sum():
            return in_time
        # A block's end cuts a line in two; what is left of it has its place in the order.
        held_back = gemm | self._is(CUT)
        lines = np.flatnonzero(held_back)
        sizes = rows(self.problems[SIZES], self.problem[lines])
        of_runs = rows(self._all_shapes.distinct[SIZES], self._all_shapes.row)
        at = pl.Series("at", self.at[lines])
        candidate, by_size = link_late(sizes.hstack([at]), self.candidates, of_runs)
        after = (at.to_numpy() > np.append(self.until, FOREVER)[candidate])[candidate >= 0]
        pairs = self._pairs(lines)
        likes, merit = ranks(self.until[pairs.candidate]), ranks(pairs.line)
        got = assign(pairs.line, self._slots(pairs), likes, merit)
        placed = np.isin(np.arange(len(lines)), pairs.line[got[got >= 0]])
        if not are_late(placed, candidate, after):
            return in_time
        link = np.where(by_size, INFERRED, np.where(candidate >= 0, AMBIGUOUS, NONE))
        return held_back, candidate, link


def _classify(pairs: Graded, slot: Integers, got: Integers) -> tuple[Integers, Integers]:
    """Return for each line its candidate (-1: none) and how sure that is."""
    lines = len(got)
    best = np.full(lines, -1, np.int64)
    order = np.lexsort((pairs.grade, pairs.line))
    first = np.flatnonzero(np.diff(pairs.line[order], prepend=-1))
    best[pairs.line[order[first]]] = order[first]
    left = (got < 0) & (best >= 0)
    chosen = np.where(left, best, got)
    equal = pairs.grade == np.append(pairs.grade, -1)[chosen][pairs.line]
    several = exchangeable(pairs.line, pairs.candidate, slot, got, equal)
    link = np.where(several | left, AMBIGUOUS, INFERRED)
    # One execution holds two lines that it should not: one of them is wrong, or the table is.
    crowded = np.zeros(int(slot.max(initial=-1)) + 2, bool)
    crowded[slot[best[left]]] = True
    crowded[NO_SLOT] = False
    alone = np.bincount(pairs.line, minlength=lines) == 1
    alone &= ~crowded[np.append(slot, NO_SLOT)[chosen]] & (np.append(pairs.odd, 0)[chosen] == 0)
    link[alone] = CERTAIN
    link[chosen < 0] = NONE
    return np.append(pairs.candidate, -1)[chosen], link
