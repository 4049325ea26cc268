"""What a log can't tell, why, and what to record to learn it.

Each limit is a sentence of the screen and of the report; a test holds each against real logs.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.rewriters import REWRITERS, Rewriter
from tflogscope.model.executions import Executions
from tflogscope.model.facts import Limit, ModeRuns
from tflogscope.model.figures import count_of, spoken
from tflogscope.model.findings.evidence import Evidence
from tflogscope.model.first_calls import TAPE_RECORDS, compile_times
from tflogscope.model.links.candidates import compiled_runs, sources_apart
from tflogscope.model.names import WRAPPED, function_columns
from tflogscope.model.node_runs import FOLDING_STEP
from tflogscope.model.origin import KEPT_BACK
from tflogscope.model.stack_traces import read_stack_traces

_SGEMM = "_MklMatMul"  # core/kernels/mkl/mkl_matmul_op.cc calls dnnl_sgemm
_NOT_RUN = ("dead", "failed", "unfinished")

_TEXTS = {
    "no-tensorflow": (
        "Which ops ran the primitives: no record of TensorFlow is in it. If TensorFlow wrote it, "
        "record with TF_CPP_MAX_VLOG_LEVEL=2 and standard error in the same file; a program that "
        "sets TF_CPP_MIN_LOG_LEVEL itself keeps its records back."
    ),
    "no-executions": (
        "What ran, and whether anything went wrong or cost time: the log shows no execution. They "
        "are printed from TF_CPP_MAX_VLOG_LEVEL=1 on, unless TF_CPP_MIN_LOG_LEVEL, which some "
        "programs set themselves, keeps them back."
    ),
    "no-graph-durations": (
        "How long graph ops took: their ends are printed from TF_CPP_MAX_VLOG_LEVEL=2 on."
    ),
    "no-eager-durations": (
        "How long eager ops took, and whether they failed, unless the kernel itself says so: their "
        "ends are printed from TensorFlow 2.10 on, and from TF_CPP_MAX_VLOG_LEVEL=2 on."
    ),
    "no-thread-ids": (
        "Which thread ran what: the prefix holds no thread ids. Record with TF_CPP_LOG_THREAD_ID=1."
    ),
    "no-onednn-lines": (
        "What oneDNN ran and what it cost: no verbose line is in it. Record with "
        "ONEDNN_VERBOSE=1 and standard output in the same file."
    ),
    "no-gemm-lines": (
        "What {count} of _MklMatMul cost in oneDNN: they called its sgemm, for which oneDNN before "
        "2.7 (TensorFlow before 2.11) prints no line. The time and the shares of oneDNN leave them "
        "out."
    ),
    "no-plugin-lines": ("What {plugin} ran and what it cost: no line of it is in the log. {lines}"),
    "late-plugin-lines": (
        "Which op ran the primitives of {plugin}: its lines came late, in blocks, as their own "
        "clock shows. {lines}"
    ),
    "stack-traces": (
        "How long making functions ready takes without a log: TensorFlow wrote {count} of its own "
        "stack traces, for {time}{xla}. That time is in what functions took to be made ready, and "
        "in the calls that waited for them. tflogscope record prints none."
    ),
    "low-level": "Which shapes the ops had, and what was fused: that needs VLOG level 2.",
    "no-memory": (
        "What tensors held in memory: no record of buffers is in it. TensorFlow prints them from "
        "TF_CPP_MAX_VLOG_LEVEL=2 on; tflogscope record leaves them out."
    ),
    "no-dataset-nodes": (
        "Which nodes {functions} of tf.data ran: no record says which kernels were made for them. "
        "Record with TF_CPP_MAX_VLOG_LEVEL=2."
    ),
    "two-files": (
        "Which op ran a primitive: oneDNN's lines are in {onednn}, TensorFlow's records in "
        "{tensorflow}, and nothing ties the one to the other. Record both streams in one file "
        "(python program.py > run.log 2>&1), or with tflogscope record."
    ),
    "xla": (
        "What ran inside XLA's code: {what} ran code that XLA compiled, whose ops, kernels and "
        "rewrites print no record{time}."
    ),
    "stopped": "What came next: {what}.",
    "unread-onednn-lines": "What {unread} said: cut short, or of no known form.",
}
LIMITS = (*_TEXTS, "source")
"""All ids; `source` says what is wrong with an input."""

# The same of a log that `tflogscope record` made.
_OF_A_RECORDING = {
    "no-tensorflow": f"Which ops ran: TensorFlow wrote no record. {KEPT_BACK}",
    "no-executions": f"What ran: TensorFlow wrote no record of any execution. {KEPT_BACK}",
}


def limit_facts(evidence: Evidence, eager: ModeRuns, graph: ModeRuns) -> list[Limit]:
    """The limits of a log. `eager` and `graph` say what ran."""
    recorded = evidence.recorded
    texts = {**_by_level(evidence, eager, graph), **_others(evidence)}
    if recorded.recorded_by_tflogscope:
        texts |= {id_: text for id_, text in _OF_A_RECORDING.items() if id_ in texts}
    found = [Limit(id_, texts[id_]) for id_ in _TEXTS if id_ in texts]
    return found + [Limit("source", problem) for problem in recorded.problems]


def _by_level(evidence: Evidence, eager: ModeRuns, graph: ModeRuns) -> dict[str, str]:
    """What the settings of the recording leave out."""
    recorded = evidence.recorded
    level = recorded.vlog_level
    any_run = bool(evidence.executions.frame.height)
    lacks_lines, silent, only_gemm = _without_lines(evidence)
    any_record = recorded.tensorflow_dialect is not None or level is not None
    holds = {
        "no-tensorflow": not any_record,
        "no-executions": any_record and not any_run,
        "no-graph-durations": bool(graph.kinds) and not graph.has_durations,
        "no-eager-durations": "op" in eager.kinds and eager.kinds["op"].total_us is None,
        "no-thread-ids": any_run and not recorded.has_thread_ids,
        "no-onednn-lines": lacks_lines and not (silent and only_gemm),
        "no-gemm-lines": bool(silent) and (only_gemm or not lacks_lines),
        "low-level": level == 1,
        "no-memory": any_run and level != 1 and not evidence.events.has_memory_records,
        "unread-onednn-lines": bool(recorded.onednn_unread_lines),
    }
    unread = count_of(recorded.onednn_unread_lines, "oneDNN line")
    count = count_of(silent, "run")
    said = {"unread": unread, "count": count}
    return {id_: _TEXTS[id_].format(**said) for id_, here in holds.items() if here}


def _without_lines(evidence: Evidence) -> tuple[bool, int, bool]:
    """What oneDNN ran without a line: whether all, how many runs of sgemm, whether only these ran.

    Nothing of oneDNN's ran, nothing is missing.
    """
    events, executions = evidence.events, evidence.executions
    frame = executions.frame.select("signature", "status").with_row_index("row")
    failed = evidence.statuses["row"].drop_nulls().implode()
    alive = frame.filter(~pl.col("status").is_in(_NOT_RUN) & ~pl.col("row").is_in(failed))
    runs = alive["signature"].value_counts()
    runs = runs.with_columns(executions.signatures["kernel"].gather(runs["signature"]))
    ran = runs.filter(pl.col("kernel").str.starts_with("_Mkl"))
    lacks = bool(ran.height) and not evidence.recorded.onednn_verbose_lines
    # execute.cc prints `Entering eager executing` from 2.11 on, the first with oneDNN 2.7.
    printed = events.primitives["primitive"].str.starts_with("gemm").any()
    old = events.messages("entering_call").is_empty() and not printed
    products = ran.filter(pl.col("kernel") == _SGEMM)
    silent = int(products["count"].sum()) if old else 0
    return lacks, silent, products.height == ran.height


def _others(evidence: Evidence) -> dict[str, str]:
    events, executions = evidence.events, evidence.executions
    found = {
        "no-dataset-nodes": _dataset_functions(evidence),
        "two-files": _two_files(executions, events.primitives),
        "no-plugin-lines": _silent_plugins(events, executions),
        "late-plugin-lines": _about([each for each in REWRITERS if each.id in events.late_plugins]),
        "stack-traces": _stack_traces(events),
        "xla": _compiled(events, executions),
        "stopped": _stopped(evidence),
    }
    return {id_: _TEXTS[id_].format(**facts) for id_, facts in found.items() if facts}


def _dataset_functions(evidence: Evidence) -> dict[str, str]:
    """Functions of tf.data were made ready, steps of tf.data ran, and nothing says which is which.

    core/common_runtime/function.cc, FunctionLibraryRuntimeImpl::CreateItem names the function for
    which kernels are made.
    """
    executions, instantiations = evidence.executions, evidence.instantiations
    pruned = evidence.events.messages("pruning_function", "pruning_function_nodes")
    names = instantiations.functions.to_frame("name")
    made = names.filter(function_columns(pl.col("name"))["flavour"] == "dataset")
    unnamed = (executions.steps["cause"] == "dataset-function") & executions.steps["name"].is_null()
    if pruned.height or made.is_empty() or not unnamed.any():
        return {}
    return {"functions": count_of(made.height, "function")}


def _two_files(executions: Executions, primitives: pl.DataFrame) -> dict[str, str]:
    """OneDNN's lines and TensorFlow's records are in different sources."""
    onednn, tensorflow = sources_apart(executions, primitives)
    if not onednn:
        return {}
    return {"onednn": ", ".join(onednn), "tensorflow": ", ".join(tensorflow)}


def _silent_plugins(events: Events, executions: Executions) -> dict[str, str]:
    """Kernels of a plug-in ran, and no line says which primitives they ran."""
    ran = executions.signatures["rewrite"].gather(executions.frame["signature"].unique())
    silent = [each for each in REWRITERS if each.id in ran]
    talked = (events.primitives["event"] == "exec").any()
    return {} if talked else _about(silent)


def _about(plugins: list[Rewriter]) -> dict[str, str]:
    """Names of plug-ins, and how to record what they run."""
    if not plugins:
        return {}
    lines = " ".join(each.lines for each in plugins)
    return {"plugin": " and ".join(each.name for each in plugins), "lines": lines}


def _stack_traces(events: Events) -> dict[str, str]:
    """TensorFlow's own stack traces took time that the program does not take without a log."""
    pauses = read_stack_traces(events)
    if pauses.is_empty():
        return {}
    time = float((pauses["until"] - pauses["since"]).sum())
    inside = events.messages("xla_stack_trace").height
    xla = f", and XLA {inside:,} inside its compilations" if inside else ""
    return {"count": f"{pauses.height:,}", "time": spoken(time), "xla": xla}


