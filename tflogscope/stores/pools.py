"""Where runs are worked on: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any

from tflogscope.errors import TflogscopeError, UsageError

Task = tuple[Any, ...]
LOST = "its worker was killed twice: out of memory?"
_INSTALL = "pip install 'tflogscope[dask]'"
_PATIENCE = "10s"  # until a scheduler answers


class Processes:
    """Processes of this machine. One that dies takes no other run along."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._of_thread, self._stopped = threading.local(), False

    def run(
        self, function: Callable[..., Any], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Any]]:
        """Each task with what the function returned; a text if its worker was lost, twice.

        The first tasks come first. A thread for each process waits for it.
        """
        with ThreadPoolExecutor(self._workers) as threads:
            futures = [threads.submit(self._work, function, task) for task in tasks]
            try:
                yield from (future.result() for future in as_completed(futures))
            finally:
                self._stopped = True
                threads.shutdown(wait=False, cancel_futures=True)

    def _work(self, function: Callable[..., Any], task: Task) -> tuple[Task, Any]:
        for _ in range(2):
            executor = getattr(self._of_thread, "executor", None) or _process()
            self._of_thread.executor = executor
            try:
                return task, executor.submit(function, *task).result()
            except BrokenProcessPool:
                self._of_thread.executor = None
            if self._stopped:
                break
        return task, LOST


def _process() -> Executor:
    # A fork would inherit the locks of polars' threads. Runs are many: each has one thread.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, context, initializer=_end_with_others)


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
        """See `Processes`."""
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


Pool = Processes | Cluster
