"""Which function, and which call, each step of the executor belongs to.

No record ties a step id to a function. Two things do, taken together:
content  a function's executor is made on its first run, after a line with its name; the nodes
         made there are the nodes that the step runs, to the letter of their definitions
order    a call prints a line before its step begins and another after it has ended
A step whose function no line calls is one that tf.data runs (data/captured_function.cc).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.dispatches import Dispatches
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.names import WRAPPED, function_columns
from tflogscope.model.node_runs import FOLDING_STEP, NodeRuns
from tflogscope.model.pairing import match_in_order
from tflogscope.model.thresholds import AT_ONCE

_FOREVER = np.iinfo(np.int64).max


def read_steps(
    runs: NodeRuns, instantiations: Instantiations, dispatches: Dispatches
) -> pl.DataFrame:
    """Return one row per step, in the order of `runs.steps`.

    Columns: step (its id), at and last_at (lines of its first and last node), name (full function
    name), call (number or null), cause (`dataset-function`, `constant-folding`, `session` or
    null), function, function_uid, flavour.
    """
    steps = _extent(runs)
    steps = steps.join(_content(runs, instantiations), on="row", how="left", maintain_order="left")
    called = _called(dispatches)
    steps = _by_content(steps, called, instantiations)
    steps = _by_order(steps, called, runs)
    steps = _unmatched(steps, called)
    names = function_columns(pl.col("name"))
    flavour = (
        pl.when(pl.col("cause") == "dataset-function")
        .then(pl.lit("dataset"))
        .when(pl.col("cause") == "session")
        .then(pl.lit("other"))
        .otherwise(names["flavour"].fill_null("other"))
    )
    return steps.sort("row").select(
        "step", "at", "last_at", "name", "call", "cause", **(names | {"flavour": flavour})
    )


def _extent(runs: NodeRuns) -> pl.DataFrame:
    """Rows, first and last line of each step; its device where it begins; how many nodes it ran."""
    first, last = np.empty((2, len(runs.steps)), np.int64)
    last[runs.step] = runs.at  # they are in order, so the last one stays
    first[runs.step[::-1]] = runs.at[::-1]
    return pl.DataFrame(
        {
            "row": np.arange(len(runs.steps)),
            "step": runs.steps,
            "at": first,
            "last_at": last,
            "nodes": np.bincount(runs.step, minlength=len(runs.steps)),
        }
    )


# ---- content ------------------------------------------------------------------------------------


def _content(runs: NodeRuns, instantiations: Instantiations) -> pl.DataFrame:
    """Return row, names: the functions (`;`-joined) whose executor holds a step's nodes.

    A definition is in the executors of few functions, mostly of one. A step goes by the
    definition that is in the fewest, and of those by the names that most of its nodes have.
    """
    owners = _owners(runs, instantiations)
    if owners.is_empty():
        return pl.DataFrame(schema={"row": pl.Int64, "names": pl.String})
    size = owners["size"].to_numpy()
    named = size[runs.definition] > 0
    row, owner = runs.step[named], owners["owner"].to_numpy()[runs.definition[named]]
    # Nodes of one step and owner mostly follow each other, so only where either changes counts.
    changes = np.ones(len(row), bool)
    changes[1:] = (row[1:] != row[:-1]) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(changes)
    count = np.diff(np.append(first, len(row)))
    pairs = pl.DataFrame(
        {"row": row[first].astype(np.int64), "owner": owner[first], "count": count}
    )
    counted = pairs.group_by("row", "owner").agg(pl.col("count").sum())
    sets = owners.filter(pl.col("size") > 0).unique("owner").select("owner", "names", "size")
    best = counted.join(sets, on="owner").sort(
        "row", "size", "count", "owner", descending=[False, False, True, False]
    )
    return best.unique("row", keep="first", maintain_order=True).select("row", "names")


def _owners(runs: NodeRuns, instantiations: Instantiations) -> pl.DataFrame:
    """For each definition code: names of the functions it is in, how many, and a set number."""
    made = instantiations.kernels.drop_nulls("function")
    if made.is_empty():
        return pl.DataFrame()
    key = ["node", "op", "attributes", "inputs"]
    # The definition of _SOURCE is the same in all functions, so it says nothing.
    made = made.filter(pl.col("node") != "_SOURCE")
    functions = (
        pl.concat([made.select(*key, "function"), made.select(*key, function="or_function")])
        .drop_nulls("function")
        .unique()
        .group_by(key)
        .agg(names=pl.col("function").sort().str.join(";"), size=pl.len())
    )
    definitions = runs.definitions.select("node", "attributes", "inputs", op="kernel")
    owners = definitions.join(functions, on=key, how="left", maintain_order="left")
    return owners.select(
        "names", pl.col("size").fill_null(0), owner=pl.col("names").rank("dense").fill_null(0)
    )


# ---- order --------------------------------------------------------------------------------------


def _called(dispatches: Dispatches) -> pl.DataFrame:
    """Each run of a function's component that an executor carried out, or the call itself.

    Columns: run, at, end_at, function, call (null: a function called inside another). Where the
    log has no lines of the components, the dispatch stands for them.
    """
    runs = dispatches.runs.filter(~pl.col("function").str.contains(WRAPPED))
    # Where no end is printed, a call is over when its thread dispatches the next op.
    calls = dispatches.eager.with_columns(
        next_at=pl.col("at").shift(-1).over("thread", order_by="at")
    ).filter(pl.col("call").is_not_null())
    calls = calls.select(
        "dispatch", "call", "name", "at", "thread", over=pl.coalesce("end_at", "exit", "next_at")
    )
    with_call = runs.join(
        calls.select("dispatch", "call", "over"), on="dispatch", how="left", maintain_order="left"
    ).select(
        "at",
        "thread",
        "function",
        "call",
        end_at=pl.coalesce(pl.when(pl.col("thread") >= 0).then("over"), "end_at", "over"),
    )
    lone = (
        calls.join(runs, on="dispatch", how="anti")
        .select("at", "thread", "call", function="name", end_at="over")
        .select(with_call.columns)
    )
    called = pl.concat([with_call, lone]).sort("at", maintain_order=True)
    return called.with_row_index("run").with_columns(
        pl.col("run").cast(pl.Int64), end_at=pl.col("end_at").fill_null(_FOREVER)
    )


def _by_content(
    steps: pl.DataFrame, called: pl.DataFrame, instantiations: Instantiations
) -> pl.DataFrame:
    """Match steps whose function is known by content to the runs of that function."""
    steps = steps.with_columns(run=pl.lit(None, pl.Int64), name=pl.lit(None, pl.String))
    known = steps.filter(pl.col("names").is_not_null() & (pl.col("step") != FOLDING_STEP))
    single = ~pl.col("names").str.contains(";", literal=True)
    one = known.filter(single).sort("at").rename({"names": "function"})
    steps = _assign(steps, one.select("row", name="function"), _runs_of_steps(called, one))
    several = known.filter(~single).sort("at")
    if several.is_empty():
        return steps
    made = instantiations.kernels.select("at", "function").drop_nulls().sort("at")
    return _by_equal_content(steps, several, called, made)


def _by_equal_content(
    steps: pl.DataFrame, several: pl.DataFrame, called: pl.DataFrame, made: pl.DataFrame
) -> pl.DataFrame:
    """Match steps that could be of several functions (`names`) to the runs around them.

    Such functions may run at once, as the two directions of a recurrent layer do. What nobody
    calls, tf.data runs: of its functions the one whose kernels (`made`) are the latest.
    """
    # A function that is traced a thousand times has a thousand equals, so nothing is made of each
    # step with each of them.
    sets = several.select("names").unique(maintain_order=True).with_row_index("set")
    each = several.join(sets, on="names", maintain_order="left").select(
        "row", "at", "last_at", "set"
    )
    sets = sets.select("set", function=pl.col("names").str.split(";"))
    first = sets.select("set", first=pl.col("function").list.first())
    sets = sets.explode("function", empty_as_null=False)
    free = called.filter(~pl.col("run").is_in(steps["run"].drop_nulls().implode()))
    free = (
        free.select("run", "function", "at", "end_at").join(sets, on="function").sort("at", "run")
    )
    free = free.with_columns(place=pl.int_range(pl.len()).over("set"))
    last = each.join_asof(
        free.select("at", "set", "place"), on="at", by="set", check_sortedness=False
    )
    latest = (
        each.join_asof(
            made.join(sets, on="function", maintain_order="left"),
            on="at",
            by="set",
            check_sortedness=False,
        )
        .join(first, on="set", maintain_order="left")
        .with_columns(pl.coalesce("function", "first"))
    )
    pairs = (
        last.with_columns(place=pl.int_ranges(pl.col("place") - AT_ONCE + 1, pl.col("place") + 1))
        .explode("place", empty_as_null=False)
        .join(free.drop("at"), on=["set", "place"])
        .filter(pl.col("last_at") <= pl.col("end_at"))
    )
    found = _each_once(pairs, "row")
    chosen = latest.join(
        found.select("row", name="function", found="run"),
        on="row",
        how="left",
        maintain_order="left",
    )
    name = pl.coalesce("name", "function")
    return _assign(steps, chosen.select("row", name=name), chosen["found"].fill_null(-1).to_numpy())


def _runs_of_steps(called: pl.DataFrame, steps: pl.DataFrame) -> np.ndarray:
    """Return the run of each step (with its `function`), -1: none.

    The n-th step of a function belongs to its n-th run. Where that puts a step outside its run
    (threads that call one function at once), the steps of the function go by what contains them,
    if thread ids say for sure where each run ends.
    """
    in_order = match_in_order(called, steps, ["function"])
    begin, end = (np.append(called[name].to_numpy(), 0) for name in ("at", "end_at"))
    outside = (steps["at"].to_numpy() < begin[in_order]) | (
        steps["last_at"].to_numpy() > end[in_order]
    )
    rows = steps.select("function", "at", "last_at").with_row_index("two")
    unsure = called["function"].filter(called["thread"] < 0).unique()
    astray = rows["function"].filter(pl.Series(outside)).unique()
    astray = astray.filter(~astray.is_in(unsure.implode()))
    wrong = rows.filter(pl.col("function").is_in(astray.implode()))
    inside = _containing(called, wrong)
    result = in_order.copy()
    result[inside["two"].to_numpy()] = inside["run"].to_numpy()
    return result


def _containing(called: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Match steps (`two`) to runs of their function that contain them: `two`, `run`."""
    pairs = steps.join(
        called.select("function", "run", "end_at", begin="at"), on="function"
    ).filter((pl.col("begin") < pl.col("at")) & (pl.col("last_at") <= pl.col("end_at")))
    return _each_once(pairs, "two")


