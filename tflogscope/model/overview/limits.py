"""What a log can't tell, and why: the rules of `grammars/sentences/limits.toml`.

A rule gives the facts of a sentence, and nothing where it doesn't hold.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl

from tflogscope.events.events import MOST_UNREAD, Events
from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.rewriters import REWRITERS, Rewriter
from tflogscope.model.calls.processes import read_owners, several_processes
from tflogscope.model.common import sentences
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.frames import holds, is_among, last_before, only, rows, where
from tflogscope.model.common.names import WRAPPED, function_columns
from tflogscope.model.common.origin import KEPT_BACK, command_of, fields_of, footer_of, has_end
from tflogscope.model.costs.first_calls import TAPE_RECORDS, compile_times
from tflogscope.model.executions.executing import printed_by_python
from tflogscope.model.executions.executions import Executions, with_places
from tflogscope.model.executions.node_runs import FOLDING_STEP
from tflogscope.model.executions.servers import serves
from tflogscope.model.executions.stack_traces import read_stack_traces
from tflogscope.model.findings.recording import read_endings
from tflogscope.model.links.candidates import compiled_runs, sources_apart
from tflogscope.model.overview.onednn_limits import onednn_limits
from tflogscope.model.pipeline import Evidence

Facts = dict[str, Any]
_NAMED = 3  # functions and ops in a text
_SGEMM = "_MklMatMul"  # core/kernels/mkl/mkl_matmul_op.cc calls dnnl_sgemm
_SIGNALS = 128  # a status above is that of a signal
_NOT_RUN = ("dead", "failed", "unfinished")


def limit_facts(evidence: Evidence, eager: Entry, graph: Entry) -> list[Entry]:
    """The limits of a log. `eager` and `graph` say what ran."""
    recorded = evidence.recorded
    by_id = {**_by_level(evidence, eager, graph), **_others(evidence)}
    shared = {"recorded": recorded.recorded_by_tflogscope, "kept_back": KEPT_BACK}
    limits = [
        Entry(id=row.id, text=f"{row.words(**shared, **facts)} {row.advised(**facts)}".rstrip())
        for row in sentences.rows("limit").values()
        if (facts := by_id.get(row.id)) is not None
    ]
    source = sentences.rows("limit")["source"]
    return limits + [
        Entry(id=source.id, text=source.words(problem=problem)) for problem in recorded.problems
    ]


def _by_level(evidence: Evidence, eager: Entry, graph: Entry) -> dict[str, Facts]:
    """What the settings of the recording leave out: ids of limits with the facts of their texts."""
    recorded = evidence.recorded
    level = recorded.vlog_level
    any_run = bool(evidence.executions.frame.height)
    lacks_lines, silent, only_gemm = _without_lines(evidence)
    any_record = recorded.tensorflow_dialect is not None or level is not None
    crashed = any(ending.error for ending in read_endings(evidence.events.spans))
    holds = {
        "no-tensorflow": not any_record,
        "no-executions": any_record and not (any_run or serves(evidence.events) or crashed),
        "no-end": not _has_end(evidence),
        "no-graph-durations": bool(graph.kinds) and not graph.has_durations,
        "no-eager-durations": _without_ends(evidence, eager),
        "no-price": graph.has_durations and evidence.costs.price is None,
        "no-thread-ids": any_run and not recorded.has_thread_ids,
        "no-onednn-lines": lacks_lines and not (silent and only_gemm),
        "low-level": level == 1 and not recorded.recorded_by_tflogscope,
    }
    counts = {
        "no-gemm-lines": silent if only_gemm or not lacks_lines else 0,
        "unread-onednn-lines": recorded.onednn_unread_lines,
    }
    by_id: dict[str, Facts] = {id_: {} for id_, here in holds.items() if here}
    if "no-onednn-lines" in by_id:
        asked = fields_of(evidence.recorded_as, "environment").get("ONEDNN_VERBOSE")
        by_id["no-onednn-lines"]["asked"] = asked in ("1", "2")
    by_id |= {id_: {"count": count} for id_, count in counts.items() if count}
    if counts["unread-onednn-lines"] > MOST_UNREAD:
        by_id["unread-onednn-lines"]["rows"] = MOST_UNREAD
    return by_id


def _has_end(evidence: Evidence) -> bool:
    """Whether the log goes to the end of the recording, if there was one.

    One of several processes in a file may lack the last line, which is that of the first.
    """
    spans = evidence.events.spans
    parted = any(span.account.process for span in spans)
    return parted or has_end(evidence.recorded_as, [span.tail for span in spans])


def _without_ends(evidence: Evidence, eager: Entry) -> bool:
    """Eager ops ran here, and none has an end."""
    ran = evidence.executions.dispatches.eager
    here = (~ran["remote"] & ~ran["is_call"]).any()
    return here and "op" in eager.kinds and eager.kinds["op"].total_us is None


def _without_lines(evidence: Evidence) -> tuple[bool, int, bool]:
    """What oneDNN ran without a line: whether all, how many runs of sgemm, whether only these ran.

    Nothing of oneDNN's ran, nothing is missing.
    """
    events, executions = evidence.events, evidence.executions
    kernels, frame = executions.signatures["kernel"], executions.frame
    of_onednn = [row for row, name in enumerate(kernels) if name and name.startswith("_Mkl")]
    alive = is_among(frame["signature"], of_onednn)
    for status in _NOT_RUN:
        alive &= frame["status"] != status
    ran = where(alive)
    ran = ran[~np.isin(ran, evidence.statuses["row"].drop_nulls())]
    runs = dict(rows(kernels, rows(frame["signature"], ran)).value_counts().rows())
    lacks = bool(runs) and not evidence.recorded.onednn_verbose_lines
    silent = runs.get(_SGEMM, 0)
    # execute.cc prints `Entering eager executing` from 2.11 on, the first with oneDNN 2.7.
    if events.messages("entering_call").height or (
        silent and events.primitives["primitive"].str.starts_with("gemm").any()
    ):
        silent = 0
    return lacks, silent, runs.keys() <= {_SGEMM}


def _others(evidence: Evidence) -> dict[str, Facts]:
    events, executions = evidence.events, evidence.executions
    by_id = {
        "no-dataset-nodes": _dataset_functions(evidence),
        "no-lines": _lines_missing(evidence),
        "no-process-end": _without_end(evidence),
        **onednn_limits(events, executions),
        "two-files": _two_files(executions, events.primitives),
        "twice": _twice(events),
        "several-processes": _several(events, executions),
        "no-plugin-lines": _silent_plugins(events, executions),
        "captured": _captured(evidence),
        "server": {"kind": serves(events)} if serves(events) else {},
        "remote": _remote(evidence),
        "python-dispatches": _python_dispatches(evidence),
        "late-plugin-lines": _about(
            [rewriter for rewriter in REWRITERS if rewriter.id in events.late_plugins]
        ),
        "stack-traces": _stack_traces(events),
        "xla": _compiled(events, executions),
        "stopped": _stopped(evidence),
    }
    return {id_: facts for id_, facts in by_id.items() if facts}


def _dataset_functions(evidence: Evidence) -> Facts:
    """Functions of tf.data were instantiated, steps ran, and nothing says which is which.

    core/common_runtime/function.cc, FunctionLibraryRuntimeImpl::CreateItem names the function for
    which kernels are made.
    """
    steps = evidence.executions.steps
    if not steps["name"].filter(steps["cause"] == "dataset-function").null_count():
        return {}
    pruned = evidence.events.messages("pruning_function", "pruning_function_nodes")
    names = evidence.instantiations.functions.to_frame("name")
    made = names.filter(function_columns(pl.col("name"))["flavour"] == "dataset")
    if pruned.height or made.is_empty():
        return {}
    return {"functions": made.height}


def _several(events: Events, executions: Executions) -> Facts:
    """Several processes wrote the log, and whether threads tell them apart: `FILE#worker1`."""
    processes = several_processes(events, executions)
    owners = read_owners(events, executions) if processes else None
    return processes | ({"owners": sorted({*owners.threads.values()})} if owners else {})


def _lines_missing(evidence: Evidence) -> Facts:
    """Why ops lack the line of the program that `record` asked for."""
    events = evidence.events
    error, left_out = (events.messages(f"python_{id_}") for id_ in ("off", "left_out"))
    if error.height or left_out.height:
        return {"error": error["error"].first(), "left_out": left_out["lines"].sum()}
    asked = (evidence.recorded_as or {}).get("lines") is True
    # The Python of a server asks for no op: that is the limit `server`.
    silent = not any(id_.startswith("python_") for id_ in events.seen) and not serves(events)
    return {"silent": True} if asked and silent and evidence.executions.frame.height else {}


def _without_end(evidence: Evidence) -> Facts:
    """Processes that ran ops, and wrote no last line; the program's own end is a finding."""
    events = evidence.events
    if (evidence.recorded_as or {}).get("lines") is not True or not _has_end(evidence):
        return {}
    ran, *ends = (
        set(events.messages(f"python_{id_}")["process"])
        for id_ in ("op", "cost", "threads", "left_out", "off", "stopped")
    )
    left = sorted(ran.difference(*ends))
    status = max(footer_of(span.tail).get("status", 0) for span in events.spans)
    if len(left) == 1 and status > _SIGNALS:
        return {}
    return {"count": len(left), "processes": list(map(str, left))} if left else {}


