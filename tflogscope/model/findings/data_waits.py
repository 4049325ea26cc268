"""Waits for data: what a program waits for its iterators, and for which stage of tf.data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.causes.rules import causes_that_count
from tflogscope.model.common.frames import (
    first_of_each,
    holds,
    looked_up,
    only,
    rows,
    where,
)
from tflogscope.model.common.intervals import covered_within
from tflogscope.model.common.names import (
    DATA_SERVICE,
    NEXT,
    runs_for_data,
)
from tflogscope.model.common.once import once
from tflogscope.model.common.origin import cpus_of
from tflogscope.model.executions.executions import spelled
from tflogscope.model.findings.data_stages import (
    GENERATOR,
    IS_MAP,
    MAP,
    count_epochs,
    count_iterators,
    count_transfers,
    find_later_resize,
    find_line,
    find_nested_datasets,
    find_small_map,
    has_overlaps,
    read_stages,
    take_slowest,
)
from tflogscope.model.findings.finding import Finding, most
from tflogscope.model.findings.gaps import python_of_data
from tflogscope.model.findings.pipelines import few_elements, rebuilt
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.spans import DISPATCH_US, LEAST

_WORTH = threshold("loop.worth")
_PAUSE = threshold("loop.pause")
_STAGE = threshold("input-bound.stage_share")
_ALONE = threshold("input-bound.alone_share")
_UNSHOWN = threshold("input-bound.unshown_share")
_OF_GENERATOR = threshold("input-bound.eager_share")
_PARALLEL, _INTERLEAVE = "Parallel", "ParallelInterleave"
_STAGE_OF = re.compile(r"Dataset_(flat_map|map|filter|interleave|scan)_(.*)")
_BUSY = threshold("py-function.busy_share")
_QUICK = threshold("py-function.quick_share")
_LEAST_WAIT = threshold("input-bound.least_wait")


def input_findings(evidence: Evidence) -> Iterator[Finding]:
    """Where the program waits for data: how long, for which stage, and what to change."""
    if python_map(evidence):  # that is `py-function`
        return
    busy = 0.0 if input_bound(evidence) else recomputed_time(evidence)
    if not input_bound(evidence) and busy <= _WORTH * evidence.loop_time:
        return
    # An iterator that is made for few elements waits for its first one: that is `pipeline-rebuilt`.
    if any(few_elements(builds) for builds, _ in rebuilt(evidence)):
        return
    waits, wait = _waits(evidence), total_wait(evidence)
    there = {re.sub(r"(?:Dataset)?(?:V\d)?$", "", op) for op in evidence.eager["op"].unique()}
    parallel = any(op.startswith(_PARALLEL) for op in there)
    why, stage = _find_stage(evidence, waits.height)
    small = why == "small"
    if not why and not parallel:  # where the log doesn't show it, a map on one thread may be it
        stage = take_slowest(read_stages(evidence).filter(IS_MAP))
    if (not stage or small) and wait < _UNSHOWN * evidence.loop_time:
        return
    function = str(stage.get("function", ""))
    generator = function.startswith(GENERATOR)
    stage_of = _STAGE_OF.match(function)
    kind, mapped = stage_of.groups() if stage_of else ("map", function)
    mapped = mapped if why and not generator else None
    stake = busy or avoidable_wait(evidence)
    serial = bool(re.match(MAP, function)) and not parallel and not small
    epochs = count_epochs(function, evidence)
    again = bool(mapped) and why != "nested" and epochs > 1 and not stage["random"]
    wide = serial and not again and stage["alone"] < _ALONE
    serial = serial and (wide or not has_overlaps(evidence, function))
    if again and not busy and not small:  # each epoch but the first is read from memory
        stake *= 1 - 1 / epochs
    elif serial:
        cpus, other = cpus_of(evidence.recorded_as) or 1, _other_work(evidence)
        stake *= stage["alone"] * (1 - 1 / cpus)
        # Nodes of one element run side by side, too: no more than all processors is to be had.
        stake = min(stake, max(wait + other - (stage["steady_us"] + other) / cpus, 0.0))
    elif small:  # the loop's other work stays
        stake = min(stake, max(wait, stage["steady_us"]))
    lacks_prefetch = not stage and "Prefetch" not in there and _adds_no_prefetch(evidence)
    if lacks_prefetch:  # it only moves the data beside the other work
        stake = min(stake, _other_work(evidence))
    facts = {
        "of": "In a loop" if waits["eager"].all() else "Inside tf.functions",
        "longer": (_every_wait(evidence).height - waits.height) or None,
        "generator": generator,
        **{how: stage["runs"] if why == how else None for how in ("sent", "nested", "small")},
        "kind": kind,
        "mapped": mapped,
        "stage": _words_of(stage, generator, kind, mapped, evidence) if why == "slow" else None,
        "stage_time": stage["steady_us"] if why == "slow" else None,
        "again": epochs if again else None,
        "discarded": evidence.events.messages("cache_discarded").height if again else None,
        "cached": "Cache" in there,
        "endless": {"Repeat", "Take"} <= there,
        "serial": serial and not wide,
        "wide": wide,
        "wait": wait,
        "unread": not why,
        "resized": find_later_resize(evidence, function) if mapped and kind == "map" else None,
        "prefetch": lacks_prefetch,
        "hidden": stake > wait and not wide and not busy,
        "busy": bool(busy),
    }
    inner = _eager_in_generator(evidence) if generator else evidence.placed.clear()
    named = inner.filter(~pl.col("judged_by").is_in(causes_that_count("never")))
    facts |= {"inner": named.height or None, "inner_ops": most(named["op"])}
    subject = "Dataset.from_generator" if generator else function if why else "the data"
    subject = "a tf.data service" if why == "sent" else subject
    # What to change is there, not at the loop; where eager ops can be what the generator takes,
    # at the line of most of them.
    generating = stage["steady_us"] if why == "slow" else 0.0
    much = inner.height * DISPATCH_US >= _OF_GENERATOR * generating
    asked = most(evidence.lines.begun_at(named["at"])) if much else []
    made_at = next(iter(asked), None) or stage.get("made_at") or evidence.lines.made_at(function)
    at = waits["at"].to_list()
    claims = claim_waits(evidence, stake) if stake else []
    count = int((waits["status"] != "failed").sum())  # else the data have ended
    yield Finding("input-bound", subject, count, None, at, facts, made_at, claims)


def _find_stage(evidence: Evidence, elements: int) -> tuple[str, dict[str, Any]]:
    """The stage that the loop waits for, and what is slow about it: a data service that `sent`
    single elements, `nested` datasets, a map too `small` for its calls, or `slow` work.

    Empty: the log doesn't show it.
    """
    if sent := count_transfers(evidence, elements):
        service = evidence.eager.filter(pl.col("op").str.contains(DATA_SERVICE))["at"].head(1)
        return "sent", {"runs": sent, "made_at": next(iter(evidence.lines.begun_at(service)), None)}
    if nested := find_nested_datasets(evidence, elements):
        return "nested", nested
    small = find_small_map(evidence, elements)
    stage = small or _slow_stage(evidence)
    if not stage or _is_cached(str(stage["function"]), evidence):
        return "", {}
    return "small" if small else "slow", stage


def _words_of(
    stage: dict[str, Any], generator: bool, kind: str, mapped: str | None, evidence: Evidence
) -> dict[str, Any]:
    """What a sentence says of a slow stage."""
    words = {"generator": generator, "kind": kind, "mapped": mapped}
    return {**words, "most": stage["op"], "line": find_line(stage, evidence)}


def _other_work(evidence: Evidence) -> float:
    """What else than waits the loop with them took, in µs; other loops of the program left out."""
    waits = _waits(evidence)
    beside = evidence.loops.filter(
        pl.col("end") >= waits["time"].min(), pl.col("begin") <= waits["end_time"].max()
    )
    work = pl.when(~pl.col("op").str.contains(NEXT)).then("work_us").otherwise(0.0)
    took = float(beside.select((pl.col("gap") + work).sum()).item())
    return max(took - float(waits.filter(~pl.col("eager"))["wait"].sum()), 0.0)


def _eager_in_generator(evidence: Evidence) -> pl.DataFrame:
    """The eager ops that the code of generators asks for: rows of `Evidence.placed`.

    A thread of tf.data runs it in a PyFunc, which has no call of a function around it.
    """
    ran, function = evidence.executions.python_code, evidence.executions.steps["function"]
    of_generator = rows(function, ran["step_row"]).str.starts_with(GENERATOR)
    spans = only(ran[["thread", "time", "end_time"]], of_generator).sort("time")
    asked = evidence.placed.filter(~pl.col("inside")).sort("time")
    within = asked[["thread", "time"]].join_asof(
        spans, on="time", by="thread", check_sortedness=False
    )["end_time"]
    return only(asked, holds(asked["time"] <= within))


def _adds_no_prefetch(evidence: Evidence) -> bool:
    """Whether this release adds no prefetch by itself, as 2.11 and later do (`inject_prefetch`)."""
    return (evidence.recorded.tensorflow_version or "").startswith(("2.8.", "2.9.", "2.10."))


def claim_waits(evidence: Evidence, time: float) -> list[pl.DataFrame]:
    """Claim so much of the waits for data; what is more of the loop around them.

    Where the log slows the steps, data are ready that would be waited for without it: then the loop
    takes as long as its data do, whatever else it does meanwhile.
    """
    waits, waited = _waits(evidence), total_wait(evidence)
    share = min(time / waited, 1.0) if waited else 0.0
    windows = waits.select("thread", begin="time", end="end_time", us=pl.col("wait") * share)
    loops = windows.group_by("thread").agg(pl.col("begin").min(), pl.col("end").max())
    more = max(time - waited, 0.0)
    return [windows.drop_nulls(), loops.with_columns(us=more / max(loops.height, 1)).drop_nulls()]


def _slow_stage(evidence: Evidence) -> dict[str, Any]:
    """The row of `read_stages` that most of the wait is for; empty: the log doesn't show it."""
    slowest = take_slowest(read_stages(evidence))
    return slowest if slowest and slowest["steady_us"] >= _STAGE * total_wait(evidence) else {}


