"""What a log can't tell, why, and what to record to learn it.

Each limit is a sentence of the screen and of the report; a test holds each against real logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.events.chunk import START
from tflogscope.model.executions import STATUSES, Executions
from tflogscope.model.figures import count_of, spoken
from tflogscope.model.first_calls import TAPE_RECORDS, compile_times
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.links.candidates import compiled_calls, sources_apart
from tflogscope.model.names import WRAPPED, function_columns
from tflogscope.model.node_runs import FOLDING_STEP
from tflogscope.model.stack_traces import read_stack_traces

Facts = dict[str, Any]
_CLUSTERS = ("_XlaRun", "XlaLaunch", "XlaLaunchV2")  # compiler/jit/kernels/xla_ops.cc
_UNFINISHED = STATUSES.index("unfinished")

_TEXTS = {
    "no-tensorflow": (
        "Which ops ran the primitives: no record of TensorFlow is in it. If TensorFlow wrote it, "
        "record with TF_CPP_MAX_VLOG_LEVEL=2 and standard error in the same file."
    ),
    "no-executions": (
        "What ran, and whether anything went wrong or cost time: the log shows no execution. It "
        "was recorded without TF_CPP_MAX_VLOG_LEVEL=1 or higher."
    ),
    "no-graph-durations": (
        "How long graph ops took: their ends are printed from TF_CPP_MAX_VLOG_LEVEL=2 on."
    ),
    "no-eager-durations": (
        "How long eager ops took: their ends are printed from TensorFlow 2.10 on, and from "
        "TF_CPP_MAX_VLOG_LEVEL=2 on."
    ),
    "no-thread-ids": (
        "Which thread ran what: the prefix holds no thread ids. Record with TF_CPP_LOG_THREAD_ID=1."
    ),
    "no-onednn-lines": (
        "What oneDNN ran and what it cost: no verbose line is in it. Record with "
        "ONEDNN_VERBOSE=1 and standard output in the same file."
    ),
    "no-gemm-lines": (
        "What oneDNN's matrix products cost: _MklMatMul calls its sgemm, for which oneDNN before "
        "2.7 (TensorFlow before 2.11) prints no line."
    ),
    "stack-traces": (
        "How long making functions ready takes without a log: TensorFlow wrote {count} of its own "
        "stack traces, for {time}, and that time is in all durations around them. tflogscope "
        "record prints none."
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
        "What ran inside XLA's code: {what} ran{time} as compiled code, whose ops, kernels and "
        "rewrites print no record."
    ),
    "stopped": "What came next: the log stops while {what}.",
    "unread-onednn-lines": "What {unread} said: cut short, or of no known form.",
}


def limit_facts(
    recorded: Facts, modes: Facts, executions: Executions, instantiations: Instantiations
) -> list[Facts]:
    """The limits of a log: id and text of each."""
    texts = {**_by_level(recorded, modes, executions), **_others(executions, instantiations)}
    found = [{"id": id_, "text": texts[id_]} for id_ in _TEXTS if id_ in texts]
    return found + [{"id": "source", "text": problem} for problem in recorded["problems"]]


def _by_level(recorded: Facts, modes: Facts, executions: Executions) -> dict[str, str]:
    """What the settings of the recording leave out."""
    graph, eager = modes["graph"], modes["eager"]
    level = recorded["vlog_level"]
    any_run = bool(executions.frame.height)
    lacks_lines, only_gemm = _without_lines(recorded, executions)
    any_record = recorded["tensorflow_dialect"] is not None or level is not None
    holds = {
        "no-tensorflow": not any_record,
        "no-executions": any_record and not any_run,
        "no-graph-durations": bool(graph["kinds"]) and not graph["has_durations"],
        "no-eager-durations": eager["kinds"].get("op", {"total_us": 0})["total_us"] is None,
        "no-thread-ids": any_run and not recorded["has_thread_ids"],
        "no-onednn-lines": lacks_lines and not only_gemm,
        "no-gemm-lines": lacks_lines and only_gemm,
        "low-level": level == 1,
        "no-memory": any_run and level != 1 and not executions.events.has_memory_records,
        "unread-onednn-lines": bool(recorded["onednn_unread_lines"]),
    }
    unread = count_of(recorded["onednn_unread_lines"], "oneDNN line")
    return {id_: _TEXTS[id_].format(unread=unread) for id_, here in holds.items() if here}


def _without_lines(recorded: Facts, executions: Executions) -> tuple[bool, bool]:
    """Whether oneDNN ran and printed nothing; and whether it need not have, for all was sgemm.

    Nothing of oneDNN's ran, nothing is missing.
    """
    kernels = executions.signatures["kernel"].drop_nulls()
    ran = kernels.filter(kernels.str.starts_with("_Mkl"))
    lacks = bool(len(ran)) and not recorded["onednn_verbose_lines"]
    # execute.cc prints `Entering eager executing` from 2.11 on, the first with oneDNN 2.7.
    old = executions.events.messages("entering_call").is_empty()
    return lacks, old and bool((ran == "_MklMatMul").all())


def _others(executions: Executions, instantiations: Instantiations) -> dict[str, str]:
    found = {
        "no-dataset-nodes": _dataset_functions(executions, instantiations),
        "two-files": _two_files(executions),
        "stack-traces": _stack_traces(executions),
        "xla": _compiled(executions),
        "stopped": _stopped(executions, instantiations),
    }
    return {id_: _TEXTS[id_].format(**facts) for id_, facts in found.items() if facts}


def _dataset_functions(executions: Executions, instantiations: Instantiations) -> dict[str, str]:
    """Functions of tf.data were made ready, steps of tf.data ran, and nothing says which is which.

    core/common_runtime/function.cc, FunctionLibraryRuntimeImpl::CreateItem names the function for
    which kernels are made.
    """
    pruned = executions.events.messages("pruning_function", "pruning_function_nodes")
    names = instantiations.functions.to_frame("name")
    made = names.filter(function_columns(pl.col("name"))["flavour"] == "dataset")
    unnamed = (executions.steps["cause"] == "dataset-function") & executions.steps["name"].is_null()
    if pruned.height or made.is_empty() or not unnamed.any():
        return {}
    return {"functions": count_of(made.height, "function")}


def _two_files(executions: Executions) -> dict[str, str]:
    """OneDNN's lines and TensorFlow's records are in different sources."""
    onednn, tensorflow = sources_apart(executions)
    if not onednn:
        return {}
    return {"onednn": ", ".join(onednn), "tensorflow": ", ".join(tensorflow)}


def _stack_traces(executions: Executions) -> dict[str, str]:
    """TensorFlow's own stack traces took time that the program does not take without a log."""
    pauses = read_stack_traces(executions.events)
    if pauses.is_empty():
        return {}
    time = float((pauses["until"] - pauses["since"]).sum())
    return {"count": f"{pauses.height:,}", "time": spoken(time)}