def _open_at(steps: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a step and a run (begin, end_at) that is open where it begins (at).

    Of runs only those that began last are looked at: a log may have any number without an end.
    """
    runs = runs.sort("begin", maintain_order=True).with_columns(place=pl.int_range(pl.len()))
    last = steps.sort("at", maintain_order=True).join_asof(
        runs.select("begin", "place"),
        left_on="at",
        right_on="begin",
        allow_exact_matches=False,
        coalesce=False,
    )
    return (
        last.drop("begin")
        .with_columns(place=pl.int_ranges(pl.col("place") - AT_ONCE + 1, pl.col("place") + 1))
        .explode("place", empty_as_null=False)
        .join(runs, on="place", maintain_order="left")
        .filter(pl.col("at") <= pl.col("end_at"))
        .drop("place")
    )


def _each_once(pairs: pl.DataFrame, step: str) -> pl.DataFrame:
    """Choose among pairs of a step and a run, each step and each run once.

    Of the runs around a step the one that ends first is taken; where two steps want one run, the
    step that began first gets it and the other one chooses again.
    """
    matched = pairs.clear()
    while not pairs.is_empty():  # as many rounds as there are calls open at once
        wanted = pairs.sort(step, "end_at", "run").unique(step, keep="first", maintain_order=True)
        taken = wanted.sort("at", step).unique("run", keep="first", maintain_order=True)
        matched = pl.concat([matched, taken])
        pairs = pairs.join(taken, on=step, how="anti").join(taken, on="run", how="anti")
    return matched


def _assign(steps: pl.DataFrame, named: pl.DataFrame, run: np.ndarray) -> pl.DataFrame:
    """Give steps (`row`) the function `name`, and the run where one was found."""
    new = named.select("row", new_name="name", new_run=pl.Series(run, dtype=pl.Int64))
    joined = steps.join(new, on="row", how="left", maintain_order="left")
    return joined.with_columns(
        name=pl.coalesce("name", "new_name"),
        run=pl.coalesce("run", pl.when(pl.col("new_run") >= 0).then("new_run")),
    ).drop("new_name", "new_run")


def _by_order(steps: pl.DataFrame, called: pl.DataFrame, runs: NodeRuns) -> pl.DataFrame:
    """Match steps of unknown content to runs that have no step yet, by where they begin.

    Steps of one function run the same nodes, so they have the same signature; a run takes the
    signature that begins once in each of its function's runs and nowhere else.
    """
    unknown = steps.filter(pl.col("names").is_null() & (pl.col("step") != FOLDING_STEP))
    taken = steps["run"].drop_nulls().implode()
    free = called.filter(~pl.col("run").is_in(taken))
    if unknown.is_empty() or free.is_empty():
        return steps
    unknown = (
        unknown.select("row", "at", "nodes")
        .with_columns(signature=pl.Series(_signatures(runs)).gather(unknown["row"]))
        .sort("at")
    )
    inside = _open_at(unknown, free.select("run", "end_at", "function", begin="at"))
    total = unknown.group_by("signature").agg(total=pl.len(), nodes=pl.col("nodes").max())
    per = inside.group_by("function", "signature").agg(
        covered=pl.col("run").n_unique().cast(pl.Int64)
    )
    best = (
        per.join(total.rename({"nodes": "most_nodes"}), on="signature")
        # Runs covered count for a signature, beginnings beside them count against it.
        .with_columns(score=2 * pl.col("covered") - pl.col("total"))
        .sort("function", "score", "most_nodes", "signature", descending=[False, True, True, False])
        .unique("function", keep="first", maintain_order=True)
        .select("function", "signature")
    )
    match = _each_once(inside.join(best, on=["function", "signature"]), "row").sort("at", "row")
    # What runs the nodes of a called function is that function, whichever call it is.
    alone = best.unique("signature", keep="none")
    same = unknown.join(alone, on="signature").join(match, on="row", how="anti")
    steps = _assign(steps, same.select("row", name="function"), np.full(len(same), -1))
    return _assign(steps, match.select("row", name="function"), match["run"].to_numpy())


def _signatures(runs: NodeRuns) -> np.ndarray:
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


def _unmatched(steps: pl.DataFrame, called: pl.DataFrame) -> pl.DataFrame:
    """Add call and cause; a function called inside another belongs to the call around it."""
    steps = steps.join(called.select("run", "call"), on="run", how="left", maintain_order="left")
    outer = called.filter(pl.col("call").is_not_null()).select("call", "end_at", begin="at")
    nested = steps.filter(pl.col("run").is_not_null() & pl.col("call").is_null()).select(
        "row", "at"
    )
    around = _open_at(nested, outer)
    # With several calls open at once nothing says which of them it was.
    around = around.group_by("row").agg(
        around=pl.col("call").first(), several=pl.col("call").n_unique() > 1
    )
    around = around.filter(~pl.col("several")).select("row", "around")
    steps = steps.join(around, on="row", how="left", maintain_order="left")
    names = called["function"].unique().implode()
    cause = (
        pl.when(pl.col("step") == FOLDING_STEP)
        .then(pl.lit("constant-folding"))
        # Sessions count their steps from 1 (common_runtime/direct_session.cc); the eager runtime
        # draws them at random with the top bit set.
        .when(pl.col("run").is_null() & (pl.col("step") >= 0))
        .then(pl.lit("session"))
        .when(pl.col("run").is_null() & ~pl.col("name").is_in(names).fill_null(value=False))
        .then(pl.lit("dataset-function"))
    )
    return steps.with_columns(call=pl.coalesce("call", "around"), cause=cause).drop("around")
