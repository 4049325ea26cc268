"""Findings about ops that ran one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import KERAS_STEPS
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import holds, is_among, last_before, only, row_with, rows
from tflogscope.model.common.names import NEXT, PRODUCTS, PYTHON_OPS, UPDATES, runs_for_data
from tflogscope.model.common.once import once
from tflogscope.model.executions.stack_traces import stack_traces_of_calls
from tflogscope.model.findings.data_stages import GENERATOR, count_epochs
from tflogscope.model.findings.data_waits import (
    avoidable_wait,
    claim_held_up,
    claim_waits,
    input_bound,
    python_map,
    total_wait,
)
from tflogscope.model.findings.early import adapt_ops, early_ops
from tflogscope.model.findings.finding import (
    AVOIDABLE,
    CALLBACK,
    Finding,
    claim_in_calls,
    claim_overhead,
    claim_spans,
    most,
    total,
)
from tflogscope.model.findings.gaps import (
    FOR_OTHERS,
    claim_gaps,
    measure_gaps,
    waits_for_threads,
    with_variables,
)
from tflogscope.model.findings.growing import grown_spans
from tflogscope.model.pipeline import METRIC_UPDATE, Evidence
from tflogscope.model.rows.spans import LEAST
from tflogscope.model.rows.unexpected import repeats

# Causes of what a training step asks for that no function runs.
_OF_STEP = ("gradient-tape", "outside-function", "control-flow", "unknown")
# Findings about all that a step does.
_WHOLE = ("eager-training-step", "no-function")
_INDEX, _INDEXED = "StridedSlice", threshold("eager-steady-state.indexed_share")
_STEADY = threshold("eager-steady-state.steady_share")
_LEAST_STEPS = threshold("eager-training-step.least_steps")
_MAKING = ("variable-init", "optimizer-slots")  # causes of what gives a variable its first value
_FROM_GENERATOR = "Dataset.from_generator"


def eager_findings(evidence: Evidence) -> Iterator[Finding]:
    """Eager ops where a graph function should have run them, by what asked for them."""
    unexpected = evidence.unexpected
    of_keras, of_python = (unexpected["judged_by"] == id_ for id_ in ("run-eagerly", "py-function"))
    if of_keras.any():
        yield _ran(evidence, "run-eagerly", "run_eagerly", only(unexpected, of_keras))
    yield from _of_python(evidence, only(unexpected, of_python))
    trained = eager_training(evidence)
    if trained.height:
        yield _trained(evidence, trained)
    settled = of_keras | of_python | is_among(unexpected["row"], trained["row"])
    if trained.height:  # before its steps a program makes its variables and data
        settled |= unexpected["near"].is_null() & (unexpected["row"] < trained["row"][0])
    if not settled.all():
        yield from _beside(evidence, only(unexpected, ~settled))
    if trained.is_empty() and (early := early_ops(evidence)).height:
        yield _ran(evidence, "eager-steady-state", "the program", early, early=True)
    if (adapted := adapt_ops(evidence)).height:
        yield _adapted(evidence, adapted)


def _beside(evidence: Evidence, rest: pl.DataFrame) -> Iterator[Finding]:
    """Ops after the calls of one function, again and again; those of other threads; the rest."""
    of_program = ~pl.col("nested") & pl.col("made_by").is_null()
    called = evidence.calls.filter(of_program)
    calls = called.group_by("function").agg(calls=pl.len(), last=pl.col("at").max())
    function = row_with(rest[["near"]], calls[["function"]])
    placed = rest[["at", "op", "cost", "near", "rule", "dispatch", "thread"]].hstack(
        [_after_calls(rest, called), *rows(calls, function)[["calls", "last"]]]
    )
    again = pl.col("after") < pl.col("last")
    often = pl.col("after").filter(again).n_unique().over("near") >= _STEADY * pl.col("calls") - 1
    # What comes after the last call is of the same kind if its op is, and if no more of it come
    # than after any other: what follows is another loop.
    placed = placed.with_columns(per_call=pl.len().over("near", "op", "after"))
    usual = pl.col("per_call").filter(again).max().over("near", "op")
    same = again | (pl.int_range(pl.len()).over("near", "op", "after") < usual)
    # Whatever runs between two training steps of Keras is a callback's.
    stakes = measure_gaps(evidence).filter(pl.col("idle") + pl.col("eager") > 0)
    of_fit = pl.col("near").is_in(stakes.filter("fit")["function"].implode())
    # A thread that calls nothing prepares data, say: a loop waits for it where it waits for data.
    calling = pl.col("thread").is_in(called["thread"].unique().implode())
    other = ~calling & (again & ~calling).any()
    beside = ~other & (pl.col("calls") > 1) & (often | of_fit) & same
    steady, apart = (placed.select(holds(chosen)).to_series() for chosen in (beside, other))
    for ops in only(placed, steady).partition_by("near"):
        stake = stakes.filter(pl.col("function") == ops["near"][0])
        if not (stake["idle"] > stake["eager"]).any():  # `between-steps` has it
            yield _steady(evidence, ops["near"][0], ops, stake)
    if apart.any():
        ops = only(placed, apart)
        finding = _ran(evidence, "eager-steady-state", "the program", ops)
        facts = {**finding.facts, "apart": ops["thread"].n_unique(), "saved": None}
        yield finding._replace(claims=[], facts=facts)
    # A metric that is updated now and then costs little, whatever runs it.
    others = only(placed, ~(steady | apart) & placed["rule"].ne_missing(METRIC_UPDATE))
    if others.height:
        yield from _other(evidence, others)


def _after_calls(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """`after`, the line of the last call of `near` before each op: of its thread, else of any."""
    calls, near = calls.with_columns(near="function"), ["at", "near"]
    of_thread, last = (last_before(ops[keys], calls[keys]) for keys in ([*near, "thread"], near))
    return rows(calls["at"], np.where(of_thread < 0, last, of_thread)).alias("after")


@once
def eager_training(evidence: Evidence) -> pl.DataFrame:
    """The eager ops, rows of `Evidence.placed`, that are training steps; empty: none does that.

    A step plays a tape back and updates variables. Beside a function it counts where it runs at
    least half as many matrix products as a call of the function does; where neither multiplies
    matrices, where it takes at least half as long.
    """
    tape = pl.lit(pl.Series(evidence.causes.proof["gradient"])).gather(pl.col("dispatch"))
    placed = evidence.placed.with_columns(
        beside=pl.when(~pl.col("before_calls")).then("near"),
        tape=pl.when(pl.col("cause") == "gradient-tape").then(tape),
    )
    if not placed["tape"].count():
        return placed.clear()
    of_step = pl.col("judged_by").is_in(_OF_STEP) & ~pl.col("own")
    ops = placed.filter(of_step)
    taped = ops.drop_nulls("tape").group_by("beside", "tape").agg(pl.col("at").min()).sort("at")
    updated = _numbered(placed.filter(pl.col("op").str.contains(UPDATES)), taped)
    step_ops = _of_steps(ops, taped, updated)
    steps = _steps(taped, updated)
    work = step_ops.group_by("beside").agg(
        products=pl.col("op").str.contains(PRODUCTS).sum(), took=pl.col("cost").sum()
    )
    per = (
        work.join(steps, on="beside", nulls_equal=True)
        .join(_graph_work(evidence), left_on="beside", right_on="function", how="left")
        .with_columns(pl.col("calls", "graph_products", "graph_took").fill_null(0))
    )
    training = per.filter(_outweighs()).select("beside", "begun", "until")
    updates = pl.col("op").str.contains(UPDATES) & (pl.col("at") > pl.col("begun"))
    trained = placed.join(training, on="beside", nulls_equal=True, maintain_order="left")
    of_step = pl.col("row").is_in(step_ops["row"].implode()) | updates
    # What reads variables, makes tensors and adds up metrics in between is part of the steps, and
    # what reads variables right before their first op.
    trained = trained.with_columns(first=pl.col("at").filter(of_step).min().over("beside"))
    early = (pl.col("at") < pl.col("first")) & (pl.col("judged_by") != "read-variable")
    before = pl.col("at").filter(early).max().over("beside").fill_null(-1)
    between = (pl.col("at") > before) & (pl.col("at") <= pl.col("until"))
    between &= pl.col("cause") != "dataset"
    return trained.filter(of_step | (between & ~pl.col("own") & ~pl.col("inside")))


def _numbered(ops: pl.DataFrame, taped: pl.DataFrame) -> pl.DataFrame:
    """Ops, each with the `number` of the last tape before it; `beside` is "" where it was null."""
    beside = pl.col("beside").fill_null("")
    number = pl.int_range(1, pl.len() + 1).over("beside")
    numbered = taped.select("at", beside, number=number)
    ops = ops.with_columns(beside).sort("at")
    return ops.join_asof(numbered, on="at", by="beside", check_sortedness=False)


def _of_steps(ops: pl.DataFrame, taped: pl.DataFrame, updates: pl.DataFrame) -> pl.DataFrame:
    """Leave out what came before the first step, as initial weights.

    Nothing says where the first forward pass begins. Of each op it has, counted back from the first
    gradient, at most as many as come between the updates and the gradients of the next tape. As
    many updates as come after the last gradients are the optimizer's; others are of the forward
    pass: moving averages, the state of random numbers.
    """
    forward = _numbered(ops, taped).filter(pl.col("tape").is_null())
    updated = updates.filter(pl.col("cause") != "optimizer-slots").drop_nulls("number")
    of_last = pl.col("number") == pl.col("number").max().over("beside")
    least = updated.filter(of_last).group_by("beside").agg(least=pl.len())
    updated = updated.with_columns(place=pl.int_range(pl.len()).over("beside", "number"))
    updated = updated.join(least, on="beside").filter(pl.col("place") < pl.col("least"))
    last = updated.group_by("beside", "number").agg(updated=pl.col("at").max())
    after = forward.drop_nulls("number").join(last, on=["beside", "number"], how="left")
    after = after.filter(pl.col("at") > pl.col("updated").fill_null(-1))
    per = after.group_by("beside", "op", "number").agg(count=pl.len())
    usual = per.group_by("beside", "op").agg(pl.col("count").max())
    first = forward.filter(pl.col("number").is_null()).with_columns(
        back=pl.int_range(pl.len(), 0, -1).over("beside", "op")
    )
    early = first.join(usual, on=["beside", "op"], how="left").filter(
        pl.col("back") > pl.col("count").fill_null(0)
    )
    return ops.join(early.select("row"), on="row", how="anti", maintain_order="left")


def _steps(taped: pl.DataFrame, updates: pl.DataFrame) -> pl.DataFrame:
    """Where tapes are played back and variables updated after it: beside, steps, begun, until (at).

    Where that is done again and again, a single step beside another function is one, too. Variables
    are updated after one or two tapes, or always after as many, whose gradients are added up.
    """
    steps = taped.group_by("beside").agg(steps=pl.len(), begun=pl.col("at").min())
    updates = updates.filter(~pl.col("judged_by").is_in(_MAKING))
    of_tape = pl.col("number").drop_nulls().unique(maintain_order=True)
    counted = updates.group_by("beside").agg(
        rounds=of_tape.len(),
        regular=of_tape.diff().drop_nulls().n_unique() <= 1,
        until=pl.col("at").max(),
    )
    counted = steps.with_columns(pl.col("beside").fill_null("")).join(counted, on="beside")
    enough = pl.col("steps") >= _LEAST_STEPS
    often = enough | enough.any()
    often &= pl.col("rounds") >= pl.col("steps").clip(upper_bound=_LEAST_STEPS)
    often &= (2 * pl.col("rounds") >= pl.col("steps")) | pl.col("regular")
    beside = pl.when(pl.col("beside") != "").then("beside")
    return counted.filter(often).select(beside, "steps", "begun", "until")


def _outweighs() -> pl.Expr:
    """Whether an eager step does at least half of what a call does.

    Both sides are multiplied by the number of the other, for there may be no call.
    """
    multiplies = (pl.col("products") + pl.col("graph_products")) > 0
    more = pl.col("products") * pl.col("calls") * 2 >= pl.col("graph_products") * pl.col("steps")
    longer = pl.col("took") * pl.col("calls") * 2 >= pl.col("graph_took") * pl.col("steps")
    return pl.when(multiplies).then((pl.col("products") > 0) & more).otherwise(longer)


def _graph_work(evidence: Evidence) -> pl.DataFrame:
    """Per function: its calls, their time, and how often its nodes multiplied matrices."""
    products = evidence.nodes.filter(pl.col("op").str.contains(PRODUCTS))
    counted = products.group_by("function").agg(graph_products=pl.col("executions").sum())
    took = evidence.calls.group_by("function").agg(
        calls=pl.len(), graph_took=pl.col("wall_us").sum()
    )
    return took.join(counted, on="function", how="full", coalesce=True)


def _trained(evidence: Evidence, ops: pl.DataFrame) -> Finding:
    functions = ops["beside"].drop_nulls().unique(maintain_order=True).to_list()
    gradients = int((ops["cause"] == "gradient-tape").sum())
    subject = functions[0] if functions else "GradientTape"
    facts = {"gradients": gradients, "functions": functions}
    finding = _ran(evidence, "eager-training-step", subject, ops, **facts)
    return finding._replace(claims=[*finding.claims, *_claim_replicas(evidence, ops)])


def _claim_replicas(evidence: Evidence, ops: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Claim what a thread waits for others that train op by op, less what their kernels take.

    MirroredStrategy.run hands a step to a thread for each replica (python/distribute/mirrored_run).
    """
    spans = only(evidence.spans, evidence.spans["again"] & waits_for_threads(evidence))
    waited, work = float(spans["gap"].sum()), total(ops["cost"]) or 0.0
    if waited > work:
        yield claim_spans(spans, gap=pl.col("gap") * (1 - work / waited))


