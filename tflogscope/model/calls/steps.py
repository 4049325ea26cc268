"""Which function, and which call, each step of the executor belongs to.

No record ties a step id to a function. Two things do, taken together:
content  a function's executor is made on its first run, after a line with its name; the nodes
         made there are the nodes that the step runs, to the letter of their definitions
order    a call prints a line before its step begins and another after it has ended
A step whose function no line calls is one that tf.data runs (data/captured_function.cc).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.model.common.frames import (
    Integers,
    alike,
    among,
    begins,
    first_case,
    holds,
    last_before,
    looked_up,
    ranges,
    rows,
    where,
)
from tflogscope.model.common.names import WRAPPED, function_columns
from tflogscope.model.common.pairing import match_in_order
from tflogscope.model.common.thresholds import AT_ONCE
from tflogscope.model.executions.dispatches import Dispatches
from tflogscope.model.executions.instantiations import Instantiations
from tflogscope.model.executions.node_runs import FOLDING_STEP, NodeRuns

_FOREVER = np.iinfo(np.int64).max
_FLAVOURS = {"dataset-function": "dataset", "session": "other"}  # by causes
_DEFINITION = ["node", "op", "attributes", "inputs"]


def read_steps(
    runs: NodeRuns, instantiations: Instantiations, dispatches: Dispatches
) -> pl.DataFrame:
    """Return one row per step, in the order of `runs.steps`.

    Columns: step (its id), at and last_at (lines of its first and last node), name (full function
    name), call (number or null), cause (`dataset-function`, `constant-folding`, `session` or
    null), function, function_uid, flavour.
    """
    steps = _extent(runs)
    content = _content(runs, instantiations)
    called = _called(dispatches)
    match = _by_content(steps, content, called, instantiations)
    unknown = where(content["names"].is_null() & (steps["step"] != FOLDING_STEP))
    _by_order(steps, unknown, called, runs, match)
    steps = steps.with_columns(
        name=match.name, run=match.run, call=_calls_of(steps["at"].to_numpy(), called, match.run)
    )
    lone = pl.col("run") < 0
    cause = first_case(
        {
            "constant-folding": pl.col("step") == FOLDING_STEP,
            # Sessions count their steps from 1 (common_runtime/direct_session.cc); the eager
            # runtime draws them at random with the top bit set.
            "session": lone & (pl.col("step") >= 0),
            "dataset-function": lone & ~holds(among(pl.col("name"), called["function"])),
        }
    )
    names = steps.select("name").unique().with_columns(**function_columns(pl.col("name")))
    steps = looked_up(steps.with_columns(cause=cause), names, "name", nulls_equal=True)
    flavour = pl.col("cause").replace_strict(
        _FLAVOURS, default=pl.col("flavour").fill_null("other")
    )
    return steps.select(
        *("step", "at", "last_at", "name", "call", "cause", "function", "function_uid"),
        flavour=flavour,
    )


class _Found(NamedTuple):
    """What each step is of: the full `name` of its function, and the `run` of it (-1: none)."""

    name: pl.Series
    run: Integers

    def put(self, steps: Integers, name: pl.Series, run: Integers) -> None:
        self.name.scatter(steps, name)
        self.run[steps] = run


def _extent(runs: NodeRuns) -> pl.DataFrame:
    """First and last line of each step; how many nodes it ran."""
    first, last = np.empty((2, len(runs.steps)), np.int64)
    last[runs.step] = runs.at  # they are in order, so the last one stays
    first[runs.step[::-1]] = runs.at[::-1]
    nodes = np.bincount(runs.step, minlength=len(runs.steps))
    return pl.DataFrame({"step": runs.steps, "at": first, "last_at": last, "nodes": nodes})


# ---- content ------------------------------------------------------------------------------------


def _content(runs: NodeRuns, instantiations: Instantiations) -> pl.DataFrame:
    """Return for each step the functions whose executor holds its nodes: names, how many (`size`).

    `owner` numbers the names.

    A definition is in the executors of few functions, mostly of one. A step goes by the
    definition that is in the fewest, and of those by the names that most of its nodes have. The
    names are joined by `;`, and null where none is known.
    """
    owners = _owners(runs, instantiations)
    owner, size = owners["owner"].to_numpy(), owners["size"].fill_null(0).to_numpy()
    named = (size > 0)[runs.definition]
    step, definition = runs.step[named].astype(np.int64), runs.definition[named]
    # Nodes of one step and owner mostly follow each other, so only where either changes counts.
    first = np.flatnonzero(begins(step, owner[definition]))
    count = np.diff(np.append(first, len(step)))
    step, definition = step[first], definition[first]
    _, place, which = np.unique(
        step * (len(owner) + 1) + owner[definition], return_index=True, return_inverse=True
    )
    count = np.bincount(which, count)
    step, definition = step[place], definition[place]
    order = np.lexsort((owner[definition], -count, size[definition], step))
    best = order[begins(step[order])]
    of_step = np.full(len(runs.steps), -1)
    of_step[step[best]] = definition[best]
    of_step[runs.steps == FOLDING_STEP] = -1
    return rows(owners, of_step)


def _owners(runs: NodeRuns, instantiations: Instantiations) -> pl.DataFrame:
    """For each definition code: names of the functions it is in, how many, and a set number."""
    # The definition of _SOURCE is the same in all functions, so it says nothing.
    made = instantiations.kernels.filter(
        pl.col("function").is_not_null(), pl.col("node") != "_SOURCE"
    )
    functions = pl.col("function").append(pl.col("or_function")).drop_nulls().unique()
    sets = made.group_by(_DEFINITION).agg(
        names=functions.sort().str.join(";"), size=functions.len()
    )
    definitions = runs.definitions.select("node", "attributes", "inputs", op="kernel")
    return looked_up(definitions, sets, _DEFINITION).select(
        "names", "size", owner=pl.col("names").rank("dense").fill_null(0).cast(pl.Int64)
    )


# ---- order --------------------------------------------------------------------------------------


def _called(dispatches: Dispatches) -> pl.DataFrame:
    """Each run of a function's component that an executor carried out, or the call itself.

    Columns: at, end_at, thread, function, call (null: a function called inside another). Where
    the log has no lines of the components, the dispatch stands for them.
    """
    eager = dispatches.eager
    runs = dispatches.runs.filter(~pl.col("function").str.contains(WRAPPED))
    # Where no end is printed, a call is over when its thread dispatches the next op.
    next_at = pl.col("at").shift(-1).over("thread", order_by="at")
    over = pl.when("is_call").then(pl.coalesce("end_at", "exit", next_at))
    calls = eager.select("at", "thread", "call", function="name", over=over)
    of_runs = runs["dispatch"].to_numpy()
    with_call = runs.hstack(rows(calls[["call", "over"]], of_runs))
    lone = rows(calls, np.setdiff1d(where(eager["is_call"]), of_runs))
    end = pl.coalesce(pl.when(pl.col("thread") >= 0).then("over"), "end_at", "over")
    return (
        pl.concat([with_call, lone], how="diagonal")
        .select("at", "thread", "function", "call", end_at=end.fill_null(_FOREVER))
        .sort("at", maintain_order=True)
    )


def _by_content(
    steps: pl.DataFrame,
    content: pl.DataFrame,
    called: pl.DataFrame,
    instantiations: Instantiations,
) -> _Found:
    """Match steps whose function is known by content to the runs of that function."""
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, steps.height)
    matches = _Found(nothing, np.full(steps.height, -1))
    one, several = where(content["size"] == 1), where(content["size"] > 1)
    steps = steps[["at", "last_at"]].hstack(content[["names", "owner"]])
    with_one = rows(steps, one)
    matches.put(one, with_one["names"], _runs_of_steps(called, with_one))
    if len(several):
        made = instantiations.kernels.select("at", "function").drop_nulls()
        matches.put(several, *_by_equal_content(rows(steps, several), called, made, matches.run))
    return matches


def _by_equal_content(
    several: pl.DataFrame, called: pl.DataFrame, made: pl.DataFrame, taken: Integers
) -> tuple[pl.Series, Integers]:
    """Match steps that could be of several functions (`names`) to the runs around them.

    Such functions may run at once, as the two directions of a recurrent layer do. What nobody
    calls, tf.data runs: of its functions the one whose kernels (`made`) are the latest.
    """
    # A function that is traced a thousand times has a thousand equals, so nothing is made of each
    # step with each of them; and their names are a long text, so sets go by their numbers.
    sets = several[["owner", "names"]].unique("owner", maintain_order=True).with_row_index("set")
    keyed = looked_up(several, sets, "owner")[["at", "set"]]
    functions = sets.select("set", function=pl.col("names").str.split(";"))
    first = functions["function"].list.first()[keyed["set"]]
    functions = functions.explode("function", empty_as_null=False)
    made = made.join(functions, on="function")
    latest = rows(made["function"], last_before(keyed, made[["at", "set"]]))
    free = called.with_row_index("run").filter(~among(pl.col("run"), pl.Series(taken)))
    free = free.join(functions, on="function").sort("set", "at", "run")
    begin = np.searchsorted(free["set"].to_numpy(), keyed["set"].to_numpy())
    step, place = _last_ones(last_before(keyed, free[["at", "set"]]), begin)
    run, end = free["run"].to_numpy()[place], called["end_at"].to_numpy()
    inside = several["last_at"].to_numpy()[step] <= end[run]
    step, run = _each_once(step[inside], run[inside], keyed["at"].to_numpy(), end)
    run_of = np.full(several.height, -1)
    run_of[step] = run
    name = pl.coalesce(rows(called["function"], run_of), latest, first)
    return pl.select(name).to_series(), run_of


def _runs_of_steps(called: pl.DataFrame, steps: pl.DataFrame) -> Integers:
    """Return the run of each step (`names` is its function), -1: none.

    The n-th step of a function belongs to its n-th run. Where that puts a step outside its run
    (threads that call one function at once), the steps of the function go by what contains them,
    if thread ids say for sure where each run ends.
    """
    run = match_in_order(called[["at", "function"]], steps[["at", "names"]])
    begin, end = (np.append(called[name].to_numpy(), 0) for name in ("at", "end_at"))
    at, last_at = (steps[name].to_numpy() for name in ("at", "last_at"))
    outside = (at < begin[run]) | (last_at > end[run])
    if outside.any():
        of_run, of_step = alike(called[["function"]], steps[["names"]])
        unsure = of_run[called["thread"].to_numpy() < 0]
        astray = np.flatnonzero(np.isin(of_step, np.setdiff1d(of_step[outside], unsure)))
        order = np.argsort(of_run, kind="stable")  # by function, and then as they began
        mine, theirs = (
            pl.DataFrame({"at": place, "function": of})
            for place, of in ((at[astray], of_step[astray]), (begin[order], of_run[order]))
        )
        first = np.searchsorted(of_run[order], of_step[astray])
        most = max(AT_ONCE, 2 * _most_open(begin[:-1], end[:-1]))  # some began before others
        step, place = _last_ones(last_before(mine, theirs), first, most)
        step, other = astray[step], order[place]
        inside = last_at[step] <= end[other]
        step, other = _each_once(step[inside], other[inside], at, end)
        run[step] = other
    return run


def _most_open(begin: Integers, end: Integers) -> int:
    """How many runs are open at once, those without an end left out."""
    ended = end < _FOREVER
    begin, end = np.sort(begin[ended]), np.sort(end[ended])
    begun = np.arange(1, len(begin) + 1)
    return int((begun - np.searchsorted(end, begin)).max(initial=0))


def _last_ones(last: Integers, first: Integers, most: int = AT_ONCE) -> tuple[Integers, Integers]:
    """Each row with each place up to its `last` one, none before its `first`: row, place.

    Only so many of the last places are looked at: a log may have any number of runs without an end.
    """
    count = np.clip(last - first + 1, 0, most)
    return ranges(last - count + 1, count)


def _open_at(at: Integers, begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Pairs of a step that begins somewhere and a run that is open there, of those begun last."""
    order = np.argsort(begin, kind="stable")
    last = np.searchsorted(begin[order], at) - 1
    step, place = _last_ones(last, np.zeros_like(last))
    run = order[place]
    inside = at[step] <= end[run]
    return step[inside], run[inside]