def _is_cached(function: str, evidence: Evidence) -> bool:
    """Whether a function of tf.data ran for the first of several epochs alone, as with a cache."""
    caches = evidence.eager["op"].str.starts_with("Cache").any()
    at = _every_wait(evidence)["at"]
    return caches and count_epochs(function, evidence) == 1 < count_iterators(evidence, at)


@once
def python_map(evidence: Evidence) -> str | None:
    """The function of tf.data whose Python code the program waits for; None: it does not."""
    slow = _slow_stage(evidence) if input_bound(evidence) else {}
    function = str(slow.get("function", GENERATOR))
    return function if slow.get("python") and not function.startswith(GENERATOR) else None


@once
def avoidable_wait(evidence: Evidence) -> float:
    """How long the program would have waited for data without the log, in µs.

    From 2.11 on data are got ready while the step runs (`inject_prefetch`), so what the log took of
    a step was waited for less. What it took of the data was waited for more. A stage that takes
    longer than the steps would do without it is waited for even where the log hides that. Where it
    does not, it is at most all that the loop would take.
    """
    waits, wait = _waits(evidence), total_wait(evidence)
    spans, bounds = evidence.spans, (waits["at"].min(), waits["at"].max())
    thread = spans.filter(pl.col("at").is_between(*bounds))
    if thread.is_empty():
        return wait
    passed = waits.select(pl.col("time").diff()).filter(
        pl.col("time") <= _PAUSE * pl.col("time").median()
    )
    step = thread.filter(pl.col("gap") <= _PAUSE * pl.col("most_gap"))
    took = float(step.select((pl.col("gap") + pl.col("work_us")).sum()).item())
    price = evidence.costs.price
    nodes = int(evidence.nodes.filter(runs_for_data())["executions"].sum())
    of_data = 2 * nodes * (price.usual if price else 0.0)
    waited = wait + max(float(passed["time"].sum()) - took - of_data, 0.0)
    slow = next(iter(read_stages(evidence).to_dicts()), {"steady_us": 0.0})
    # A generator is asked for one element at a time (generator_dataset_op.cc), unless interleaved.
    parallel = _INTERLEAVE if slow.get("function") == GENERATOR else _PARALLEL
    one_by_one = not evidence.eager["op"].str.starts_with(parallel).any()
    hidden = slow["steady_us"] - (took - wait) if one_by_one else 0.0
    if not _waits_in_log(evidence):  # the loop takes as long as that stage, where that is longer
        return max(hidden, 0.0)
    return min(max(waited, hidden), max(wait, evidence.loop_time))