def _compiled(executions: Executions) -> dict[str, str]:
    """Calls and clusters that ran as code of XLA's, and how long, compiling left out."""
    frame, signatures = executions.frame, executions.signatures
    compiling = compile_times(executions.events)
    done = frame.filter(pl.col("status") == STATUSES.index("done"))
    calls = done.filter(
        pl.lit(pl.Series(compiled_calls(executions))).gather(pl.col("dispatch")).fill_null(False)
    )
    kernels = signatures["kernel"].gather(done["signature"])
    clusters = done.filter(kernels.is_in(_CLUSTERS).fill_null(value=False))
    if compiling.is_empty() or not (calls.height or clusters.height):
        return {}
    what = []
    if calls.height:
        names = signatures["op"].gather(calls["signature"]).to_frame("name")
        functions = names.select(function_columns(pl.col("name"))["function"]).to_series()
        shown = ", ".join(functions.unique(maintain_order=True).head(3).to_list())
        what.append(f"{count_of(calls.height, 'call')} of {shown}")
    if clusters.height:
        what.append(f"{count_of(clusters.height, 'run')} of clusters")
    took = pl.concat([calls["duration_us"], clusters["duration_us"]])
    time = max(float(took.sum()) - float(compiling["compile_us"].sum()), 0.0)
    return {"what": " and ".join(what), "time": f" for {spoken(time)}" if took.count() else ""}


def _stopped(executions: Executions, instantiations: Instantiations) -> dict[str, str]:
    """What was under way when the log stops; nothing where all that began has ended."""
    for under_way in (_made, _running, _traced):
        if what := next(under_way(executions, instantiations), None):
            return {"what": what}
    return {}


def _made(executions: Executions, instantiations: Instantiations) -> Iterator[str]:
    """A function was being made ready: its instantiation has no end, and nothing ran after it."""
    spans = instantiations.spans.filter(~pl.col("function").str.contains(WRAPPED))
    left = spans.filter(pl.col("end_at").is_null())
    if spans["end_at"].count() < spans.height and left.height:
        last = left.row(-1, named=True)
        later = executions.frame.filter(
            (pl.col("at") > last["at"]) & pl.col("dispatch").is_not_null()
        )
        if later.is_empty():
            name = pl.select(function_columns(pl.lit(last["function"]))["function"]).item()
            yield f"{name} was being made ready (graph passes)"


def _running(executions: Executions, _: Instantiations) -> Iterator[str]:
    """A call or an eager op had begun; what tf.data runs by itself may be under way at any end."""
    frame, signatures = executions.frame, executions.signatures
    open_ = frame.filter(pl.col("status") == _UNFINISHED)
    named = open_.hstack(signatures.select(pl.col("op", "kind", "mode").gather(open_["signature"])))
    calls = named.filter(pl.col("kind") == "call")
    ops = named.filter((pl.col("kind") == "op") & (pl.col("mode") == "eager"))
    if calls.height:
        function = pl.select(function_columns(pl.lit(calls["op"][-1]))["function"]).item()
        inside = named.filter((pl.col("mode") == "graph") & (pl.col("kind") == "op"))
        inside = inside.filter(pl.col("call") == calls["call"][-1])
        nodes = inside["op"].drop_nulls().unique(maintain_order=True).to_list()
        at = f", in {', '.join(nodes[:3])}" if nodes else ""
        yield f"a call of {function} was running{at}"
    elif ops.height:
        yield f"{ops['op'][-1]} was running eagerly"


def _traced(executions: Executions, _: Instantiations) -> Iterator[str]:
    """The last records are of tracing: nothing was dispatched or run after them."""
    events = executions.events
    starts = events.messages("tape_start")["at"].len()
    ends = events.messages("tape_end")["at"].len()
    marks = events.messages(*TAPE_RECORDS)["at"].max()
    folding = events.executor.filter((pl.col("step") == FOLDING_STEP) & (pl.col("phase") == START))[
        "at"
    ].max()
    last = max((at for at in (marks, folding) if isinstance(at, int)), default=-1)
    ran = executions.frame.filter(pl.col("dispatch").is_not_null())["at"].max()
    if last > (ran if isinstance(ran, int) else -1):
        gradients = ", its gradients just then" if starts > ends else ""
        yield f"Python was tracing a function{gradients}; it was never called"
