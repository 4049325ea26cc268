"""Ranks of one run side by side: what should be equal and isn't, and who waits for whom."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from math import comb
from typing import Any

import polars as pl

from tflogscope.errors import UsageError
from tflogscope.grammar.op_kinds import ops_of
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.origin import RANKS, task_of
from tflogscope.model.overview.step_calls import step_calls
from tflogscope.stores.layout import RUN_COLUMNS, Row
from tflogscope.stores.store import Store

Facts = dict[str, Any]
_TASK = re.compile(r"(?:#|^process )([A-Za-z_]+)\d+$")  # `sources.streams.split_by_owner`
_PROCESS_ALONE = re.compile(r"^process \d+$")  # nothing but its id tells it from others
_CHANCE = threshold("ranks.chance")
_LEAST_WAIT = threshold("ranks.wait_share")
_NONE = "absent"
_BY_STEP = ("order of calls", "problem")
_HINT = "Ranks of one run share all --run fields except rank, host and pid."
_NO_CLUSTER = (
    "No log has a rank or a cluster (TF_CONFIG). Mark the rank in file names: "
    "--run '{job}.rank{rank}.log'."
)


def rank_facts(store: Store) -> list[Facts]:
    """The ranks of each run that has several; durations in µs.

    `ranks`; `asynchronous` (a coordinator hands out steps to workers, which wait for no other, so
    nothing is compared step by step); `differences` (`what`, `subject`, `values` by rank, and who
    is `odd`: the ranks that don't agree with most of them; none if there is no majority);
    `step_function`; `steps`; `slow`: the rank that the others wait for, if there is one; `skew_us`
    of each rank's clock.

    Raises:
        UsageError: no run has two ranks, or two have the same rank.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in store.done.to_dicts():
        group, job = "" if store.of_one_run else _group(row), _job(row)
        if group or row["rank"] is not None or store.of_one_run:
            groups.setdefault((group, job), []).append(row)
    several = {key: members for key, members in groups.items() if len(members) > 1}
    if not several and store.of_one_run:
        return []
    if not several:
        raise UsageError("no run with two ranks", store.name, _HINT if groups else _NO_CLUSTER)
    jobs = {job for _, job in groups}
    compared = (
        _facts(
            store,
            (f"{name} ({job})" if name else job) if len(jobs) > 1 else name,
            members,
            asynchronous=job == "worker" and ("ps" in jobs or "ps" in _cluster(members[0])),
        )
        for (name, job), members in several.items()
    )
    return [facts for facts in compared if not _are_unrelated(facts)]


def _are_unrelated(facts: Facts) -> bool:
    """Nothing says that these processes are ranks, and they never wait for each other.

    Workers of pytest-xdist, joblib and multiprocessing in one log are such.
    """
    named = all(_PROCESS_ALONE.match(rank["rank"]) for rank in facts["ranks"])
    times = (rank["collective_us"] for step in facts["steps"] for rank in step["ranks"])
    return named and all(time is None for time in times)


def left_out(store: Store, groups: Sequence[Facts]) -> list[str]:
    """The runs of a store that are in none of `rank_facts`."""
    compared = {rank["run"] for facts in groups for rank in facts["ranks"]}
    return [run for run in store.done["run"] if run not in compared]


def _environment(row: Row) -> Facts:
    """The variables that were set for a process; empty: nothing can be read of them."""
    try:
        settings = json.loads(row["settings"] or "{}")
    except (ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _cluster(row: Row) -> Facts:
    """The cluster that the TF_CONFIG of a process names; empty: it names none."""
    try:
        cluster = json.loads(_environment(row)["TF_CONFIG"])["cluster"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return cluster if isinstance(cluster, dict) else {}


def _job(row: Row) -> str:
    """The job of a process, whose tasks all do the same; empty: nothing says it.

    A chief does what workers do, unless there are parameter servers: then it is the coordinator.
    """
    if task := task_of(_environment(row)):
        return "worker" if task[0] == "chief" and "ps" not in _cluster(row) else task[0]
    named = _TASK.search(row["run"])
    return named[1] if named else ""


def _group(row: Row) -> str:
    """What ranks of one run have in common: the fields of the template, else the cluster."""
    fields = [row[name] for name in row if name != "run" and name not in RUN_COLUMNS]
    if any(field is not None for field in fields):
        return ".".join(str(field) for field in fields if field is not None)
    try:
        return ", ".join(str(host) for hosts in _cluster(row).values() for host in hosts)
    except TypeError:
        return ""


def _facts(store: Store, name: str, runs: list[Row], *, asynchronous: bool) -> Facts:
    runs = sorted(runs, key=lambda row: (row["rank"] is None, row["rank"] or 0, row["run"]))
    ranks = [row["rank"] for row in runs]
    ranked, each_once = None not in ranks, len(set(ranks)) == len(ranks)
    if ranked and not each_once and not store.of_one_run:
        twice = next(rank for rank in ranks if ranks.count(rank) > 1)
        hint = "If they belong to several runs, collect them with --run and a field that differs."
        raise UsageError(f"two logs are rank {twice} of one run", store.name, hint)
    labels = {row["run"]: str(row["rank"]) if ranked and each_once else row["run"] for row in runs}
    timeline = store.table("timeline", runs)
    calls = timeline.filter(pl.col("kind") == "call")
    calls = calls.with_columns(number=pl.int_range(pl.len()).over("run", "function"))
    steps, function = _steps(timeline, calls, store.table("nodes", runs))
    differences = [
        difference
        for what, frame in _aspects(store, runs, timeline, calls, function)
        if not (asynchronous and what in _BY_STEP)
        for difference in _differences(what, frame, labels)
    ]
    if asynchronous:
        steps = steps.clear()
    return {
        "group": name,
        "asynchronous": asynchronous,
        "ranks": [row | {"rank": labels[row["run"]]} for row in runs],
        "differences": differences,
        "step_function": function,
        "steps": _step_facts(steps, labels),
        "slow": _slow(steps, labels),
        "skew_us": _skew(steps, labels),
    }


# ---- what should be equal ------------------------------------------------------------------------


def _aspects(
    store: Store, runs: list[Row], timeline: pl.LazyFrame, calls: pl.LazyFrame, function: str | None
) -> Iterator[tuple[str, pl.DataFrame]]:
    """What should be equal: frames of run, subject and value, with a row for each that has one."""
    for name in ("tensorflow", "onednn", "build"):
        values = [{"run": row["run"], "subject": name, "value": row[name]} for row in runs]
        yield "release", pl.DataFrame(values, schema_overrides={"value": pl.String}).drop_nulls()
    yield "setting", _settings(runs)
    functions = store.table("functions", runs).drop_nulls("function")
    traces = functions.group_by("run", subject="function").agg(value=pl.len().cast(pl.String))
    yield "traces", traces.collect()
    nodes = store.table("nodes", runs).filter(pl.col("executions") > 0)
    kernels = nodes.group_by("run", subject="op").agg(
        value=pl.col("kernel").unique().sort().str.join(" and ")
        + " ("
        + pl.struct("function", "node").n_unique().cast(pl.String)
        + " nodes)"
    )
    yield "kernel", kernels.collect()
    primitives = store.table("primitives", runs).filter(pl.col("event") == "exec")
    implementations = primitives.drop_nulls("implementation").group_by("run", subject="primitive")
    subjects = implementations.agg(value=pl.col("implementation").unique().sort().str.join("; "))
    yield "implementation", _of_those_with_any(subjects.collect())
    first = calls.group_by("run").agg(first=pl.col("end_line").min())
    eager = timeline.filter((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
    later = eager.join(first, on="run").filter(pl.col("line") > pl.col("first"))
    counted = later.group_by("run", subject="op").agg(value=pl.len().cast(pl.String))
    yield "eager after the first step", counted.collect()
    order = calls.group_by("run").agg(
        value=pl.col("function").sort_by("line").str.join(", ").fill_null("")
    )
    yield "order of calls", order.select("run", pl.lit("calls").alias("subject"), "value").collect()
    of_step = calls.filter(pl.col("function") == pl.lit(function, pl.String)).select(
        "run", "call", "number"
    )
    ran = timeline.select("run", "source", "call", timeline_line="line").drop_nulls("call")
    problems = primitives.drop_nulls("problem").join(ran, on=["run", "source", "timeline_line"])
    by_step = problems.join(of_step, on=["run", "call"]).group_by("run", "number")
    subjects = by_step.agg(value=pl.col("problem").unique().sort().str.join(" ")).sort("number")
    subject = pl.lit("step ") + pl.col("number").cast(pl.String)
    sizes = subjects.select("run", subject=subject, value="value", every=True).collect()
    # A step without any may have run some: launchers that mix up streams leave lines unmatched.
    yield "problem", sizes.filter(pl.len().over("subject") == sizes["run"].n_unique())


def _settings(runs: list[Row]) -> pl.DataFrame:
    settings = [
        {"run": row["run"], "subject": name, "value": str(value)}
        for row in runs
        for name, value in _environment(row).items()
        if name not in ("TF_CONFIG", *RANKS)  # these say which rank it is
    ]
    return pl.DataFrame(settings, schema=dict.fromkeys(("run", "subject", "value"), pl.String))


def _of_those_with_any(frame: pl.DataFrame) -> pl.DataFrame:
    """Each rank that has any of it, for each subject: one with nothing at all is said elsewhere."""
    every = frame.select("run").unique().join(frame.select("subject").unique(), how="cross")
    joined = every.join(frame, on=["run", "subject"], how="left").with_columns(every=True)
    return joined.with_columns(pl.col("value").fill_null(_NONE)).sort("subject")


def _differences(what: str, frame: pl.DataFrame, labels: dict[str, str]) -> Iterator[Facts]:
    """Subjects whose values are not equal; who has none has `–`, unless only some were asked."""
    runs = frame["run"].unique() if "every" in frame.columns or what == "release" else [*labels]
    for (subject,), part in frame.sort("subject").group_by("subject", maintain_order=True):
        values = dict.fromkeys((run for run in labels if run in runs), _NONE)
        values |= dict(part.select("run", "value").rows())
        counts = [(list(values.values()).count(value), value) for value in set(values.values())]
        if len(counts) < 2:
            continue
        most, usual = max(counts)
        odd = [labels[run] for run, value in values.items() if value != usual]
        yield {
            "what": what,
            "subject": str(subject),
            "values": {labels[run]: value for run, value in values.items()},
            "odd": odd if most * 2 > len(values) else [],
        }


# ---- who waits for whom --------------------------------------------------------------------------


def _steps(
    timeline: pl.LazyFrame, calls: pl.LazyFrame, nodes: pl.LazyFrame
) -> tuple[pl.DataFrame, str | None]:
    """Calls of the step function: run, number, start, duration_us, collective_us, met (µs).

    The step function is what is called most among what has collectives in it, or else as
    `step_calls` says.
    collective_us is the time in which a collective was under way; met is when the last one ended,
    which is when all ranks have met.
    """
    collectives = timeline.filter(
        pl.col("op").str.contains(ops_of("collective")) & pl.col("call").is_not_null()
    ).sort("run", "call", "start")
    reached = pl.col("end").cum_max().shift(1).over("run", "call")
    covered = (pl.col("end") - pl.max_horizontal("start", reached)).dt.total_microseconds()
    within = (
        collectives.with_columns(covered=covered.clip(lower_bound=0))
        .group_by("run", "call")
        .agg(collective_us=pl.col("covered").sum(), met=pl.col("end").max())
    )
    every = calls.join(within, on=["run", "call"], how="left").collect()
    met = every.filter(pl.col("met").is_not_null())
    likely = met if met.height else step_calls(every, nodes)
    counts = likely["function"].drop_nulls().value_counts(sort=True)
    function = str(counts["function"][0]) if counts.height else None
    steps = every.filter(pl.col("function") == pl.lit(function, pl.String))
    return steps.select(
        "run", "number", "start", "collective_us", "met", duration_us="duration_us"
    ).sort("number", "run"), function


def _step_facts(steps: pl.DataFrame, labels: dict[str, str]) -> list[Facts]:
    """Each step: every rank's time, who came last, and how long that made the first one wait."""
    facts = []
    for (number,), part in steps.partition_by("number", as_dict=True, maintain_order=True).items():
        last, wait = _last(part, len(labels))
        by_run = {row["run"]: row for row in part.to_dicts()}
        ranks = [
            {"rank": labels[run]}
            | {key: by_run[run][key] if run in by_run else None for key in _OF_A_STEP}
            for run in labels
        ]
        slowest = None if last is None else labels[last]
        facts.append({"step": number, "slowest": slowest, "wait_us": wait, "ranks": ranks})
    return facts


_OF_A_STEP = ("duration_us", "collective_us")


def _last(step: pl.DataFrame, ranks: int) -> tuple[str | None, int | None]:
    """Who came last to the collectives: it is there for the shortest time. No clock is compared.

    Without collectives it is who took longest.
    """
    here = step.drop_nulls("collective_us").sort("collective_us", "run")
    if here.height == ranks:
        return here["run"][0], here["collective_us"][-1] - here["collective_us"][0]
    took = step.drop_nulls("duration_us").sort("duration_us", "run")
    if here.height or took.height < ranks:
        return None, None
    return took["run"][-1], took["duration_us"][-1] - took["duration_us"][0]


def _slow(steps: pl.DataFrame, labels: dict[str, str]) -> Facts | None:
    """The rank that comes last too often for chance, and makes the others wait for long."""
    later = steps.filter(pl.col("number") > 0)  # the first step instantiates functions
    lasts = [_last(part, len(labels)) for part in later.partition_by("number", maintain_order=True)]
    complete = [(last, wait) for last, wait in lasts if last is not None and wait is not None]
    if not complete:
        return None
    names = [last for last, _ in complete]
    slow = max(sorted(set(names)), key=names.count)
    times, of, part = names.count(slow), len(names), 1 / len(labels)
    tail = range(times, of + 1)
    chance = sum(comb(of, count) * part**count * (1 - part) ** (of - count) for count in tail)
    waits = pl.Series([wait for last, wait in complete if last == slow])
    step_us = later.group_by("number").agg(pl.col("duration_us").max())["duration_us"].median()
    wait_us = float(waits.median())  # type: ignore[arg-type]
    if chance * len(labels) > _CHANCE or not step_us or wait_us < _LEAST_WAIT * float(step_us):  # type: ignore[arg-type]
        return None
    return {
        "rank": labels[slow],
        "steps": times,
        "of": of,
        "wait_us": wait_us,
        "step_us": float(step_us),  # type: ignore[arg-type]
    }


def _skew(steps: pl.DataFrame, labels: dict[str, str]) -> dict[str, float]:
    """How far each clock is ahead of the middle one: collectives end at once on all ranks."""
    met = steps.drop_nulls("met").select(
        "run", ahead=pl.col("met") - pl.col("met").median().over("number")
    )
    ahead = met.group_by("run").agg(pl.col("ahead").dt.total_microseconds().median())
    offsets = dict(ahead.rows())
    return {label: offsets[run] for run, label in labels.items() if run in offsets}
