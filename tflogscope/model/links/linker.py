"""Which execution each oneDNN line belongs to: an assignment over the whole log.

See docs/linking.md for how it goes about it, with an example.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.events import PLACES, Events
from tflogscope.model.executions import Executions
from tflogscope.model.links.assignment import NO_SLOT, assign, exchangeable
from tflogscope.model.links.candidates import (
    eager_ends_are_doubtful,
    read_candidates,
    sources_apart,
)
from tflogscope.model.links.kernels import ONCE
from tflogscope.model.links.late import are_late, late_by_marks, link_late, may_be_late
from tflogscope.model.links.pairs import (
    MAIN,
    Graded,
    Pairs,
    graded,
    preferring,
    read_pairs,
    without_misfits,
)
from tflogscope.model.links.problems import KEY, read_problems
from tflogscope.model.links.reorders import distances, main_lines, serves
from tflogscope.model.links.sole import sole_executions
from tflogscope.model.links.tensors import TensorOutputs, node_shapes
from tflogscope.model.thresholds import STRAY_LINES

LINKS = ("certain", "inferred", "ambiguous", "none")
CERTAIN, INFERRED, AMBIGUOUS, NONE = range(len(LINKS))
GEMM = "gemm_api"
CUT = ""  # what a line says it ran, if it was cut before that
_FOREVER = np.iinfo(np.int64).max
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def link_primitives(
    events: Events, executions: Executions, outputs: TensorOutputs | None
) -> pl.DataFrame:
    """Link all lines of oneDNN: at, execution (row of `Executions.frame` or null), link.

    One row per row of `events.primitives`. `outputs` are the shapes of what nodes put out, None if
    the log has none. A line of a creation has the link of the run that follows it.
    """
    primitives = events.primitives
    # A log of oneDNN alone, or a file of its own for it.
    if executions.frame.is_empty() or sources_apart(executions, primitives)[0]:
        return primitives.select("at", execution=pl.lit(None, pl.Int64), link=pl.lit(LINKS[NONE]))
    placed = (primitives["event"] == "exec").fill_null(value=False)
    if late := events.late_plugins:
        placed &= ~primitives["marker"].is_in(late).fill_null(value=False)
    rows = np.flatnonzero(placed.to_numpy())
    rows = rows[np.argsort(primitives["at"].to_numpy()[rows], kind="stable")]
    execution = np.full(primitives.height, -1, np.int64)
    link = np.full(primitives.height, NONE, np.int64)
    if len(rows):
        lines = primitives.select(pl.all().gather(rows)).with_columns(
            primitive=pl.col("primitive_kind").fill_null(CUT)
        )
        execution[rows], link[rows] = _Linker(events, executions, lines, outputs).solve()
    linked = primitives.select("at", "event", *[pl.col(name).fill_null("") for name in KEY])
    linked = linked.with_columns(
        execution=pl.Series(execution).set(pl.Series(execution < 0), None),
        link=pl.Series(LINKS).gather(link),
    )
    return _with_creations(executions, linked).select("at", "execution", "link")


def _with_creations(executions: Executions, linked: pl.DataFrame) -> pl.DataFrame:
    """Give a line of a primitive's creation the execution that then runs it, if it was open."""
    begun = executions.frame.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("new"), begun="at")
    runs = (
        linked.filter((pl.col("event") == "exec") & pl.col("execution").is_not_null())
        .select("at", *KEY, new="execution", new_link="link")
        .join(begun, on="new")
        .sort("at")
    )
    made = linked.with_row_index("row").filter(pl.col("event").str.starts_with("create"))
    made = made.sort("at").join_asof(
        runs, on="at", by=list(KEY), strategy="forward", check_sortedness=False
    )
    made = made.filter(pl.col("begun") <= pl.col("at")).select("row", "new", "new_link")
    joined = linked.with_row_index("row").join(made, on="row", how="left", maintain_order="left")
    return joined.with_columns(
        execution=pl.coalesce("new", "execution"), link=pl.coalesce("new_link", "link")
    )