def _ran(evidence: Evidence, id_: str, subject: str, ops: pl.DataFrame, **facts: Any) -> Finding:
    """A finding about eager ops, with the time that a graph saves; else that which they took."""
    took = total(ops["cost"])
    of_keras = id_ == "run-eagerly" or subject in KERAS_STEPS
    at = ops["at"]
    if id_ in _WHOLE:
        at = _with_reads(evidence, ops)
    elif id_ == "eager-steady-state":
        whole = with_variables(evidence, at)
        assigns = whole["op"].str.contains(f"{UPDATES}|Summary")  # NumPy can do neither
        at, facts["assigns"] = whole["at"], bool(assigns.any())
        places = evidence.lines.begun_at(ops["at"]).drop_nulls().n_unique()
        facts["ran"] = {"count": ops.height, "places": places if places > 1 else 0}
    claims = [claim_overhead(evidence, at, of_keras=of_keras)] if took is not None else []
    saved = AVOIDABLE if claims and evidence.costs.price is not None else None
    facts = {"ops": most(ops["op"]), "saved": saved, **facts}
    return Finding(id_, subject, ops.height, None, ops["at"].to_list(), facts, claims=claims)


def _with_reads(evidence: Evidence, ops: pl.DataFrame) -> pl.Series:
    """The lines of ops, and of what was read and made for them from the first to the last one."""
    placed = evidence.placed
    least, most_ = ops["at"].min(), ops["at"].max()
    between = pl.col("at").is_between(least, most_) & pl.col("judged_by").is_in(FOR_OTHERS)
    return pl.concat([ops["at"], placed.filter(between & ~pl.col("inside"))["at"]]).unique()