def _captured(evidence: Evidence) -> Facts:
    """Tests passed under pytest, which keeps what they print."""
    end = packaged_toml("endings.toml")["pytest"]
    tails = "\n".join(span.tail.decode("utf-8", "replace") for span in evidence.events.spans)
    ended = [*re.finditer(end["pattern"], tails, re.MULTILINE)]
    if not ended:
        return {}
    if command := command_of(evidence.recorded_as):
        settings = fields_of(evidence.recorded_as, "environment")
        options = " ".join([*command, str(settings.get("PYTEST_ADDOPTS", ""))])
        captures = not re.search(end["options"], options)
    else:
        captures = re.search(end["shown"], tails, re.MULTILINE) is not None
    return {"passed": int(ended[-1]["passed"])} if captures else {}


def _remote(evidence: Evidence) -> Facts:
    """Ops that other tasks ran: only their logs have the ends."""
    ran = evidence.executions.dispatches.eager
    ops = only(ran["device"], ran["remote"] & ~ran["is_call"])
    tasks = ops.str.extract(r"^/job:([^/]+(?:/replica:\d+)?/task:\d+)", 1).unique().sort()
    return {"count": len(ops), "tasks": tasks.drop_nulls().to_list()} if len(ops) else {}


def _python_dispatches(evidence: Evidence) -> Facts:
    """Eager ops and calls ran, and no dispatch has a prefix."""
    eager = evidence.executions.dispatches.eager
    times = only(eager["time"], ~eager["remote"])
    if times.is_empty() or not printed_by_python(evidence.events):
        return {}
    return {"count": len(times), "bare": times.null_count() or None}