def _each_once(
    step: Integers, run: Integers, at: Integers, end: Integers
) -> tuple[Integers, Integers]:
    """Choose among pairs of a step, which begins `at`, and a run with its `end`, each one once.

    In the order in which they began, each step takes the run that ends first of those around it
    that are left: so as many have one as can have. Here all ask at once, and a run goes on to a
    step that began earlier; the other one asks again.
    """
    pairs = np.lexsort((run, end[run], step))
    step, run = step[pairs], run[pairs]
    asked = np.flatnonzero(begins(step))  # of each step the next pair that it asks for
    stop = np.append(asked[1:], len(step))
    number = np.cumsum(begins(step)) - 1
    holds_run = np.full(len(end), -1)  # the pair that has each run
    asking = np.arange(len(asked))
    while len(asking):  # as many rounds as there are calls open at once
        held = np.unique(holds_run[run[asked[asking]]])
        both = np.append(asked[asking], held[held >= 0])
        both = both[np.lexsort((step[both], at[step[both]], run[both]))]
        first = begins(run[both])
        holds_run[run[both[first]]] = both[first]
        asking = number[both[~first]]
        asked[asking] += 1
        asking = asking[asked[asking] < stop[asking]]
    kept = holds_run[holds_run >= 0]
    return step[kept], run[kept]