def _of_python(evidence: Evidence, ops: pl.DataFrame) -> Iterator[Finding]:
    nodes = evidence.nodes.filter(pl.col("op").str.contains(PYTHON_OPS))
    if nodes.is_empty():
        if ops.height:
            yield _ran(evidence, "py-function", "py_function", ops)
        return
    is_generator = pl.col("function").str.starts_with(GENERATOR)
    nodes = nodes.with_columns(
        of_data=runs_for_data(),
        function=pl.when(is_generator)
        .then(pl.lit(_FROM_GENERATOR))
        .otherwise(pl.col("function").fill_null("functions that the log does not name")),
    )
    bound, waited_for = input_bound(evidence), python_map(evidence)
    of_data = nodes.filter("of_data").sort(ranked_by(nodes), descending=True)
    slowest = next(iter(of_data["function"]), None)
    for here in nodes.partition_by("function"):
        function = str(here["function"][0])
        runs, time = int(here["executions"].sum()), total(here[ranked_by(here)])
        calls = evidence.calls.filter(function=function)["call"]
        claims, waits = list[pl.DataFrame](), function == waited_for
        if time is not None:
            time = max(time - _time_of_stack_traces(evidence, calls), 0.0)
            if function == waited_for:
                claims = claim_waits(evidence, avoidable_wait(evidence))
            elif here["of_data"][0]:  # the step waits for no more than it waits
                claims = claim_waits(evidence, min(time, total_wait(evidence)))
            else:
                claims = [_claim_calls(evidence, calls, time)]
            if function == slowest:
                earlier, claims = claims, claim_held_up(evidence, claims)
                waits |= claims is not earlier
        if function == _FROM_GENERATOR and bound:  # that is `input-bound`
            continue
        inside = only(ops, ops["near"] == function)
        facts = {
            "runs": runs,
            "inside": inside.height,
            "called": int(is_among(evidence.calls["inside"], calls).sum()),
            "generator": function == _FROM_GENERATOR,
            "epochs": waits and count_epochs(function, evidence) > 1,
            "wait": AVOIDABLE if waits else None,
            "took": time or None,
        }
        at = inside["at"].to_list() or here["ran_at"].to_list()
        yield Finding("py-function", function, runs, None, at, facts, claims=claims)