def _compiled(events: Events, executions: Executions) -> dict[str, str]:
    """Calls, nodes and clusters that ran code of XLA's, and how long, compiling included."""
    ran = compiled_runs(executions)
    if ran.is_empty():
        return {}
    named = ran.hstack(executions.signatures.select(pl.col("kind", "op").gather(ran["signature"])))
    calls, inside = named.filter(pl.col("kind") == "call"), named.filter(pl.col("kind") != "call")
    what = []
    if calls.height:
        functions = calls.select(function_columns(pl.col("op"))["function"]).to_series()
        shown = ", ".join(functions.unique(maintain_order=True).head(3).to_list())
        what.append(f"{count_of(calls.height, 'call')} of {shown}")
    inside = inside.filter(pl.col("op") != "_XlaCompile")  # its time counts, it ran nothing yet
    if inside.height:
        shown = ", ".join(inside["op"].unique(maintain_order=True).head(3).to_list())
        what.append(f"{count_of(inside.height, 'run')} of {shown} in graphs")
    compiled = compile_times(events).join_where(  # other calls may have failed to be compiled
        ran.select(begin_at="at", end_at="end_at"),
        pl.col("at") > pl.col("begin_at"),
        pl.col("at") < pl.col("end_at"),
    )
    time, compiling = ran["duration_us"], compiled.unique("at")["compile_us"]
    took = f". They took {spoken(float(time.sum()))}" if time.null_count() == 0 else ""
    if took and compiling.count():
        took += f", {spoken(float(compiling.sum()))} of it compiling"
        if events.messages("xla_stack_trace").height:
            took += " and writing stack traces"
    return {"what": " and ".join(what), "time": took}