def _by_order(
    steps: pl.DataFrame, unknown: Integers, called: pl.DataFrame, runs: NodeRuns, matches: _Found
) -> None:
    """Match steps of unknown content to runs that have no step yet, by where they begin.

    Steps of one function run the same nodes, so they have the same signature; a run takes the
    signature that begins once in each of its function's runs and nowhere else.
    """
    free = np.setdiff1d(np.arange(called.height), matches.run)
    if not len(unknown) or not len(free):
        return
    at, nodes = (steps[name].to_numpy()[unknown] for name in ("at", "nodes"))
    end = called["end_at"].to_numpy()
    step, place = _open_at(at, called["at"].to_numpy()[free], end[free])
    run = free[place]
    signature = np.unique(_signatures(runs)[unknown], return_inverse=True)[1]
    most_nodes = np.zeros(len(unknown), np.int64)
    np.maximum.at(most_nodes, signature, nodes)
    (function,) = alike(called[["function"]])
    # Runs covered count for a signature, beginnings beside them count against it.
    of, its = function[run], signature[step]
    pairs = np.lexsort((run, its, of))
    pairs = pairs[begins(of[pairs], its[pairs], run[pairs])]
    first = np.flatnonzero(begins(of[pairs], its[pairs]))
    covered, pairs = np.diff(np.append(first, len(pairs))), pairs[first]
    score = 2 * covered - np.bincount(signature)[its[pairs]]
    order = np.lexsort((its[pairs], -most_nodes[its[pairs]], -score, of[pairs]))
    best = pairs[order[begins(of[pairs[order]])]]
    fits = its[best][np.searchsorted(of[best], of)] == its
    run_of = np.full(len(unknown), -1)
    step, matched = _each_once(step[fits], run[fits], at, end)
    run_of[step] = matched
    # What runs the nodes of a called function is that function, whichever call it is.
    like = np.full(len(unknown), -1)
    like[its[best]] = run[best]
    like[np.bincount(its[best], minlength=len(like)) != 1] = -1
    like = like[signature]
    like[step] = matched
    is_like = like >= 0
    matches.put(unknown[is_like], called["function"][like[is_like]], run_of[is_like])