def _claim_calls(evidence: Evidence, calls: pl.Series, time: float) -> pl.DataFrame:
    """Claim what Python code took in calls of a function, as much of each as it ran in it."""
    ran = evidence.executions.python_code.drop_nulls(["definition", "call", "duration_us"])
    ran = only(ran, is_among(ran["call"], calls))
    claim = claim_in_calls(evidence, ran.group_by("call").agg(us=pl.col("duration_us").sum()))
    return claim.with_columns(us=time * pl.col("us") / pl.col("us").sum())


def _time_of_stack_traces(evidence: Evidence, calls: pl.Series) -> float:
    """Time for the log's own stack traces in what Python code asked for inside of calls."""
    traces = stack_traces_of_calls(evidence.events, evidence.executions)
    return float(traces["took"].filter(is_among(traces["around"], calls)).sum())


def _without(finding: Finding, spans: pl.DataFrame, **facts: Any) -> Finding:
    """The same finding, of spans that its fix leaves out, with the Python code before each."""
    claim = claim_spans(spans, gap=pl.min_horizontal("gap", "most_gap"), op=pl.lit(None))
    return finding._replace(facts={**finding.facts, "saved": None, **facts}, claims=[claim])


def _adapted(evidence: Evidence, ops: pl.DataFrame) -> Finding:
    """What a layer's `adapt` asks for; for a batch it is one run of the same ops."""
    finding = _ran(evidence, "eager-steady-state", "adapt", ops, adapt=True)
    if finding.facts["saved"] is None:
        return finding
    mine = pl.col("at").is_between(ops["at"].min(), ops["at"].max()) & ~pl.col("is_call")
    spans = evidence.spans.filter(mine & ~pl.col("op").str.contains(NEXT))
    return _without(finding, spans)