@dataclass
class _Linker:
    """Solves one log. `lines` are its `exec` lines, in order; candidates are numbered, too."""

    events: Events
    executions: Executions
    lines: pl.DataFrame
    outputs: TensorOutputs | None

    # ---- what is given -------------------------------------------------------------------------

    @cached_property
    def at(self) -> Integers:
        return self.lines["at"].to_numpy()

    @cached_property
    def candidates(self) -> pl.DataFrame:
        return read_candidates(self.executions)

    @cached_property
    def shapes(self) -> pl.DataFrame:
        return node_shapes(self.candidates, self.executions.runs.definitions, self.outputs)

    @cached_property
    def until(self) -> pl.Series:
        """The last line that can belong to each candidate; its output is printed after that."""
        return pl.select(
            pl.min_horizontal(self.candidates["until"], self.shapes["output_at"])
        ).to_series()

    @cached_property
    def problems(self) -> pl.DataFrame:
        return read_problems(self.lines)

    @cached_property
    def problem(self) -> Integers:
        """The row in `problems` of each line."""
        number = self.lines.select(KEY).join(
            self.problems.select(KEY).with_row_index("number"),
            on=KEY,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return number["number"].cast(pl.Int64).to_numpy()

    def _is(self, primitive: str) -> Booleans:
        return (self.lines["primitive"] == primitive).to_numpy()

    # ---- the whole -----------------------------------------------------------------------------

    def solve(self) -> tuple[Integers, Integers]:
        """Return for each line the row of its execution (-1: none) and its link's number."""
        pairs = read_pairs(
            self.lines,
            self.candidates,
            problems=self.problems,
            problem=self.problem,
            shapes=self.shapes,
            until=self.until,
        )
        late, late_candidate, late_link = self._late_lines(pairs)
        sole = np.where(late, -1, sole_executions(self.executions, self.at))
        sole[self._contradicted(sole, pairs)] = -1
        pairs, slot, got, rivals = self._place(pairs.where(~late[pairs.line]), sole)
        candidate, link = _classify(pairs, slot, got)
        link[(link == CERTAIN) & rivals] = INFERRED
        candidate[late], link[late] = late_candidate, late_link
        settled = sole >= 0
        self._place_strays(candidate, link, got, late | settled)
        execution = np.append(self.candidates["execution"].to_numpy(), -1)[candidate]
        execution = np.where(settled, sole, execution)
        link[settled] = CERTAIN
        if eager_ends_are_doubtful(self.events, self.executions.dispatches):
            dispatched = self.executions.frame["dispatch"].is_not_null().to_numpy()
            link[(link == CERTAIN) & np.append(dispatched, False)[execution]] = INFERRED
        return execution, link

    def _contradicted(self, sole: Integers, pairs: Pairs) -> Booleans:
        """Lines whose only open execution is of a kernel that is known not to run their primitive.

        They came late, with a buffer that was written out while it ran.
        """
        row = self.candidates["execution"].to_numpy()
        able = np.zeros(self.lines.height, bool)
        able[pairs.line[row[pairs.candidate] == sole[pairs.line]]] = True
        return np.isin(sole, row) & ~able & ~self._is(CUT)

    def _left_open(self, pairs: Graded, sole: Integers) -> tuple[Graded, Booleans]:
        """The pairs of lines that are not settled, and which of these lines lost a rival.

        A kernel that runs its main primitive once has none left for another line.
        """
        row = self.candidates["execution"].to_numpy()[pairs.candidate]
        main = pairs.role == MAIN
        own = main & (row == sole[pairs.line])
        once = ONCE[self.candidates["family"].to_numpy()[pairs.candidate]]
        taken = main & once & np.isin(pairs.candidate, pairs.candidate[own])
        rivals = np.zeros(self.lines.height, bool)
        rivals[pairs.line[taken]] = True
        return pairs.where((sole[pairs.line] < 0) & ~taken), rivals

    def _place(self, pairs: Pairs, sole: Integers) -> tuple[Graded, Integers, Integers, Booleans]:
        """Return the pairs that are possible, their slots, and which pair each line got.

        `sole` has the execution of each line that is settled, else -1; these lines are evidence
        of habits. Last comes which lines lost a rival to a settled line.
        """
        fitting = without_misfits(pairs, self.lines["primitive"])
        all_graded = graded(fitting, self.events, self.lines, self.candidates)
        pairs, rivals = self._left_open(all_graded, sole)
        is_reorder = self._is("reorder")
        layout = self.lines["memory_descriptors"].rank("dense").fill_null(0).cast(pl.Int64)
        slot = pairs.slots(self.candidates["family"].to_numpy(), is_reorder, layout.to_numpy())
        got = np.full(self.lines.height, -1, np.int64)
        # A reorder goes by the main primitive of its kernel, so those come first.
        reorders = np.flatnonzero(is_reorder[pairs.line])
        others = np.flatnonzero(~is_reorder[pairs.line])
        self._assign(pairs, slot, others, np.zeros(len(others), np.int64), got)
        if len(reorders):
            own = pairs.where(is_reorder[pairs.line])
            mains = main_lines(pairs, got, self.candidates.height)
            rows = self.problems.select(pl.all().gather(self.problem))
            pairs = preferring(pairs, reorders, serves(own, mains, self.lines, rows))
            self._assign(pairs, slot, reorders, distances(own, mains, self.at), got)
        return pairs, slot, got, rivals

    def _assign(
        self, pairs: Graded, slot: Integers, rows: Integers, distance: Integers, got: Integers
    ) -> None:
        """Place the lines of some pairs; equally good ones by distance, then by who ends first."""
        if not len(rows):
            return
        line, candidate, grade = pairs.line[rows], pairs.candidate[rows], pairs.grade[rows]
        until = self.until.fill_null(_FOREVER).to_numpy()[candidate]
        dense = np.unique(slot[rows], return_inverse=True)[1]
        chosen = assign(
            line,
            np.where(slot[rows] == NO_SLOT, NO_SLOT, dense),
            likes=_ranks(until, distance, grade),
            merit=_ranks(line, distance, grade),
        )
        lines = np.flatnonzero(chosen >= 0)
        got[lines] = rows[chosen[lines]]

    # ---- lines that nothing open explains ------------------------------------------------------

    @cached_property
    def may_be_late(self) -> bool:
        # oneDNN says which component a line is of since 3.3; the header may be missing.
        if self.lines["component"].count():
            return False
        return may_be_late(self.events.onednn_version)

    def _late_lines(self, pairs: Pairs) -> tuple[Booleans, Integers, Integers]:
        """Say which lines came late (all of `gemm_api`, or none), their candidates and links."""
        gemm = self._is(GEMM)
        nothing = np.zeros(0, np.int64)
        if not gemm.any() or not self.may_be_late:
            return np.zeros(len(gemm), bool), nothing, nothing
        marks = self.events.messages("mkl_sgemm").select("at", "thread")
        late = late_by_marks(marks, self.at[gemm], self.candidates)
        if late is False:
            return np.zeros(len(gemm), bool), nothing, nothing
        # A block's end cuts a line in two; what is left of it has its place in the order.
        held_back = gemm | self._is(CUT)
        sizes = self.problems.select(pl.col("m", "k", "n").gather(self.problem[held_back]))
        lines = sizes.with_columns(at=pl.Series(self.at[held_back]))
        candidate, by_size = link_late(lines, self.candidates, self.shapes)
        until = np.append(self.until.fill_null(_FOREVER).to_numpy(), _FOREVER)
        after = (self.at[held_back] > until[candidate])[candidate >= 0]
        if late is None:
            nobody = np.full(len(gemm), -1, np.int64)
            placed = self._place(pairs, nobody)[2][held_back] >= 0
            late = are_late(placed, candidate, after)
        if not late:
            return np.zeros(len(gemm), bool), nothing, nothing
        link = np.where(by_size, INFERRED, np.where(candidate >= 0, AMBIGUOUS, NONE))
        return held_back, candidate, link

    def _place_strays(
        self, candidate: Integers, link: Integers, got: Integers, late: Booleans
    ) -> None:
        """Give lines without a place to eager ops before them that should have one and have none.

        Ends of eager ops name nobody; with several Python threads they are mixed up.
        """
        used = np.zeros(self.candidates.height + 1, bool)
        used[candidate[got >= 0]] = True
        eager = self.candidates["definition"].is_null().to_numpy() & ~used[:-1]
        threads = (self.candidates["thread"] >= 0).fill_null(value=False).to_numpy()
        once = ONCE[self.candidates["family"].to_numpy()]
        empty = np.flatnonzero(eager & once & ~threads)
        lines = np.flatnonzero((got < 0) & ~late & ~self._is("reorder"))
        if not len(empty) or not len(lines):
            return
        runs = self.candidates.select(pl.all().gather(empty))
        shapes = self.shapes.select(pl.all().gather(empty))
        few = self.lines.select(pl.all().gather(lines))
        until = (runs["at"] + STRAY_LINES * PLACES).alias("until")
        pairs = read_pairs(
            few,
            runs,
            problems=self.problems,
            problem=self.problem[lines],
            shapes=shapes,
            until=until,
        )
        pairs = pairs.where(pairs.role == MAIN)
        if not len(pairs):
            return
        far = self.at[lines[pairs.line]] - runs["at"].to_numpy()[pairs.candidate]
        chosen = assign(
            pairs.line, pairs.candidate, likes=_ranks(far), merit=_ranks(far, pairs.line)
        )
        found = np.flatnonzero(chosen >= 0)
        candidate[lines[found]] = empty[pairs.candidate[chosen[found]]]
        link[lines[found]] = AMBIGUOUS


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
    crowded[slot[best[left & (np.append(pairs.role, 0)[best] == MAIN)]]] = True
    crowded[NO_SLOT] = False
    alone = np.bincount(pairs.line, minlength=lines) == 1
    alone &= ~crowded[np.append(slot, NO_SLOT)[chosen]] & (np.append(pairs.odd, 0)[chosen] == 0)
    link[alone] = CERTAIN
    link[chosen < 0] = NONE
    return np.append(pairs.candidate, -1)[chosen], link


def _ranks(*keys: Integers) -> Integers:
    """Number rows by their keys, the last key first."""
    rank = np.empty(len(keys[0]), np.int64)
    rank[np.lexsort(keys)] = np.arange(len(keys[0]))
    return rank