def _signatures(runs: NodeRuns) -> NDArray[np.uint64]:
    """Return a number per step that says which nodes it ran: their least hashes, three of them.

    The set of nodes counts, not their order or how often a loop ran them (min-wise hashing).
    """
    names = runs.definitions.select(pl.struct("node", "kernel", "device").hash()).to_series()
    hashes = names.to_numpy()
    signature = np.zeros(len(runs.steps), np.uint64)
    for seed in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9):
        mixed = (hashes ^ np.uint64(seed)) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(33)
        least = np.full(len(runs.steps), np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(least, runs.step, mixed[runs.definition])
        signature = (signature ^ least) * np.uint64(0x9E3779B97F4A7C15)
    return signature


# ---- what is left -------------------------------------------------------------------------------


def _calls_of(at: Integers, called: pl.DataFrame, run: Integers) -> pl.Series:
    """The call of each step; a function called inside another belongs to the call around it."""
    of_run = called["call"].cast(pl.Int64).fill_null(-1).to_numpy()
    call = np.append(of_run, -1)[run]
    nested = np.flatnonzero((run >= 0) & (call < 0))
    outer = np.flatnonzero(of_run >= 0)
    begin, end = (called[name].to_numpy()[outer] for name in ("at", "end_at"))
    step, place = _open_at(at[nested], begin, end)
    first, last = np.full(len(nested), _FOREVER), np.full(len(nested), -1)
    np.minimum.at(first, step, of_run[outer][place])
    np.maximum.at(last, step, of_run[outer][place])
    # With several calls open at once nothing says which of them it was.
    call[nested] = np.where(first == last, last, -1)
    return pl.Series(call, dtype=pl.UInt32, strict=False)