@once
def recomputed_time(evidence: Evidence) -> float:
    """What a loop that waits for no data would save if a map ran in its first epoch alone, in µs.

    Where threads of tf.data and the loop's own keep all processors busy, data are there in time,
    and the loop is the slower for it: by what the other processors can't do beside it.
    """
    cpus = cpus_of(evidence.recorded_as)
    slow = take_slowest(read_stages(evidence).filter(IS_MAP, ~pl.col("random"), ~pl.col("python")))
    if cpus is None or not slow or _waits(evidence).is_empty():
        return 0.0
    more = max(slow["steady_us"] - (cpus - 1) * evidence.loop_time, 0.0)
    return float(more * (1 - 1 / max(count_epochs(str(slow["function"]), evidence), 1)))


def _much(evidence: Evidence, wait: float) -> bool:
    at = _waits(evidence)["at"]
    count = len(at)
    later = count - count_iterators(evidence, at)  # for the first of an iterator buffers are filled
    return later >= LEAST and wait > max(_WORTH * evidence.loop_time, _LEAST_WAIT * count)


def _waits_in_log(evidence: Evidence) -> bool:
    """Whether waiting is much of the time with the log, too: else data were ready long before."""
    waits, time = _waits(evidence), pl.col("time")
    passed = float(waits.select(time.max() - time.min()).item() or 0)
    printed = float(waits.select((pl.col("end_time") - time).sum()).item())
    return _much(evidence, total_wait(evidence)) and printed > _WORTH * passed


