"""Whether several processes wrote a log that doesn't tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tflogscope.digits import whole
from tflogscope.events.events import Events
from tflogscope.events.onednn_header import VERSION
from tflogscope.model.calls.parts import AT_START
from tflogscope.model.common.frames import is_among, last_before, rows
from tflogscope.model.common.names import WRAPPED
from tflogscope.model.executions.executing import read_executing
from tflogscope.model.executions.executions import Executions, with_places
from tflogscope.model.executions.node_runs import FOLDING_STEP
from tflogscope.sources.owners import ThreadOwners
from tflogscope.sources.recognise import CTEST

# So often, at most, a process says that it starts; counted in logs of 2.8 to 2.22.
_STARTS = {"cpu_features": 1, "cpu_features_onednn": 2, "onednn_on": 2}
_NEVER = 1 << 62
_MOST = 64  # processes whose calls are looked at
_NEARLY_ALL = 0.99  # of a thread's nodes: writers of one file get a bit out of order
_OF_THREAD = pl.Schema({"thread": pl.Int64, "task": pl.String})
_OF_PROCESS = pl.Schema({"thread": pl.Int64, "process": pl.Int64})
_OF_COMPONENT = ["device", "function", "handle"]
_BOTH = ["process", "task"]
_TASK = r"^/job:([^/]+)(?:/replica:\d+)?/task:(\d+)"


def several_processes(events: Events, executions: Executions) -> dict[str, Any]:
    """What a process says once is said again in one source: line, library; or by the hook: count.

    A process says that it starts on one thread. Some releases say it twice, before anything runs
    but constants that are folded while a graph is built, before its session makes devices. A
    process may have two copies of oneDNN, of TensorFlow and of another framework, whose headers
    differ. A forked one says nothing, but has handles of its own.
    """
    if len(events.spans) != 1 or events.repeated:  # `parts` tells files apart
        return {}
    count = events.messages("python_op")["process"].n_unique()
    if count > 1:
        return {"asked": count, "launched": True}
    lines = events.primitives
    headers = lines.filter(event="info").filter(pl.col("message").str.contains(VERSION))
    again = headers["at"].filter(~headers["message"].is_first_distinct())
    starts = pl.concat(
        events.messages(id_).select("at", "thread", id=pl.lit(id_)) for id_ in AT_START
    )
    steps = executions.steps.filter(pl.col("step") != FOLDING_STEP)["at"].cast(pl.Int64)
    ran = pl.concat([steps, executions.dispatches.eager["at"].cast(pl.Int64)]).min()
    place = pl.int_range(pl.len()).over("id")
    other = pl.col("thread") != pl.col("thread").first().over("id")
    other |= place >= pl.col("id").replace_strict(_STARTS, default=2)
    other |= (pl.col("at") > pl.lit(ran, pl.Int64)) & (pl.len() > 1)
    repeats = {"oneDNN": again.min(), "TensorFlow": starts.filter(other)["at"].min()}
    library, at = min(repeats.items(), key=lambda item: _NEVER if item[1] is None else item[1])
    begun = at if at is not None else _handle_again(events)
    if begun is None:
        return {}
    line = with_places(events.spans, pl.DataFrame({"at": [begun]}))["line"][0]
    tests = any(span.account.envelope == CTEST for span in events.spans)
    by_launcher = {"launched": not tests, "tests": tests}
    return {"line": line, "library": None if at is None else library, **by_launcher}


def worker_of(events: Events) -> int | None:
    """The number of the worker that wrote the log; None: its records name no worker, or more."""
    named = _named_tasks(events).filter(pl.col("job") != "localhost")
    return whole(named["number"][0]) if named["job"].to_list() == ["worker"] else None


def _named_tasks(events: Events) -> pl.DataFrame:
    """The tasks that devices in records name: job, number."""
    devices = pl.concat([events.definitions["device"], read_executing(events)["device"]])
    job, number = (pl.col("device").str.extract(_TASK, group) for group in (1, 2))
    named = devices.unique().to_frame("device").select(job=job, number=number)
    return named.drop_nulls().unique()


def _names_several(events: Events) -> bool:
    """Whether records name more than one task, or lines of `record` more than one process."""
    several = events.messages("python_op")["process"].n_unique() > 1
    return several or _named_tasks(events).height > 1


def _by_calls(events: Events, tasks: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Threads of executors, by the calls in which they ran all of their nodes: process, thread.

    A thread for which that is true of the calls of several processes, or of none, is left out.
    """
    calls = [
        events.messages(id_)
        .select("at", thread=pl.col("thread").cast(pl.Int64))
        .join(named, on="thread")
        for id_ in ("entering_call", "exiting_call")
    ]
    unknown = tasks.join(named, on="thread", how="anti")["thread"].unique()
    ran = events.with_threads(events.runs[["at", "site"]]).cast(
        {"at": pl.Int64, "thread": pl.Int64}
    )
    ran = ran.filter(is_among(ran["thread"], unknown))
    threads = []
    processes = named["process"].unique().head(_MOST)
    for process in processes:
        begun, ended = (
            np.searchsorted(
                call.filter(process=process)["at"].sort().to_numpy(), ran["at"].to_numpy()
            )
            for call in calls
        )
        inside = ran.select("thread", inside=pl.Series(begun > ended))
        all_of_it = inside.group_by("thread").agg(pl.col("inside").mean())
        mine = all_of_it.filter(pl.col("inside") > _NEARLY_ALL).select("thread")
        threads.append(mine.select(process=pl.lit(process, pl.Int64), thread="thread"))
    if not threads:
        return named.clear()
    fits = pl.concat(threads)
    return fits.filter(~fits["thread"].is_duplicated()).select(named.columns)