def _stopped(evidence: Evidence) -> dict[str, str]:
    """What was under way when the log stops; nothing where all that began has ended."""
    for under_way in (_made, _running, _traced):
        if what := next(under_way(evidence), None):
            return {"what": what}
    return {}


def _made(evidence: Evidence) -> Iterator[str]:
    """A function was being made ready: its instantiation has no end, and nothing ran after it."""
    spans = evidence.instantiations.spans.filter(~pl.col("function").str.contains(WRAPPED))
    left = spans.filter(pl.col("end_at").is_null())
    if spans["end_at"].count() < spans.height and left.height:
        last = left.row(-1, named=True)
        later = evidence.executions.eager.filter(pl.col("at") > last["at"])
        if later.is_empty():
            name = pl.select(function_columns(pl.lit(last["function"]))["function"]).item()
            yield f"the log stops while {name} was being made ready (graph passes)"


def _running(evidence: Evidence) -> Iterator[str]:
    """A call or an eager op had begun; what tf.data runs by itself may be under way at any end."""
    frame, signatures = evidence.executions.frame, evidence.executions.signatures
    open_ = frame.filter(pl.col("status") == "unfinished")
    named = open_.hstack(signatures.select(pl.col("op", "kind", "mode").gather(open_["signature"])))
    calls = named.filter(pl.col("kind") == "call")
    ops = named.filter((pl.col("kind") == "op") & (pl.col("mode") == "eager"))
    if calls.height:
        function = pl.select(function_columns(pl.lit(calls["op"][-1]))["function"]).item()
        inside = named.filter((pl.col("mode") == "graph") & (pl.col("kind") == "op"))
        inside = inside.filter(pl.col("call") == calls["call"][-1])
        nodes = inside["op"].drop_nulls().unique(maintain_order=True).to_list()
        at = f", in {', '.join(nodes[:3])}" if nodes else ""
        yield f"the log stops while a call of {function} was running{at}"
    elif ops.height:
        yield f"the log stops while {ops['op'][-1]} was running eagerly"


