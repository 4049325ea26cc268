"""Let the reading run ahead of the work on what was read."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# How long a consumer that stops early waits for the thread. A thread that waits for a silent pipe
# can't be stopped; it is a daemon, and nobody waits for it.
_PATIENCE_SECONDS = 1.0


class _End:
    """The last thing in the queue: there is no more, because of `error` if there is one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def read_ahead(
    blocks: Iterable[T], depth: int = 2, *, patience: float | None = None, idle: T | None = None
) -> Generator[T, None, None]:
    """The same items, made in a thread up to `depth` ahead.

    The thread starts with the first item asked for. What `blocks` raises is raised here. When
    this generator is closed, the thread ends and closes `blocks`. `idle` is given each time that
    nothing has come for `patience` seconds.
    """
    ready: queue.Queue[T | _End] = queue.Queue(maxsize=max(1, depth))
    stop = threading.Event()
    worker = threading.Thread(
        target=_produce, args=(blocks, ready, stop), name="tflogscope-read-ahead", daemon=True
    )
    worker.start()
    try:
        while not isinstance(item := _next(ready, patience, idle), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stop.set()
        with contextlib.suppress(queue.Empty):
            while True:  # makes room for the one item that the thread may be waiting to put
                ready.get_nowait()
        worker.join(_PATIENCE_SECONDS)


def _next(ready: queue.Queue[T | _End], patience: float | None, idle: T | None) -> T | _End:
    try:
        return ready.get(timeout=patience)
    except queue.Empty:
        if idle is None:
            raise
        return idle


def _produce(blocks: Iterable[T], ready: queue.Queue[T | _End], stop: threading.Event) -> None:
    end = _End()
    iterator: Iterator[T] = iter(blocks)
    try:
        for item in iterator:
            ready.put(item)
            if stop.is_set():
                break
        if isinstance(iterator, Generator):
            iterator.close()
    except BaseException as error:  # noqa: BLE001 (raised again by the consumer)
        end = _End(error)
    if not stop.is_set():
        ready.put(end)