def _tasks(events: Events) -> pl.DataFrame:
    """Threads and the tasks that they ran something in: thread, task.

    An asynchronous kernel ends on another thread than it began on. The end of a component is
    printed by another thread than its begin; it has the same device, function and handle, which
    other processes may have as well.
    """
    begun, ended = (
        events.with_threads(events.runs.select("definition", site=site)).unique()
        for site in ("site", "end_site")
    )
    ran = pl.concat([begun, ended.filter(pl.col("thread") >= 0)]).unique()
    devices = rows(events.definitions["device"], ran["definition"])
    seen = [
        ran.select("thread").with_columns(task=devices),
        read_executing(events).filter(~pl.col("remote")).select("thread", task="device"),
        events.messages("eager_service_context").select("thread", "task"),
    ]
    task = pl.concat_str(pl.col("task").str.extract(_TASK, group) for group in (1, 2))
    tasks = pl.concat(frame.cast(_OF_THREAD) for frame in seen).select("thread", task).unique()
    began, ended = (
        events.messages(*ids).select(*_OF_COMPONENT, pl.col("thread").cast(pl.Int64)).unique()
        for ids in (("running_component",), ("component_succeeded", "component_failed"))
    )
    began = began.join(tasks, on="thread").select(*_OF_COMPONENT, "task").unique()
    sure = began.filter(~pl.struct(_OF_COMPONENT).is_duplicated())
    ended = ended.join(sure, on=_OF_COMPONENT).select("thread", "task").unique()
    return pl.concat([tasks, ended.join(tasks, on="thread", how="anti")])


def read_owners(events: Events, executions: Executions) -> ThreadOwners | None:
    """Which process each thread is of, where records or lines of `record` name several.

    A record of the executor, and one of an eager dispatch, names the task that it ran in; lines of
    `record` name the process. None: one process wrote the log, or nothing says of a thread that ran
    something which process it is of.
    """
    if not (events.has_threads and _names_several(events)):
        return None
    if not several_processes(events, executions):
        return None
    tasks = _tasks(events)
    of_ops = events.messages("python_op").select("process", thread="os_thread")
    ended = events.messages("python_threads").select(
        "process", thread=pl.col("threads").str.extract_all(r"\d+")
    )
    ended = ended.explode("thread").cast({"thread": pl.Int64}, strict=False)
    named = pl.concat([frame.cast(_OF_PROCESS) for frame in (of_ops, ended.select(of_ops.columns))])
    named = pl.concat([named, _by_calls(events, tasks, named)]).unique()
    threads = tasks.join(named, on="thread", how="full", coalesce=True)
    complete = threads.drop_nulls()
    if (
        threads["thread"].is_duplicated().any()
        or complete.unique(_BOTH)["process"].is_duplicated().any()
    ):
        return None  # thread ids of two machines, or a cluster within one process
    of_process = dict(complete.select("process", "task").rows())
    alone = len({*of_process.values()}) == len(of_process) and of_process
    if named.is_empty() or (alone and len(of_process) == named["process"].n_unique()):
        label = pl.col("task").fill_null(
            pl.col("process").replace_strict(of_process, default=None, return_dtype=pl.String)
        )
        processes = of_process
    elif threads["process"].null_count():
        return None
    else:
        label = pl.col("process").cast(pl.String)
        processes = {process: str(process) for process in named["process"].unique()}
    owners = threads.select("thread", owner=label).drop_nulls().filter(pl.col("thread") >= 0)
    if owners["owner"].n_unique() < 2:
        return None
    return ThreadOwners(events.grammar, dict(owners.rows()), processes)


def _handle_again(events: Events) -> int | None:
    """Where the eager runtime gives a function a handle for the second time; None: nowhere.

    It counts them (core/common_runtime/process_function_library_runtime.cc, AddMultiDeviceHandle),
    and in one process from the beginning only where that joins a cluster: then both are of one
    thread, and what was before it doesn't go on. A forked process may have its parent's thread ids.
    tf.data has copies of the runtime that count by themselves; a function is the eager one's if it
    wraps an op, or a kernel was just made for it.
    """
    made = events.messages("instantiated_function").select("at", "thread", "function", "handle")
    kernels = events.messages("creating_kernel")
    last = rows(kernels["op"], last_before(made[["at", "thread"]], kernels[["at", "thread"]]))
    made = made.filter((made["function"] == last) | made["function"].str.contains(WRAPPED))
    handle = pl.col("handle").cast(pl.Int64)
    made = made.with_columns(
        turn=(handle.diff() <= 0).over("thread") & (handle > handle.min().over("thread")),
        again=~handle.is_first_distinct(),
    )
    again = made.filter("again")
    same = made.select("handle", "thread").is_duplicated().any()
    several = again["turn"].any() or (not same and (made["thread"] >= 0).all())
    return int(again["at"][0]) if several and again.height else None