def _traced(evidence: Evidence) -> Iterator[str]:
    """The last records of a thread that ran ops are of tracing: nothing was dispatched after them.

    Such are the tape's, and steps -1 outside any instantiation: those that work out shapes
    (core/common_runtime/eval_const_tensor.cc).
    """
    events, eager = evidence.events, evidence.executions.dispatches.eager
    ran = eager.select(pl.coalesce("end_at", "at").max()).item()
    if ran is None:
        return
    marks = events.messages(*TAPE_RECORDS).select("at", "thread")
    steps = events.runs.filter(pl.Series(events.steps == FOLDING_STEP).gather(events.runs["step"]))
    shapes = events.with_threads(steps.select("at", "site"))
    made = evidence.instantiations.spans.select("thread", begin="at", until="end_at").sort("begin")
    shapes = shapes.sort("at").join_asof(
        made, left_on="at", right_on="begin", by="thread", check_sortedness=False
    )
    shapes = shapes.filter(~(pl.col("until") > pl.col("at")).fill_null(value=False))
    threads = eager["thread"].unique().implode()
    last = pl.concat([marks, shapes.select("at", "thread")]).filter(pl.col("thread").is_in(threads))
    if (last["at"] > ran).any():
        starts, ends = (events.messages(id_)["at"].len() for id_ in ("tape_start", "tape_end"))
        gradients = ", its gradients just then" if starts > ends else ""
        yield (
            f"the log's last records are of a function that Python was tracing{gradients}, and no "
            "call of it follows"
        )
