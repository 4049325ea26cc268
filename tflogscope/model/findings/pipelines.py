"""Data pipelines that a program builds again and again."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import GRADIENT, KERAS_PREDICT, KERAS_STEPS
from tflogscope.model.causes.causes import package_of, program_frames
from tflogscope.model.common.frames import is_among, looked_up, only, rows
from tflogscope.model.common.intervals import covered_within
from tflogscope.model.common.names import (
    DATA_SERVICE,
    DATASET,
    MAKE_ITERATOR,
    NEXT,
    PYTHON_OPS,
    runs_for_data,
)
from tflogscope.model.common.once import once
from tflogscope.model.findings.finding import AVOIDABLE, CALLBACK, Finding
from tflogscope.model.findings.gaps import claim_gaps, measure_gaps, read_gaps
from tflogscope.model.ledger.phases import run_window, traced
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.spans import LEAST

# Ops that make a dataset of others (core/ops/dataset_ops.cc), and those that then read it:
# python/data/ops/iterator_ops.py, OwnedIterator; dataset_ops.py, reduce and get_single_element.
MAKES_DATASET = r"Dataset(?:V\d+)?$"
_READS = (MAKE_ITERATOR, "ReduceDataset", "DatasetToSingleElement")
_LEAST = threshold("pipeline-rebuilt.least_builds")
_WORTH = threshold("loop.worth")
_LEAST_FREED = threshold("freed-iterator.least")
_ALL_OF_IT = threshold("freed-iterator.waited_share")
_FIRST_SLEEP = threshold("freed-iterator.first_sleep")
_EARLY = threshold("freed-iterator.early_share")
_LATE = threshold("freed-iterator.late_share")
# What Keras' loops call, and their methods (Keras 3 backend/tensorflow/trainer.py).
_METHODS = {"fit": "train_on_batch", "evaluate": "test_on_batch", "predict": "predict_on_batch"}


def pipeline_findings(evidence: Evidence) -> Iterator[Finding]:
    """Pipelines that one place of the program builds again and again, of the same ops."""
    pipelines = rebuilt(evidence)
    for builds, again in pipelines:
        yield _rebuilt(evidence, builds, again)
    if not pipelines:
        yield from _iterated(evidence)
    yield from _freed(evidence)


@once
def _built(evidence: Evidence) -> pl.DataFrame:
    """Where pipelines are built and iterators made.

    Columns: thread, pipeline (its ops as one text; null: an iterator of a dataset that was there),
    ops, at (their lines), begin (of the op that makes the first dataset, or of the tracing of its
    function right before), end (of the iterator; where an op reads the dataset at once, the begin
    of that), elements (got until the next one, ends left out), calls, called and called_as (until
    then: how many, and the first one's function: which one made in Python, and its name).
    """
    reads = pl.col("op").is_in(_READS)
    placed = evidence.placed.filter(pl.col("op").str.contains(NEXT))
    got = placed.filter(pl.col("status") != "failed")["at"]
    spans = evidence.spans.with_columns(
        makes=pl.col("op").str.contains(MAKES_DATASET) & ~reads & ~pl.col("is_call"),
        number=reads.cast(pl.Int64).cum_sum().over("thread") - reads,
        gets=is_among(evidence.spans["at"], got),
    )
    called = evidence.calls.select("at", called="python_function", called_as="function")
    counts = (
        looked_up(spans, called, "at")
        .group_by("thread", number=pl.col("number") - 1)
        .agg(
            pl.col("called", "called_as").drop_nulls().first(),
            elements=pl.col("gets").sum(),
            calls=pl.col("is_call").sum(),
        )
    )
    traces = traced(evidence).filter(pl.col("name").str.contains(DATASET, literal=True))
    traces = traces.select("thread", "begin", tracing="begin").sort("begin")
    spans = spans.filter(pl.col("makes") | reads).sort("begin")
    spans = spans.join_asof(traces, on="begin", by="thread", check_sortedness=False)
    of_it = pl.col("tracing") >= pl.col("since")
    spans = spans.with_columns(begin=pl.when(of_it).then("tracing").otherwise("begin"))
    end = pl.when(pl.col("op").last() == MAKE_ITERATOR).then(pl.col("end").last())
    built = spans.group_by("thread", "number", maintain_order=True).agg(
        "at",
        "begin",
        ops=pl.col("op").filter("makes"),
        reader=pl.col("op").filter(~pl.col("makes")).last(),
        end=end.otherwise(pl.col("begin").last()),
    )
    built = looked_up(built.drop_nulls("reader"), counts, ["thread", "number"])
    ops = pl.when(pl.col("ops").list.len() > 0).then("ops")
    built = built.with_columns(
        pl.col("elements", "calls").fill_null(0),
        pipeline=ops.list.join(" ") + " " + pl.col("reader"),
    )
    return _without_source(built).with_columns(pl.col("begin").list.first())


def _without_source(built: pl.DataFrame) -> pl.DataFrame:
    """Leave out of the first build of a loop what later ones take as it is: a dataset made once."""
    counts = built.drop_nulls("pipeline").group_by("thread", "pipeline").len()
    of_loop = counts.filter(pl.col("len") > 1).select("thread", kept="pipeline")
    longer = pl.col("pipeline").str.ends_with(" " + pl.col("kept"))
    first = counts.filter(len=1).join(of_loop, on="thread").filter(longer)
    longest = pl.col("kept").sort_by(pl.col("kept").str.len_chars()).last()
    first = first.group_by("thread", "pipeline").agg(longest)
    built = looked_up(built, first, ["thread", "pipeline"])
    pipeline = pl.coalesce("kept", "pipeline")
    count = (pipeline.str.count_matches(" ") + 1).fill_null(1)
    return built.with_columns(
        pl.col("at", "begin").list.tail(count),
        ops=pl.col("ops").list.tail(count - 1),
        pipeline=pipeline,
    )


@once
def rebuilt(evidence: Evidence) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Pipelines that are built again and again: where, and what building them again takes.

    Lines that build the same once each are no loop; a log without lines doesn't tell these apart.
    Keras makes one more iterator when an epoch has ended, of which nobody asks anything.
    """
    if not _loops_over_data(evidence):
        return []
    every, named = _built(evidence), pl.col("pipeline").is_not_null()
    # What follows tells one loop from others that build the same; without calls its line does. A
    # function that each turn makes anew, as a model's step, is one by its name.
    stack = evidence.lines.of_begins(every["at"].list.first())
    follows = pl.coalesce("called_as", pl.lit(evidence.lines.named(stack)))
    frames = rows(evidence.lines.stacks["frames"], stack)
    every = every.with_columns(
        named=named,
        follows=pl.when(named).then(follows.fill_null("")),
        own_place=program_frames(pl.lit(frames)).fill_null(""),
        package=package_of(pl.lit(frames)).str.extract(r"^([^.]+)"),
    )
    every = every.with_columns(place=pl.when(named).then("own_place")).with_columns(
        pl.col("pipeline", "follows", "place").forward_fill().over("thread")
    )
    of_it = (pl.col("calls") == 0) | (
        (pl.col("own_place") == pl.col("place")) & (pl.col("place") != "")
    )
    every = every.filter(named | (of_it & (pl.col("elements") == 0)))
    pipelines, followed = [], pl.col("follows").fill_null("") != ""
    keys = ["thread", "pipeline", "follows", "place"]
    for iterators in every.filter(followed).partition_by(keys, maintain_order=True):
        # Each model that is made anew needs one.
        needed = pl.col("named") & pl.col("called").is_first_distinct()
        builds, again = iterators.filter("named"), iterators.filter(~needed)
        took = again.select((pl.col("end") - pl.col("begin")).sum()).item()
        took += _waits(evidence, builds, again)["us"].sum()
        spans = evidence.spans.filter(thread=builds["thread"][0])
        passed = spans["end"].max() - builds["end"][0]
        often = again.filter("named").height >= _LEAST - 1
        if often and took > _WORTH * passed:
            pipelines.append((builds, again))
    return pipelines


def is_batched(evidence: Evidence, at: int) -> bool:
    """Whether the program batched what was read last by there; Keras slices arrays itself."""
    before = evidence.eager.filter(pl.col("at") < at)
    made, op = before.filter(op=MAKE_ITERATOR)["at"], pl.col("op")
    built = before.filter(
        op.str.contains(MAKES_DATASET), pl.col("at") > max(made[-2:-1], default=-1)
    )
    return bool((built if built.height else before)["op"].str.contains("BatchDataset").any())


def few_elements(builds: pl.DataFrame) -> bool:
    """Whether iterators are made for few elements: then the first one of each is all there is."""
    return float(builds["elements"].mean()) < LEAST  # type: ignore[arg-type]


def _waits(evidence: Evidence, builds: pl.DataFrame, again: pl.DataFrame) -> pl.DataFrame:
    """Windows of waits for elements that fewer iterators would not have, as claims.

    All, where they are made for few. Each iterator of a data service starts a job there, for which
    its first element waits, and asks once a second whether the job is done, for which the end of
    the data waits (data_service_dataset_op.cc). A first element has what is more than others
    usually take. Other pipelines fill their buffers with the same elements, however many iterators
    there are.
    """
    gets = evidence.asked.filter(pl.col("op").str.contains(NEXT), ~pl.col("is_call"))
    work = (pl.col("duration_us") - pl.col("log")).alias("work")
    gets = gets.select("thread", "begin", "end", "status", work).drop_nulls().sort("begin")
    of_service = builds["ops"][0].str.contains(DATA_SERVICE).any()
    if not of_service and not few_elements(builds):
        gets = gets.clear()
    made = _built(evidence).select("thread", begin="end", made="end").drop_nulls().sort("begin")
    gets = gets.join_asof(made, on="begin", by="thread", check_sortedness=False)
    gets = gets.join(again.select("thread", made="end"), on=["thread", "made"])
    is_end = pl.col("status") == "failed"
    is_first = pl.col("begin").rank("ordinal").over("thread", "made") == 1
    usual = pl.col("work").filter(~is_end & ~is_first).median()
    us = (
        pl.when(is_end | (not of_service))
        .then("work")
        .when(is_first)
        .then((pl.col("work") - usual).clip(0.0))
    )
    return gets.select("thread", "begin", "end", us=us).drop_nulls()


def _rebuilt(evidence: Evidence, builds: pl.DataFrame, again: pl.DataFrame) -> Finding:
    traces = traced(evidence).filter(pl.col("name").str.contains(DATASET, literal=True))
    every = pl.concat([builds[["begin", "end"]].head(1), again[["begin", "end"]]])
    of_build = covered_within(every, traces[["begin", "end"]])
    called = pl.col("python_function").is_in(builds["called"].implode())
    keras = _keras_method(evidence.calls.filter(called), evidence)
    waits = _waits(evidence, builds, again)
    of_service = waits.height > 0 and not few_elements(builds)
    at = builds["at"].explode()
    callback = bool(is_among(at, evidence.asked_by(CALLBACK)).all())
    facts = {
        "builds": builds.height,
        "elements": int(builds["elements"].sum()) or None,
        "traced": int((of_build > 0).sum()) or None,
        "ops": builds["ops"][0].unique(maintain_order=True).to_list(),
        "waited" if of_service else "around" if callback and keras else "took": AVOIDABLE,
        "service": of_service,
        "few": few_elements(builds) and builds["elements"].sum() > 0,
        "package": builds["package"][0],
        "keras": keras,
        "fits": keras == "fit",
        "builder": None if builds["package"][0] else keras,
        "batch": _METHODS.get(keras or ""),
        "callback": callback,
        "inner": False,
    }
    claims = [again.select("thread", "begin", "end", us=pl.lit(None, pl.Float64)), waits]
    if callback and keras:  # a callback that runs less often leaves out all of these gaps
        stake, (_, spans) = measure_gaps(evidence).filter("fit"), read_gaps(evidence)
        gaps = spans["gap_at"].filter(is_among(spans["at"], at))
        facts["inner"] = builds.height >= 2 * gaps.n_unique()  # it has a loop of its own
        held = pl.col("at").is_in(gaps.implode())
        claims += [claim_gaps(evidence, stake, column, held) for column in ("idle", "eager")]
    return Finding(
        "pipeline-rebuilt", "the data", builds.height, None, at.to_list(), facts, claims=claims
    )


def _iterated(evidence: Evidence) -> Iterator[Finding]:
    """Datasets that are there, of which epoch after epoch makes iterators.

    Each one optimizes the pipeline's graph and instantiates its functions anew
    (core/data/rewrite_utils.cc, RewriteDataset; captured_function.cc). Keras 3 makes one more for
    an epoch, of which nobody asks anything.
    """
    if not _loops_over_data(evidence):
        return
    there = _built(evidence).filter(pl.col("pipeline").is_null())
    near = pl.col("called").forward_fill().backward_fill().over("thread")
    there = there.with_columns(called=near).drop_nulls("called")
    for iterators in there.partition_by("thread", "called", maintain_order=True):
        again = iterators.slice(1)
        took = float(again.select((pl.col("end") - pl.col("begin")).sum()).item())
        read = int((iterators["calls"] > 0).sum())
        if read < _LEAST or took <= _WORTH * evidence.loop_time:
            continue
        called = pl.col("python_function") == iterators["called"][0]
        keras = _keras_method(evidence.calls.filter(called), evidence)
        if keras not in (None, "fit"):  # it can't be told to keep one
            continue
        facts = {
            "iterators": iterators.height,
            "epochs": read,
            "calls": int(iterators["calls"].sum()),
            "making": AVOIDABLE,
            "keras": keras,
        }
        at = iterators["at"].explode().to_list()
        claims = [again.select("thread", "begin", "end", us=pl.lit(None, pl.Float64))]
        yield Finding(
            "pipeline-rebuilt", "the data", iterators.height, None, at, facts, claims=claims
        )


def _freed(evidence: Evidence) -> Iterator[Finding]:
    """Gaps in which the thread only waits, where an iterator is freed: by a new one, or at its end.

    The old one joins the thread that tunes it, which sleeps for 10 ms, then twice as long each
    time, up to a minute (core/framework/model.cc, Model::OptimizeLoop;
    findings/tensorflow-freed-iterator-waits.sh). Behind the end of the data a program may as well
    wait for something else: there the wait has to end when that thread wakes up.
    """
    if evidence.computed.is_empty():
        return
    made = pl.when(op=MAKE_ITERATOR).then("end").forward_fill().shift().over("thread")
    spans = evidence.computed.with_columns(made=made)
    replaced = spans.filter(before=MAKE_ITERATOR)
    replaced = replaced.filter(~pl.col("thread").is_first_distinct())  # the first replaces none
    ends = evidence.placed.filter(pl.col("op").str.contains(NEXT), status="failed")["at"]
    slept = (pl.col("begin") - pl.col("made")) / _FIRST_SLEEP + 1  # a power of 2 as it wakes up
    late = slept / 2 ** ((1 + _EARLY) * slept).log(2).floor() - 1
    behind = pl.concat([spans, _after_all(evidence, spans)])
    ended = only(behind, is_among(behind["last_at"], ends)).filter(late <= _LATE)
    gaps = pl.concat([replaced, ended])
    in_python = pl.col("op").str.contains(PYTHON_OPS) & runs_for_data()
    if gaps.is_empty() or evidence.nodes.filter(in_python).height:  # Keras stops its workers there
        return
    gaps = gaps.filter(
        pl.col("waited") >= pl.max_horizontal(_LEAST_FREED, _ALL_OF_IT * pl.col("gap"))
    )
    if gaps.is_empty():
        return
    begin, end = run_window(evidence) or (0, 0)
    much = float(gaps["waited"].sum()) > _WORTH * (end - begin)
    facts = {"longest": gaps["waited"].max(), "leads": much}  # it comes by chance: no warning
    facts["several"] = gaps.height if gaps.height > 1 else None
    claims = [gaps.select("thread", begin="since", end="begin", us="waited")]
    longest = gaps.sort("waited", descending=True)
    line = evidence.lines.begun_at(longest["last_at"].head(1))[0]  # what is behind frees nothing
    at = longest["at"].to_list()
    yield Finding("freed-iterator", "the data", gaps.height, None, at, facts, line, claims)


def _after_all(evidence: Evidence, spans: pl.DataFrame) -> pl.DataFrame:
    """The gap of each thread from its last op to the program's end, as a row like those."""
    records, window = evidence.events.messages("python_computed"), run_window(evidence)
    if window is None:
        return spans.clear()
    thread = pl.col("os_thread").cast(spans.schema["thread"])
    said = records.group_by(thread=thread).agg(pl.col("at", "computed").last().name.prefix("end_"))
    last = spans.group_by("thread", maintain_order=True).last().join(said, on="thread")
    gap = pl.lit(window[1]) - pl.col("end")
    waited = gap - pl.min_horizontal("end_computed", gap)
    last = last.filter(pl.col("end_at") > pl.col("at"), gap > 0).with_columns(
        since="end", begin=pl.lit(window[1]), gap=gap, waited=waited, last_at="at"
    )
    return last.select(spans.columns).cast(spans.schema)


def _loops_over_data(evidence: Evidence) -> bool:
    """Whether iterators are made so often that a loop can make them."""
    return bool(evidence.spans["op"].is_in(_READS).sum() >= _LEAST)


def _keras_method(calls: pl.DataFrame, evidence: Evidence) -> str | None:
    """The method of Keras that makes these calls; only a training step has gradients."""
    calls = calls.filter(pl.col("function").is_in(KERAS_STEPS))
    if calls.is_empty():
        return None
    trains = evidence.nodes.filter(pl.col("node").str.contains(GRADIENT, literal=True))
    if calls["function_uid"].is_in(trains["function_uid"].implode()).any():
        return "fit"
    return "predict" if calls["function"].is_in(KERAS_PREDICT).any() else "evaluate"