def _two_files(executions: Executions, primitives: pl.DataFrame) -> Facts:
    """OneDNN's lines and TensorFlow's records are in different sources."""
    onednn, tensorflow = sources_apart(executions, primitives)
    return {"onednn": onednn, "tensorflow": tensorflow} if onednn else {}


def _twice(events: Events) -> Facts:
    """The same text is in the log twice: the lines where it begins; or each of its lines is."""
    if not events.repeated:
        return {}
    places = with_places(events.spans, pl.DataFrame({"at": events.repeated}))
    again, first = places["line"]
    if again == first + 1:
        return {"each": f"{first:,}"}
    return {
        name: f"{line:,}" if len(events.spans) == 1 else f"{line:,} of {source}"
        for name, source, line in zip(("again", "first"), *places[["source", "line"]], strict=True)
    }


def _silent_plugins(events: Events, executions: Executions) -> Facts:
    """Kernels of a plug-in ran, and no line says which primitives they ran."""
    if (events.primitives["event"] == "exec").any():
        return {}
    ran = set(rows(executions.signatures["rewrite"], executions.frame["signature"].unique()))
    return _about([rewriter for rewriter in REWRITERS if rewriter.id in ran])


def _about(plugins: list[Rewriter]) -> Facts:
    """Names of plug-ins, and how to record what they run."""
    if not plugins:
        return {}
    return {
        "plugin": [plugin.name for plugin in plugins],
        "lines": [plugin.lines for plugin in plugins],
    }


def _stack_traces(events: Events) -> Facts:
    """TensorFlow's own stack traces took time that the program does not take without a log."""
    pauses = read_stack_traces(events)
    if pauses.is_empty():
        return {}
    time = float((pauses["until"] - pauses["since"]).sum())
    return {"count": pauses.height, "time": time}


