"""Where runs are worked on: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any, Protocol

from tflogscope.errors import TflogscopeError, UsageError

Task = tuple[Any, ...]
LOST = "its worker was killed twice: out of memory?"
_INSTALL = "pip install 'tflogscope[dask]'"
_PATIENCE = "10s"  # until a scheduler answers


class Pool(Protocol):
    """Calls a function for each task, the first ones first."""

    def run(
        self, function: Callable[..., Any], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Any]]:
        """Each task with what the function returned; a text if its worker was lost, twice."""


class Processes:
    """Processes of this machine. One that dies takes no other run along."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(
        self, function: Callable[..., Any], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Any]]:
        """See `Pool`."""
        waiting = deque(tasks)
        while waiting:
            lost: list[Task] = []
            yield from self._until_one_dies(function, waiting, lost)
            # Nobody knows which run it was: those under way are done by themselves.
            for task in lost:
                with _processes(1) as executor:
                    try:
                        result = executor.submit(function, *task).result()
                    except BrokenProcessPool:
                        result = LOST
                yield task, result

    def _until_one_dies(
        self, function: Callable[..., Any], waiting: deque[Task], lost: list[Task]
    ) -> Iterator[tuple[Task, Any]]:
        """Take tasks from `waiting`, no more at a time than there are processes."""
        workers = min(self._workers, len(waiting))
        under_way: dict[Future[Any], Task] = {}
        with _processes(workers) as executor:
            while under_way or (waiting and not lost):
                while waiting and not lost and len(under_way) < workers:
                    try:
                        under_way[executor.submit(function, *waiting[0])] = waiting[0]
                    except BrokenProcessPool:
                        break  # those under way will say so
                    waiting.popleft()
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    task = under_way.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        lost.append(task)
                    else:
                        yield task, future.result()


def _processes(workers: int) -> Executor:
    # A fork would inherit the locks of polars' threads. Runs are many: each has one thread.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, initializer=_end_with_others)


def _end_with_others() -> None:
    """Let this worker end at Ctrl-C, at once and without a word, and when its parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class Cluster:
    """A Dask cluster. The scheduler gives what a lost worker had to another."""

    def __init__(self, address: str) -> None:
        """Connect. Raises UsageError if Dask is not installed, or no scheduler answers."""
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise UsageError("a Dask cluster needs dask", address, _INSTALL) from None
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are raised, too
        self._distributed, self._address = distributed, address
        try:
            self._client: Any = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            hint = "Is it running, and reachable from here? dask scheduler"
            raise UsageError("no Dask scheduler answers", address, hint) from error

    @property
    def workers(self) -> int:
        """How many there are now."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def run(
        self, function: Callable[..., Any], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Any]]:
        """See `Pool`."""
        with self._client as client:
            futures = {
                client.submit(function, *task, pure=False, priority=-number): task
                for number, task in enumerate(tasks)
            }
            try:
                for future in self._distributed.as_completed(futures, loop=client.loop):
                    killed = isinstance(future.exception(), self._distributed.KilledWorker)
                    yield futures[future], LOST if killed else future.result()
            except TflogscopeError:
                raise
            except Exception as error:  # whatever Dask raises: the function itself raises no other
                hint = "Scheduler and workers need this version. Finished runs are in the store."
                problem = f"the cluster failed: {str(error) or type(error).__name__}"
                raise UsageError(problem, self._address, hint) from error