@once
def input_bound(evidence: Evidence) -> bool:
    """Whether the program waits for data, or would without the log."""
    return _waits_in_log(evidence) or _much(evidence, avoidable_wait(evidence))


def total_wait(evidence: Evidence) -> float:
    """How long the program waited for data, in µs."""
    return float(_waits(evidence)["wait"].sum())


def claim_held_up(evidence: Evidence, claims: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Claim what the loop waits for data, or for the interpreter that Python code of tf.data has.

    That, or what is claimed otherwise, where that is more.

    Each call of TensorFlow gives up the interpreter, and has to wait until that code is done, or
    for 5 ms (sys.getswitchinterval), to have it again (python/lib/core/py_func.cc, DoCallPyFunc).
    So what a gap or a call takes beyond the quickest of its kind, while such code runs, is a wait.
    Where that code runs for a small part of the loop, there are other reasons: it is no longer a
    wait than the code runs.
    """
    loop = evidence.loops
    ran = covered_within(python_of_data(evidence), loop[["since", "end"]])
    gap, excess = (
        (pl.col(name) - pl.col(name).quantile(_QUICK).over("op", "before")).clip(0.0)
        for name in ("gap", "work_us")
    )
    excess = pl.when(pl.col("op").str.contains(NEXT)).then("work_us").otherwise(excess)
    more = loop.select("thread", "since", "end", us=gap + excess, ran=ran)
    more = more.filter(pl.col("ran") > 0)
    if ran.sum() < _BUSY * loop.select((pl.col("end") - pl.col("since")).sum()).item():
        more = more.with_columns(us=pl.min_horizontal("us", "ran"))
    held = more.select("thread", "end", "us", begin="since")
    claimed = sum(float(layer["us"].sum()) for layer in claims)
    return [held] if float(held["us"].sum()) > claimed else claims


@once
def _every_wait(evidence: Evidence) -> pl.DataFrame:
    """What got an element for the program: at, time, end_time, thread, status, wait (µs), eager."""
    eager = evidence.placed.filter(pl.col("op").str.contains(NEXT) & ~pl.col("inside"))
    frame = evidence.executions.frame
    signatures = evidence.executions.signatures
    is_next = (signatures["mode"] == "graph") & signatures["op"].str.contains(NEXT)
    row = where(is_next[frame["signature"]] & frame["call"].is_not_null())
    took = rows(evidence.costs.known("work_us"), pl.Series(row))
    names = ["at", "time", "end_time", "thread", "status", "call"]
    device = spelled(evidence.timeline.columns("device", rows=pl.Series(row)))
    nodes = rows(frame[names], row).hstack(device).with_columns(took.alias("wait"), eager=False)
    # The program waits on the thread that called.
    calls = evidence.calls.select(pl.col("call").cast(pl.UInt32), of="thread").drop_nulls("call")
    calls = first_of_each(calls, "call")
    nodes = looked_up(nodes, calls, "call").with_columns(thread=pl.coalesce("of", "thread"))
    waited = eager.select(*names[:-1], "device", wait="cost", eager=True)
    every = pl.concat([waited, nodes.cast({"status": pl.String}).select(waited.columns)])
    return every.drop_nulls(["at", "wait"]).sort("at")


@once
def _waits(evidence: Evidence) -> pl.DataFrame:
    """Of `_every_wait` those that the loop makes again and again.

    Longer waits are left out: an epoch begins, buffers are filled. Where a stage of the log takes
    as long as they do, epoch after epoch, they count: a shuffle behind a slow map, or behind one
    that makes a dataset for each element.
    """
    both = _every_wait(evidence)
    # A replica's element is there when that of the first one is.
    is_usual = both.select(pl.col("wait") <= _PAUSE * pl.median("wait").over("device")).to_series()
    fills, stages = only(both, ~is_usual), read_stages(evidence).filter(IS_MAP)
    long = stages.head(1)["work_us"].sum() >= _STAGE * float(both["wait"].sum())
    if fills.height > 1 and (long or find_nested_datasets(evidence, both.height)):
        return both
    return only(both, is_usual)