def _compiled(events: Events, executions: Executions) -> Facts:
    """Calls, nodes and clusters that ran code of XLA's, and how long, compiling included."""
    ran = compiled_runs(executions)
    if ran.is_empty():
        return {}
    named = ran.hstack(rows(executions.signatures[["kind", "op"]], ran["signature"]))
    calls, inside = named.filter(pl.col("kind") == "call"), named.filter(pl.col("kind") != "call")
    inside = inside.filter(pl.col("op") != "_XlaCompile")  # its time counts, it ran nothing yet
    functions = calls.select(function_columns(pl.col("op"))["function"]).to_series()
    compiled = compile_times(events).join_where(  # other calls may have failed to be compiled
        ran.select(begin_at="at", end_at="end_at"),
        pl.col("at") > pl.col("begin_at"),
        pl.col("at") < pl.col("end_at"),
    )
    time, compiling = ran["duration_us"], compiled.unique("at")["took"]
    return {
        "calls": calls.height,
        "functions": _first_names(functions),
        "runs": inside.height,
        "ops": _first_names(inside["op"]),
        "time": None if time.null_count() else float(time.sum()),
        "compiling": float(compiling.sum()) if compiling.count() else None,
    }


def _first_names(names: pl.Series) -> list[str]:
    return names.drop_nulls().unique(maintain_order=True).head(_NAMED).to_list()


def _stopped(evidence: Evidence) -> Facts:
    """What was under way when the log stops; nothing where all that began has ended."""
    under_way = _instantiated(evidence) or _running(evidence)
    return under_way or ({} if evidence.ended else _traced(evidence))


def _instantiated(evidence: Evidence) -> Facts:
    """A function was being instantiated: that has no end, and nothing ran after it."""
    spans = evidence.instantiations.spans
    if not spans["end_at"].null_count():
        return {}
    is_wrapped = pl.col("function").str.contains(WRAPPED)
    left = spans.filter(pl.col("end_at").is_null() & ~is_wrapped)
    if left.is_empty() or (evidence.executions.eager["at"] > left["at"][-1]).any():
        return {}
    return {"instantiated": _function(left["function"][-1])}


def _function(name: str) -> str:
    return str(pl.select(function_columns(pl.lit(name))["function"]).item())


def _running(evidence: Evidence) -> Facts:
    """A call or an eager op had begun; what tf.data runs on its own may be under way at any end."""
    frame, signatures = evidence.executions.frame, evidence.executions.signatures
    open_ = only(frame, frame["status"] == "unfinished")
    if open_.is_empty():
        return {}
    named = open_.hstack(rows(signatures[["op", "kind", "mode"]], open_["signature"]))
    calls = named.filter(pl.col("kind") == "call")
    ops = named.filter((pl.col("kind") == "op") & (pl.col("mode") == "eager"))
    if calls.height:
        inside = named.filter((pl.col("mode") == "graph") & (pl.col("kind") == "op"))
        inside = inside.filter(pl.col("call") == calls["call"][-1])
        return {"called": _function(calls["op"][-1]), "nodes": _first_names(inside["op"])}
    return {"op": str(ops["op"][-1])} if ops.height else {}


def _traced(evidence: Evidence) -> Facts:
    """The last records of a thread that ran ops are of tracing: nothing was dispatched after them.

    Such are the tape's, and steps -1 outside any instantiation: those that work out shapes
    (core/common_runtime/eval_const_tensor.cc). Where `record` wrote that the graph was then made
    into a function, the tracing came to its end.
    """
    events, eager = evidence.events, evidence.executions.dispatches.eager
    ran = eager.select(pl.coalesce("end_at", "at").max()).item()
    if ran is None:
        return {}
    marks, runs = events.messages(*TAPE_RECORDS), events.runs
    is_folding = pl.Series((events.steps == FOLDING_STEP)[runs["step"].to_numpy()])
    shapes = events.with_threads(only(runs, is_folding & (runs["at"] > ran))[["at", "site"]])
    made = evidence.instantiations.spans
    until = rows(made["end_at"], last_before(shapes[["at", "thread"]], made[["at", "thread"]]))
    outside = only(shapes["thread"], ~holds(until > shapes["at"]))
    threads = pl.concat([outside, only(marks["thread"], marks["at"] > ran)])
    last = pl.Series([shapes["at"].max(), marks["at"].max()], dtype=pl.Int64).max()
    if last is None or (events.messages("python_function")["at"] > last).any():
        return {}
    if not is_among(threads, eager["thread"]).any():
        return {}
    starts, ends = (events.messages(id_).height for id_ in ("tape_start", "tape_end"))
    return {"traced": True, "gradients": starts > ends}