def _steady(evidence: Evidence, near: str, ops: pl.DataFrame, stake: pl.DataFrame) -> Finding:
    calls, after = int(ops["calls"][0]), ops["after"].n_unique()
    finding = _ran(
        evidence,
        "eager-steady-state",
        near,
        ops,
        average=ops.height / after,
        after=after,
        each=after == calls,
        one=ops.height == after,
        between=1 < after == calls - 1,
        calls=calls,
        of_keras=near in KERAS_STEPS,
        metric=bool((ops["rule"] == METRIC_UPDATE).all()),
        callback=is_among(ops["at"], evidence.asked_by(CALLBACK)).sum() > _STEADY * ops.height,
    )
    grown = grown_spans(evidence, ops)
    if grown.height:  # what the results are in the end is copied once in any case
        left = 1 - pl.col("work_us").max() / pl.col("work_us").sum()
        claims = [*finding.claims, claim_spans(grown, op=pl.col("work_us") * left)]
        facts = {**finding.facts, "grown": grown.height}
        finding = finding._replace(claims=claims, facts=facts)
    if finding.facts["saved"] is None:
        return finding
    indexed = ops.filter(op=_INDEX)
    # An array is indexed without any of it. A row for each call is an argument.
    if indexed.height >= max(_INDEXED * ops.height, LEAST * calls):
        at = _with_reads(evidence, indexed)
        spans = only(evidence.spans, is_among(evidence.spans["at"], at))
        return _without(finding, spans, indexed=True)
    if stake.is_empty():
        return finding
    # With the Python code around them; of callbacks all that they do.
    idle = claim_gaps(evidence, stake, "idle")
    of_ops = [claim_gaps(evidence, stake, "eager")] if stake["fit"].any() else finding.claims
    facts = {**finding.facts, "saved": None, "with": AVOIDABLE}
    return finding._replace(claims=[*of_ops, idle], facts=facts)


def _other(evidence: Evidence, ops: pl.DataFrame) -> Iterator[Finding]:
    same, called = evidence.python_functions, evidence.events.messages("entering_call")["op"]
    tensorflows = called.is_in(same.filter(pl.col("made_by").is_not_null())["name"].implode())
    if ops["near"].null_count() == ops.height and tensorflows.all():
        has_calls = bool(evidence.calls.height)
        yield _ran(evidence, "no-function", "the program", ops, own=has_calls)
    elif evidence.calls.height:
        late = bool((ops["at"] > evidence.calls["at"].max()).all())
        finding = _ran(evidence, "eager-steady-state", "the program", ops, late=late)
        stack = rows(evidence.lines.of_dispatches, ops["dispatch"])
        turns = ops.select(pl.len().over("op", stack).max()).item()
        of_stack = ops[["op"]].hstack([stack.alias("stack")])
        # Tracing a function for what runs once takes longer.
        if turns < LEAST or not repeats(of_stack, "stack"):
            finding = finding._replace(claims=[], facts={**finding.facts, "saved": None})
        yield finding
